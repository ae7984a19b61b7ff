//! Tokens to the Program, by recursive descent: one token says what follows, so that nothing is tried and taken back,
//! and the message names the place.

use std::collections::HashMap;
use std::sync::Arc;

use super::Fault;
use super::token::{Token, TokenKind, unescape};
use crate::array::{DType, Type, element_count};
use crate::primitives::{Attribute, Literal, Patterns, operation};
use crate::program::{Builder, Program, Value};

/// The deepest nesting of Programs in options. A level takes a few kilobytes of stack in a debug build.
pub(super) const MAX_DEPTH: usize = 64;

type Parsed<T> = Result<T, Fault>;

/// The Program that is the whole text.
pub(super) fn program(tokens: &[Token<'_>]) -> Parsed<Program> {
    let mut parser = Parser { tokens, next: 0, patterns: Patterns::new() };
    let (program, _) = (parser.program(0)?, parser.take(TokenKind::End, "the end of the text")?);
    Ok(program)
}

struct Parser<'t, 's> {
    /// The last one is [`TokenKind::End`], and is never taken away.
    tokens: &'t [Token<'s>],
    next: usize,
    /// The sparse patterns so far.
    patterns: Patterns,
}

/// The values that are defined, by their names in the text.
type Names<'s> = HashMap<&'s str, Value>;

