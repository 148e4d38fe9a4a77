//! Arguments as fields and methods of a command's builder.

mod choice;

use crate::argument::{Argument, Group, Sequence, Type};
use crate::item::{Item, Method, Parameter, keys, parameter};
use crate::name::{bulk, snake};
use crate::token::{Result, error_at};
use crate::usage;

/// Makes the items of a command's arguments.
///
/// Which options go together is the server's to check: a group within a group is two groups here.
pub(crate) fn items(arguments: &[Argument]) -> Result<Vec<Item>> {
    let mut builder = Builder::default();
    builder.required(arguments)?;
    Ok(builder.items)
}

#[derive(Default)]
struct Builder {
    items: Vec<Item>,
}

impl Builder {
    fn required(&mut self, arguments: &[Argument]) -> Result<()> {
        for (index, argument) in arguments.iter().enumerate() {
            match argument {
                Argument::Word(word) => self.words(std::slice::from_ref(word)),
                Argument::NumKeys => self.number_of(arguments.get(index + 1)),
                Argument::Group(group) if group.is_repeated => self.pushed(group)?,
                Argument::Group(group) => self.group(group)?,
                _ => self.value(argument),
            }
        }
        Ok(())
    }

    /// Words that are always there.
    fn words(&mut self, words: &[String]) {
        for word in words {
            self.items.push(Item {
                fixed: 1,
                write: format!("request.token(b\"{}\");", bulk(word)),
                ..Item::default()
            });
        }
    }

    fn number_of(&mut self, keys: Option<&Argument>) {
        let list = match keys {
            Some(Argument::Group(group)) => group.alternatives[0].arguments.first(),
            other => other,
        };
        let name = list.map_or(String::new(), |list| parameter(list).name);
        self.items.push(Item {
            fixed: 1,
            write: format!("request.number_of(&self.{name});"),
            ..Item::default()
        });
    }

    /// A value without which there is no command.
    fn value(&mut self, argument: &Argument) {
        let parameter = parameter(argument);
        let target = format!("self.{}", parameter.name);
        let has_count = parameter.kind.has_count();
        self.items.push(Item {
            field: parameter.name.clone(),
            of: parameter.kind.field().to_owned(),
            count: if has_count {
                format!("{target}.count()")
            } else {
                String::new()
            },
            fixed: usize::from(!has_count),
            write: format!("request.part(&{target});"),
            keys: keys(argument, &target),
            parameter: Some(parameter),
            ..Item::default()
        });
    }

    fn group(&mut self, group: &Group) -> Result<()> {
        if let Some(value) = value_of(group) {
            match group.is_optional {
                true => self.option(
                    &group.name,
                    &Sequence {
                        arguments: vec![value],
                        ..group.alternatives[0].clone()
                    },
                )?,
                false => self.value(&value),
            }
            return Ok(());
        }
        match group.alternatives.as_slice() {
            [one] if group.is_needed => self.required(&one.arguments),
            [one] => self.option(&group.name, one),
            all if group.is_optional && all.iter().all(is_word) => self.one_of(group),
            all if group.is_optional && all.iter().any(has_only_options) => {
                all.iter().try_for_each(|one| self.option(&group.name, one))
            }
            all if all.iter().all(is_word) => error_at(
                group.at,
                "one of these words is always there: name their enum, `name: Enum<A | B>`",
            ),
            _ => self.choice(group, &[]),
        }
    }

    /// `[...]`: a word, a value or several, with other options behind them.
    fn option(&mut self, name: &str, sequence: &Sequence) -> Result<()> {
        let all = sequence.arguments.as_slice();
        let words: Vec<String> = all
            .iter()
            .map_while(|one| match one {
                Argument::Word(word) => Some(word.clone()),
                _ => None,
            })
            .collect();
        let rest = &all[words.len()..];
        if let [Argument::Group(group)] = rest
            && group.alternatives.len() > 1
        {
            return self.choice(group, &words);
        }
        let is_value = |one: &&Argument| !matches!(one, Argument::Group(_));
        let mut prefix = words.as_slice();
        match rest.iter().filter(is_value).count() {
            0 if words.len() == 1 => self.flag(&words[0], &alone(sequence)),
            1 => {}
            _ if words.is_empty() && rest.iter().all(|one| !is_value(&one)) => {}
            _ => {
                return self.joined(
                    words.first().map_or(name, String::as_str),
                    &words,
                    rest,
                    sequence,
                );
            }
        }
        for argument in rest {
            match argument {
                Argument::Group(group) => self.group(group)?,
                value => {
                    self.optional_value(value, std::mem::take(&mut prefix), &alone(sequence), true);
                }
            }
        }
        Ok(())
    }

