//! The names that were read so far.

use std::collections::{HashMap, HashSet};

/// Names by database. Databases and tables are looked up in letters of any case.
#[derive(Debug, Clone, Default)]
pub(in crate::sql::shell) struct Known {
    current: Option<String>,
    databases: Vec<String>,
    schemas: HashMap<String, Schema>,
    /// What the reader was asked for and has not answered.
    asked: HashSet<String>,
}

#[derive(Debug, Clone, Default)]
struct Schema {
    name: String,
    relations: Vec<String>,
    /// By table.
    columns: HashMap<String, Vec<String>>,
    routines: Vec<String>,
}

impl Known {
    pub(in crate::sql::shell) fn set_current(&mut self, database: Option<&str>) {
        self.current = database.map(str::to_owned);
    }

    pub(super) fn current(&self) -> Option<String> {
        self.current.clone()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.databases.is_empty()
    }

    pub(in crate::sql::shell) fn databases(&self) -> &[String] {
        &self.databases
    }

    /// Tables and views, of the database in use where none is named.
    pub(in crate::sql::shell) fn relations(&self, database: Option<&str>) -> &[String] {
        self.schema(database)
            .map_or(&[], |schema| &schema.relations)
    }

    pub(in crate::sql::shell) fn columns(&self, database: Option<&str>, table: &str) -> &[String] {
        let columns = self
            .schema(database)
            .and_then(|schema| schema.columns.get(&key(table)));
        columns.map_or(&[], Vec::as_slice)
    }

    /// Columns of all tables of the database in use that were read.
    pub(in crate::sql::shell) fn all_columns(&self) -> Vec<String> {
        let columns = self
            .schema(None)
            .into_iter()
            .flat_map(|schema| schema.columns.values().flatten());
        let mut all: Vec<String> = columns.cloned().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Functions of the database in use.
    pub(in crate::sql::shell) fn routines(&self) -> &[String] {
        self.schema(None).map_or(&[], |schema| &schema.routines)
    }

    fn schema(&self, database: Option<&str>) -> Option<&Schema> {
        self.schemas
            .get(&key(database.or(self.current.as_deref())?))
    }

    /// The databases that were read.
    pub(super) fn read(&self) -> Vec<String> {
        self.schemas
            .values()
            .map(|schema| schema.name.clone())
            .collect()
    }

    /// Whether a database has to be read. One that does not exist is read once.
    pub(super) fn needs(&self, database: Option<&str>) -> bool {
        match database.or(self.current.as_deref()) {
            Some(name) => !self.schemas.contains_key(&key(name)),
            None => self.databases.is_empty(),
        }
    }

    /// Whether the table exists and its columns have to be read.
    pub(super) fn needs_columns(&self, database: Option<&str>, table: &str) -> bool {
        self.schema(database).is_some_and(|schema| {
            !schema.columns.contains_key(&key(table))
                && schema
                    .relations
                    .iter()
                    .any(|name| name.eq_ignore_ascii_case(table))
        })
    }

    pub(in crate::sql::shell) fn add_databases(&mut self, names: Vec<String>) {
        self.databases = names;
    }

    /// Tables with their columns, which are none where they are still to be read.
    pub(in crate::sql::shell) fn add_relations(
        &mut self,
        database: &str,
        relations: Vec<(String, Vec<String>)>,
        routines: Vec<String>,
    ) {
        let mut schema = Schema {
            name: database.to_owned(),
            routines,
            ..Schema::default()
        };
        for (name, columns) in relations {
            if !columns.is_empty() {
                schema.columns.insert(key(&name), columns);
            }
            schema.relations.push(name);
        }
        self.schemas.insert(key(database), schema);
    }

    pub(super) fn add_columns(&mut self, database: &str, table: &str, columns: Vec<String>) {
        if let Some(schema) = self.schemas.get_mut(&key(database)) {
            schema.columns.insert(key(table), columns);
        }
    }

    /// Whether it was not asked for already.
    pub(super) fn mark_asked(&mut self, wish: &str) -> bool {
        self.asked.insert(wish.to_owned())
    }

    pub(super) fn forget_asked(&mut self) {
        self.asked.clear();
    }

    /// What failed is not tried again before the next statement that changes tables.
    pub(super) fn mark_answered(&mut self, wish: &str, is_read: bool) {
        if is_read {
            self.asked.remove(wish);
        }
    }
}

fn key(name: &str) -> String {
    name.to_lowercase()
}
