//! Writes the implementations of `Tree` (for `f64` and `Var` leaves, or for tensors) and the operators.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{GenericParam, Ident, Member};

use crate::input::{Kind, Leaf, Tree, TreeField, mentions};

/// The implementations for every type of leaves.
pub(crate) fn write(tree: &Tree) -> TokenStream {
    let leaves = match tree.leaf {
        Leaf::Parameter(_) => vec![quote!(f64), quote!(::wengert::Var)],
        Leaf::Tensor => vec![quote!(::wengert::Tensor)],
    };
    // Numbers in single precision are points too, whose leaves are computed in double precision.
    let singles = tree.has_singles.then(|| implementation(tree, &quote!(::wengert::F32), &quote!(f64)));
    let trees = leaves.iter().map(|leaf| implementation(tree, leaf, leaf)).chain(singles);
    let operators = leaves.iter().filter(|_| tree.has_operators).map(|leaf| operators(tree, leaf));
    quote! { #(#trees)* #(#operators)* }
}

/// The implementation for the struct with `number` in the place of its parameter, whose leaves are of the type `leaf`.
fn implementation(tree: &Tree, number: &TokenStream, leaf: &TokenStream) -> TokenStream {
    let name = &tree.item.ident;
    let parameters = parameters(tree);
    let bounds = bounds(tree);
    let any = format_ident!("__Each", span = Span::mixed_site());
    let this = arguments(tree, number);
    let recorded = match tree.leaf {
        Leaf::Parameter(_) => quote!(::wengert::Var),
        Leaf::Tensor => quote!(::wengert::Tensor),
    };
    let vars = arguments(tree, &recorded);

    let with_leaves = || tree.fields.iter().filter(|field| field.kind != Kind::Static);
    let sizes = with_leaves().map(|field| {
        let member = &field.member;
        quote_spanned!(field.ty.span()=> ::wengert::Tree::size(&self.#member))
    });
    let visits = with_leaves().map(|field| {
        let member = &field.member;
        quote_spanned!(field.ty.span()=> ::wengert::Tree::for_each_leaf(&self.#member, visit);)
    });
    let borrows = with_leaves().map(|field| {
        let member = &field.member;
        quote_spanned!(field.ty.span()=> ::wengert::Tree::visit_leaves(&self.#member, visit);)
    });
    let data = with_leaves().map(|field| {
        if field.kind == Kind::Frozen {
            return quote!(true);
        }
        let ty = with_leaf(field.ty.to_token_stream(), tree.leaf, number);
        quote_spanned!(field.ty.span()=> <#ty as ::wengert::Tree>::HAS_DATA)
    });
    let notes = tree.fields.iter().map(note);
    let names = with_leaves().map(name_leaves);
    let make_vars = rebuild(tree, "vars", "lift");
    let make_grad = rebuild(tree, "grad", "next");
    // The arguments' names carry the span of the call, like the expressions that use them.
    let [visit, structure, paths, lift, next] =
        ["visit", "structure", "paths", "lift", "next"].map(|name| Ident::new(name, Span::call_site()));
    // A struct of tensors has no place for leaves of other types: they come as a list.
    let (each, make_each) = match tree.leaf {
        Leaf::Parameter(_) => {
            let (each, fields) = (arguments(tree, &quote!(#any)), rebuild(tree, "each", "next"));
            (quote!(#name #each), quote!(#name { #fields }))
        }
        Leaf::Tensor => (
            quote!(::std::vec::Vec<#any>),
            quote!(::core::iter::repeat_with(#next).take(::wengert::Tree::size(self)).collect()),
        ),
    };

    quote! {
        #[automatically_derived]
        impl<#(#parameters),*> ::wengert::Tree for #name #this #bounds {
            type Leaf = #leaf;
            type Vars = #name #vars;
            type Grad = #name #this;
            type Each<#any> = #each;
            type Form = ::wengert::Several;
            const HAS_DATA: bool = #(#data)||*;

            fn size(&self) -> usize {
                #(#sizes)+*
            }
            fn for_each_leaf(&self, #visit: &mut impl ::core::ops::FnMut(#leaf)) {
                #(#visits)*
            }
            fn visit_leaves(&self, #visit: &mut impl ::core::ops::FnMut(&#leaf)) {
                #(#borrows)*
            }
            fn structure(&self, #structure: &mut ::wengert::Structure) {
                #(#notes)*
            }
            fn paths(&self, #paths: &mut ::wengert::Paths) {
                #(#names)*
            }
            fn vars(&self, #lift: &mut impl ::core::ops::FnMut(#leaf) -> #recorded) -> Self::Vars {
                #name { #make_vars }
            }
            fn grad(&self, #next: &mut impl ::core::ops::FnMut() -> #leaf) -> Self::Grad {
                #name { #make_grad }
            }
            fn each<#any>(&self, #next: &mut impl ::core::ops::FnMut() -> #any) -> Self::Each<#any> {
                #make_each
            }
        }
    }
}

/// A type with a leaf in place of the parameter.
fn with_leaf(ty: TokenStream, parameter: Leaf<'_>, leaf: &TokenStream) -> TokenStream {
    let Leaf::Parameter(name) = parameter else { return ty };
    let replaced = ty.into_iter().map(|token| match token {
        TokenTree::Ident(ident) if ident == *name => leaf.clone(),
        TokenTree::Group(group) => {
            let inside = with_leaf(group.stream(), parameter, leaf);
            TokenTree::Group(Group::new(group.delimiter(), inside)).into()
        }
        other => other.into(),
    });
    replaced.collect()
}

/// What a field adds to the structure of its tree. A static field adds its value, by the first way that its type has:
/// the references are what makes the compiler try them in order.
fn note(field: &TreeField) -> TokenStream {
    let member = &field.member;
    match field.kind {
        Kind::Leaves | Kind::Frozen => {
            quote_spanned!(field.ty.span()=> ::wengert::Tree::structure(&self.#member, structure);)
        }
        Kind::Static => quote_spanned!(field.ty.span()=> {
            use ::wengert::derived::*;
            (&&&Field(&self.#member)).note(structure);
        }),
    }
}

/// The paths of a field's leaves, which begin with its name.
fn name_leaves(field: &TreeField) -> TokenStream {
    let member = &field.member;
    let name = match member {
        Member::Named(name) => name.unraw().to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    };
    let method = match field.kind {
        Kind::Frozen => quote!(frozen_field),
        Kind::Leaves | Kind::Static => quote!(field),
    };
    quote_spanned!(field.ty.span()=> paths.#method(#name, &self.#member);)
}

/// `+`, `-` and products with `f64`, of the struct and of references to it.
fn operators(tree: &Tree, leaf: &TokenStream) -> TokenStream {
    let name = &tree.item.ident;
    let parameters = parameters(tree);
    let bounds = bounds(tree);
    let arguments = arguments(tree, leaf);
    let this = quote!(#name #arguments);
    // One operator: the left type, the trait with the right one, its method with its arguments, the body.
    let operator = |left: TokenStream, operator: TokenStream, method: TokenStream, body: TokenStream| {
        quote! {
            #[automatically_derived]
            impl<#(#parameters),*> ::core::ops::#operator for #left #bounds {
                type Output = #this;

                #[track_caller]
                fn #method -> Self::Output {
                    #body
                }
            }
        }
    };
    let math = quote!(::wengert::TreeMath);
    let mut all = Vec::new();
    for (left, x, tree) in [(quote!(#this), quote!(&self), quote!(&tree)), (quote!(&#this), quote!(self), quote!(tree))]
    {
        for (right, y) in [(quote!(#this), quote!(&other)), (quote!(&#this), quote!(other))] {
            for (sign, method, rule) in [("Add", "add", "plus"), ("Sub", "sub", "minus")] {
                let [sign, method, rule] = [sign, method, rule].map(|name| Ident::new(name, Span::call_site()));
                let body = quote!(#math::#rule(#x, #y));
                all.push(operator(left.clone(), quote!(#sign<#right>), quote!(#method(self, other: #right)), body));
            }
        }
        all.push(operator(left.clone(), quote!(Neg), quote!(neg(self)), quote!(#math::negated(#x))));
        let body = quote!(#math::scaled(#x, factor));
        all.push(operator(left.clone(), quote!(Mul<f64>), quote!(mul(self, factor: f64)), body));
        let body = quote!(#math::scaled(#tree, self));
        all.push(operator(quote!(f64), quote!(Mul<#left>), quote!(mul(self, tree: #left)), body));
        let body = quote!(#math::scaled(#tree, self.value()));
        all.push(operator(quote!(::wengert::Lit), quote!(Mul<#left>), quote!(mul(self, tree: #left)), body));
    }
    quote!(#(#all)*)
}

/// The fields of the result of `method`, which gets `argument`: evaluated in the order written.
fn rebuild(tree: &Tree, method: &str, argument: &str) -> TokenStream {
    let fields = tree.fields.iter().map(|field| {
        let member = &field.member;
        let span = field.ty.span();
        let method = Ident::new(method, span);
        let argument = Ident::new(argument, Span::call_site());
        match field.kind {
            Kind::Leaves | Kind::Frozen => {
                quote_spanned!(span=> #member: ::wengert::Tree::#method(&self.#member, #argument),)
            }
            Kind::Static => {
                quote_spanned!(span=> #member: ::core::clone::Clone::clone(&self.#member),)
            }
        }
    });
    quote!(#(#fields)*)
}

/// The parameters of the implementation: those of the struct but the leaf, without defaults.
fn parameters(tree: &Tree) -> Vec<GenericParam> {
    let parameters = tree.item.generics.params.iter().cloned();
    parameters
        .filter_map(|parameter| match parameter {
            GenericParam::Type(parameter) if tree.is_leaf(&parameter.ident) => None,
            GenericParam::Type(mut parameter) => {
                parameter.eq_token = None;
                parameter.default = None;
                Some(GenericParam::Type(parameter))
            }
            GenericParam::Const(mut parameter) => {
                parameter.eq_token = None;
                parameter.default = None;
                Some(GenericParam::Const(parameter))
            }
            GenericParam::Lifetime(parameter) => Some(GenericParam::Lifetime(parameter)),
        })
        .collect()
}

/// The arguments of the struct with `leaf` in the leaf's place: `<'a, f64, N>`.
fn arguments(tree: &Tree, leaf: &TokenStream) -> TokenStream {
    let arguments = tree.item.generics.params.iter().map(|parameter| match parameter {
        GenericParam::Type(parameter) if tree.is_leaf(&parameter.ident) => leaf.clone(),
        GenericParam::Type(parameter) => {
            let name = &parameter.ident;
            quote!(#name)
        }
        GenericParam::Const(parameter) => {
            let name = &parameter.ident;
            quote!(#name)
        }
        GenericParam::Lifetime(parameter) => {
            let name = &parameter.lifetime;
            quote!(#name)
        }
    });
    quote!(<#(#arguments),*>)
}

/// The struct's `where` clause, and `Clone` for static fields of a type that is a parameter or
/// contains one.
fn bounds(tree: &Tree) -> TokenStream {
    let generics = &tree.item.generics;
    let predicates = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let clones = tree
        .fields
        .iter()
        .filter(|field| field.kind == Kind::Static)
        .filter(|field| generics.type_params().any(|parameter| mentions(field.ty, &parameter.ident)))
        .map(|field| {
            let ty = field.ty;
            quote_spanned!(ty.span()=> #ty: ::core::clone::Clone)
        });
    quote!(where #(#predicates,)* #(#clones,)*)
}
