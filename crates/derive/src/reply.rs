//! `#[derive(FromReply)]`, `#[derive(ToPairs)]` and `#[derive(ToArg)]`, of `onecopy_valkey`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Fields, Ident, LitByteStr, LitStr, Member, Type};

use crate::attribute::{self, Container};
use crate::from_row::option_of;
use crate::generics::Implementation;

/// Where the crate is, if nothing else is said.
const ROOT: &str = "::onecopy_valkey";

/// What such a value is.
enum Shape<'i> {
    /// A map of these fields.
    Map(Vec<Field<'i>>),
    /// The value of its only field.
    Newtype(Member, &'i Type),
    /// An array of values.
    Array(Vec<&'i Type>),
    /// One of these texts.
    Texts(Vec<(&'i Ident, LitStr)>),
}

struct Field<'i> {
    ident: &'i Ident,
    ty: &'i Type,
    name: String,
    may_miss: bool,
    is_skipped: bool,
}

pub(crate) fn expand_from_reply(input: &DeriveInput) -> syn::Result<TokenStream> {
    let container = Container::parse(&input.attrs, ROOT)?;
    let root = &container.root;
    let mut implementation = Implementation::new(&input.generics, "'onecopy_reply")?;
    let lifetime = implementation.lifetime.clone();
    let mut bound = |ty: &Type| implementation.bound(ty, quote!(#ty: #root::FromReply<#lifetime>));
    let (read, is_absent) = match shape(input, &container)? {
        Shape::Map(fields) => {
            for field in fields.iter().filter(|field| !field.is_skipped) {
                bound(field.ty)?;
            }
            let read = read_map(&fields, root, &quote!(#lifetime));
            (
                read,
                quote!(reply.is_null() || reply.kind().is_aggregate() && reply.is_empty()),
            )
        }
        Shape::Newtype(member, ty) => {
            bound(ty)?;
            let this = quote_spanned!(ty.span()=> <#ty as #root::FromReply<#lifetime>>);
            let read = quote! {
                ::core::result::Result::Ok(Self { #member: #this::from_reply(reply)? })
            };
            (read, quote!(#this::is_absent(reply)))
        }
        Shape::Array(types) => {
            types.iter().try_for_each(|ty| bound(ty))?;
            (read_array(&types, root), quote!(reply.is_null()))
        }
        Shape::Texts(variants) => (read_texts(&variants, root), quote!(reply.is_null())),
    };
    let (parameters, clause) = implementation.split();
    let (ident, (_, arguments, _)) = (&input.ident, input.generics.split_for_impl());
    Ok(quote! {
        #[automatically_derived]
        impl #parameters #root::FromReply<#lifetime> for #ident #arguments #clause {
            fn from_reply(
                reply: #root::Reply<#lifetime>,
            ) -> ::core::result::Result<Self, #root::DecodeError> {
                #read
            }

            fn is_absent(reply: #root::Reply<#lifetime>) -> bool {
                #is_absent
            }
        }
    })
}

fn read_map(fields: &[Field<'_>], root: &syn::Path, lifetime: &TokenStream) -> TokenStream {
    let read: Vec<_> = fields.iter().filter(|field| !field.is_skipped).collect();
    let slots: Vec<_> = (0..read.len())
        .map(|index| format_ident!("slot_{index}"))
        .collect();
    let names = read
        .iter()
        .map(|field| LitByteStr::new(field.name.as_bytes(), field.ident.span()));
    let values = read.iter().zip(&slots).map(|(field, slot)| {
        let (ident, ty, name) = (field.ident, field.ty, &field.name);
        let wrong = format!("a map whose field `{name}` is of type {}", shown(ty));
        let missing = format!("a map with a field `{name}`");
        let missing = match field.may_miss || option_of(ty).is_some() {
            true => quote!(::core::default::Default::default()),
            false => quote! {
                return ::core::result::Result::Err(#root::DecodeError::new(#missing, reply))
            },
        };
        quote_spanned! {ty.span()=>
            #ident: match #slot {
                ::core::option::Option::Some(value) => {
                    <#ty as #root::FromReply<#lifetime>>::from_reply(value)
                        .map_err(|_| #root::DecodeError::new(#wrong, value))?
                }
                ::core::option::Option::None => #missing,
            }
        }
    });
    let skipped = fields.iter().filter(|field| field.is_skipped);
    let skipped = skipped.map(|field| {
        let ident = field.ident;
        quote!(#ident: ::core::default::Default::default())
    });
    quote! {
        let pairs = <#root::command::Map<
            #lifetime, &#lifetime [u8], #root::Reply<#lifetime>,
        > as #root::FromReply<#lifetime>>::from_reply(reply)?;
        #(let mut #slots = ::core::option::Option::None;)*
        for (key, value) in pairs {
            match key {
                #(#names => #slots = ::core::option::Option::Some(value),)*
                _ => {}
            }
        }
        ::core::result::Result::Ok(Self { #(#values,)* #(#skipped,)* })
    }
}

fn read_array(types: &[&Type], root: &syn::Path) -> TokenStream {
    let wrong = format!("an array of {}", types.len());
    let count = types.len();
    quote! {
        let wrong = || #root::DecodeError::new(#wrong, reply);
        if reply.kind() != #root::Kind::Array || reply.len() != #count {
            return ::core::result::Result::Err(wrong());
        }
        let mut children = reply.children();
        ::core::result::Result::Ok(Self(
            #(<#types as #root::FromReply<'_>>::from_reply(children.next().ok_or_else(wrong)?)?,)*
        ))
    }
}

fn read_texts(variants: &[(&Ident, LitStr)], root: &syn::Path) -> TokenStream {
    let names: Vec<_> = variants.iter().map(|(_, text)| text.value()).collect();
    let wrong = format!("one of {}", names.join(", "));
    let texts = variants
        .iter()
        .map(|(_, text)| LitByteStr::new(text.value().as_bytes(), text.span()));
    let idents = variants.iter().map(|(ident, _)| ident);
    quote! {
        match <&[u8] as #root::FromReply<'_>>::from_reply(reply)? {
            #(#texts => ::core::result::Result::Ok(Self::#idents),)*
            _ => ::core::result::Result::Err(#root::DecodeError::new(#wrong, reply)),
        }
    }
}

pub(crate) fn expand_to_pairs(input: &DeriveInput) -> syn::Result<TokenStream> {
    let container = Container::parse(&input.attrs, ROOT)?;
    let root = &container.root;
    let Shape::Map(fields) = shape(input, &container)? else {
        let message = "ToPairs can be derived for structs with named fields only";
        return Err(syn::Error::new(input.ident.span(), message));
    };
    let mut implementation = Implementation::without_lifetime(&input.generics);
    let mut pushes = Vec::new();
    for field in fields.iter().filter(|field| !field.is_skipped) {
        let (ident, ty, name) = (field.ident, field.ty, &field.name);
        implementation.bound(ty, quote!(#ty: #root::ToArg))?;
        pushes.push(quote_spanned! {ty.span()=>
            if !<#ty as #root::ToArg>::is_absent(&value.#ident) {
                let arg = <#ty as #root::ToArg>::to_arg(&value.#ident);
                pairs.push((#root::Arg::from(#name), arg));
            }
        });
    }
    let count = pushes.len();
    let (lifetime, (parameters, clause)) = implementation.with_borrow("'onecopy_pairs");
    let (ident, (_, arguments, _)) = (&input.ident, input.generics.split_for_impl());
    Ok(quote! {
        #[automatically_derived]
        impl #parameters ::core::convert::From<&#lifetime #ident #arguments>
            for #root::Pairs<#lifetime> #clause
        {
            fn from(value: &#lifetime #ident #arguments) -> Self {
                let mut pairs = ::std::vec::Vec::<(
                    #root::Arg<#lifetime>, #root::Arg<#lifetime>,
                )>::with_capacity(#count);
                #(#pushes)*
                Self::from(pairs)
            }
        }
    })
}

pub(crate) fn expand_to_arg(input: &DeriveInput) -> syn::Result<TokenStream> {
    let container = Container::parse(&input.attrs, ROOT)?;
    let root = &container.root;
    let mut implementation = Implementation::without_lifetime(&input.generics);
    let (to_arg, is_absent) = match shape(input, &container)? {
        Shape::Newtype(member, ty) => {
            implementation.bound(ty, quote!(#ty: #root::ToArg))?;
            (
                quote_spanned!(ty.span()=> <#ty as #root::ToArg>::to_arg(&self.#member)),
                quote_spanned!(ty.span()=> <#ty as #root::ToArg>::is_absent(&self.#member)),
            )
        }
        Shape::Texts(variants) => {
            let arms = variants
                .iter()
                .map(|(ident, text)| quote!(Self::#ident => #text));
            (
                quote!(#root::Arg::from(match self { #(#arms,)* })),
                quote!(false),
            )
        }
        Shape::Map(_) | Shape::Array(_) => {
            let message = "ToArg can be derived for newtypes and for enums without data only; a struct can derive ToPairs";
            return Err(syn::Error::new(input.ident.span(), message));
        }
    };
    let (parameters, clause) = implementation.split();
    let (lifetime, (with_borrow, _)) = implementation.with_borrow("'onecopy_arg");
    let (ident, (_, arguments, _)) = (&input.ident, input.generics.split_for_impl());
    Ok(quote! {
        #[automatically_derived]
        impl #parameters #root::ToArg for #ident #arguments #clause {
            fn to_arg(&self) -> #root::Arg<'_> {
                #to_arg
            }

            fn is_absent(&self) -> bool {
                #is_absent
            }
        }

        #[automatically_derived]
        impl #with_borrow ::core::convert::From<&#lifetime #ident #arguments>
            for #root::Arg<#lifetime> #clause
        {
            fn from(value: &#lifetime #ident #arguments) -> Self {
                #root::ToArg::to_arg(value)
            }
        }
    })
}

fn shape<'i>(input: &'i DeriveInput, container: &Container) -> syn::Result<Shape<'i>> {
    if let Some(repr) = &container.repr {
        let message = "values of servers are texts: repr is not possible here";
        return Err(syn::Error::new(repr.span(), message));
    }
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(_) => map(&data.fields, container).map(Shape::Map),
            Fields::Unnamed(fields) => {
                let types: Vec<_> = fields.unnamed.iter().map(|field| &field.ty).collect();
                match &types[..] {
                    [only] => Ok(Shape::Newtype(Member::from(0), only)),
                    [] => Err(without_fields(input)),
                    _ => Ok(Shape::Array(types)),
                }
            }
            Fields::Unit => Err(without_fields(input)),
        },
        Data::Enum(data) => {
            let variants = data.variants.iter().map(|variant| {
                if !matches!(variant.fields, Fields::Unit) {
                    let message = "a variant with data has no text";
                    return Err(syn::Error::new(variant.span(), message));
                }
                let attribute = attribute::Field::parse(&variant.attrs)?;
                let name = named(&variant.ident, attribute.rename, container);
                Ok((&variant.ident, LitStr::new(&name, variant.ident.span())))
            });
            variants.collect::<syn::Result<_>>().map(Shape::Texts)
        }
        Data::Union(_) => Err(syn::Error::new(input.ident.span(), "not for unions")),
    }
}

fn without_fields(input: &DeriveInput) -> syn::Error {
    syn::Error::new(input.ident.span(), "a struct without fields has no value")
}

fn map<'i>(fields: &'i Fields, container: &Container) -> syn::Result<Vec<Field<'i>>> {
    let mut found = Vec::new();
    for field in fields {
        let Some(ident) = &field.ident else { continue };
        let attribute = attribute::Field::parse(&field.attrs)?;
        let is_other = attribute.flatten.or(attribute.json);
        if let Some(span) = is_other.or(attribute.try_from.as_ref().map(Spanned::span)) {
            let message = "not an attribute here: write rename, default or skip; for json use the type onecopy_valkey::Json";
            return Err(syn::Error::new(span, message));
        }
        found.push(Field {
            ident,
            ty: &field.ty,
            name: named(ident, attribute.rename, container),
            may_miss: attribute.default.is_some(),
            is_skipped: attribute.skip.is_some(),
        });
    }
    Ok(found)
}

fn named(ident: &Ident, rename: Option<LitStr>, container: &Container) -> String {
    let name = ident.unraw().to_string();
    match (rename, container.rename_all) {
        (Some(rename), _) => rename.value(),
        (None, Some(case)) => case.apply(&name),
        (None, None) => name,
    }
}

/// A type as it is written in code.
fn shown(ty: &Type) -> String {
    let text = quote!(#ty).to_string();
    text.replace(" < ", "<")
        .replace(" >", ">")
        .replace("& ", "&")
        .replace(" ,", ",")
        .replace(" :: ", "::")
}
