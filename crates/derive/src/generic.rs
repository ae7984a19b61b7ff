//! `#[wengert::generic]`: finds the plain numbers that stand left of an operator, and writes `::wengert::lit` around them.
//!
//! A macro sees how an expression is written, not its type. So a number counts as plain if its spelling says so; see
//! [`Plain::holds`]. The operators of `Lit` with carriers and numbers then leave the type of every expression as it was.

use std::collections::HashMap;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Block, Error, Expr, Item, Lit, Pat, Result, Signature, Type, UnOp};

/// The item with `lit` where it is needed, or why it cannot be.
pub(crate) fn write(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    if !options.is_empty() {
        return Err(Error::new_spanned(options, "`generic` takes no options: write #[wengert::generic]"));
    }
    let mut item: Item = syn::parse2(item)?;
    match &item {
        Item::Fn(_) | Item::Impl(_) | Item::Trait(_) => {}
        Item::Mod(module) if module.content.is_some() => {}
        Item::Mod(module) => {
            let message =
                "the macro cannot see this module's file: write #[wengert::generic] on its functions and impls";
            return Err(Error::new_spanned(module, message));
        }
        other => {
            let message = "#[wengert::generic] goes on a function, an impl, a trait or a module with its body here";
            return Err(Error::new_spanned(other, message));
        }
    }
    let mut constants = Bindings::default();
    constants.visit_item(&item);
    let mut writer = Writer { constants: constants.constants, plain: Plain::default() };
    writer.visit_item_mut(&mut item);
    Ok(item.into_token_stream())
}

/// Writes `lit` into every function body it meets.
struct Writer {
    /// The constants of the item whose type is written as `f64`.
    constants: Vec<String>,
    plain: Plain,
}

impl Writer {
    /// Goes through the body of a function with the names that are plain in it.
    fn body(&mut self, signature: &Signature, body: &mut Block) {
        // The operators of `Lit` are functions of a trait, which a constant cannot call.
        if signature.constness.is_some() {
            return;
        }
        let mut bindings = Bindings::default();
        bindings.visit_signature(signature);
        bindings.visit_block(body);
        let outer = std::mem::replace(&mut self.plain, bindings.plain(&self.constants));
        self.visit_block_mut(body);
        self.plain = outer;
    }
}

impl VisitMut for Writer {
    fn visit_item_fn_mut(&mut self, function: &mut syn::ItemFn) {
        self.body(&function.sig, &mut function.block);
    }
    fn visit_impl_item_fn_mut(&mut self, function: &mut syn::ImplItemFn) {
        self.body(&function.sig, &mut function.block);
    }
    fn visit_trait_item_fn_mut(&mut self, function: &mut syn::TraitItemFn) {
        if let Some(body) = &mut function.default {
            self.body(&function.sig, body);
        }
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        visit_mut::visit_expr_mut(self, expr);
        let Expr::Binary(binary) = expr else { return };
        let needed = is_operator(&binary.op)
            && self.plain.holds(&binary.left)
            && !self.plain.holds(&binary.right)
            && !says_its_type(&binary.left);
        if needed {
            let left = std::mem::replace(&mut *binary.left, Expr::PLACEHOLDER);
            *binary.left = in_lit(left);
        }
    }

    // What a constant is made of.
    fn visit_item_const_mut(&mut self, _: &mut syn::ItemConst) {}
    fn visit_item_static_mut(&mut self, _: &mut syn::ItemStatic) {}
    fn visit_item_enum_mut(&mut self, _: &mut syn::ItemEnum) {}
    fn visit_impl_item_const_mut(&mut self, _: &mut syn::ImplItemConst) {}
    fn visit_trait_item_const_mut(&mut self, _: &mut syn::TraitItemConst) {}
    fn visit_expr_const_mut(&mut self, _: &mut syn::ExprConst) {}
    fn visit_expr_repeat_mut(&mut self, repeat: &mut syn::ExprRepeat) {
        self.visit_expr_mut(&mut repeat.expr);
    }
    fn visit_type_mut(&mut self, _: &mut Type) {}
    fn visit_generics_mut(&mut self, _: &mut syn::Generics) {}
    fn visit_angle_bracketed_generic_arguments_mut(&mut self, _: &mut syn::AngleBracketedGenericArguments) {}
    fn visit_pat_mut(&mut self, _: &mut Pat) {}
}