    /// A word that is there or not.
    fn flag(&mut self, word: &str, sequence: &Sequence) {
        let name = snake(word);
        self.items.push(Item {
            of: "bool".to_owned(),
            initial: "false".to_owned(),
            count: format!("usize::from(self.{name})"),
            write: format!("request.flag(self.{name}, b\"{}\");", bulk(word)),
            methods: vec![method(
                &name,
                vec![],
                format!("self.{name} = true;"),
                sequence,
            )],
            field: name,
            ..Item::default()
        });
    }

    fn optional_value(
        &mut self,
        argument: &Argument,
        words: &[String],
        sequence: &Sequence,
        has_method: bool,
    ) {
        let parameter = parameter(argument);
        let field = match words.last().filter(|_| has_method) {
            Some(word) => snake(word),
            None => parameter.name.clone(),
        };
        let of = parameter.kind.field().to_owned();
        let is_list = parameter.kind.is_list();
        let (of, initial) = match is_list {
            true => (
                of.clone(),
                format!("{}::none()", of.trim_end_matches("<'a>")),
            ),
            false => (format!("Option<{of}>"), "None".to_owned()),
        };
        let mut item = Item {
            keys: keys(argument, &format!("self.{field}")),
            of,
            initial,
            ..Item::default()
        };
        if has_method {
            let body = assignment(&field, &parameter);
            item.methods
                .push(method(&field, vec![parameter], body, sequence));
        }
        self.push_optional(item, field, words);
    }

    /// Several values that go together: one method for all of them.
    fn joined(
        &mut self,
        name: &str,
        words: &[String],
        rest: &[Argument],
        sequence: &Sequence,
    ) -> Result<()> {
        let first = self.items.len();
        let (mut parameters, mut bodies) = (Vec::new(), Vec::new());
        let mut words = words;
        for argument in rest {
            match argument {
                Argument::Group(group) => self.group(group)?,
                value => {
                    self.optional_value(value, std::mem::take(&mut words), sequence, false);
                    let parameter = parameter(value);
                    bodies.push(assignment(&parameter.name, &parameter));
                    parameters.push(parameter);
                }
            }
        }
        let method = method(&snake(name), parameters, bodies.join("\n"), sequence);
        self.items[first].methods.push(method);
        Ok(())
    }

    /// Adds what writes an option: its words only if there is a value.
    fn push_optional(&mut self, mut item: Item, field: String, words: &[String]) {
        let target = format!("self.{field}");
        match words {
            [] => {
                item.count = format!("{target}.count()");
                item.write = format!("request.part(&{target});");
            }
            words => {
                let encoded: String = words.iter().map(|word| bulk(word)).collect();
                item.count = format!("tagged({}, &{target})", words.len());
                item.write = format!("request.tagged(b\"{encoded}\", &{target});");
            }
        }
        item.field = field;
        self.items.push(item);
    }
}

/// An option without the options that can follow it.
fn alone(sequence: &Sequence) -> Sequence {
    let arguments = sequence.arguments.iter();
    let own = arguments.take_while(|one| !matches!(one, Argument::Group(_)));
    Sequence {
        arguments: own.cloned().collect(),
        ..sequence.clone()
    }
}

fn method(name: &str, parameters: Vec<Parameter>, body: String, sequence: &Sequence) -> Method {
    Method {
        name: name.to_owned(),
        parameters,
        body,
        doc: usage::of_option(sequence),
        shape: sequence.shape.clone(),
    }
}

fn assignment(field: &str, parameter: &Parameter) -> String {
    let value = parameter.converted();
    match parameter.kind.is_list() {
        true => format!("self.{field} = {value};"),
        false => format!("self.{field} = Some({value});"),
    }
}

/// The value of a group such as `<* | id>`: for the caller its words are values like any other.
fn value_of(group: &Group) -> Option<Argument> {
    let mut values = group
        .alternatives
        .iter()
        .filter_map(|one| match one.arguments.as_slice() {
            [value @ Argument::Value { is_list: false, .. }] => Some(value),
            _ => None,
        });
    let value = values.next().filter(|_| group.alternatives.len() > 1)?;
    let mut value = value.clone();
    if let Argument::Value {
        kind: kind @ (Type::Int | Type::UInt | Type::Double),
        ..
    } = &mut value
    {
        *kind = Type::Text;
    }
    Some(value)
}

fn is_word(sequence: &Sequence) -> bool {
    matches!(sequence.arguments.as_slice(), [Argument::Word(_)])
}

fn has_only_options(sequence: &Sequence) -> bool {
    let mut arguments = sequence.arguments.iter();
    arguments.all(|one| matches!(one, Argument::Group(group) if group.is_optional))
}
