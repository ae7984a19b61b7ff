//! Reads the struct: its leaf parameter and what every field is. Whatever cannot be a tree is
//! refused here, at the place that has to change and with what to write there.

use proc_macro2::{Ident, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Field, GenericParam, LitStr, Member, Result, Type, WherePredicate};

/// A struct that can be a tree.
pub(crate) struct Tree<'a> {
    pub(crate) item: &'a DeriveInput,
    /// The type parameter in whose place the leaves are.
    pub(crate) leaf: &'a Ident,
    pub(crate) fields: Vec<TreeField<'a>>,
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
    let leaf = leaf_parameter(item)?;
    let mut errors = Errors::default();
    check_bounds(item, leaf, &mut errors);
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
        errors.push(Error::new(
            item.ident.span(),
            format!("`{}` has no leaves: give it a field of type `{leaf}`", item.ident),
        ));
    }
    errors.finish()?;
    Ok(Tree { item, leaf, fields })
}

/// The parameter named by `#[tree(leaf = "S")]`, else the first type parameter.
fn leaf_parameter(item: &DeriveInput) -> Result<&Ident> {
    let mut named: Option<LitStr> = None;
    for_each_option(&item.attrs, |meta| {
        if meta.path.is_ident("leaf") {
            named = Some(meta.value()?.parse()?);
            Ok(())
        } else if meta.path.is_ident("static") {
            Err(meta.error("`static` marks a field, not the struct"))
        } else {
            Err(meta.error("unknown option: a struct takes #[tree(leaf = \"S\")]"))
        }
    })?;
    let mut parameters = item.generics.type_params().map(|parameter| &parameter.ident);
    let Some(name) = named else {
        return parameters.next().ok_or_else(|| {
            let name = &item.ident;
            Error::new(
                name.span(),
                format!(
                    "`{name}` needs a type parameter for its numbers, which are f64 outside and Var inside \
                     a function: write `struct {name}<T = f64>` and `T` for every number"
                ),
            )
        });
    };
    parameters.find(|parameter| **parameter == name.value()).ok_or_else(|| {
        let message = format!("`{}` is not a type parameter of `{}`", name.value(), item.ident);
        Error::new(name.span(), message)
    })
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
fn field_kind(field: &Field, leaf: &Ident) -> Result<Kind> {
    let mut kind = Kind::Leaves;
    for_each_option(&field.attrs, |meta| {
        if meta.path.is_ident("static") {
            kind = Kind::Static;
            Ok(())
        } else if meta.path.is_ident("leaf") {
            Err(meta.error("`leaf` is an option of the struct: write it above `struct`"))
        } else {
            Err(meta.error("unknown option: a field takes #[tree(static)]"))
        }
    })?;
    let message = match (kind, mentions(&field.ty, leaf)) {
        (Kind::Leaves, false) => format!(
            "plain fields are static: mark them #[tree(static)] (or write `{leaf}` for the numbers in \
             this one)"
        ),
        (Kind::Static, true) => format!(
            "a static field cannot name the leaf parameter `{leaf}`, because its copy would have other \
             leaves: write f64, or leave the mark off"
        ),
        (Kind::Leaves, true) if matches!(field.ty, Type::Reference(_)) => format!(
            "a derivative owns its numbers, so its fields cannot be references: write `Vec<{leaf}>` for \
             a slice, and the type itself for a reference to it"
        ),
        (Kind::Leaves, true) | (Kind::Static, false) => return Ok(kind),
    };
    Err(Error::new(field.ty.span(), message))
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