/// `::wengert::lit(left)`, at the place of `left` in the user's code; parentheses become those of the call.
fn in_lit(left: Expr) -> Expr {
    let span = left.span();
    let inner = match left {
        Expr::Paren(paren) => *paren.expr,
        left => left,
    };
    // The path is looked up as in the user's code, whatever macro the operand came from.
    let span = Span::call_site().located_at(span);
    Expr::Verbatim(quote_spanned!(span=> ::wengert::lit(#inner)))
}

/// Whether `lit op x` is defined: arithmetic and comparisons.
fn is_operator(op: &BinOp) -> bool {
    is_arithmetic(op)
        || matches!(op, BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_))
}

fn is_arithmetic(op: &BinOp) -> bool {
    matches!(op, BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_) | BinOp::Div(_) | BinOp::Rem(_))
}

/// Whether this is a literal alone that says its type, `2.0_f64`: then it is meant to stay.
fn says_its_type(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Float(number) => !number.suffix().is_empty(),
            Lit::Int(number) => !number.suffix().is_empty(),
            _ => false,
        },
        Expr::Unary(unary) => says_its_type(&unary.expr),
        Expr::Paren(paren) => says_its_type(&paren.expr),
        Expr::Group(group) => says_its_type(&group.expr),
        _ => false,
    }
}

/// Which expressions are plain numbers by their spelling.
#[derive(Default)]
struct Plain {
    names: Vec<String>,
}

impl Plain {
    /// Whether this is an `f64` by its spelling: a literal with a point, a name whose type is written or follows, a constant
    /// of `std::f64`, `as f64`, `f64::from(…)`, and arithmetic and functions of these.
    fn holds(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Float(number) => matches!(number.suffix(), "" | "f64"),
                Lit::Int(number) => number.suffix() == "f64",
                _ => false,
            },
            Expr::Paren(paren) => self.holds(&paren.expr),
            Expr::Group(group) => self.holds(&group.expr),
            Expr::Unary(unary) => matches!(unary.op, UnOp::Neg(_)) && self.holds(&unary.expr),
            Expr::Binary(binary) => is_arithmetic(&binary.op) && self.holds(&binary.left) && self.holds(&binary.right),
            Expr::Cast(cast) => is_f64(&cast.ty),
            Expr::Path(path) => path.qself.is_none() && self.names_plain(&path.path),
            Expr::MethodCall(call) => is_function(&call.method.to_string()) && self.holds(&call.receiver),
            Expr::Call(call) => match &*call.func {
                Expr::Path(path) if path.qself.is_none() => {
                    let words = words(&path.path);
                    let [.., owner, name] = words.as_slice() else { return false };
                    owner == "f64" && (name == "from" || is_function(name))
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether a path is a known name, or a constant of `std::f64`.
    fn names_plain(&self, path: &syn::Path) -> bool {
        let words = words(path);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            [name] => self.names.iter().any(|known| known == name) || is_distinctive(name),
            ["Self", name] => self.names.iter().any(|known| known == name),
            [.., "f64", "consts", _] => true,
            [.., "f64", name] => name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_'),
            _ => false,
        }
    }
}

/// The segments of a path; empty if one has arguments.
fn words(path: &syn::Path) -> Vec<String> {
    if path.segments.iter().any(|segment| !segment.arguments.is_none()) {
        return Vec::new();
    }
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

fn is_f64(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.qself.is_none() && path.path.is_ident("f64"))
}

/// The constants of `std::f64::consts` whose names are hardly anybody else's; `E` is.
fn is_distinctive(name: &str) -> bool {
    matches!(name, "PI" | "TAU" | "SQRT_2" | "LN_2" | "LN_10" | "LOG2_E" | "LOG10_E" | "LOG2_10" | "LOG10_2")
        || name.starts_with("FRAC_") && name[5..].starts_with(|digit: char| digit.is_ascii_digit())
}

/// The methods of `f64` that give an `f64`.
fn is_function(name: &str) -> bool {
    const FUNCTIONS: &str = "abs acos acosh asin asinh atan atan2 atanh cbrt ceil clamp copysign cos cosh div_euclid exp exp2 \
        exp_m1 floor fract hypot ln ln_1p log log10 log2 max min mul_add powf powi recip rem_euclid round round_ties_even \
        signum sin sinh sqrt tan tanh to_degrees to_radians trunc";
    FUNCTIONS.split_whitespace().any(|function| function == name)
}

/// What the names of a function are bound to.
#[derive(Default)]
struct Bindings {
    /// Constants whose type is written as `f64`.
    constants: Vec<String>,
    /// Every binding of every name.
    bound: HashMap<String, Vec<Bound>>,
}

/// One binding of a name.
enum Bound {
    /// `name: f64`
    Number,
    /// `let name = value;`
    To(Box<Expr>),
    /// Whose type its spelling does not say.
    Unknown,
}

impl Bindings {
    /// The names that are `f64` wherever they are bound.
    fn plain(self, constants: &[String]) -> Plain {
        let outer = constants.iter().filter(|name| !self.bound.contains_key(*name));
        let mut plain = Plain { names: outer.chain(&self.constants).cloned().collect() };
        // A name may be bound to an expression of others: until nothing more follows.
        loop {
            let follows = |bound: &Bound| match bound {
                Bound::Number => true,
                Bound::To(value) => plain.holds(value),
                Bound::Unknown => false,
            };
            let fresh = self.bound.iter().filter(|(name, _)| !plain.names.contains(name));
            let fresh: Vec<String> =
                fresh.filter(|(_, all)| all.iter().all(follows)).map(|(name, _)| name.clone()).collect();
            if fresh.is_empty() {
                return plain;
            }
            plain.names.extend(fresh);
        }
    }

