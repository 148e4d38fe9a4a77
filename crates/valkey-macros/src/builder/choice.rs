//! Groups with alternatives, and groups that are repeated.

use super::{Builder, method};
use crate::argument::{Argument, Group, Sequence};
use crate::item::{Item, Parameter, parameter};
use crate::name::{bulk, plural, snake};
use crate::token::{Result, error_at};
use crate::usage;

impl Builder {
    /// One of several words, or none: a method for each.
    pub(super) fn one_of(&mut self, group: &Group) -> Result<()> {
        let field = field_of(group)?;
        let methods = group.alternatives.iter().map(|one| {
            let word = word_of(one);
            let body = format!("self.{field} = Some(Token(b\"{}\"));", bulk(word));
            method(&snake(word), vec![], body, one)
        });
        let item = Item {
            of: "Option<Token>".to_owned(),
            initial: "None".to_owned(),
            methods: methods.collect(),
            ..Item::default()
        };
        self.push_optional(item, field, &[]);
        Ok(())
    }

    /// One of several words, each with its own values: a method for each, and one field.
    pub(super) fn choice(&mut self, group: &Group, words: &[String]) -> Result<()> {
        let field = match words.last() {
            Some(word) => snake(word),
            None => field_of(group)?,
        };
        let mut item = Item {
            initial: "None".to_owned(),
            is_required: !group.is_optional && words.is_empty(),
            ..Item::default()
        };
        let values = |one: &Sequence| -> Vec<Argument> {
            let values = one.arguments.iter().skip(1);
            values
                .filter(|one| !matches!(one, Argument::Group(_)))
                .cloned()
                .collect()
        };
        let most = group.alternatives.iter().map(|one| values(one).len()).max();
        let most = most.unwrap_or(0);
        for one in &group.alternatives {
            let Some(Argument::Word(word)) = one.arguments.first() else {
                return error_at(
                    group.at,
                    "each alternative begins with a word in capitals, or in quotes",
                );
            };
            let parameters: Vec<Parameter> = values(one).iter().map(parameter).collect();
            let mut parts: Vec<String> = parameters
                .iter()
                .map(|one| format!("Some({}.into())", one.name))
                .collect();
            parts.resize(most, "None".to_owned());
            let body = format!(
                "self.{field} = Some(Choice(b\"{}\", [{}]));",
                bulk(word),
                parts.join(", ")
            );
            item.methods
                .push(method(&snake(word), parameters, body, one));
            if values(one).iter().any(usage::has_key) {
                item.keys = format!("self.{field}.each(visit);");
            }
        }
        item.of = format!("Option<Choice<'a, {most}>>");
        self.push_optional(item, field, words);
        let options = group.alternatives.iter().flat_map(|one| &one.arguments);
        for argument in options {
            if let Argument::Group(group) = argument {
                self.group(group)?;
            }
        }
        Ok(())
    }

    /// What can be given several times, each time with its words: methods that add to one list.
    pub(super) fn pushed(&mut self, group: &Group) -> Result<()> {
        let name = match (group.name.as_str(), group.alternatives.as_slice()) {
            ("", [one]) => match one.arguments.last() {
                Some(value @ Argument::Value { .. }) => parameter(value).name,
                _ => field_of(group)?,
            },
            _ => field_of(group)?,
        };
        let field = plural(&name);
        let mut item = Item {
            of: "Vec<Arg<'a>>".to_owned(),
            initial: "Vec::new()".to_owned(),
            is_required: !group.is_optional || group.is_needed,
            ..Item::default()
        };
        let is_alone = group.is_optional && group.alternatives.len() == 1;
        for one in &group.alternatives {
            push_methods(&mut item, &field, one, is_alone);
        }
        self.push_optional(item, field, &[]);
        Ok(())
    }
}

fn push_methods(item: &mut Item, field: &str, sequence: &Sequence, is_alone: bool) {
    let groups = sequence.arguments.iter().filter_map(|one| match one {
        Argument::Group(group) => Some(group),
        _ => None,
    });
    let mut has_groups = false;
    for group in groups {
        has_groups = true;
        for one in &group.alternatives {
            push_methods(item, field, one, false);
        }
    }
    if has_groups {
        return;
    }
    let (mut parts, mut parameters, mut last) = (Vec::new(), Vec::new(), "");
    for argument in &sequence.arguments {
        match argument {
            Argument::Word(word) => {
                parts.push(format!("\"{word}\".into()"));
                last = word;
            }
            value => {
                let parameter = parameter(value);
                parts.push(format!("{}.into()", parameter.name));
                parameters.push(parameter);
            }
        }
    }
    let body = format!("self.{field}.extend([{}]);", parts.join(", "));
    let mut method = method(&snake(last), parameters, body, sequence);
    if is_alone {
        method.doc = usage::of_repeated_option(sequence);
    }
    item.methods.push(method);
}

fn word_of(sequence: &Sequence) -> &str {
    match sequence.arguments.as_slice() {
        [Argument::Word(word)] => word,
        _ => "",
    }
}

fn field_of(group: &Group) -> Result<String> {
    match group.name.as_str() {
        "" => error_at(group.at, "this group needs a name: `name: [A | B]`"),
        name => Ok(snake(name)),
    }
}
