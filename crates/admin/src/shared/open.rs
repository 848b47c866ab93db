//! Databases that are opened to be read.

use ironbark_config::DatabaseConfig;
use ironbark_directory::open;
use ironbark_store::Database;

use super::{chosen::Chosen, owner};

/// Opens a database for reading; `None` when none has been made yet.
///
/// # Errors
/// The message for the user, which begins with the program's name.
pub(crate) fn open_to_read(
    settings: &DatabaseConfig,
    chosen: &Chosen,
    program: &str,
) -> Result<Option<Database>, String> {
    let database = open::to_read(settings, chosen.schema());
    // A reader makes the lock file when there is none.
    owner::adopt_database(settings, program);
    database.map_err(|error| format!("{program}: could not open database: {error}"))
}