    fn bind(&mut self, name: &syn::Ident, to: Bound) {
        self.bound.entry(name.to_string()).or_default().push(to);
    }
}

/// The name that a pattern binds a value to as it is.
fn whole_name(pattern: &Pat) -> Option<&syn::Ident> {
    match pattern {
        Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => Some(&name.ident),
        _ => None,
    }
}

impl<'ast> Visit<'ast> for Bindings {
    fn visit_pat_type(&mut self, pattern: &'ast syn::PatType) {
        match whole_name(&pattern.pat) {
            Some(name) if is_f64(&pattern.ty) => self.bind(name, Bound::Number),
            _ => visit::visit_pat_type(self, pattern),
        }
    }
    fn visit_local(&mut self, local: &'ast syn::Local) {
        match (whole_name(&local.pat), &local.init) {
            (Some(name), Some(init)) => {
                self.bind(name, Bound::To(init.expr.clone()));
                visit::visit_local_init(self, init);
            }
            _ => visit::visit_local(self, local),
        }
    }
    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        self.bind(&pattern.ident, Bound::Unknown);
        visit::visit_pat_ident(self, pattern);
    }
    fn visit_field_pat(&mut self, field: &'ast syn::FieldPat) {
        visit::visit_field_pat(self, field);
    }
    fn visit_item_const(&mut self, constant: &'ast syn::ItemConst) {
        self.constant(&constant.ident, &constant.ty);
    }
    fn visit_item_static(&mut self, constant: &'ast syn::ItemStatic) {
        self.constant(&constant.ident, &constant.ty);
    }
    fn visit_impl_item_const(&mut self, constant: &'ast syn::ImplItemConst) {
        self.constant(&constant.ident, &constant.ty);
    }
    fn visit_trait_item_const(&mut self, constant: &'ast syn::TraitItemConst) {
        self.constant(&constant.ident, &constant.ty);
    }
    fn visit_const_param(&mut self, parameter: &'ast syn::ConstParam) {
        self.bind(&parameter.ident, Bound::Unknown);
    }
}

impl Bindings {
    fn constant(&mut self, name: &syn::Ident, ty: &Type) {
        if is_f64(ty) {
            self.constants.push(name.to_string());
        } else {
            self.bind(name, Bound::Unknown);
        }
    }
}
