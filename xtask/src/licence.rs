//! Licence expressions, as packages state them: SPDX 2.3, annex D, and the older `MIT/Apache-2.0`.

/// Whether `expression` can be met with the licences `allowed`. An expression that cannot be read
/// is an error that quotes it.
///
/// ```text
/// either  := both (("OR" | "/") both)*
/// both    := licence ("AND" licence)*
/// licence := name ["WITH" exception] | "(" either ")"
/// ```
pub(crate) fn is_met(expression: &str, allowed: &[String]) -> Result<bool, String> {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut reader = Reader { words: spaced.split_whitespace().collect(), next: 0, allowed };
    match reader.either() {
        Some(met) if reader.next == reader.words.len() => Ok(met),
        _ => Err(format!("`{expression}` is not a licence expression")),
    }
}

struct Reader<'a> {
    words: Vec<&'a str>,
    next: usize,
    allowed: &'a [String],
}

impl Reader<'_> {
    fn takes(&mut self, word: &str) -> bool {
        let found = self.words.get(self.next) == Some(&word);
        self.next += usize::from(found);
        found
    }

    fn either(&mut self) -> Option<bool> {
        let mut met = self.both()?;
        while self.takes("OR") {
            met |= self.both()?;
        }
        Some(met)
    }

    fn both(&mut self) -> Option<bool> {
        let mut met = self.licence()?;
        while self.takes("AND") {
            met &= self.licence()?;
        }
        Some(met)
    }

    fn licence(&mut self) -> Option<bool> {
        if self.takes("(") {
            let met = self.either()?;
            return self.takes(")").then_some(met);
        }
        let mut name = self.name()?.to_owned();
        if self.takes("WITH") {
            name = format!("{name} WITH {}", self.name()?);
        }
        Some(self.allowed.contains(&name))
    }

    fn name(&mut self) -> Option<&str> {
        let word = *self.words.get(self.next)?;
        self.next += 1;
        (!["OR", "AND", "WITH", "(", ")"].contains(&word)).then_some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::is_met;

    fn check(expression: &str, met: bool) {
        let allowed = ["MIT", "Zlib"].map(str::to_owned);
        assert_eq!(is_met(expression, &allowed), Ok(met), "{expression}");
    }

    #[test]
    fn alternatives_need_one_and_conjunctions_all() {
        check("MIT", true);
        check("GPL-3.0", false);
        check("Apache-2.0 OR MIT", true);
        check("Apache-2.0/MIT", true);
        check("Apache-2.0 / MIT", true);
        check("MIT AND GPL-3.0", false);
        check("(MIT OR Apache-2.0) AND Zlib", true);
        check("(MIT OR Apache-2.0) AND Unicode-3.0", false);
        check("GPL-3.0 OR MIT AND Zlib", true);
        check("GPL-3.0 AND MIT OR Zlib", true);
        // The exception is a part of the licence's name.
        check("MIT WITH LLVM-exception", false);
        check("GPL-3.0 WITH LLVM-exception OR MIT", true);
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for expression in ["", "MIT OR", "OR MIT", "(MIT", "MIT)", "MIT Zlib", "MIT WITH", "()"] {
            assert!(is_met(expression, &["MIT".to_owned()]).is_err(), "{expression}");
        }
    }
}
