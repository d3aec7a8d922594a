//! Keys: to the text that is typed, to what lies over the screen, or through the keymap to an action.

use crossterm::event::{KeyCode, KeyModifiers};
use tui_input::{Input, InputRequest};

use super::{Ctx, control, delegate, find, palette, update};
use crate::monitor::app::dialog::answer::{self, Asked};
use crate::monitor::app::dialog::{Field, Form, Purpose, ask, proposal};
use crate::monitor::app::effect::Effect;
use crate::monitor::app::ui::{Layer, Scrolled, Ui};
use crate::monitor::input::action::Action;
use crate::monitor::input::key::Key;
use crate::monitor::input::keymap::{Context, Keymap, Pressed};

/// Takes a key.
pub fn key(ui: &mut Ui, cx: Ctx<'_>, keys: &Keymap, key: Key) -> Vec<Effect> {
    let context = if ui.layers.is_empty() { Context::Normal } else { Context::Dialog };
    if context == Context::Dialog
        && let Some(request) = request_of(key)
        && type_in(ui, request)
    {
        return after_typing(ui, cx);
    }
    match keys.press(context, &mut ui.pending, key) {
        Pressed::Do(action) if is_slip(ui, action, key) => {
            type_into_first(ui, key);
            Vec::new()
        }
        Pressed::Do(action) => update(ui, cx, action),
        Pressed::Wait | Pressed::Nothing => Vec::new(),
    }
}

/// Returns whether a letter would send or close a form that can be typed into: that is a slip of the one who
/// types, and not an answer.
fn is_slip(ui: &Ui, action: Action, key: Key) -> bool {
    let ends = matches!(action, Action::DialogYes | Action::DialogNo);
    let has_fields = matches!(ui.layers.last(), Some(Layer::Form(form)) if !form.fields.is_empty());
    ends && has_fields && key.typed().is_some()
}

/// Types a letter into the first line of a form, and goes there; a form without one does nothing.
fn type_into_first(ui: &mut Ui, key: Key) {
    let Some(Layer::Form(form)) = ui.layers.last_mut() else { return };
    let Some(at) = form.fields.iter().position(|field| matches!(field, Field::Text { .. })) else { return };
    form.focus = at;
    if let Some(request) = request_of(key) {
        type_in(ui, request);
    }
}

/// Takes pasted text: into the field that takes text, and nowhere else. A task's text keeps its lines.
pub fn paste(ui: &mut Ui, cx: Ctx<'_>, text: &str) -> Vec<Effect> {
    let keeps_lines = keeps_lines(ui);
    let Some(input) = line(ui) else { return Vec::new() };
    // A terminal tells the end of a line by a carriage return, as if the key had been pressed.
    let told = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut clean = crate::model::text::typed(&told).into_string();
    let is_cut = told.len() > clean.len() && clean.ends_with('…') && !told.ends_with('…');
    if !keeps_lines {
        clean = clean.replace('\n', " ");
    }
    // In one go: letter by letter a long text would take as many turns as it has letters, each as long as it is.
    let at = input.cursor();
    let before: String = input.value().chars().take(at).collect();
    let after: String = input.value().chars().skip(at).collect();
    let cursor = at + clean.chars().count();
    *input = Input::new(format!("{before}{clean}{after}")).with_cursor(cursor);
    if is_cut {
        ui.say("What was pasted is too long: its end is cut off.", true, cx.now);
    }
    after_typing(ui, cx)
}

/// Returns whether the field that takes text is one for a text of several lines.
fn keeps_lines(ui: &Ui) -> bool {
    match ui.layers.last() {
        Some(Layer::Form(form)) => matches!(
            form.fields.get(form.focus),
            Some(Field::Text { label, .. }) if label == ask::TEXT
        ),
        Some(Layer::Prompt(_) | Layer::Palette(_) | Layer::Help { .. }) | None => false,
    }
}

/// Returns what a key does to a line of text.
#[expect(clippy::wildcard_enum_match_arm, reason = "other keys are no text")]
fn request_of(key: Key) -> Option<InputRequest> {
    if let Some(c) = key.typed() {
        return Some(InputRequest::InsertChar(c));
    }
    let control = key.modifiers() == KeyModifiers::CONTROL;
    Some(match key.code() {
        KeyCode::Backspace => InputRequest::DeletePrevChar,
        KeyCode::Delete => InputRequest::DeleteNextChar,
        KeyCode::Left if control => InputRequest::GoToPrevWord,
        KeyCode::Right if control => InputRequest::GoToNextWord,
        KeyCode::Left => InputRequest::GoToPrevChar,
        KeyCode::Right => InputRequest::GoToNextChar,
        KeyCode::Home => InputRequest::GoToStart,
        KeyCode::End => InputRequest::GoToEnd,
        KeyCode::Char('a') if control => InputRequest::GoToStart,
        KeyCode::Char('e') if control => InputRequest::GoToEnd,
        KeyCode::Char('w') if control => InputRequest::DeletePrevWord,
        KeyCode::Char('u') if control => InputRequest::DeleteLine,
        KeyCode::Char('k') if control => InputRequest::DeleteTillEnd,
        _ => return None,
    })
}

