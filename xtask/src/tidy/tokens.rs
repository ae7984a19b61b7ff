//! The tokens of a Rust file.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::Finding;
use crate::workspace::Source;

/// The tokens of a file, without comments. Doc comments are attributes whose text is a literal.
pub(crate) fn tokens(file: &Source) -> Result<Vec<TokenTree>, Finding> {
    match file.text.parse::<TokenStream>() {
        Ok(stream) => Ok(stream.into_iter().collect()),
        Err(error) => {
            let line = error.span().start().line;
            Err(Finding::new(&file.path, line, "these are not tokens of Rust"))
        }
    }
}

/// Calls `visit` with what follows from every token on, inside groups as well.
pub(crate) fn each(tokens: &[TokenTree], visit: &mut impl FnMut(&[TokenTree])) {
    for (start, token) in tokens.iter().enumerate() {
        visit(&tokens[start..]);
        if let TokenTree::Group(group) = token {
            each(&inside(group), visit);
        }
    }
}

/// The tokens between the delimiters of a group.
pub(crate) fn inside(group: &proc_macro2::Group) -> Vec<TokenTree> {
    group.stream().into_iter().collect()
}

pub(crate) fn is_word(token: Option<&TokenTree>, word: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == word)
}

pub(crate) fn is_sign(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

/// The attribute that starts here, `#[…]` or `#![…]`: the tokens between its brackets.
pub(crate) fn attribute(tokens: &[TokenTree]) -> Option<Vec<TokenTree>> {
    if !is_sign(tokens.first(), '#') {
        return None;
    }
    let group = if is_sign(tokens.get(1), '!') { tokens.get(2) } else { tokens.get(1) };
    match group {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Bracket => Some(inside(group)),
        _ => None,
    }
}

/// The line a token starts on.
pub(crate) fn line(token: &TokenTree) -> usize {
    token.span().start().line
}
