//! A command in Rust: its function, its builder, its options, what is sent, and what its reply is read as.

use crate::argument::enums;
use crate::builder::items;
use crate::declaration::Declaration;
use crate::item::{Item, Kind, Method};
use crate::name::{bulk, camel, snake};
use crate::token::Result;

/// One command, ready to be written as code.
pub(crate) struct Code<'d> {
    declaration: &'d Declaration,
    items: Vec<Item>,
    function: String,
    /// The name of the type that the function returns.
    of: String,
    /// Whether the type of the reply depends on the options. If it does, the declared output is a shape.
    has_shape: bool,
}

impl<'d> Code<'d> {
    pub(crate) fn new(declaration: &'d Declaration) -> Result<Self> {
        let items = items(&declaration.arguments)?;
        let mut methods = items.iter().flat_map(|item| &item.methods);
        Ok(Self {
            function: snake(&declaration.name),
            // The trait has this name.
            of: match declaration.name.as_str() {
                "COMMAND" => "Commands".to_owned(),
                name => camel(name),
            },
            has_shape: methods.any(|method| method.shape.is_some()),
            declaration,
            items,
        })
    }

    /// The whole command.
    pub(crate) fn all(&self) -> String {
        [
            self.function(),
            self.builder(),
            self.methods(),
            self.command(),
        ]
        .join("\n")
    }

