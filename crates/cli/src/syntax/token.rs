//! Text to tokens.

use std::fmt;

use winnow::ascii::{digit0, digit1};
use winnow::combinator::{alt, opt, preceded};
use winnow::error::EmptyError;
use winnow::prelude::*;
use winnow::token::{any, one_of, take_till, take_while};

use super::diagnostic::Diagnostic;
use super::span::Span;

/// A token and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'s> {
    pub(super) kind: Kind,
    /// The text of a name; empty for other kinds.
    pub(super) text: &'s str,
    pub(super) span: Span,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Number(f64),
    Name,
    Let,
    If,
    Else,
    Return,
    Input,
    /// A fixed sequence of characters, such as `<=`.
    Sign(&'static str),
    /// A line end outside parentheses and brackets.
    Newline,
    End,
}

/// How a token is called in messages.
impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Number(_) => write!(f, "a number"),
            Kind::Name if self.text.chars().count() > 40 => write!(f, "a name"),
            Kind::Name => write!(f, "`{}`", self.text),
            Kind::Let => write!(f, "`let`"),
            Kind::If => write!(f, "`if`"),
            Kind::Else => write!(f, "`else`"),
            Kind::Return => write!(f, "`return`"),
            Kind::Input => write!(f, "`input`"),
            Kind::Sign(sign) => write!(f, "`{sign}`"),
            Kind::Newline => write!(f, "the end of the line"),
            Kind::End => write!(f, "the end of the input"),
        }
    }
}

/// The signs, longer ones before their beginnings. `**` is read as `^`.
const SIGNS: &[(&str, &str)] = &[
    ("**", "^"),
    ("<=", "<="),
    (">=", ">="),
    ("==", "=="),
    ("!=", "!="),
    ("&&", "&&"),
    ("||", "||"),
    ("(", "("),
    (")", ")"),
    ("[", "["),
    ("]", "]"),
    (":", ":"),
    ("@", "@"),
    (".T", ".T"),
    ("{", "{"),
    ("}", "}"),
    (",", ","),
    (";", ";"),
    ("+", "+"),
    ("-", "-"),
    ("*", "*"),
    ("/", "/"),
    ("^", "^"),
    ("%", "%"),
    ("<", "<"),
    (">", ">"),
    ("!", "!"),
    ("=", "="),
];

/// The tokens of `source`, the last of them [`Kind::End`].
pub(super) fn tokens(source: &str) -> Result<Vec<Token<'_>>, Diagnostic> {
    let mut rest = source.strip_prefix('\u{feff}').unwrap_or(source);
    let mut found = Vec::new();
    // Line ends count only outside parentheses, and in braces inside parentheses, which the
    // parser refuses anyway.
    let mut open = 0_usize;
    loop {
        let blanks: Result<&str, EmptyError> = blank.parse_next(&mut rest);
        debug_assert!(blanks.is_ok(), "blanks may be empty");
        let start = source.len() - rest.len();
        if rest.is_empty() {
            found.push(Token { kind: Kind::End, text: "", span: Span::new(start..start) });
            return Ok(found);
        }
        let before = rest;
        let read: Result<Kind, EmptyError> = alt((newline, number, word, sign)).parse_next(&mut rest);
        let Ok(kind) = read else {
            return Err(unexpected(before, start));
        };
        let text = &before[..before.len() - rest.len()];
        let span = Span::new(start..start + text.len());
        match kind {
            Kind::Sign("(" | "[") => open += 1,
            Kind::Sign(")" | "]") => open = open.saturating_sub(1),
            Kind::Newline if open > 0 => continue,
            Kind::Number(value) if value.is_infinite() => {
                return Err(Diagnostic::new(span, "this number is too large")
                    .help("numbers are 64-bit floating point, at most about 1.8e308"));
            }
            _ => {}
        }
        // A line end is shown as the place behind the last character, not as a character.
        let span = if kind == Kind::Newline { Span::new(start..start) } else { span };
        let text = if kind == Kind::Name { text } else { "" };
        found.push(Token { kind, text, span });
    }
}

/// Blanks and comments up to the next token or line end.
fn blank<'s>(input: &mut &'s str) -> Result<&'s str, EmptyError> {
    let spaces = || take_while(0.., |c: char| c != '\n' && c.is_whitespace());
    let comment = preceded(alt(("#", "//")), take_till(0.., '\n'));
    (spaces(), opt(comment)).take().parse_next(input)
}

fn newline(input: &mut &str) -> Result<Kind, EmptyError> {
    '\n'.value(Kind::Newline).parse_next(input)
}

/// `1`, `1.5`, `.5`, `1.`, `1e-3`. An `e` without digits behind it is not part of the number.
fn number(input: &mut &str) -> Result<Kind, EmptyError> {
    let mantissa = alt(((digit1, opt(('.', digit0))).void(), ('.', digit1).void()));
    let exponent = (one_of(['e', 'E']), opt(one_of(['+', '-'])), digit1).void();
    (mantissa, opt(exponent)).take().try_map(str::parse).map(Kind::Number).parse_next(input)
}

fn word(input: &mut &str) -> Result<Kind, EmptyError> {
    let first = any.verify(|c: &char| is_name_start(*c));
    let word = (first, take_while(0.., is_name_rest)).take().parse_next(input)?;
    Ok(match word {
        "let" => Kind::Let,
        "if" => Kind::If,
        "else" => Kind::Else,
        "return" => Kind::Return,
        "input" => Kind::Input,
        _ => Kind::Name,
    })
}

/// Whether a name may begin with `c`.
fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Whether a name may go on with `c`.
fn is_name_rest(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether `text` is one name of the language.
pub(crate) fn is_name(text: &str) -> bool {
    let mut rest = text;
    matches!(word.parse_next(&mut rest), Ok(Kind::Name)) && rest.is_empty()
}

fn sign(input: &mut &str) -> Result<Kind, EmptyError> {
    for (text, meaning) in SIGNS {
        // `.T` is a sign of its own only where no longer word begins.
        let ends = |rest: &&str| *text != ".T" || !rest.starts_with(is_name_rest);
        if let Some(rest) = input.strip_prefix(text).filter(ends) {
            *input = rest;
            return Ok(Kind::Sign(meaning));
        }
    }
    Err(EmptyError)
}

/// The message for a character that begins no token.
fn unexpected(rest: &str, start: usize) -> Diagnostic {
    let Some(character) = rest.chars().next() else {
        return Diagnostic::new(Span::new(start..start), "unexpected end of the input");
    };
    let meant = match character {
        '&' => Some("&&"),
        '|' => Some("||"),
        '×' | '·' | '⋅' | '∗' => Some("*"),
        '÷' | '∕' => Some("/"),
        '−' | '–' | '—' => Some("-"),
        '≤' => Some("<="),
        '≥' => Some(">="),
        '≠' => Some("!="),
        '¬' => Some("!"),
        '²' => Some("^2"),
        '³' => Some("^3"),
        '√' => Some("sqrt(x)"),
        _ => None,
    };
    let shown = character.escape_debug();
    let span = Span::new(start..start + character.len_utf8());
    let message = Diagnostic::new(span, format!("unexpected character `{shown}`"));
    match meant {
        Some(sign) => message.help(format!("write `{sign}`")),
        None => message.label("not part of the language"),
    }
}
