//! Reads the struct: what its leaves are and what every field is. Whatever cannot be a tree is
//! refused here, at the place that has to change and with what to write there.

use proc_macro2::{Ident, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Field, GenericArgument, GenericParam, LitStr, Member, PathArguments, Result,
    Type, WherePredicate,
};

/// A struct that can be a tree.
pub(crate) struct Tree<'a> {
    pub(crate) item: &'a DeriveInput,
    pub(crate) leaf: Leaf<'a>,
    pub(crate) fields: Vec<TreeField<'a>>,
    /// Whether `+`, `-` and products with numbers are written too.
    pub(crate) has_operators: bool,
    /// Whether numbers in single precision may stand in the leaf's place.
    pub(crate) has_singles: bool,
}

impl Tree<'_> {
    /// Whether this type parameter stands for the leaves.
    pub(crate) fn is_leaf(&self, parameter: &Ident) -> bool {
        matches!(self.leaf, Leaf::Parameter(leaf) if leaf == parameter)
    }
}

/// What the leaves are.
#[derive(Clone, Copy)]
pub(crate) enum Leaf<'a> {
    /// Scalars, in the place of this type parameter.
    Parameter(&'a Ident),
    /// Tensors, whose type is the same inside and outside a function.
    Tensor,
}

/// A field and how it is written in an expression: `name` or `0`.
pub(crate) struct TreeField<'a> {
    pub(crate) member: Member,
    pub(crate) ty: &'a Type,
    pub(crate) kind: Kind,
}

/// What a field is in the tree.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A tree itself.
    Leaves,
    /// A tree that is not differentiated.
    Frozen,
    /// Copied, without leaves.
    Static,
}

/// The struct, or every reason why it cannot be a tree.
pub(crate) fn read(item: &DeriveInput) -> Result<Tree<'_>> {
    let data = match &item.data {
        Data::Struct(data) => data,
        Data::Enum(data) => {
            return Err(Error::new(
                data.enum_token.span,
                "an enum cannot be a `Tree`, because a derivative has one shape: write a struct for the \
                 numbers, and keep the choice in a field marked #[tree(static)]",
            ));
        }
        Data::Union(data) => {
            return Err(Error::new(data.union_token.span, "a union cannot be a `Tree`: write a struct"));
        }
    };
    let options = StructOptions::read(item)?;
    let leaf = options.leaf(item)?;
    let mut errors = Errors::default();
    if let Leaf::Parameter(leaf) = leaf {
        check_bounds(item, leaf, &mut errors);
    }
    let members = data.fields.members();
    let fields: Vec<TreeField> = data
        .fields
        .iter()
        .zip(members)
        .filter_map(|(field, member)| {
            let kind = errors.keep(field_kind(field, leaf))?;
            Some(TreeField { member, ty: &field.ty, kind })
        })
        .collect();
    if errors.is_empty() && fields.iter().all(|field| field.kind == Kind::Static) {
        let message = match leaf {
            Leaf::Parameter(leaf) => format!("`{}` has no leaves: give it a field of type `{leaf}`", item.ident),
            Leaf::Tensor => no_leaves(&item.ident),
        };
        errors.push(Error::new(item.ident.span(), message));
    }
    errors.finish()?;
    let has_singles = options.singles && matches!(leaf, Leaf::Parameter(_));
    Ok(Tree { item, leaf, fields, has_operators: !options.no_operators, has_singles })
}

/// That a struct without a type parameter has no field that could be a tensor.
fn no_leaves(name: &Ident) -> String {
    format!(
        "`{name}` has no leaves: numbers, which are f64 outside and Var inside a function, need a type parameter \
         (write `struct {name}<T = f64>` and `T` for every number); arrays are fields of type `Tensor`"
    )
}

/// What is written in `#[tree(...)]` above the struct.
#[derive(Default)]
struct StructOptions {
    leaf: Option<LitStr>,
    no_operators: bool,
    singles: bool,
}

impl StructOptions {
    fn read(item: &DeriveInput) -> Result<Self> {
        let mut options = StructOptions::default();
        for_each_option(&item.attrs, |meta| {
            if meta.path.is_ident("leaf") {
                options.leaf = Some(meta.value()?.parse()?);
                Ok(())
            } else if meta.path.is_ident("no_operators") {
                options.no_operators = true;
                Ok(())
            } else if meta.path.is_ident("f32") {
                options.singles = true;
                Ok(())
            } else if meta.path.is_ident("static") || meta.path.is_ident("frozen") {
                let mark = meta.path.require_ident()?.to_string();
                Err(meta.error(format!("`{mark}` marks a field, not the struct")))
            } else {
                Err(meta.error(
                    "unknown option: a struct takes #[tree(leaf = \"S\")], #[tree(no_operators)] and #[tree(f32)]",
                ))
            }
        })?;
        Ok(options)
    }