    fn fields(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| !item.field.is_empty())
    }

    fn has_lifetime(&self) -> bool {
        self.fields().any(|item| item.of.contains("'a"))
    }

    /// `<'a, S>`, or less.
    fn generics(&self, lifetime: &str, shape: &str) -> String {
        let lifetime = self.has_lifetime().then_some(lifetime);
        let shape = (self.has_shape && !shape.is_empty()).then_some(shape);
        let all: Vec<&str> = lifetime.into_iter().chain(shape).collect();
        match all.is_empty() {
            true => String::new(),
            false => format!("<{}>", all.join(", ")),
        }
    }

    fn doc(&self) -> String {
        let declaration = self.declaration;
        let mut text = format!("`{}`: ", declaration.usage());
        if !declaration.complexity.is_empty() {
            text = text + &declaration.complexity + ", ";
        }
        text = text + "since " + &declaration.since + ".";
        if let Some(version) = &declaration.deprecated {
            text = text + " Deprecated since " + version + ".";
        }
        if let Some(module) = &declaration.only {
            text = text + " Only " + module + " has it.";
        }
        for item in self.items.iter().filter(|item| item.is_required) {
            let methods = item.methods.iter().map(|one| format!("`{}`", one.name));
            let methods: Vec<String> = methods.collect();
            text = text + " One of " + &methods.join(", ") + " is to be called.";
        }
        doc(&text)
    }

    fn function(&self) -> String {
        let generics = if self.has_lifetime() { "<'a>" } else { "" };
        let parameters = self.items.iter().filter_map(|item| item.parameter.as_ref());
        let parameters: Vec<String> = parameters
            .map(|one| format!("{}: {}", one.name, one.kind.parameter()))
            .collect();
        let parameters = parameters.join(", ");
        let (doc, function, of, inline) =
            (self.doc(), &self.function, &self.of, inline(&parameters));
        let body = self.initial();
        format!(
            "{doc}{inline}pub fn {function}{generics}({parameters}) -> {of}{generics} {{ {body} }}"
        )
    }

    /// The builder as the function returns it.
    fn initial(&self) -> String {
        let fields = self.fields().map(|item| match &item.parameter {
            None => format!("{}: {}", item.field, item.initial),
            Some(parameter) if parameter.kind.is_converted() => {
                format!("{}: {}", item.field, parameter.converted())
            }
            Some(_) => item.field.clone(),
        });
        let shape = self.has_shape.then(|| "shape: PhantomData".to_owned());
        let fields: Vec<String> = fields.chain(shape).collect();
        match fields.is_empty() {
            true => self.of.clone(),
            false => format!("{} {{ {} }}", self.of, fields.join(", ")),
        }
    }

    fn builder(&self) -> String {
        let shape = format!("S = shape::{}", self.declaration.output);
        let fields = self
            .fields()
            .map(|item| format!("{}: {},", item.field, item.of));
        let shape_field = self.has_shape.then(|| "shape: PhantomData<S>,".to_owned());
        let fields: String = fields.chain(shape_field).collect();
        let body = match fields.is_empty() {
            true => ";".to_owned(),
            false => format!("{} {{ {fields} }}", self.generics("'a", &shape)),
        };
        let doc = doc(&format!("The command that [`{}`] builds.", self.function));
        format!("{doc}#[derive(Clone, Debug)] pub struct {}{body}", self.of)
    }

    fn methods(&self) -> String {
        let methods = self.items.iter().flat_map(|item| &item.methods);
        let mut methods: Vec<String> = methods.map(|method| self.method(method)).collect();
        if methods.is_empty() {
            return String::new();
        }
        if self.has_shape {
            methods.push(self.reshape());
        }
        let generics = self.generics("'a", "S");
        format!(
            "impl{generics} {}{generics} {{ {} }}",
            self.of,
            methods.join("\n")
        )
    }

    fn method(&self, method: &Method) -> String {
        let parameters = method.parameters.iter();
        let parameters: String = parameters
            .map(|one| format!(", {}: {}", one.name, one.kind.parameter()))
            .collect();
        let (result, last) = match &method.shape {
            Some(shape) => {
                let (of, bound) = match &shape.of {
                    None => (format!("shape::{}", shape.name), String::new()),
                    Some(of) => (
                        format!("<S as shape::{of}>::{}", shape.name),
                        format!(" where S: shape::{of}"),
                    ),
                };
                let result = self.of.clone() + &self.generics("'a", &of) + &bound;
                (result, "self.reshape()")
            }
            None => ("Self".to_owned(), "self"),
        };
        let (doc, inline) = (doc(&method.doc), inline(&parameters));
        let (name, body) = (&method.name, &method.body);
        format!("{doc}{inline}pub fn {name}(mut self{parameters}) -> {result} {{ {body} {last} }}")
    }

    /// The same command with another type of reply.
    fn reshape(&self) -> String {
        let fields = self
            .fields()
            .map(|item| format!("{0}: self.{0}, ", item.field));
        let fields: String = fields.collect();
        let generics = self.generics("'a", "T");
        let of = &self.of;
        format!(
            "fn reshape<T>(self) -> {of}{generics} {{ {of} {{ {fields} shape: PhantomData }} }}"
        )
    }

    fn command(&self) -> String {
        let generics = if self.has_shape { "<S: Shape>" } else { "" };
        let target = self.of.clone() + &self.generics("'_", "S");
        let output = match self.has_shape {
            true => "S::Output<'r>",
            false => &self.declaration.output,
        };
        let plain = self.encode_plain();
        let any = self.encode_any();
        let (encode, inherent) = match plain.is_empty() {
            true => (format!("#[inline] {ENCODE} {{ {any} }}"), String::new()),
            false => {
                let generics = if self.has_shape { "<S>" } else { "" };
                let any = format!("#[inline(never)] {ENCODE_ANY} {{ {any} }}");
                (plain, format!("impl{generics} {target} {{ {any} }}"))
            }
        };
        let name = format!(
            "fn name(&self) -> &str {{ {:?} }}",
            self.declaration.name.as_str()
        );
        let parts = [name, self.flags(), encode, self.blocking(), self.each_key()].join("\n");
        format!(
            "impl{generics} Command for {target} {{ type Output<'r> = {output}; {parts} }}\n{inherent}"
        )
    }

    fn flags(&self) -> String {
        // With an option that says for how long, it blocks only if that was chosen.
        let blocking = self.declaration.blocking.as_ref();
        let blocking = blocking.filter(|(field, _)| self.is_option(field));
        let body = match blocking {
            None => flags(&self.declaration.flags),
            Some((field, _)) => {
                let others = self
                    .declaration
                    .flags
                    .iter()
                    .filter(|flag| *flag != "BLOCKING");
                let others: Vec<String> = others.cloned().collect();
                format!(
                    "let flags = {}; match self.{field} {{ Some(_) => flags.with(Flags::BLOCKING), None => flags, }}",
                    flags(&others)
                )
            }
        };
        format!("fn flags(&self) -> Flags {{ {body} }}")
    }

    fn is_option(&self, field: &str) -> bool {
        let found = self.fields().find(|item| item.field == field);
        found.is_some_and(|item| item.parameter.is_none())
    }

    fn blocking(&self) -> String {
        let Some((field, unit)) = &self.declaration.blocking else {
            return String::new();
        };
        let body = match self.is_option(field) {
            true => format!("self.{field}.map_or(Blocking::No, Blocking::{unit})"),
            false => format!("Blocking::{unit}(self.{field})"),
        };
        format!("fn blocking(&self) -> Blocking {{ {body} }}")
    }

    fn each_key(&self) -> String {
        let keys: String = self.fields().map(|item| item.keys.as_str()).collect();
        match keys.is_empty() {
            true => String::new(),
            false => format!("fn each_key(&self, visit: &mut dyn FnMut(&[u8])) {{ {keys} }}"),
        }
    }

    /// What most calls are, borrowed texts without options: everything is looked at before anything is written, so that a compiler
    /// that sees the command being built knows the answers and need not build it. Empty if there is no such form.
    fn encode_plain(&self) -> String {
        let is_text = |item: &&Item| {
            item.parameter
                .as_ref()
                .is_some_and(|one| one.kind == Kind::Arg)
        };
        let texts: Vec<&Item> = self.items.iter().filter(is_text).collect();
        let required = || {
            self.items
                .iter()
                .filter(|item| item.field.is_empty() || item.parameter.is_some())
        };
        if texts.is_empty() || required().any(|item| !item.count.is_empty()) {
            return String::new();
        }
        let fixed = self.name_words() + required().map(|item| item.fixed).sum::<usize>();
        let writes: String = required()
            .map(|item| match is_text(&item) {
                true => format!("request.borrowed({});", item.field),
                false => item.write.clone(),
            })
            .collect();
        let looked = texts
            .iter()
            .map(|item| format!("self.{}.borrowed()", item.field));
        let found = texts.iter().map(|item| format!("Some({})", item.field));
        let (looked, found) = (tuple(looked.collect()), tuple(found.collect()));
        let (guard, name) = (self.guard(), self.name_encoded());
        format!(
            "#[inline] {ENCODE} {{ match {looked} {{ \
             {found}{guard} => {{ request.fixed(b\"*{fixed}\\r\\n{name}\"); {writes} }} \
             _ => self.encode_any(request), }} }}"
        )
    }

    /// The condition that no option was chosen.
    fn guard(&self) -> String {
        let options = self.fields().filter(|item| item.parameter.is_none());
        let absent = options.map(|item| match item.of.split('<').next() {
            Some("bool") => format!("!self.{}", item.field),
            Some("Option") => format!("self.{}.is_none()", item.field),
            Some("Vec") => format!("self.{}.is_empty()", item.field),
            _ => format!("self.{}.count() == 0", item.field),
        });
        let absent: Vec<String> = absent.collect();
        match absent.is_empty() {
            true => String::new(),
            false => format!(" if {}", absent.join(" && ")),
        }
    }

    fn encode_any(&self) -> String {
        let name = self.name_encoded();
        let fixed = self.name_words() + self.items.iter().map(|item| item.fixed).sum::<usize>();
        let counts = self.items.iter().filter(|item| !item.count.is_empty());
        let counts: String = counts.map(|item| format!(" + {}", item.count)).collect();
        let head = match counts.is_empty() {
            true => format!("request.fixed(b\"*{fixed}\\r\\n{name}\");"),
            false => format!("request.begin({fixed}{counts}, b\"*0\\r\\n{name}\");"),
        };
        let writes = self.items.iter().map(|item| item.write.as_str());
        std::iter::once(head.as_str()).chain(writes).collect()
    }

    fn name_words(&self) -> usize {
        self.declaration.name.split(' ').count()
    }

    fn name_encoded(&self) -> String {
        self.declaration.name.split(' ').map(bulk).collect()
    }

    /// What a test does with the shortest call that the server takes, and with the words of enums.
    pub(crate) fn test(&self) -> String {
        let call = self.shortest_call();
        let name = &self.declaration.name;
        let mut test = format!("check.minimal(\"{name}\", &{call});");
        if !self.encode_plain().is_empty() {
            // Such a command is written in another way if its texts are not borrowed.
            let owned = call.replace("\"x\"", "\"x\".to_owned()");
            test += &format!("check.same(&{call}, &{owned});");
        }
        for (of, words) in enums(&self.declaration.arguments) {
            for word in words {
                test += &format!("check.word(\"{word}\", {of}::{}.as_str());", camel(word));
            }
        }
        test
    }

    fn shortest_call(&self) -> String {
        let parameters = self.items.iter().filter_map(|item| item.parameter.as_ref());
        let samples: Vec<String> = parameters.map(|one| one.kind.sample()).collect();
        let least = self.items.iter().filter(|item| item.is_required);
        let calls = least.map(|item| {
            let method = &item.methods[0];
            let samples = method.parameters.iter().map(|one| one.kind.sample());
            let samples: Vec<String> = samples.collect();
            format!(".{}({})", method.name, samples.join(", "))
        });
        let calls: String = calls.collect();
        format!("{}({}){calls}", self.function, samples.join(", "))
    }
}

const ENCODE: &str = "fn encode<'a>(&'a self, request: &mut Request<'_, 'a>)";
const ENCODE_ANY: &str = "fn encode_any<'a>(&'a self, request: &mut Request<'_, 'a>)";

/// The value of flags.
pub(crate) fn flags(names: &[String]) -> String {
    let (first, others) = match names {
        [first, others @ ..] => (first.as_str(), others),
        [] => ("NONE", [].as_slice()),
    };
    let others = others.iter().map(|name| format!(".with(Flags::{name})"));
    format!("Flags::{first}{}", others.collect::<String>())
}

/// What takes any type that can be converted is compiled where it is called anyway.
fn inline(parameters: &str) -> &'static str {
    match parameters.contains("impl ") {
        true => "",
        false => "#[inline] ",
    }
}

fn doc(text: &str) -> String {
    format!("#[doc = {:?}] ", format!(" {text}"))
}

fn tuple(values: Vec<String>) -> String {
    match values.as_slice() {
        [one] => one.clone(),
        all => format!("({})", all.join(", ")),
    }
}
