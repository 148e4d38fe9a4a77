//! `#[derive(FromRow)]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Fields, GenericArgument, Member, PathArguments, Type};

use crate::attribute::{self, Container};
use crate::generics::Implementation;

/// A field and where its value comes from.
struct Field<'i> {
    member: Member,
    ty: &'i Type,
    source: Source,
}

enum Source {
    Column(Column),
    /// The columns of the field's type, whose names start so.
    Nested {
        prefix: String,
    },
    Skipped,
}

struct Column {
    /// None for the next by position.
    name: Option<String>,
    conversion: Conversion,
    may_miss: bool,
}

enum Conversion {
    None,
    Json,
    TryFrom(Box<Type>),
}

pub(crate) fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(syn::Error::new(
            input.ident.span(),
            "FromRow can be derived for structs only",
        ));
    };
    let container = Container::parse(&input.attrs, crate::MYSQL)?;
    if let Some(repr) = &container.repr {
        return Err(syn::Error::new(repr.span(), "repr is for enums"));
    }
    let fields = fields(&data.fields, &container)?;
    if !fields
        .iter()
        .any(|field| !matches!(field.source, Source::Skipped))
    {
        return Err(syn::Error::new(
            input.ident.span(),
            "a struct without columns can't be made from a row",
        ));
    }
    implementation(input, &container, &fields)
}

fn fields<'i>(fields: &'i Fields, container: &Container) -> syn::Result<Vec<Field<'i>>> {
    let members = fields.members();
    members
        .zip(fields)
        .map(|(member, field)| {
            let attribute = attribute::Field::parse(&field.attrs)?;
            let source = source(&member, attribute, container);
            Ok(Field {
                member,
                ty: &field.ty,
                source,
            })
        })
        .collect()
}

fn source(member: &Member, attribute: attribute::Field, container: &Container) -> Source {
    if attribute.skip.is_some() {
        return Source::Skipped;
    }
    if attribute.flatten.is_some() {
        let prefix = attribute.prefix.map(|prefix| prefix.value());
        return Source::Nested {
            prefix: prefix.unwrap_or_default(),
        };
    }
    let name = match (attribute.rename, member) {
        (Some(rename), _) => Some(rename.value()),
        (None, Member::Unnamed(_)) => None,
        (None, Member::Named(ident)) => {
            let name = ident.unraw().to_string();
            Some(match container.rename_all {
                Some(case) => case.apply(&name),
                None => name,
            })
        }
    };
    let conversion = match attribute.try_from {
        Some(ty) => Conversion::TryFrom(Box::new(ty)),
        None if attribute.json.is_some() => Conversion::Json,
        None => Conversion::None,
    };
    Source::Column(Column {
        name,
        conversion,
        may_miss: attribute.default.is_some(),
    })
}