/// Returns the line that takes text now.
fn line(ui: &mut Ui) -> Option<&mut Input> {
    match ui.layers.last_mut()? {
        Layer::Prompt(prompt) => Some(&mut prompt.input),
        Layer::Palette(palette) => Some(&mut palette.input),
        Layer::Form(form) => match form.focused()? {
            Field::Text { input, .. } => Some(input),
            Field::Choice { .. } | Field::Checks { .. } => None,
        },
        Layer::Help { .. } => None,
    }
}

fn type_in(ui: &mut Ui, request: InputRequest) -> bool {
    // At the end of a text the way on leads to what is offered.
    if request == InputRequest::GoToNextChar
        && let Some(Layer::Form(form)) = ui.layers.last_mut()
        && form.is_at_end()
        && form.complete()
    {
        return true;
    }
    let Some(input) = line(ui) else { return false };
    // What comes back is only whether the value or the cursor changed.
    let _ = input.handle(request);
    true
}

fn after_typing(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    match ui.layers.last_mut() {
        Some(Layer::Prompt(prompt)) => {
            let (kind, text, before) = (prompt.kind, prompt.input.value().to_owned(), prompt.before);
            find::typed(ui, cx, kind, &text, before)
        }
        Some(Layer::Palette(palette)) => {
            palette.at = 0;
            Vec::new()
        }
        Some(Layer::Form(form)) => {
            if let Some(Field::Text { offers, .. }) = form.focused() {
                offers.at = None;
            }
            delegate::changed(form);
            Vec::new()
        }
        Some(Layer::Help { .. }) | None => Vec::new(),
    }
}

/// How far a page goes in the palette.
const PAGE: usize = 10;

/// Opens the help over a dialog, or closes it.
fn help(ui: &mut Ui) -> Vec<Effect> {
    if ui.layers.pop_if(|layer| matches!(layer, Layer::Help { .. })).is_none() {
        ui.layers.push(Layer::Help { scroll: 0 });
    }
    Vec::new()
}

/// Does an action of a dialog.
#[expect(clippy::wildcard_enum_match_arm, reason = "only a dialog's own actions and a few more come here")]
pub fn act(ui: &mut Ui, cx: Ctx<'_>, action: Action) -> Vec<Effect> {
    match action {
        Action::DialogNo => return close(ui, cx),
        Action::DialogYes => return accept(ui, cx),
        Action::Help => return help(ui),
        Action::DialogEdit => return edit_step(ui),
        _ => {}
    }
    let (most, form) = (ui.drawn.help_most, ui.drawn.form);
    // A line of what was seen stays in sight.
    let page = ui.drawn.help_height.saturating_sub(1).max(1);
    match ui.layers.last_mut() {
        Some(Layer::Form(open)) => {
            move_in_form(open, action, form);
            delegate::changed(open);
        }
        Some(Layer::Palette(palette)) => {
            let last = palette::matching(palette.input.value()).len().saturating_sub(1);
            palette.at = match action {
                Action::DialogUp | Action::DialogPrevious => palette.at.saturating_sub(1),
                Action::PageUp => palette.at.saturating_sub(PAGE),
                Action::PageDown => (palette.at + PAGE).min(last),
                Action::Top => 0,
                Action::Bottom => last,
                _ => (palette.at + 1).min(last),
            };
        }
        Some(Layer::Help { scroll }) => {
            *scroll = match action {
                Action::DialogUp | Action::DialogPrevious => scroll.saturating_sub(1),
                Action::DialogNext | Action::DialogToggle | Action::PageDown => scroll.saturating_add(page),
                Action::PageUp => scroll.saturating_sub(page),
                Action::Top => 0,
                Action::Bottom => most,
                _ => scroll.saturating_add(1),
            }
            .min(most);
        }
        Some(Layer::Prompt(_)) | None => {}
    }
    Vec::new()
}

