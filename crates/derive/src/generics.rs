//! The type parameters of what is derived for.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Generics, Lifetime, LifetimeParam, WherePredicate};

/// The generics of an implementation whose trait has a lifetime.
pub(crate) struct Implementation {
    generics: Generics,
    /// The lifetime of what is borrowed from.
    pub(crate) lifetime: Lifetime,
    parameters: Vec<String>,
}

impl Implementation {
    /// The type's own lifetime is that of the trait, or it gets one of the name.
    pub(crate) fn new(generics: &Generics, name: &str) -> syn::Result<Self> {
        let mut lifetimes = generics.lifetimes();
        let own = lifetimes.next();
        if let Some(second) = lifetimes.next() {
            return Err(syn::Error::new(
                second.lifetime.span(),
                "at most one lifetime is possible: all borrowed fields borrow from the same row or reply",
            ));
        }
        let mut generics = generics.clone();
        let lifetime = match own {
            Some(own) => own.lifetime.clone(),
            None => {
                let lifetime = Lifetime::new(name, proc_macro2::Span::call_site());
                let parameter = LifetimeParam::new(lifetime.clone());
                generics.params.insert(0, parameter.into());
                lifetime
            }
        };
        Ok(Self {
            parameters: type_parameters(&generics),
            generics,
            lifetime,
        })
    }

    /// For a trait without a lifetime.
    pub(crate) fn without_lifetime(generics: &Generics) -> Self {
        Self {
            generics: generics.clone(),
            lifetime: Lifetime::new("'_", proc_macro2::Span::call_site()),
            parameters: type_parameters(generics),
        }
    }

    /// Adds a bound if the type has type parameters in it: other types are checked where they are used.
    pub(crate) fn bound(&mut self, ty: &impl ToTokens, bound: TokenStream) -> syn::Result<()> {
        if self.mentions(ty.to_token_stream()) {
            self.require(bound)?;
        }
        Ok(())
    }

    pub(crate) fn require(&mut self, bound: TokenStream) -> syn::Result<()> {
        let predicate: WherePredicate = syn::parse2(bound)?;
        self.generics.make_where_clause().predicates.push(predicate);
        Ok(())
    }

    fn mentions(&self, tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => self.parameters.contains(&ident.to_string()),
            TokenTree::Group(group) => self.mentions(group.stream()),
            _ => false,
        })
    }

    /// The same with a lifetime more, of a reference to the type.
    pub(crate) fn with_borrow(&self, name: &str) -> (Lifetime, (TokenStream, TokenStream)) {
        let lifetime = Lifetime::new(name, proc_macro2::Span::call_site());
        let mut generics = self.generics.clone();
        let parameter = LifetimeParam::new(lifetime.clone());
        generics.params.insert(0, parameter.into());
        let (parameters, _, clause) = generics.split_for_impl();
        (lifetime, (quote!(#parameters), quote!(#clause)))
    }

    /// `<...>` of the implementation, and its where clause.
    pub(crate) fn split(&self) -> (TokenStream, TokenStream) {
        let (parameters, _, clause) = self.generics.split_for_impl();
        (quote!(#parameters), quote!(#clause))
    }
}

fn type_parameters(generics: &Generics) -> Vec<String> {
    let parameters = generics.type_params();
    parameters
        .map(|parameter| parameter.ident.to_string())
        .collect()
}
