//! Comparisons: they carry no derivative; recorded, they are guards or the conditions of `select`.

super::family! {
    /// A comparison of two numbers; every one but [`Compare::Ne`] and [`Compare::Unordered`] is
    /// false when an operand is NaN.
    pub enum Compare (Code) {
        /// `x < y`
        Lt = "lt",
        /// `x <= y`
        Le = "le",
        /// `x > y`
        Gt = "gt",
        /// `x >= y`
        Ge = "ge",
        /// `x == y`
        Eq = "eq",
        /// `x != y`; true when an operand is NaN
        Ne = "ne",
        /// At least one operand is NaN.
        Unordered = "unordered",
    }
}

impl Compare {
    /// The outcome for two plain numbers.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn eval<T: PartialOrd>(self, x: T, y: T) -> bool {
        match self {
            Self::Lt => x < y,
            Self::Le => x <= y,
            Self::Gt => x > y,
            Self::Ge => x >= y,
            Self::Eq => x == y,
            Self::Ne => x != y,
            Self::Unordered => x.partial_cmp(&y).is_none(),
        }
    }

    /// The sign between the operands, as one writes it.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Unordered => "unordered with",
        }
    }
}
