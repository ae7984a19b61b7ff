//! Functions of truth values.

/// Functions of truth values, element by element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Logic {
    /// Both.
    And,
    /// At least one.
    Or,
    /// Exactly one.
    Xor,
    /// The opposite.
    Not,
}

impl Logic {
    /// Every member of the family.
    pub const ALL: [Logic; 4] = [Logic::And, Logic::Or, Logic::Xor, Logic::Not];

    /// The name, as in listings.
    pub const fn name(self) -> &'static str {
        match self {
            Logic::And => "and",
            Logic::Or => "or",
            Logic::Xor => "xor",
            Logic::Not => "not",
        }
    }
}