    /// The parameter named by `#[tree(leaf = "S")]`, else the first type parameter, else tensors.
    fn leaf<'a>(&self, item: &'a DeriveInput) -> Result<Leaf<'a>> {
        let mut parameters = item.generics.type_params().map(|parameter| &parameter.ident);
        let Some(name) = &self.leaf else {
            let first = parameters.next();
            if first.is_none() {
                check_tensors(item)?;
            }
            return Ok(first.map_or(Leaf::Tensor, Leaf::Parameter));
        };
        match parameters.find(|parameter| **parameter == name.value()) {
            Some(parameter) => Ok(Leaf::Parameter(parameter)),
            None if name.value() == "Tensor" => Ok(Leaf::Tensor),
            None => {
                let message = format!("`{}` is not a type parameter of `{}`", name.value(), item.ident);
                Err(Error::new(name.span(), message))
            }
        }
    }
}

/// Refuses a struct all of whose fields are plain: that it lacks leaves says more than that its
/// fields are static.
fn check_tensors(item: &DeriveInput) -> Result<()> {
    match &item.data {
        Data::Struct(data) if data.fields.iter().all(|field| is_plain(&field.ty)) => {
            Err(Error::new(item.ident.span(), no_leaves(&item.ident)))
        }
        _ => Ok(()),
    }
}

/// Whether a type is made of numbers, text or truth values of the language alone.
fn is_plain(ty: &Type) -> bool {
    const PLAIN: [&str; 17] = [
        "bool", "char", "str", "String", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32",
        "u64", "usize",
    ];
    match ty {
        Type::Array(array) => is_plain(&array.elem),
        Type::Slice(slice) => is_plain(&slice.elem),
        Type::Tuple(tuple) => tuple.elems.iter().any(is_plain),
        Type::Paren(inner) => is_plain(&inner.elem),
        Type::Group(inner) => is_plain(&inner.elem),
        Type::Reference(reference) => is_plain(&reference.elem),
        Type::Path(path) => path.path.segments.last().is_some_and(|last| match &last.arguments {
            // What a list or a map holds is its last argument.
            PathArguments::AngleBracketed(arguments) => match arguments.args.last() {
                Some(GenericArgument::Type(ty)) => is_plain(ty),
                _ => false,
            },
            PathArguments::None | PathArguments::Parenthesized(_) => PLAIN.iter().any(|plain| last.ident == plain),
        }),
        _ => false,
    }
}

/// Refuses whatever demands something of the leaf: a Jacobian puts any type in its place.
fn check_bounds(item: &DeriveInput, leaf: &Ident, errors: &mut Errors) {
    let refuse = |place: &dyn ToTokens| {
        Error::new_spanned(
            place.to_token_stream(),
            format!(
                "the leaf parameter `{leaf}` cannot have bounds, because a Jacobian or Hessian puts other \
                 types in its place: leave it free here and put the bound on the functions that need it"
            ),
        )
    };
    for parameter in &item.generics.params {
        match parameter {
            GenericParam::Type(parameter) => {
                let bounds = &parameter.bounds;
                if !bounds.is_empty() && (parameter.ident == *leaf || mentions(bounds, leaf)) {
                    errors.push(refuse(bounds));
                }
            }
            GenericParam::Lifetime(_) | GenericParam::Const(_) => {}
        }
    }
    let predicates = item.generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    for predicate in predicates {
        if matches!(predicate, WherePredicate::Type(_)) && mentions(predicate, leaf) {
            errors.push(refuse(predicate));
        }
    }
}

