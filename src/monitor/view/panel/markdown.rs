//! Markdown to lines. Agents write it; what cannot be parsed is text, so nothing is ever lost.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::parts::{Look, cleaned, flow};
use crate::model::text as clean;
use crate::monitor::view::text::{fit, pad, span, width as cells, wrap_line};
use crate::monitor::view::theme::Role;

/// Returns a text as lines of at most `width` cells.
pub fn lines(look: &Look<'_>, text: &str, width: usize) -> Vec<Line<'static>> {
    let text = cleaned(text);
    let mut page = Page::new(look, width.max(4));
    let dialect = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    Parser::new_ext(&text, dialect).for_each(|event| page.take(event));
    page.close();
    page.lines
}

/// One level of what stands left of the text.
#[derive(Debug, Clone)]
enum Level {
    Quote,
    /// A list: the number of its next item, where it counts.
    List(Option<u64>),
    /// An item: what leads its first line, until that was written.
    Item {
        lead: Option<String>,
        cells: usize,
    },
}

struct Page<'a> {
    look: &'a Look<'a>,
    width: usize,
    lines: Vec<Line<'static>>,
    levels: Vec<Level>,
    styles: Vec<Style>,
    /// The paragraph that is being read.
    pieces: Vec<(String, Style)>,
    /// The code block that is being read.
    code: Option<String>,
    link: Option<String>,
    table: Option<Vec<Vec<String>>>,
}