/// Moves among the fields, or scrolls: by pages anywhere, line by line where there is nothing to fill in.
#[expect(clippy::wildcard_enum_match_arm, reason = "only a dialog's own actions come here")]
fn move_in_form(form: &mut Form, action: Action, drawn: Scrolled) {
    let page = drawn.height.saturating_sub(1).max(1);
    let is_read = form.fields.is_empty();
    let to = match action {
        Action::PageUp => drawn.from.saturating_sub(page),
        Action::PageDown => drawn.from.saturating_add(page),
        Action::Top => 0,
        Action::Bottom => drawn.most,
        Action::DialogUp if is_read => drawn.from.saturating_sub(1),
        Action::DialogDown if is_read => drawn.from.saturating_add(1),
        _ => {
            form.scroll = None;
            return match action {
                Action::DialogNext if form.take_pointed() => {}
                Action::DialogNext => form.next(),
                Action::DialogPrevious => form.previous(),
                Action::DialogUp => form.up(),
                Action::DialogDown => form.down(),
                Action::DialogToggle => form.toggle(),
                _ => {}
            };
        }
    };
    form.scroll = Some(to.min(drawn.most));
}

/// Opens the form that changes the step that is pointed at.
fn edit_step(ui: &mut Ui) -> Vec<Effect> {
    let edit = match ui.layers.last() {
        Some(Layer::Form(form)) => {
            let source = if let Purpose::Start(source, ..) = form.purpose {
                source
            } else if let Purpose::Control(_, targets) = &form.purpose {
                targets.first().map(|target| target.source)
            } else {
                None
            };
            proposal::edit(form, &ui.agents_of(source).names)
        }
        Some(Layer::Help { .. } | Layer::Palette(_) | Layer::Prompt(_)) | None => None,
    };
    ui.layers.extend(edit.map(|form| Layer::Form(Box::new(form))));
    Vec::new()
}

/// Writes the changes of a step into the form behind; says what is missing.
fn change_step(ui: &mut Ui, edit: &Form, at: usize) -> Result<(), String> {
    match ui.layers.last_mut() {
        Some(Layer::Form(form)) => form.check_mut(at).map_or(Ok(()), |check| proposal::change(check, edit)),
        Some(Layer::Help { .. } | Layer::Palette(_) | Layer::Prompt(_)) | None => Ok(()),
    }
}

/// Closes what is in front without doing it.
fn close(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    match ui.layers.pop() {
        Some(Layer::Prompt(prompt)) => {
            match prompt.kind {
                crate::monitor::app::ui::PromptKind::Find => {
                    ui.found.clear();
                    ui.search = None;
                    if let Some(before) = prompt.before {
                        find::go_to(ui, cx, before);
                    }
                }
                crate::monitor::app::ui::PromptKind::Filter => {
                    ui.filter.clear();
                    find::resift(ui, cx.model);
                }
            }
            super::motion::follow(ui, cx)
        }
        Some(Layer::Form(_) | Layer::Palette(_) | Layer::Help { .. }) | None => Vec::new(),
    }
}

/// Does what is in front.
fn accept(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    match ui.layers.pop() {
        Some(Layer::Palette(open)) => palette::run(ui, cx, open.input.value(), open.at),
        Some(Layer::Form(mut form)) => {
            if form.take_pointed() {
                ui.layers.push(Layer::Form(form));
                return Vec::new();
            }
            finish(ui, cx, *form)
        }
        Some(Layer::Prompt(prompt)) => {
            find::accepted(ui, cx, &prompt);
            Vec::new()
        }
        Some(Layer::Help { .. }) | None => Vec::new(),
    }
}

fn finish(ui: &mut Ui, cx: Ctx<'_>, form: Form) -> Vec<Effect> {
    let asked = match answer::read(&form) {
        Ok(Asked::EditStep(at)) => change_step(ui, &form, at).map(|()| Asked::Nothing),
        other => other,
    };
    match asked {
        Ok(Asked::Commands(commands)) => {
            commands.into_iter().map(|(target, verb)| control::send(ui, cx, &target, verb)).collect()
        }
        Ok(Asked::Signals(what, processes)) => control::signal(ui, cx, what, processes),
        Ok(Asked::Holds(what, hooked)) => control::hold(ui, cx, what, hooked),
        Ok(Asked::Plan { source, handover, asks_planner }) => {
            ui.layers.push(Layer::Form(Box::new(form)));
            vec![delegate::ask(ui, source, handover, asks_planner)]
        }
        Ok(Asked::Begin { source, handover, spec }) => vec![delegate::begin(ui, source, handover, spec)],
        Ok(Asked::Save { place }) => super::settings::save(ui, cx, place),
        Ok(Asked::Configure { key, value, place }) => super::settings::change(ui, cx, key, value, place),
        Ok(Asked::Export(what, format)) => super::export::write(ui, cx, &what, format),
        Ok(Asked::Open(ix)) => cx.model.get(ix).and_then(super::opens).into_iter().collect(),
        Ok(Asked::Nothing | Asked::EditStep(_)) => Vec::new(),
        Err(missing) => {
            ui.say(missing, true, cx.now);
            ui.layers.push(Layer::Form(Box::new(form)));
            Vec::new()
        }
    }
}
