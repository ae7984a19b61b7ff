//! Text to tokens.

use std::fmt;

use winnow::ascii::digit1;
use winnow::combinator::{alt, not, opt, preceded, repeat, terminated};
use winnow::error::EmptyError;
use winnow::prelude::*;
use winnow::token::{one_of, take_till, take_while};

use super::Fault;

/// A token and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'s> {
    pub(super) kind: TokenKind,
    pub(super) text: &'s str,
    /// Its first byte in the source.
    pub(super) at: usize,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// Digits with a sign, point or exponent; `inf` and `NaN`.
    Number,
    /// A name or word.
    Word,
    /// A word that is `v` and digits.
    Value,
    /// Characters between quotes, with the quotes.
    String,
    /// One of `( ) { } [ ] , : ; =`.
    Sign(char),
    /// A line end in braces.
    Newline,
    End,
}

/// How a token is called in messages.
impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            TokenKind::Newline => f.write_str("the end of the line"),
            TokenKind::End => f.write_str("the end of the text"),
            TokenKind::String => f.write_str("a text in quotes"),
            TokenKind::Number | TokenKind::Word | TokenKind::Value | TokenKind::Sign(_) => {
                match self.text.char_indices().nth(40) {
                    Some((end, _)) => write!(f, "`{}…`", &self.text[..end]),
                    None => write!(f, "`{}`", self.text),
                }
            }
        }
    }
}

/// The tokens of a text, the last of them [`TokenKind::End`].
pub(super) fn tokens(source: &str) -> Result<Vec<Token<'_>>, Fault> {
    let mut rest = source;
    let mut found = Vec::new();
    // What is open: line ends count directly in braces only.
    let mut open = Vec::new();
    loop {
        let blanks: Result<(), EmptyError> = blanks.parse_next(&mut rest);
        debug_assert!(blanks.is_ok(), "blanks may be empty");
        let (before, at) = (rest, source.len() - rest.len());
        if rest.is_empty() {
            found.push(Token { kind: TokenKind::End, text: "", at });
            return Ok(found);
        }
        let read: Result<TokenKind, EmptyError> = alt((newline, number, word, string, sign)).parse_next(&mut rest);
        let Ok(kind) = read else { return Err(unexpected(before, at)) };
        match kind {
            TokenKind::Sign(sign @ ('(' | '[' | '{')) => open.push(sign),
            TokenKind::Sign(')' | ']' | '}') => drop(open.pop()),
            TokenKind::Newline if open.last() != Some(&'{') => continue,
            _ => {}
        }
        found.push(Token { kind, text: &before[..before.len() - rest.len()], at });
    }
}

/// Blanks and comments up to the next token or line end.
fn blanks(input: &mut &str) -> Result<(), EmptyError> {
    let spaces = take_while(0.., |c: char| c != '\n' && c.is_whitespace());
    (spaces, opt(('#', take_till(0.., '\n')))).void().parse_next(input)
}

fn newline(input: &mut &str) -> Result<TokenKind, EmptyError> {
    '\n'.value(TokenKind::Newline).parse_next(input)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// `1`, `-1.5`, `1e-3`, `-inf`, `NaN`. An `e` without digits behind it is not part of the number.
fn number(input: &mut &str) -> Result<TokenKind, EmptyError> {
    let exponent = (one_of(['e', 'E']), opt(one_of(['+', '-'])), digit1);
    let digits = (digit1, opt(('.', digit1)), opt(exponent)).void();
    let special = terminated(alt(("inf", "NaN")), not(one_of(is_word))).void();
    preceded(opt('-'), alt((digits, special))).value(TokenKind::Number).parse_next(input)
}

fn word(input: &mut &str) -> Result<TokenKind, EmptyError> {
    let begins = one_of(|c: char| c.is_ascii_alphabetic() || c == '_');
    let word: &str = (begins, take_while(0.., is_word)).take().parse_next(input)?;
    let value = word.strip_prefix('v').is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()));
    Ok(if value { TokenKind::Value } else { TokenKind::Word })
}

/// Characters between quotes; a backslash keeps the next one from ending them.
fn string(input: &mut &str) -> Result<TokenKind, EmptyError> {
    let plain = take_while(1.., |c| !matches!(c, '"' | '\\' | '\n')).void();
    let escaped = ('\\', take_while(1..=1, |c| c != '\n')).void();
    let inside = repeat::<_, _, (), _, _>(0.., alt((plain, escaped)));
    ('"', inside, '"').value(TokenKind::String).parse_next(input)
}

fn sign(input: &mut &str) -> Result<TokenKind, EmptyError> {
    one_of(['(', ')', '{', '}', '[', ']', ',', ':', ';', '=']).map(TokenKind::Sign).parse_next(input)
}

/// The message for a character that begins no token.
fn unexpected(rest: &str, at: usize) -> Fault {
    match rest.chars().next() {
        Some('"') => Fault::new(at, "these quotes are not closed on their line"),
        Some('-') => Fault::new(at, "expected a number behind `-`"),
        Some(c) => Fault::new(at, format!("`{}` means nothing here", c.escape_debug())),
        None => Fault::new(at, "the text ends too early"),
    }
}

/// What the characters between quotes stand for; the escapes are those of Rust.
pub(super) fn unescape(token: &Token<'_>) -> Result<String, Fault> {
    let inside = &token.text[1..token.text.len() - 1];
    let mut text = String::with_capacity(inside.len());
    let mut letters = inside.char_indices();
    while let Some((place, letter)) = letters.next() {
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        const ESCAPES: &str = "\\\\ \\\" \\n \\t \\r \\0 \\u{…}";
        let unknown = || Fault::new(token.at + 1 + place, format!("there is no such escape; there are {ESCAPES}"));
        text.push(match letters.next().ok_or_else(unknown)?.1 {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            '0' => '\0',
            same @ ('\\' | '"' | '\'') => same,
            'u' => {
                let rest = letters.as_str();
                let code = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).ok_or_else(unknown)?.0;
                let c = u32::from_str_radix(code, 16).ok().and_then(char::from_u32).ok_or_else(unknown)?;
                letters = inside.char_indices();
                let end = inside.len() - rest.len() + code.len() + 2;
                letters.by_ref().take_while(|(at, c)| at + c.len_utf8() < end).for_each(drop);
                c
            }
            _ => return Err(unknown()),
        });
    }
    Ok(text)
}
