//! Reads names from the server.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config, Error, Param, params};

use super::{Known, Wish};

/// Servers that take longer to tell their names than this have too many of them.
const LIMIT: Duration = Duration::from_secs(10);

/// Columns of a database that are read at once; those of the tables behind them are read when they are needed.
const COLUMNS: usize = 20_000;

/// Tables and databases that are completed.
const RELATIONS: usize = 50_000;

/// Fulfils the wishes over a connection of its own, and closes it.
pub(super) fn read(
    config: &Config,
    current: Option<&str>,
    wishes: &[Wish],
    known: &Mutex<Known>,
) -> Result<(), Error> {
    let mut config = config.clone();
    config.statement_timeout = Some(LIMIT);
    config.database = None;
    let mut reader = Reader {
        connection: Connection::connect_with(&config)?,
        known,
    };
    reader.databases()?;
    for wish in wishes {
        match wish {
            Wish::Database(database) => {
                if let Some(database) = database.as_deref().or(current) {
                    reader.database(database)?;
                }
            }
            Wish::Table(database, table) => {
                if let Some(database) = database.as_deref().or(current) {
                    reader.table(database, table)?;
                }
            }
            Wish::Again => {
                let read = reader.lock().read();
                for database in read {
                    reader.database(&database)?;
                }
            }
        }
    }
    reader.connection.close()
}

struct Reader<'k> {
    connection: Connection,
    known: &'k Mutex<Known>,
}

impl Reader<'_> {
    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn databases(&mut self) -> Result<(), Error> {
        let sql = format!(
            "SELECT schema_name, '' FROM information_schema.schemata ORDER BY schema_name LIMIT {RELATIONS}"
        );
        let names = self.pairs(&sql, &[])?.into_iter().map(|(name, _)| name);
        self.lock().add_databases(names.collect());
        Ok(())
    }

    fn database(&mut self, database: &str) -> Result<(), Error> {
        let sql = format!(
            "SELECT table_name, '' FROM information_schema.tables WHERE table_schema = ? ORDER BY table_name LIMIT {RELATIONS}"
        );
        let tables = self.pairs(&sql, &params![database])?;
        let sql = format!(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = ? \
             ORDER BY table_name, ordinal_position LIMIT {COLUMNS}"
        );
        let columns = self.pairs(&sql, &params![database])?;
        let sql = format!(
            "SELECT routine_name, '' FROM information_schema.routines WHERE routine_schema = ? ORDER BY routine_name LIMIT {RELATIONS}"
        );
        let routines = self.pairs(&sql, &params![database])?;
        let is_cut = columns.len() == COLUMNS;
        let mut by_table: HashMap<String, Vec<String>> = HashMap::new();
        let mut last = String::new();
        for (table, column) in columns {
            if last != table {
                last.clone_from(&table);
            }
            by_table.entry(table).or_default().push(column);
        }
        if is_cut {
            // It has more.
            by_table.remove(&last);
        }
        let relations = tables.into_iter().map(|(name, _)| {
            let columns = by_table.remove(&name).unwrap_or_default();
            (name, columns)
        });
        let relations = relations.collect();
        let routines = routines.into_iter().map(|(name, _)| name).collect();
        self.lock().add_relations(database, relations, routines);
        Ok(())
    }

    fn table(&mut self, database: &str, table: &str) -> Result<(), Error> {
        let sql = "SELECT column_name, '' FROM information_schema.columns WHERE table_schema = ? AND table_name = ? \
                   ORDER BY ordinal_position";
        let columns = self.pairs(sql, &params![database, table])?;
        let columns = columns.into_iter().map(|(name, _)| name).collect();
        self.lock().add_columns(database, table, columns);
        Ok(())
    }

    fn pairs(&mut self, sql: &str, params: &[Param<'_>]) -> Result<Vec<(String, String)>, Error> {
        let statement = self.connection.prepare(sql)?;
        let mut rows = self.connection.execute(&statement, params)?;
        let mut pairs = Vec::new();
        while let Some(row) = rows.next()? {
            pairs.push((row.get::<String>(0)?, row.get::<String>(1)?));
        }
        Ok(pairs)
    }
}
