//! The database in which the tour takes place, and what has to be removed from it afterwards.

use onecopy_mysql::Config;
use onecopy_mysql::blocking::Connection;

use super::super::print::{gap, plain};
use crate::bench::failure::Failure;
use crate::bench::setup;
use crate::bench::shape::{BLOB_TABLE, Blob, ROWS_TABLE};

const DATABASE: &str = "onecopy_tour";

/// The row that is inserted back.
pub(super) const COPY_ID: u32 = 9;

/// ER_DB_CREATE_EXISTS.
const EXISTS: u16 = 1007;
/// ER_DBACCESS_DENIED_ERROR.
const DENIED: u16 = 1044;
/// ER_SPECIFIC_ACCESS_DENIED_ERROR.
const NO_PRIVILEGE: u16 = 1227;

/// The database, and what the tour made there.
#[derive(Debug)]
pub(super) struct Ground {
    database: String,
    made_database: bool,
    /// Tables made in a database that was there before.
    made_tables: Vec<&'static str>,
}

impl Ground {
    /// A database of the tour's own; where the user may not make one, the URL's.
    pub(super) fn find(conn: &mut Connection, config: &Config) -> Result<Self, Failure> {
        let made = conn
            .run(format!("CREATE DATABASE {DATABASE}"))
            .map_err(Failure::from);
        let (database, made_database) = match (made, &config.database) {
            (Ok(_), _) => (DATABASE, true),
            (Err(error), _) if error.is_server(EXISTS) => (DATABASE, false),
            (Err(error), Some(database))
                if error.is_server(DENIED) || error.is_server(NO_PRIVILEGE) =>
            {
                (database.as_str(), false)
            }
            (Err(error), _) => return Err(error),
        };
        conn.use_database(database)?;
        Ok(Self {
            database: database.to_owned(),
            made_database,
            made_tables: Vec::new(),
        })
    }

    pub(super) fn database(&self) -> &str {
        &self.database
    }

    /// Creates what does not exist yet.
    pub(super) fn fill(
        &mut self,
        conn: &mut Connection,
        rows: u32,
        blob: Blob,
    ) -> Result<(), Failure> {
        gap();
        plain(&format!(
            "First the tables, in the database {}: {rows} rows of about 90 kB, and a value of {} MiB.",
            self.database,
            blob.bytes >> 20
        ));
        // Noted first: what fails half made is removed too.
        for table in [ROWS_TABLE, BLOB_TABLE] {
            if !setup::is_there(conn, table)? {
                self.made_tables.push(table);
            }
        }
        setup::rows(conn, rows, false)?;
        setup::value(conn, blob)?;
        Ok(())
    }

    /// Removes what the tour made, and nothing else.
    pub(super) fn leave(self, conn: &mut Connection) -> Result<(), Failure> {
        gap();
        if self.made_database {
            conn.run(format!("DROP DATABASE {}", self.database))?;
            plain(&format!("The database {} is dropped again.", self.database));
            return Ok(());
        }
        for table in &self.made_tables {
            conn.run(format!("DROP TABLE IF EXISTS {table}"))?;
        }
        if !self.made_tables.contains(&BLOB_TABLE) {
            conn.run(format!("DELETE FROM {BLOB_TABLE} WHERE id = {COPY_ID}"))?;
        }
        plain(&format!(
            "The database {} was there before and is left; what the tour made in it is dropped.",
            self.database
        ));
        if self.database == DATABASE {
            plain(&format!(
                "If an interrupted tour made it: DROP DATABASE {DATABASE}."
            ));
        }
        Ok(())
    }
}