impl<'a> Page<'a> {
    fn new(look: &'a Look<'a>, width: usize) -> Self {
        Self {
            look,
            width,
            lines: Vec::new(),
            levels: Vec::new(),
            styles: vec![look.style(Role::Text)],
            pieces: Vec::new(),
            code: None,
            link: None,
            table: None,
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text, self.style()),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text, self.look.style(Role::Code));
            }
            Event::Html(text) | Event::InlineHtml(text) => self.text(&text, self.look.style(Role::Dim)),
            Event::FootnoteReference(name) => self.text(&format!("[{name}]"), self.look.style(Role::Dim)),
            // What agents print is as often a program's output as prose: a line stays a line.
            Event::SoftBreak | Event::HardBreak => self.paragraph(),
            Event::Rule => {
                self.gap();
                let rule = self.look.sign("─", "-").repeat(self.width.min(24));
                self.lines.push(Line::from(span(rule, self.look.style(Role::Faint))));
            }
            Event::TaskListMarker(is_done) => {
                let mark =
                    if is_done { self.look.sign("☑ ", "[x] ") } else { self.look.sign("☐ ", "[ ] ") };
                self.text(mark, self.style());
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.open_block(),
            Tag::Heading { .. } => {
                self.open_block();
                self.styles.push(self.look.style(Role::Heading));
            }
            Tag::BlockQuote(_) => {
                self.open_block();
                self.levels.push(Level::Quote);
                self.styles.push(self.look.style(Role::Quote));
            }
            Tag::CodeBlock(kind) => {
                self.open_block();
                self.code = Some(String::new());
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    self.line_of(&language, self.look.style(Role::Faint));
                }
            }
            Tag::List(first) => {
                self.paragraph();
                if self.levels.is_empty() {
                    self.gap();
                }
                self.levels.push(Level::List(first));
            }
            Tag::Item => self.item(),
            Tag::Table(_) => {
                self.open_block();
                self.table = Some(Vec::new());
            }
            Tag::TableHead | Tag::TableRow => self.table.iter_mut().for_each(|rows| rows.push(Vec::new())),
            Tag::TableCell => self.pieces.clear(),
            Tag::Emphasis => self.styles.push(self.style().add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.styles.push(self.style().add_modifier(Modifier::BOLD)),
            Tag::Strikethrough => self.styles.push(self.style().add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some(dest_url.to_string());
                self.styles.push(self.look.style(Role::Link));
            }
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.paragraph(),
            TagEnd::Heading(_) => {
                self.paragraph();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.paragraph();
                self.levels.pop();
                self.styles.pop();
            }
            TagEnd::CodeBlock => self.code_block(),
            TagEnd::List(_) | TagEnd::Item => {
                self.paragraph();
                self.levels.pop();
            }
            TagEnd::Table => self.draw_table(),
            TagEnd::TableCell => {
                let text: String = self.pieces.drain(..).map(|(text, _)| text).collect();
                self.table
                    .iter_mut()
                    .filter_map(|rows| rows.last_mut())
                    .for_each(|row| row.push(text.clone()));
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.styles.pop()),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn text(&mut self, text: &str, style: Style) {
        match &mut self.code {
            Some(code) => code.push_str(text),
            None => self.pieces.push((clean::line(text).into(), style)),
        }
    }

    /// Says where a link leads, unless its text says that already.
    fn end_link(&mut self) {
        self.styles.pop();
        let Some(target) = self.link.take() else { return };
        let target = clean::line(&target);
        let is_told = self.pieces.last().is_some_and(|(text, _)| **text == *target);
        if !is_told && !target.is_empty() {
            self.pieces.push((format!(" ({target})"), self.look.style(Role::Dim)));
        }
    }

    fn item(&mut self) {
        self.paragraph();
        let bullet = format!("{} ", self.look.sign("•", "-"));
        let lead = match self.levels.last_mut() {
            Some(Level::List(Some(number))) => {
                let lead = format!("{number}. ");
                *number = number.saturating_add(1);
                lead
            }
            Some(_) | None => bullet,
        };
        let wide = cells(&lead);
        self.levels.push(Level::Item { lead: Some(lead), cells: wide });
    }

    /// Ends what is open, and leaves a blank line between blocks; items of a list stand close.
    fn open_block(&mut self) {
        self.paragraph();
        let in_item = self.levels.iter().any(|level| matches!(level, Level::Item { .. }));
        if !in_item {
            self.gap();
        }
    }

    fn gap(&mut self) {
        if self.lines.last().is_some_and(|line| line.width() > 0) {
            self.lines.push(Line::default());
        }
    }

    /// Returns what stands left of the next line, and of those after it. Deep levels leave room for text.
    fn margins(&mut self) -> (Span<'static>, Span<'static>) {
        let (mut first, mut rest) = (String::new(), String::new());
        let bar = self.look.sign("▎ ", "> ");
        for level in &mut self.levels {
            match level {
                Level::Quote => {
                    first.push_str(bar);
                    rest.push_str(bar);
                }
                Level::List(_) => {}
                Level::Item { lead, cells } => {
                    first.push_str(&lead.take().unwrap_or_else(|| " ".repeat(*cells)));
                    rest.push_str(&" ".repeat(*cells));
                }
            }
        }
        let most = self.width / 2;
        let style = self.look.style(Role::Dim);
        (span(fit(&first, most), style), span(fit(&rest, most), style))
    }

    /// Writes the paragraph that was read.
    fn paragraph(&mut self) {
        if self.pieces.iter().all(|(text, _)| text.trim().is_empty()) {
            self.pieces.clear();
            return;
        }
        let pieces = std::mem::take(&mut self.pieces);
        let (first, rest) = self.margins();
        self.lines.extend(flow(&pieces, self.width, &first, &rest));
    }

    fn line_of(&mut self, text: &str, style: Style) {
        let (first, rest) = self.margins();
        let pieces = [(clean::line(text).into(), style)];
        self.lines.extend(flow(&pieces, self.width, &first, &rest));
    }

    /// Writes code: its lines as they are, broken only where they must be.
    fn code_block(&mut self) {
        let Some(code) = self.code.take() else { return };
        let style = self.look.style(Role::Code);
        for line in code.lines() {
            let (first, _) = self.margins();
            let lead = span(
                format!("{}{}", first.content, self.look.sign("│ ", "| ")),
                self.look.style(Role::Faint),
            );
            let room = self.width.saturating_sub(cells(&lead.content)).max(1);
            for part in wrap_line(line, room) {
                self.lines.push(Line::from(vec![lead.clone(), span(part, style)]));
            }
        }
    }

    /// Writes a table with columns that line up; where it is too wide, a row is a line of its cells.
    fn draw_table(&mut self) {
        let Some(rows) = self.table.take() else { return };
        let count = rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths = vec![0; count];
        for row in &rows {
            for (wide, cell) in widths.iter_mut().zip(row) {
                *wide = cells(cell).max(*wide);
            }
        }
        let fits = widths.iter().sum::<usize>() + 2 * count.saturating_sub(1) <= self.width;
        for (nth, row) in rows.iter().enumerate() {
            let style = if nth == 0 { self.look.style(Role::Heading) } else { self.look.style(Role::Text) };
            if fits {
                let row: Vec<String> = row.iter().zip(&widths).map(|(cell, wide)| pad(cell, *wide)).collect();
                self.lines.push(Line::from(span(row.join("  ").trim_end().to_owned(), style)));
            } else {
                let text = row.join(self.look.sign(" · ", " | "));
                self.lines.extend(flow(&[(text, style)], self.width, &Span::raw(""), &Span::raw("  ")));
            }
        }
    }

    fn close(&mut self) {
        self.paragraph();
        self.code_block();
        while self.lines.last().is_some_and(|line| line.width() == 0) {
            self.lines.pop();
        }
    }
}
