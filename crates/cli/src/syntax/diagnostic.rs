//! A message about the source, and how it is shown with its line and a caret.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use super::span::Span;

/// What is wrong, where, and what to do about it.
#[derive(Clone, Debug)]
pub(crate) struct Diagnostic {
    /// The mistake in one sentence.
    pub(crate) title: String,
    /// Where it is.
    pub(crate) span: Span,
    /// What stands at the caret; may be empty.
    pub(crate) label: String,
    /// A second place that explains the first.
    pub(crate) context: Option<(Span, String)>,
    /// How to put it right.
    pub(crate) help: Option<String>,
}

impl Diagnostic {
    /// A message about `span`.
    pub(crate) fn new(span: Span, title: impl Into<String>) -> Self {
        Self { title: title.into(), span, label: String::new(), context: None, help: None }
    }

    /// With words at the caret.
    pub(crate) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// With a second place.
    pub(crate) fn context(mut self, span: Span, label: impl Into<String>) -> Self {
        self.context = Some((span, label.into()));
        self
    }

    /// With advice.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The message with the lines of `source` it is about, and colour codes; the writer strips
    /// these where they are not wanted.
    pub(crate) fn render(&self, source: &str, path: &str) -> String {
        let window = Window::around(source, self.span, self.context.as_ref().map(|c| c.0));
        let mut snippet = Snippet::source(window.text.as_str()).line_start(window.first_line).annotation(
            AnnotationKind::Primary
                .span(window.place(self.span))
                .label((!self.label.is_empty()).then_some(self.label.as_str())),
        );
        if let Some((span, label)) = &self.context {
            snippet = snippet.annotation(AnnotationKind::Context.span(window.place(*span)).label(label.as_str()));
        }
        let mut group = Level::ERROR.primary_title(self.title.as_str()).element(snippet.path(path));
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        let shown = Renderer::styled().render(&[group]);
        // The column is that of the whole line, also where only a piece of the line is shown.
        let (line, column) = position(source, self.span);
        let (_, inside) = position(&window.text, Span::new(window.place(self.span)));
        if window.mark == 0 {
            return shown;
        }
        let place = |column| format!("{path}:{line}:{column}");
        shown.replacen(&place(inside), &place(column), 1)
    }
}

/// Line and column, both from 1; the column counts characters.
pub(crate) fn position(source: &str, span: Span) -> (usize, usize) {
    let before = &source[..floor_boundary(source, span.start as usize)];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// The part of a source that a message shows: whole lines, or a piece of a very long one.
struct Window {
    text: String,
    first_line: usize,
    /// Bytes of the source before the window.
    skipped: usize,
    /// Bytes of the mark that stands for what was cut off in front.
    mark: usize,
}

/// Characters of a long line kept on each side of the mistake.
const KEPT: usize = 60;
/// Lines longer than this are cut.
const LONG: usize = 160;

impl Window {
    fn around(source: &str, span: Span, context: Option<Span>) -> Self {
        let near = |other: &Span| {
            let range = span.to(*other).range();
            range.len() < 4 * LONG
        };
        let whole = context.filter(near).map_or(span, |other| span.to(other));
        let start = floor_boundary(source, whole.start as usize);
        let end = floor_boundary(source, whole.end as usize).max(start);
        let line_start = source[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = source[end..].find('\n').map_or(source.len(), |newline| end + newline);
        let first_line = source[..line_start].matches('\n').count() + 1;
        if line_end - line_start <= LONG || source[start..end].contains('\n') && end - start < LONG {
            let text = source[line_start..line_end].to_owned();
            return Self { text, first_line, skipped: line_start, mark: 0 };
        }
        let from = floor_boundary(source, start.saturating_sub(KEPT)).max(line_start);
        let to = floor_boundary(source, end.min(start + KEPT) + KEPT).min(line_end).max(from);
        let mark = if from > line_start { "… " } else { "" };
        let rest = if to < line_end { " …" } else { "" };
        let text = format!("{mark}{}{rest}", &source[from..to]);
        Self { text, first_line, skipped: from, mark: mark.len() }
    }

    /// Where a span of the source lies in the window.
    fn place(&self, span: Span) -> std::ops::Range<usize> {
        let shift = |offset: u32| {
            let inside = (offset as usize).saturating_sub(self.skipped) + self.mark;
            floor_boundary(&self.text, inside)
        };
        shift(span.start)..shift(span.end)
    }
}

/// The largest boundary of a character not above `offset`.
fn floor_boundary(text: &str, offset: usize) -> usize {
    text.floor_char_boundary(offset)
}
