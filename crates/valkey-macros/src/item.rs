//! Fields and methods of a command's builder, and how a field is written.

use crate::argument::{Argument, Shape, Type};
use crate::name::{camel, plural, snake};
use crate::usage;

/// What a function or a method takes.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// The type of a field and of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Arg,
    Int,
    UInt,
    Double,
    Args,
    Pairs,
    Triples,
    Vector,
    Query,
    /// One of several words, and the first of them.
    Enum(String, String),
}

/// A method of a builder.
#[derive(Clone, Debug)]
pub(crate) struct Method {
    pub(crate) name: String,
    pub(crate) parameters: Vec<Parameter>,
    /// What is assigned.
    pub(crate) body: String,
    pub(crate) doc: String,
    /// The shape of the reply afterwards.
    pub(crate) shape: Option<Shape>,
}

/// One field, and how it is written; or, without a field, a word that is always there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Item {
    pub(crate) field: String,
    pub(crate) of: String,
    /// The first value of an optional field.
    pub(crate) initial: String,
    /// The parameter of a required one.
    pub(crate) parameter: Option<Parameter>,
    pub(crate) methods: Vec<Method>,
    /// Arguments that it adds, if their number is not fixed.
    pub(crate) count: String,
    /// Arguments that it always adds.
    pub(crate) fixed: usize,
    pub(crate) write: String,
    /// How its keys are visited.
    pub(crate) keys: String,
    /// One of its methods has to be called.
    pub(crate) is_required: bool,
}

impl Kind {
    /// The type of a field.
    pub(crate) fn field(&self) -> &str {
        match self {
            Self::Arg => "Arg<'a>",
            Self::Int => "i64",
            Self::UInt => "u64",
            Self::Double => "f64",
            Self::Args => "Args<'a>",
            Self::Pairs => "Pairs<'a>",
            Self::Triples => "Triples<'a>",
            Self::Vector => "Vector<'a>",
            Self::Query => "Query<'a>",
            Self::Enum(name, _) => name,
        }
    }

    /// The type of a parameter.
    pub(crate) fn parameter(&self) -> String {
        match self.is_converted() {
            true => format!("impl Into<{}>", self.field()),
            false => self.field().to_owned(),
        }
    }

    /// Whether a parameter becomes a field by `into()`.
    pub(crate) fn is_converted(&self) -> bool {
        self.field().ends_with("<'a>")
    }

    /// Whether it is not always one argument.
    pub(crate) fn has_count(&self) -> bool {
        self.is_list() || matches!(self, Self::Vector | Self::Query)
    }

    pub(crate) fn is_list(&self) -> bool {
        matches!(self, Self::Args | Self::Pairs | Self::Triples)
    }

    /// A value for tests.
    pub(crate) fn sample(&self) -> String {
        match self {
            Self::Arg | Self::Args => "\"x\"".to_owned(),
            Self::Int => "1".to_owned(),
            Self::UInt => "0".to_owned(),
            Self::Double => "1.5".to_owned(),
            Self::Pairs => "(\"x\", \"y\")".to_owned(),
            Self::Triples => "(1.5, 2.5, \"x\")".to_owned(),
            Self::Vector => "Vector::fp32(\"x\")".to_owned(),
            Self::Query => "Query::element(\"x\")".to_owned(),
            Self::Enum(name, word) => format!("{name}::{}", camel(word)),
        }
    }
}

impl Parameter {
    /// The parameter's value as the field's.
    pub(crate) fn converted(&self) -> String {
        match self.kind.is_converted() {
            true => format!("{}.into()", self.name),
            false => self.name.clone(),
        }
    }
}

/// The parameter of an argument that has a value.
pub(crate) fn parameter(argument: &Argument) -> Parameter {
    let (name, kind) = match argument {
        Argument::Value {
            name,
            is_list: true,
            ..
        } => (plural(&snake(name)), Kind::Args),
        Argument::Value { name, kind, .. } => (
            snake(name),
            match kind {
                Type::Text | Type::Key => Kind::Arg,
                Type::Int => Kind::Int,
                Type::UInt => Kind::UInt,
                Type::Double => Kind::Double,
                Type::Vector => Kind::Vector,
                Type::Query => Kind::Query,
            },
        ),
        Argument::OneWord { name, of, words } => {
            (snake(name), Kind::Enum(of.clone(), words[0].clone()))
        }
        Argument::Tuples { name, values } => (
            plural(&snake(name)),
            match values.len() {
                2 => Kind::Pairs,
                _ => Kind::Triples,
            },
        ),
        Argument::Word(_) | Argument::NumKeys | Argument::Group(_) => (String::new(), Kind::Arg),
    };
    Parameter { name, kind }
}

/// How the keys of a field are visited; empty if it has none.
pub(crate) fn keys(argument: &Argument, target: &str) -> String {
    match argument {
        Argument::Value {
            kind: Type::Key, ..
        } => format!("{target}.each(visit);"),
        Argument::Tuples { values, .. } if usage::has_key(&values[0]) => {
            format!("{target}.each_first(visit);")
        }
        _ => String::new(),
    }
}
