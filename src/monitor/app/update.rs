//! What an action or a piece of news does to the screen's state. Pure: it returns what is to be done outside.
//!
//! The match only routes; each group of verbs has its file.

mod control;
mod delegate;
mod export;
mod find;
mod layer;
mod motion;
mod news;
pub mod palette;
mod past;
mod settings;
mod tools;

pub use find::look;
pub use layer::{key, paste};
pub use motion::follow;
pub use news::{changed, news, tick};
pub use settings::{SETTINGS, Setting, Told, new_value, of_engine};
pub use tools::{attachable, opens};

use super::effect::Effect;
use super::ui::{Layer, Ui, View};
use crate::control::Control;
use crate::model::Model;
use crate::model::time::Stamp;
use crate::monitor::input::action::Action;

/// What an update may look at.
#[derive(Debug, Clone, Copy)]
pub struct Ctx<'a> {
    pub model: &'a Model,
    pub now: Stamp,
}

/// Does an action.
#[expect(clippy::too_many_lines, reason = "a table: it only routes")]
pub fn update(ui: &mut Ui, cx: Ctx<'_>, action: Action) -> Vec<Effect> {
    match action {
        // What lies in front scrolls, never what is behind it.
        Action::PageUp | Action::PageDown | Action::Top | Action::Bottom | Action::Help
            if !ui.layers.is_empty() =>
        {
            layer::act(ui, cx, action)
        }
        Action::Up
        | Action::Down
        | Action::PageUp
        | Action::PageDown
        | Action::Top
        | Action::Bottom
        | Action::Collapse
        | Action::Expand
        | Action::FoldAll
        | Action::UnfoldAll
        | Action::NextPane
        | Action::PreviousPane
        | Action::NextTab
        | Action::PreviousTab => motion::go(ui, cx, action),
        Action::Open => tools::open(ui, cx),
        Action::Pause => control::control(ui, cx, Control::Pause),
        Action::Drain => control::control(ui, cx, Control::Drain),
        Action::Resume => control::control(ui, cx, Control::Resume),
        Action::Cancel => control::control(ui, cx, Control::Cancel),
        Action::Retry => control::control(ui, cx, Control::Retry),
        Action::Skip => control::control(ui, cx, Control::Skip),
        Action::Approve => control::approve(ui, cx),
        Action::ApproveChanged => control::control(ui, cx, Control::Approve),
        Action::Reject => control::reject(ui, cx),
        Action::Answer => control::answer(ui, cx),
        Action::Tell => control::control(ui, cx, Control::Tell),
        Action::Accept => control::control(ui, cx, Control::Accept),
        Action::Raise => control::control(ui, cx, Control::Raise),
        Action::Settle => control::control(ui, cx, Control::Settle),
        Action::Rollback => control::control(ui, cx, Control::Rollback),
        Action::Delegate => delegate::open(ui, cx),
        Action::Attach => tools::attach(ui, cx),
        Action::Diff => tools::diff(ui, cx),
        Action::Mark | Action::MarkRange | Action::UnmarkAll => motion::mark(ui, cx, action),
        Action::Find => find::ask(ui, super::ui::PromptKind::Find),
        Action::Filter => find::ask(ui, super::ui::PromptKind::Filter),
        Action::FindNext => find::next(ui, cx, find::Way::Forward),
        Action::FindPrevious => find::next(ui, cx, find::Way::Back),
        Action::Sort => find::sort(ui, cx),
        Action::ViewTree => tools::view(ui, cx, View::Tree),
        Action::ViewNeedsMe => tools::view(ui, cx, View::NeedsMe),
        Action::ViewOverview => tools::view(ui, cx, View::Overview),
        Action::ViewHistory => tools::view(ui, cx, View::History),
        Action::ViewSessions => tools::view(ui, cx, View::Sessions),
        Action::ViewSettings => tools::view(ui, cx, View::Settings),
        Action::Palette => push(ui, Layer::Palette(super::ui::Palette::default())),
        Action::Help => push(ui, Layer::Help { scroll: 0 }),
        Action::Why => tools::why(ui, cx),
        Action::Copy => tools::copy(ui, cx),
        Action::Edit => tools::edit(ui, cx),
        Action::Export => export::ask(ui, cx),
        Action::CycleMode => settings::cycle_mode(ui, cx),
        Action::ToggleMouse => settings::toggle(ui, cx, Setting::Mouse),
        Action::ToggleStream => settings::toggle(ui, cx, Setting::Stream),
        Action::ToggleTokens => settings::toggle(ui, cx, Setting::ShowTokenUsage),
        Action::ToggleReasoning => settings::toggle(ui, cx, Setting::ShowReasoningPanel),
        Action::NextTheme => settings::next_theme(ui, cx),
        Action::Back => tools::back(ui, cx),
        Action::Redraw => vec![Effect::Redraw],
        Action::Suspend => vec![Effect::Suspend],
        Action::Quit => vec![Effect::Quit],
        Action::DialogYes
        | Action::DialogNo
        | Action::DialogNext
        | Action::DialogPrevious
        | Action::DialogUp
        | Action::DialogDown
        | Action::DialogToggle
        | Action::DialogEdit => layer::act(ui, cx, action),
    }
}

fn push(ui: &mut Ui, layer: Layer) -> Vec<Effect> {
    ui.layers.push(layer);
    Vec::new()
}