/// Whether the field is marked static, and whether its type agrees.
fn field_kind(field: &Field, leaf: Leaf) -> Result<Kind> {
    let mut kind = Kind::Leaves;
    for_each_option(&field.attrs, |meta| {
        let marked = match () {
            () if meta.path.is_ident("static") => Some(Kind::Static),
            () if meta.path.is_ident("frozen") => Some(Kind::Frozen),
            () => None,
        };
        if let Some(marked) = marked {
            if kind != Kind::Leaves && kind != marked {
                return Err(meta.error("a static field has no leaves that could be frozen: keep one of the two marks"));
            }
            kind = marked;
            Ok(())
        } else if meta.path.is_ident("leaf") {
            Err(meta.error("`leaf` is an option of the struct: write it above `struct`"))
        } else {
            Err(meta.error("unknown option: a field takes #[tree(static)] and #[tree(frozen)]"))
        }
    })?;
    let refusal = match leaf {
        Leaf::Parameter(leaf) => refuse_scalar(field, leaf, kind),
        Leaf::Tensor => refuse_tensor(field, kind),
    };
    match refusal {
        Some(message) => Err(Error::new(field.ty.span(), message)),
        None => Ok(kind),
    }
}

/// Why a field of a struct of scalars cannot be what it is meant to be.
fn refuse_scalar(field: &Field, leaf: &Ident, kind: Kind) -> Option<String> {
    match (kind, mentions(&field.ty, leaf)) {
        (Kind::Leaves | Kind::Frozen, false) if names_tensor(&field.ty) => Some(format!(
            "the leaves of this struct are the numbers in the place of `{leaf}`, its first type parameter: for a \
             struct of tensors write #[tree(leaf = \"Tensor\")] above it"
        )),
        (Kind::Leaves | Kind::Frozen, false) => Some(format!(
            "plain fields are static: mark them #[tree(static)] (or write `{leaf}` for the numbers in \
             this one)"
        )),
        (Kind::Static, true) => Some(format!(
            "a static field cannot name the leaf parameter `{leaf}`, because its copy would have other \
             leaves: write f64, or leave the mark off"
        )),
        (Kind::Leaves | Kind::Frozen, true) if matches!(field.ty, Type::Reference(_)) => Some(format!(
            "a derivative owns its numbers, so its fields cannot be references: write `Vec<{leaf}>` for \
             a slice, and the type itself for a reference to it"
        )),
        (Kind::Leaves | Kind::Frozen, true) | (Kind::Static, false) => None,
    }
}

/// Why a field of a struct of tensors cannot be what it is meant to be.
fn refuse_tensor(field: &Field, kind: Kind) -> Option<String> {
    match kind {
        Kind::Leaves | Kind::Frozen if is_plain(&field.ty) => {
            Some("plain fields are static: mark them #[tree(static)]".to_owned())
        }
        Kind::Leaves | Kind::Frozen if matches!(field.ty, Type::Reference(_)) => Some(
            "a derivative owns its tensors, so its fields cannot be references: write the type itself, whose clone is \
             cheap"
                .to_owned(),
        ),
        Kind::Leaves | Kind::Frozen | Kind::Static => None,
    }
}

/// Whether a type is `Tensor`, or made of it.
fn names_tensor(ty: &Type) -> bool {
    named_in(ty.to_token_stream(), &Ident::new("Tensor", ty.span()))
}

/// Calls `read` with everything in the parentheses of `#[tree(...)]`.
fn for_each_option(
    attributes: &[Attribute],
    mut read: impl FnMut(syn::meta::ParseNestedMeta) -> Result<()>,
) -> Result<()> {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("tree"))
        .try_for_each(|attribute| attribute.parse_nested_meta(&mut read))
}

/// Whether the tokens name a type parameter: its identifier, but not as the tail of a path
/// (`other::T`) or as a lifetime (`'T`).
pub(crate) fn mentions(tokens: &(impl ToTokens + ?Sized), parameter: &Ident) -> bool {
    named_in(tokens.to_token_stream(), parameter)
}

fn named_in(tokens: TokenStream, parameter: &Ident) -> bool {
    // The two tokens before: `::` comes as two of them.
    let mut before = [None, None];
    for token in tokens {
        let punct = match token {
            TokenTree::Group(group) => {
                if named_in(group.stream(), parameter) {
                    return true;
                }
                None
            }
            TokenTree::Ident(ident) => {
                let is_tail = before == [Some((':', Spacing::Joint)), Some((':', Spacing::Alone))];
                let is_lifetime = before[1] == Some(('\'', Spacing::Joint));
                if ident == *parameter && !is_tail && !is_lifetime {
                    return true;
                }
                None
            }
            TokenTree::Punct(punct) => Some((punct.as_char(), punct.spacing())),
            TokenTree::Literal(_) => None,
        };
        before = [before[1], punct];
    }
    false
}

/// The errors so far: all are shown at once.
#[derive(Default)]
struct Errors(Option<Error>);

impl Errors {
    fn push(&mut self, error: Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    fn keep<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    fn finish(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}
