//! The attribute `#[onecopy(...)]`.

use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, LitStr, Path, Type};

use crate::case::Case;

/// What the attributes of a struct or an enum say.
pub(crate) struct Container {
    pub(crate) rename_all: Option<Case>,
    /// The integer type of an enum.
    pub(crate) repr: Option<Type>,
    /// The path of the client's crate.
    pub(crate) root: Path,
}

impl Container {
    /// `root`: the path of the client's crate, unless an attribute says another.
    pub(crate) fn parse(attributes: &[Attribute], root: &str) -> syn::Result<Self> {
        let mut this = Self {
            rename_all: None,
            repr: None,
            root: syn::parse_str(root)?,
        };
        for_each(attributes, |meta| {
            if meta.path.is_ident("rename_all") {
                this.rename_all = Some(Case::parse(&text(&meta)?)?);
            } else if meta.path.is_ident("repr") {
                this.repr = Some(text(&meta)?.parse()?);
            } else if meta.path.is_ident("crate") {
                this.root = text(&meta)?.parse()?;
            } else {
                return Err(meta.error("not an attribute here: write rename_all, repr or crate"));
            }
            Ok(())
        })?;
        Ok(this)
    }
}

/// What the attributes of a field or a variant say.
#[derive(Default)]
pub(crate) struct Field {
    pub(crate) rename: Option<LitStr>,
    pub(crate) flatten: Option<Span>,
    pub(crate) prefix: Option<LitStr>,
    pub(crate) json: Option<Span>,
    pub(crate) try_from: Option<Type>,
    pub(crate) default: Option<Span>,
    pub(crate) skip: Option<Span>,
}

impl Field {
    pub(crate) fn parse(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut this = Self::default();
        for_each(attributes, |meta| {
            let span = || Some(meta.path.segments[0].ident.span());
            if meta.path.is_ident("rename") {
                this.rename = Some(text(&meta)?);
            } else if meta.path.is_ident("flatten") {
                this.flatten = span();
            } else if meta.path.is_ident("prefix") {
                this.prefix = Some(text(&meta)?);
            } else if meta.path.is_ident("json") {
                this.json = span();
            } else if meta.path.is_ident("try_from") {
                this.try_from = Some(text(&meta)?.parse()?);
            } else if meta.path.is_ident("default") {
                this.default = span();
            } else if meta.path.is_ident("skip") {
                this.skip = span();
            } else {
                return Err(meta.error(
                    "not an attribute here: write rename, flatten, prefix, json, try_from, default or skip",
                ));
            }
            Ok(())
        })?;
        this.check()?;
        Ok(this)
    }

    /// Attributes that contradict each other, or say nothing.
    fn check(&self) -> syn::Result<()> {
        let is_column = self.rename.is_some() || self.json.is_some() || self.try_from.is_some();
        let problem = match self {
            Self {
                skip: Some(span), ..
            } if is_column || self.flatten.is_some() || self.default.is_some() => (
                *span,
                "a skipped field has no column: remove the other attributes",
            ),
            Self {
                flatten: Some(span),
                ..
            } if is_column || self.default.is_some() => (
                *span,
                "a flattened field has the columns of its type: only prefix can be added",
            ),
            Self {
                json: Some(span), ..
            } if self.try_from.is_some() => (*span, "json and try_from exclude each other"),
            Self {
                prefix: Some(prefix),
                flatten: None,
                ..
            } => (prefix.span(), "prefix needs flatten"),
            _ => return Ok(()),
        };
        Err(syn::Error::new(problem.0, problem.1))
    }
}

fn for_each(
    attributes: &[Attribute],
    mut each: impl FnMut(ParseNestedMeta<'_>) -> syn::Result<()>,
) -> syn::Result<()> {
    for attribute in attributes {
        if attribute.path().is_ident("onecopy") {
            attribute.parse_nested_meta(&mut each)?;
        }
    }
    Ok(())
}

fn text(meta: &ParseNestedMeta<'_>) -> syn::Result<LitStr> {
    meta.value()?.parse()
}
