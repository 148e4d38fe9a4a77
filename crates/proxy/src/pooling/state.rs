//! The state of a session that can be brought to another connection: system variables and the schema.
//!
//! Only what differs from a fresh connection of the same pool is kept. Servers report each change by name and value.
//! What they report, and what of it can be set again, is in `names`; it was seen on MariaDB 10.11, 11.8 and MySQL 9.7.

mod difference;
mod names;
mod switches;
#[cfg(test)]
mod tests;

use super::pin::Pin;
use crate::packed::{Packer, Unpacker};
use difference::character_set_of;
pub(crate) use difference::{difference, is_harmless};
pub(crate) use names::is_following;
use names::{CHARACTER_SETS, RESULTS, first_name, is_meaning, is_unrepeatable};
use switches::switches;
pub(crate) use switches::{is_switch, put_switches};

/// Names and values, sorted by name.
type Variables = Vec<(Box<[u8]>, Box<[u8]>)>;

/// The session variables of a fresh connection, by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Baseline(Variables);

impl Baseline {
    pub(crate) fn from_rows(rows: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>) -> Self {
        let mut rows: Vec<_> = rows
            .into_iter()
            .map(|(name, value)| (name.to_ascii_lowercase().into(), value.into()))
            .collect();
        rows.sort();
        let mut baseline = Self(rows);
        // A login sets both alike.
        if let Some(collation) = baseline.get(b"collation_connection").map(Box::from) {
            let at = baseline.0.partition_point(|(name, _)| **name < *RESULTS);
            baseline.0.insert(at, (RESULTS.into(), collation));
        }
        baseline
    }

    pub(crate) fn get(&self, name: &[u8]) -> Option<&[u8]> {
        let at = self.0.binary_search_by(|(one, _)| (**one).cmp(name)).ok()?;
        self.0.get(at).map(|(_, value)| &**value)
    }
}

/// What differs from a fresh connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct State {
    variables: Variables,
    schema: Option<Box<[u8]>>,
}

impl State {
    /// What differs from a fresh connection behind a reset: the character sets, which are the server's then.
    pub(crate) fn after_reset(baseline: &Baseline, character_sets: &[u8]) -> Self {
        let mut state = Self::default();
        let values = character_sets.split(|&byte| byte == b',');
        for (name, value) in CHARACTER_SETS.into_iter().zip(values) {
            let value = match name {
                RESULTS => state.collation_of_results(baseline, value),
                _ => value,
            };
            if let Ok(Some(changed)) = state.with_variable(baseline, name, value) {
                state = changed;
            }
        }
        state
    }

