//! `#[derive(FromValue)]` and `#[derive(ToParam)]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Fields, Ident, Member, Type};

use crate::attribute::{self, Container};
use crate::generics::Implementation;

/// What such a value is.
enum Shape<'i> {
    /// The value of its only field.
    Newtype { member: Member, ty: &'i Type },
    /// One of these texts.
    Texts(Vec<(&'i Ident, String)>),
    /// One of these variants' discriminants.
    Integers(Vec<&'i Ident>, Box<Type>),
}

pub(crate) fn expand_from_value(input: &DeriveInput) -> syn::Result<TokenStream> {
    let container = Container::parse(&input.attrs, crate::MYSQL)?;
    let root = &container.root;
    let mut implementation = Implementation::new(&input.generics, "'onecopy_value")?;
    let lifetime = implementation.lifetime.clone();
    let ident = &input.ident;
    let (read, body) = match shape(input, &container)? {
        Shape::Newtype { member, ty } => {
            implementation.bound(ty, quote!(#ty: #root::FromValue<#lifetime>))?;
            let read = quote_spanned! {ty.span()=>
                <#ty as #root::FromValue<#lifetime>>::from_value(value)?
            };
            let body = quote!(::core::result::Result::Ok(Self { #member: #read }));
            (quote!(#ty), body)
        }
        Shape::Texts(variants) => {
            let arms = variants
                .iter()
                .map(|(variant, text)| quote!(#text => ::core::result::Result::Ok(Self::#variant)));
            let names: Vec<_> = variants.iter().map(|(_, text)| text.as_str()).collect();
            let not_one = not_one(root, ident, &names.join(", "));
            let body = quote! {
                match <&str as #root::FromValue<#lifetime>>::from_value(value)? {
                    #(#arms,)*
                    _ => #not_one,
                }
            };
            (quote!(&#lifetime str), body)
        }
        Shape::Integers(variants, ty) => {
            let names: Vec<_> = variants.iter().map(ToString::to_string).collect();
            let not_one = not_one(root, ident, &names.join(", "));
            let body = quote! {
                let number = <#ty as #root::FromValue<#lifetime>>::from_value(value)?;
                #(if number == Self::#variants as #ty {
                    return ::core::result::Result::Ok(Self::#variants);
                })*
                #not_one
            };
            (quote!(#ty), body)
        }
    };
    let (parameters, clause) = implementation.split();
    let (_, arguments, _) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #parameters #root::FromValue<#lifetime> for #ident #arguments #clause {
            const COPIES: bool = <#read as #root::FromValue<#lifetime>>::COPIES;

            fn accepts(kind: #root::ValueKind) -> bool {
                <#read as #root::FromValue<#lifetime>>::accepts(kind)
            }

            #[inline]
            fn from_value(
                value: #root::Value<#lifetime>,
            ) -> ::core::result::Result<Self, #root::FromValueError> {
                #body
            }
        }
    })
}

fn not_one(root: &syn::Path, ident: &Ident, names: &str) -> TokenStream {
    let expected = format!("{ident}: {names}");
    quote! {
        ::core::result::Result::Err(#root::FromValueError::NotOneOf { expected: #expected })
    }
}

pub(crate) fn expand_to_param(input: &DeriveInput) -> syn::Result<TokenStream> {
    let container = Container::parse(&input.attrs, crate::MYSQL)?;
    let root = &container.root;
    let ident = &input.ident;
    let param = format_ident!("value");
    // By value it needs not borrow, unless its field does; by reference it always works.
    let (by_value, by_reference, to_param, bounds) = match shape(input, &container)? {
        Shape::Newtype { member, ty } => (
            quote_spanned!(ty.span()=> ::core::convert::Into::into(#param.#member)),
            quote_spanned!(ty.span()=> #root::ToParam::to_param(&#param.#member)),
            quote_spanned!(ty.span()=> #root::ToParam::to_param(&#param.#member)),
            Some(ty),
        ),
        Shape::Texts(variants) => {
            let arms: Vec<_> = variants
                .iter()
                .map(|(variant, text)| quote!(#ident::#variant => #root::Param::Str(#text)))
                .collect();
            let body = quote!(match #param { #(#arms,)* });
            (body.clone(), body.clone(), body, None)
        }
        Shape::Integers(variants, ty) => {
            let arms: Vec<_> = variants
                .iter()
                .map(|variant| {
                    quote!(#ident::#variant => #root::Param::from(#ident::#variant as #ty))
                })
                .collect();
            let body = quote!(match #param { #(#arms,)* });
            (body.clone(), body.clone(), body, None)
        }
    };
    let mut implementation = Implementation::new(&input.generics, "'onecopy_param")?;
    // Not the type's own lifetime: what the parameter borrows may live shorter.
    let lifetime = implementation.lifetime.clone();
    let (_, arguments, _) = input.generics.split_for_impl();
    let mut by_value_implementation = Implementation::new(&input.generics, "'onecopy_param")?;
    let mut own = Implementation::without_lifetime(&input.generics);
    if let Some(ty) = bounds {
        by_value_implementation
            .require(quote!(#ty: ::core::convert::Into<#root::Param<#lifetime>>))?;
        implementation.bound(ty, quote!(#ty: #root::ToParam))?;
        own.bound(ty, quote!(#ty: #root::ToParam))?;
    }
    let (parameters, clause) = implementation.split();
    let (own_parameters, own_clause) = own.split();
    let (value_parameters, value_clause) = by_value_implementation.split();
    Ok(quote! {
        #[automatically_derived]
        impl #value_parameters ::core::convert::From<#ident #arguments>
            for #root::Param<#lifetime> #value_clause
        {
            #[inline]
            fn from(#param: #ident #arguments) -> Self {
                #by_value
            }
        }

        #[automatically_derived]
        impl #parameters ::core::convert::From<&#lifetime #ident #arguments>
            for #root::Param<#lifetime> #clause
        {
            #[inline]
            fn from(#param: &#lifetime #ident #arguments) -> Self {
                #by_reference
            }
        }

        #[automatically_derived]
        impl #own_parameters #root::ToParam for #ident #arguments #own_clause {
            #[inline]
            fn to_param(&self) -> #root::Param<'_> {
                let #param = self;
                #to_param
            }
        }
    })
}

fn shape<'i>(input: &'i DeriveInput, container: &Container) -> syn::Result<Shape<'i>> {
    match &input.data {
        Data::Struct(data) if data.fields.len() == 1 && container.repr.is_none() => {
            let member = data.fields.members().next();
            let field = data.fields.iter().next();
            match (member, field) {
                (Some(member), Some(field)) => Ok(Shape::Newtype {
                    member,
                    ty: &field.ty,
                }),
                _ => Err(unsupported(input)),
            }
        }
        Data::Enum(data) => {
            let mut variants = Vec::new();
            for variant in &data.variants {
                if !matches!(variant.fields, Fields::Unit) {
                    return Err(syn::Error::new(
                        variant.ident.span(),
                        "a variant with fields is not a single value",
                    ));
                }
                let rename = attribute::Field::parse(&variant.attrs)?.rename;
                let name = variant.ident.unraw().to_string();
                let text = match (rename, container.rename_all) {
                    (Some(rename), _) => rename.value(),
                    (None, Some(case)) => case.apply(&name),
                    (None, None) => name,
                };
                variants.push((&variant.ident, text));
            }
            if variants.is_empty() {
                return Err(unsupported(input));
            }
            Ok(match &container.repr {
                Some(ty) => {
                    let variants = variants.into_iter().map(|(variant, _)| variant);
                    Shape::Integers(variants.collect(), Box::new(ty.clone()))
                }
                None => Shape::Texts(variants),
            })
        }
        _ => Err(unsupported(input)),
    }
}

fn unsupported(input: &DeriveInput) -> syn::Error {
    syn::Error::new(
        input.ident.span(),
        "only a struct of one field and an enum of variants without fields are single values",
    )
}
