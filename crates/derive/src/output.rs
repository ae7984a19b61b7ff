//! Writes the implementations of `Tree`: one for `f64` leaves, one for `Var` leaves.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{GenericParam, Ident};

use crate::input::{Kind, Tree, mentions};

/// Both implementations.
pub(crate) fn write(tree: &Tree) -> TokenStream {
    let plain = implementation(tree, &quote!(f64));
    let recorded = implementation(tree, &quote!(::wengert::Var));
    quote! { #plain #recorded }
}

fn implementation(tree: &Tree, scalar: &TokenStream) -> TokenStream {
    let name = &tree.item.ident;
    let parameters = parameters(tree);
    let bounds = bounds(tree);
    let any = format_ident!("__Each", span = Span::mixed_site());
    let this = arguments(tree, scalar);
    let vars = arguments(tree, &quote!(::wengert::Var));
    let each = arguments(tree, &quote!(#any));

    let sizes = tree.fields.iter().filter(|field| field.kind == Kind::Leaves).map(|field| {
        let member = &field.member;
        quote_spanned!(field.ty.span()=> ::wengert::Tree::size(&self.#member))
    });
    let visits = tree.fields.iter().filter(|field| field.kind == Kind::Leaves).map(|field| {
        let member = &field.member;
        quote_spanned!(field.ty.span()=> ::wengert::Tree::for_each_leaf(&self.#member, visit);)
    });
    let make_vars = rebuild(tree, "vars", "lift");
    let make_grad = rebuild(tree, "grad", "next");
    let make_each = rebuild(tree, "each", "next");
    // The arguments' names carry the span of the call, like the expressions that use them.
    let [visit, lift, next] = ["visit", "lift", "next"].map(|name| Ident::new(name, Span::call_site()));

    quote! {
        #[automatically_derived]
        impl<#(#parameters),*> ::wengert::Tree for #name #this #bounds {
            type Leaf = #scalar;
            type Vars = #name #vars;
            type Grad = #name #this;
            type Each<#any> = #name #each;

            fn size(&self) -> usize {
                #(#sizes)+*
            }
            fn for_each_leaf(&self, #visit: &mut impl ::core::ops::FnMut(#scalar)) {
                #(#visits)*
            }
            fn vars(&self, #lift: &mut impl ::core::ops::FnMut(#scalar) -> ::wengert::Var) -> Self::Vars {
                #name { #make_vars }
            }
            fn grad(&self, #next: &mut impl ::core::ops::FnMut() -> #scalar) -> Self::Grad {
                #name { #make_grad }
            }
            fn each<#any>(&self, #next: &mut impl ::core::ops::FnMut() -> #any) -> Self::Each<#any> {
                #name { #make_each }
            }
        }
    }
}

/// The fields of the result of `method`, which gets `argument`: evaluated in the order written.
fn rebuild(tree: &Tree, method: &str, argument: &str) -> TokenStream {
    let fields = tree.fields.iter().map(|field| {
        let member = &field.member;
        let span = field.ty.span();
        let method = Ident::new(method, span);
        let argument = Ident::new(argument, Span::call_site());
        match field.kind {
            Kind::Leaves => {
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
            GenericParam::Type(parameter) if parameter.ident == *tree.leaf => None,
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
        GenericParam::Type(parameter) if parameter.ident == *tree.leaf => leaf.clone(),
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
