//! What an elementwise function states beside its value and its derivative.

/// How people call a function on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// The names of its arguments.
    pub arguments: &'static [&'static str],
    /// One line about it.
    pub line: &'static str,
}

/// What the rule of a partial derivative reads; everything else is dead to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// The first operand.
    pub x: bool,
    /// The second operand.
    pub y: bool,
    /// The function's own result.
    pub result: bool,
}

impl Reads {
    pub(super) const NOTHING: Reads = Reads { x: false, y: false, result: false };
    pub(super) const X: Reads = Reads { x: true, ..Reads::NOTHING };
    pub(super) const Y: Reads = Reads { y: true, ..Reads::NOTHING };
    pub(super) const RESULT: Reads = Reads { result: true, ..Reads::NOTHING };
    /// The operand of a function of one argument, and its result.
    pub(super) const BOTH: Reads = Reads::X.and(Reads::RESULT);

    pub(super) const fn and(self, other: Reads) -> Reads {
        Reads { x: self.x || other.x, y: self.y || other.y, result: self.result || other.result }
    }
}

/// Where a function of `N` arguments is well behaved, and where it is not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Domain<const N: usize> {
    /// For each argument an interval, well inside the domain, on which the value and the derivatives are finite and of
    /// moderate size; `None` where any moderate number will do.
    pub inside: [Option<[f64; 2]>; N],
    /// Points at which the value or one of the first two derivatives is not finite: at least one on every side on which
    /// the domain ends, or numbers overflow long before the argument does.
    pub edges: &'static [[f64; N]],
}

/// The way people call each function, from the lists in `unary.rs` and `binary.rs`.
macro_rules! called {
    (
        $(#[$about:meta])*
        pub enum $family:ident ($codes:ident) {
            $( $(#[$doc:meta])* $name:ident $(($($number:tt)*))? = $text:literal $([$($called:tt)*])?, )*
        }
    ) => {
        impl $family {
            /// Its arguments and a line about it, for help texts; `None` of a function that has an operator for its name,
            /// that carries a number, or that exists for the sake of a derivative.
            pub const fn about(self) -> Option<$crate::ops::About> {
                match self { $( Self::$name { .. } => $crate::ops::facts::called!(@about $($($called)*)?), )* }
            }
        }
    };
    (@about ($($argument:ident),+) $line:literal $(, $($more:tt)*)?) => {
        Some($crate::ops::About { arguments: &[$(stringify!($argument)),+], line: $line })
    };
    (@about $name:ident, $twin:ident: $($about:tt)+) => { $crate::ops::facts::called!(@about $($about)+) };
    (@about $method:ident | $name:ident, $twin:ident: $($about:tt)+) => {
        $crate::ops::facts::called!(@about $($about)+)
    };
    (@about $($method:ident)?) => { None };
}
pub(crate) use called;

#[cfg(test)]
mod tests;