    /// That collation, if results are in its character set; otherwise its default one.
    fn collation_of_results<'a>(&'a self, baseline: &'a Baseline, collation: &'a [u8]) -> &'a [u8] {
        let name = CHARACTER_SETS[1];
        let set = self.get(name).or_else(|| baseline.get(name));
        let set = set.unwrap_or_default();
        match character_set_of(collation) == set {
            true => collation,
            false => set,
        }
    }

    /// The state after `SET NAMES`, or another statement that has set the character set of results.
    ///
    /// # Errors
    /// The collation of results is not known.
    pub(crate) fn with_results(
        &self,
        baseline: &Baseline,
        has_names: bool,
    ) -> Result<Option<Self>, Pin> {
        let value = |name| self.get(name).or_else(|| baseline.get(name));
        let set = value(CHARACTER_SETS[1]).unwrap_or_default();
        let collation = value(CHARACTER_SETS[3]).unwrap_or_default();
        if has_names && character_set_of(collation) != set {
            // A routine has set them, and only those of the connection were set back at its end.
            return Err(Pin::Variable);
        }
        let of_results = if has_names { collation } else { set };
        self.with(baseline, RESULTS, of_results)
    }

    /// The state with what a question about [switches](put_switches) has found, and why its session keeps the connection, if it does.
    pub(crate) fn with_switches(&self, baseline: &Baseline, values: &[u8]) -> (Self, Option<Pin>) {
        let (mut state, mut pin) = (self.clone(), None);
        let values = values.split(|&byte| byte == b',');
        for (name, value) in switches(baseline).zip(values) {
            let value: &[u8] = match value {
                b"0" | b"OFF" => b"OFF",
                _ => b"ON",
            };
            if baseline.get(name) == Some(value) && state.get(name).is_none() {
                continue;
            }
            match state.with_variable(baseline, name, value) {
                Ok(Some(changed)) => state = changed,
                Ok(None) => {}
                Err(reason) => pin = Some(reason),
            }
        }
        (state, pin)
    }

    pub(crate) fn schema(&self) -> Option<&[u8]> {
        self.schema.as_deref()
    }

    pub(crate) fn with_schema(&self, schema: Option<Box<[u8]>>) -> Self {
        Self {
            schema,
            ..self.clone()
        }
    }

    /// For another process of the proxy.
    pub(crate) fn pack(&self, to: &mut Packer) {
        to.count(self.variables.len());
        for (name, value) in &self.variables {
            to.bytes(name);
            to.bytes(value);
        }
        to.option(self.schema.as_deref(), Packer::bytes);
    }

    /// `None` where the bytes are no state.
    pub(crate) fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        let count = from.count(8)?;
        let variable = |_| Some((from.bytes()?.into(), from.bytes()?.into()));
        let variables = (0..count).map(variable).collect::<Option<Variables>>()?;
        if !variables.is_sorted_by(|(one, _), (next, _)| one < next) {
            return None;
        }
        let schema = from.option(|from| Some(from.bytes()?.into()))?;
        Some(Self { variables, schema })
    }

    /// The part of it that says what a statement's text means.
    pub(crate) fn meaning(&self) -> Self {
        let variables = self.variables.iter().filter(|(name, _)| is_meaning(name));
        Self {
            variables: variables.cloned().collect(),
            schema: self.schema.clone(),
        }
    }

    /// This state, in which texts mean what they do in another.
    pub(crate) fn with_meaning(&self, meaning: &Self) -> Self {
        let own = self.variables.iter().filter(|(name, _)| !is_meaning(name));
        let mut variables: Variables = own.chain(&meaning.variables).cloned().collect();
        variables.sort();
        Self {
            variables,
            schema: meaning.schema.clone(),
        }
    }

    /// The state after a variable was set; `None` where nothing changes.
    ///
    /// # Errors
    /// The variable can't be set again.
    pub(crate) fn with_variable(
        &self,
        baseline: &Baseline,
        name: &[u8],
        value: &[u8],
    ) -> Result<Option<Self>, Pin> {
        let name = name.to_ascii_lowercase();
        let first = first_name(&name).filter(|first| baseline.get(first).is_some());
        let name = first.unwrap_or(name.as_slice());
        if is_following(name) {
            return Ok(None);
        }
        if name.starts_with(b"session_track_") {
            return Err(Pin::SessionTrack);
        }
        // Servers give this name to others that have no storage of their own, too: MariaDB 11.8 to `timestamp`.
        if matches!(name, b"last_insert_id" | b"identity") {
            return Err(Pin::LastInsertId);
        }
        if is_unrepeatable(name, value) {
            return Err(Pin::Variable);
        }
        let mut changed = self.with(baseline, name, value)?;
        if name == b"collation_connection" {
            // Only one of the two is reported.
            let set = character_set_of(value);
            let before = changed.as_ref().unwrap_or(self);
            let both = before.with(baseline, b"character_set_connection", set)?;
            changed = both.or(changed);
        }
        Ok(changed)
    }

    fn with(&self, baseline: &Baseline, name: &[u8], value: &[u8]) -> Result<Option<Self>, Pin> {
        let before = baseline.get(name).ok_or(Pin::Variable)?;
        let found = self
            .variables
            .binary_search_by(|(one, _)| (**one).cmp(name));
        let mut variables = self.variables.clone();
        match (found, before == value) {
            (Err(_), true) => return Ok(None),
            (Ok(at), true) => drop(variables.remove(at)),
            (Ok(at), false) => {
                if let Some((_, old)) = variables.get_mut(at) {
                    if **old == *value {
                        return Ok(None);
                    }
                    *old = value.into();
                }
            }
            (Err(at), false) => variables.insert(at, (name.into(), value.into())),
        }
        Ok(Some(Self {
            variables,
            schema: self.schema.clone(),
        }))
    }

    /// The value of a variable that differs.
    pub(crate) fn get(&self, name: &[u8]) -> Option<&[u8]> {
        let found = self
            .variables
            .binary_search_by(|(one, _)| (**one).cmp(name));
        let (_, value) = self.variables.get(found.ok()?)?;
        Some(value)
    }
}