fn implementation(
    input: &DeriveInput,
    container: &Container,
    fields: &[Field<'_>],
) -> syn::Result<TokenStream> {
    let root = &container.root;
    let mut implementation = Implementation::new(&input.generics, "'onecopy_row")?;
    let lifetime = implementation.lifetime.clone();
    let mut slots = Vec::new();
    let (mut plans, mut nested_plans) = (Vec::new(), Vec::new());
    let (mut splits, mut values, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for (index, field) in fields.iter().enumerate() {
        let (ty, member) = (field.ty, &field.member);
        let slot = format_ident!("slot_{index}");
        let value = match &field.source {
            Source::Skipped => quote!(::core::default::Default::default()),
            Source::Nested { prefix } => {
                implementation.bound(ty, quote!(#ty: #root::FromRow<#lifetime>))?;
                let this = quote_spanned!(ty.span()=> <#ty as #root::FromRow<#lifetime>>);
                nested_plans.push(quote!(planner.nested(#prefix, #this::plan)?;));
                counts.push(quote!(+ #this::COLUMNS));
                splits.push(quote!(let (#slot, rest) = rest.split(#this::COLUMNS)?;));
                quote!(#this::from_row(&#slot)?)
            }
            Source::Column(column) => {
                let read = column.read(ty, root);
                implementation.bound(&read, quote!(#read: #root::FromValue<#lifetime>))?;
                plans.push(column.plan(ty, &read));
                let value = column.value(ty, &read, &quote!(#slot), root);
                slots.push(slot);
                value
            }
        };
        values.push(quote!(#member: #value));
    }
    let count = slots.len();
    let (parameters, clause) = implementation.split();
    let (ident, (_, arguments, _)) = (&input.ident, input.generics.split_for_impl());
    Ok(quote! {
        #[automatically_derived]
        impl #parameters #root::FromRow<#lifetime> for #ident #arguments #clause {
            const COLUMNS: usize = #count #(#counts)*;

            fn plan(
                planner: &mut #root::Planner<'_>,
            ) -> ::core::result::Result<(), #root::Error> {
                #(#plans)*
                #(#nested_plans)*
                ::core::result::Result::Ok(())
            }

            #[inline]
            fn from_row(
                row: &#root::PlannedRow<#lifetime>,
            ) -> ::core::result::Result<Self, #root::Error> {
                let ([#(#slots),*], rest) = row.take::<#count>()?;
                #(#splits)*
                let _ = rest;
                ::core::result::Result::Ok(Self { #(#values),* })
            }
        }
    })
}

impl Column {
    /// The type that the value is read as.
    fn read(&self, ty: &Type, root: &syn::Path) -> TokenStream {
        let inner = option_of(ty);
        match (&self.conversion, inner) {
            (Conversion::None, _) => quote!(#ty),
            (Conversion::Json, None) => quote!(#root::Json<#ty>),
            // JSON's null is `None` too.
            (Conversion::Json, Some(_)) => {
                quote!(::core::option::Option<#root::Json<#ty>>)
            }
            (Conversion::TryFrom(from), None) => quote!(#from),
            (Conversion::TryFrom(from), Some(_)) => quote!(::core::option::Option<#from>),
        }
    }

    fn plan(&self, ty: &Type, read: &TokenStream) -> TokenStream {
        match &self.name {
            None => quote_spanned!(ty.span()=> planner.next_column::<#read>()?;),
            Some(name) if self.may_miss => {
                quote_spanned!(ty.span()=> planner.column_or_default::<#read>(#name)?;)
            }
            Some(name) => quote_spanned!(ty.span()=> planner.column::<#read>(#name)?;),
        }
    }

    fn value(
        &self,
        ty: &Type,
        read: &TokenStream,
        slot: &TokenStream,
        root: &syn::Path,
    ) -> TokenStream {
        let is_option = option_of(ty).is_some();
        let value = match (&self.conversion, option_of(ty)) {
            (Conversion::None, _) => quote_spanned!(ty.span()=> row.get::<#read>(#slot)?),
            (Conversion::Json, _) if is_option => {
                quote!(row.get::<#read>(#slot)?.and_then(|json: #root::Json<#ty>| json.0))
            }
            (Conversion::Json, _) => quote!(row.get::<#read>(#slot)?.0),
            (Conversion::TryFrom(from), Some(inner)) => quote_spanned! {ty.span()=>
                match row.get::<#read>(#slot)? {
                    ::core::option::Option::Some(value) => ::core::option::Option::Some(
                        <#inner as ::core::convert::TryFrom<#from>>::try_from(value)
                            .map_err(|error| row.not_converted(#slot, error.into()))?,
                    ),
                    ::core::option::Option::None => ::core::option::Option::None,
                }
            },
            (Conversion::TryFrom(from), None) => {
                quote_spanned!(ty.span()=> row.try_get::<#from, #ty>(#slot)?)
            }
        };
        if self.may_miss {
            quote! {
                if row.has(#slot) { #value } else { ::core::default::Default::default() }
            }
        } else {
            value
        }
    }
}

/// `T` of an `Option<T>`, as it is written.
pub(crate) fn option_of(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    if last.ident != "Option" {
        return None;
    }
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    match arguments.args.first()? {
        GenericArgument::Type(inner) if arguments.args.len() == 1 => Some(inner),
        _ => None,
    }
}