impl<'s> Parser<'_, 's> {
    fn peek(&self) -> Token<'s> {
        self.tokens[self.next]
    }

    fn advance(&mut self) -> Token<'s> {
        let token = self.peek();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    /// Takes the next token if it is of this kind.
    fn takes(&mut self, kind: TokenKind) -> bool {
        let found = self.peek().kind == kind;
        if found {
            self.advance();
        }
        found
    }

    /// Takes a token of this kind; `what` names it in the message if it is not there.
    fn take(&mut self, kind: TokenKind, what: &str) -> Parsed<Token<'s>> {
        if self.peek().kind == kind { Ok(self.advance()) } else { self.expected(what) }
    }

    fn sign(&mut self, sign: char) -> Parsed<Token<'s>> {
        self.take(TokenKind::Sign(sign), &format!("`{sign}`"))
    }

    fn expected<T>(&self, what: &str) -> Parsed<T> {
        let found = self.peek();
        Err(Fault::new(found.at, format!("expected {what}, found {found}")))
    }

    /// Items between commas up to a closing sign, which is taken.
    fn list<T>(&mut self, close: char, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        if self.takes(TokenKind::Sign(close)) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.takes(TokenKind::Sign(close)) {
                return Ok(items);
            }
            if !self.takes(TokenKind::Sign(',')) {
                return self.expected(&format!("`,` or `{close}`"));
            }
        }
    }

    fn program(&mut self, depth: usize) -> Parsed<Program> {
        let word = self.keyword("program")?;
        if depth > MAX_DEPTH {
            return Err(Fault::new(word.at, format!("programs are nested more than {MAX_DEPTH} deep")));
        }
        let (mut b, mut scope) = (Builder::new(), Names::new());
        self.sign('(')?;
        self.list(')', |parser| parser.input(&mut b, &mut scope))?;
        self.sign('{')?;
        loop {
            while self.takes(TokenKind::Newline) || self.takes(TokenKind::Sign(';')) {}
            match self.peek() {
                Token { kind: TokenKind::Word, text: "return", .. } => break,
                Token { kind: TokenKind::Value | TokenKind::Sign('='), .. } => {
                    self.equation(&mut b, &mut scope, depth)?
                }
                _ => return self.expected("an equation or `return`"),
            }
        }
        self.advance();
        let outputs = self.values(&scope)?;
        while self.takes(TokenKind::Newline) || self.takes(TokenKind::Sign(';')) {}
        self.take(TokenKind::Sign('}'), "a value or `}`")?;
        Ok(b.finish(&outputs))
    }

    fn keyword(&mut self, word: &str) -> Parsed<Token<'s>> {
        match self.peek() {
            Token { kind: TokenKind::Word, text, .. } if text == word => Ok(self.advance()),
            _ => self.expected(&format!("`{word}`")),
        }
    }

    fn input(&mut self, b: &mut Builder, scope: &mut Names<'s>) -> Parsed<()> {
        let value = self.take(TokenKind::Value, "an input, such as `v0`")?;
        let name = match self.peek().kind {
            TokenKind::String => unescape(&self.advance())?,
            TokenKind::Sign(':') => String::new(),
            _ => return self.expected("a name in quotes or `:`"),
        };
        self.sign(':')?;
        let ty = self.ty()?;
        define(scope, value, b.input(&name, ty))
    }

    fn ty(&mut self) -> Parsed<Type> {
        let word = self.peek();
        let Some(dtype) = dtype(word.text) else { return self.expected("a type: bool, i64, f32 or f64 with a shape") };
        self.advance();
        self.sign('[')?;
        let shape: Vec<usize> = self.list(']', |parser| {
            let length = parser.take(TokenKind::Number, "the length of an axis")?;
            length.text.parse().map_err(|_| Fault::new(length.at, format!("{length} is not the length of an axis")))
        })?;
        let ty = Type { dtype, shape };
        match element_count(&ty.shape) {
            Some(_) => Ok(ty),
            None => Err(Fault::too_large(word.at, format!("{ty} does not fit in memory"))),
        }
    }

    fn equation(&mut self, b: &mut Builder, scope: &mut Names<'s>, depth: usize) -> Parsed<()> {
        let start = self.peek();
        let results = if start.kind == TokenKind::Value { self.results()? } else { Vec::new() };
        self.take(TokenKind::Sign('='), "`,` or `=`")?;
        let name = self.take(TokenKind::Word, "the name of an operation")?;
        let options = if self.takes(TokenKind::Sign('[')) { self.options(depth)? } else { Vec::new() };
        let wrong = |why: String| Fault::new(name.at, why);
        let op = match operation(name.text, options, &mut self.patterns) {
            None => return Err(wrong(format!("there is no operation {name}"))),
            Some(op) => op.map_err(|why| wrong(format!("{name}: {}", why.0)))?,
        };
        let args = self.values(scope)?;
        if !matches!(self.peek().kind, TokenKind::Newline | TokenKind::Sign(';' | '}')) {
            return self.expected("a value or the end of the equation");
        }
        let outs = b.emit(op, &args).map_err(|error| wrong(error.to_string()))?;
        if outs.len() != results.len() {
            let why = format!("{name} has {} results, and the equation {}", outs.len(), results.len());
            return Err(Fault::new(start.at, why));
        }
        for (out, (value, ty)) in outs.into_iter().zip(results) {
            if *b.ty(out) != ty {
                return Err(Fault::new(value.at, format!("{value} is said to be {ty}, and is {}", b.ty(out))));
            }
            define(scope, value, out)?;
        }
        Ok(())
    }

    fn results(&mut self) -> Parsed<Vec<(Token<'s>, Type)>> {
        let mut results = Vec::new();
        loop {
            let value = self.take(TokenKind::Value, "a result, such as `v1`")?;
            self.sign(':')?;
            results.push((value, self.ty()?));
            if !self.takes(TokenKind::Sign(',')) {
                return Ok(results);
            }
        }
    }

    /// Values that are defined, up to the first other token.
    fn values(&mut self, scope: &Names<'s>) -> Parsed<Vec<Value>> {
        let mut values = Vec::new();
        while self.peek().kind == TokenKind::Value {
            let token = self.advance();
            match scope.get(token.text) {
                Some(&value) => values.push(value),
                None => {
                    return Err(Fault::new(token.at, format!("there is no value {} before this place", token.text)));
                }
            }
        }
        Ok(values)
    }

    /// Options behind `[`.
    fn options(&mut self, depth: usize) -> Parsed<Vec<(String, Attribute)>> {
        let mut names: Vec<&str> = Vec::new();
        self.list(']', |parser| {
            let name = parser.take(TokenKind::Word, "the name of an option")?;
            if names.contains(&name.text) {
                return Err(Fault::new(name.at, format!("the option {name} is given twice")));
            }
            names.push(name.text);
            parser.sign('=')?;
            Ok((name.text.to_owned(), parser.option(depth)?))
        })
    }

    fn option(&mut self, depth: usize) -> Parsed<Attribute> {
        let token = self.peek();
        match token.kind {
            TokenKind::Number => self.number(),
            TokenKind::String => Ok(Attribute::Word(unescape(&self.advance())?)),
            TokenKind::Word if token.text == "program" => Ok(Attribute::Program(Arc::new(self.program(depth + 1)?))),
            TokenKind::Word | TokenKind::Value => Ok(Attribute::Word(self.advance().text.to_owned())),
            TokenKind::Sign('[') => {
                self.advance();
                if self.peek().text == "program" {
                    let programs = self.list(']', |parser| Ok(Arc::new(parser.program(depth + 1)?)))?;
                    return Ok(Attribute::Programs(programs));
                }
                if self.peek().kind != TokenKind::Sign('[') {
                    return Ok(Attribute::Integers(self.list(']', Self::integer)?));
                }
                let lists = self.list(']', |parser| {
                    parser.sign('[')?;
                    parser.list(']', Self::integer)
                })?;
                Ok(Attribute::Lists(lists))
            }
            _ => self.expected("a number, word, list or program"),
        }
    }

    fn integer(&mut self) -> Parsed<i128> {
        let token = self.take(TokenKind::Number, "an integer")?;
        token.text.parse().map_err(|_| Fault::new(token.at, format!("{token} is not an integer that fits")))
    }

    /// An integer without a type, or a number with its type.
    fn number(&mut self) -> Parsed<Attribute> {
        let token = self.peek();
        let suffix = self.tokens.get(self.next + 1).and_then(|suffix| dtype(suffix.text));
        let Some(dtype) = suffix else {
            let is_integer = token.text.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
            if is_integer {
                return self.integer().map(Attribute::Integer);
            }
            return Err(Fault::new(token.at, format!("{token} needs its type behind it, as in `1.5f64`")));
        };
        self.advance();
        self.advance();
        match literal(token.text, dtype) {
            Some(literal) => Ok(Attribute::Literal(literal)),
            None => Err(Fault::new(token.at, format!("{token} is not a number that fits {dtype}"))),
        }
    }
}

/// A new name; every name is defined once.
fn define<'s>(scope: &mut Names<'s>, token: Token<'s>, value: Value) -> Parsed<()> {
    match scope.insert(token.text, value) {
        None => Ok(()),
        Some(_) => Err(Fault::new(token.at, format!("{} is defined twice", token.text))),
    }
}

fn dtype(word: &str) -> Option<DType> {
    DType::ALL.into_iter().find(|dtype| dtype.name() == word)
}

/// The number of this type that the digits are nearest to; `None` if they are too large, or are no such number.
fn literal(digits: &str, dtype: DType) -> Option<Literal> {
    // Digits that round to infinity are refused; `inf` is written as such.
    let named = digits.trim_start_matches('-') == "inf";
    Some(match dtype {
        DType::Bool => return None,
        DType::I64 => Literal::I64(digits.parse().ok()?),
        DType::F32 => Literal::F32(digits.parse().ok().filter(|x: &f32| named || !x.is_infinite())?),
        DType::F64 => Literal::F64(digits.parse().ok().filter(|x: &f64| named || !x.is_infinite())?),
    })
}
