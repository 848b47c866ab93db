//! Opens databases for reading.

use ironbark_config::DatabaseConfig;
use ironbark_directory::open;
use ironbark_store::Database;

use super::{
    chosen::Chosen,
    owner::{self, Use},
};

/// Opens a database for reading, for a subcommand of ours. `None`: the database does not exist yet.
///
/// # Errors
/// The message for the user.
pub(crate) fn open_to_read(settings: &DatabaseConfig, chosen: &Chosen) -> Result<Option<Database>, String> {
    open_for(settings, chosen, "ironbark")
}

/// The same for one of OpenLDAP's tools.
///
/// # Errors
/// The message for the user. It begins with the program's name.
pub(crate) fn open_for_tool(
    settings: &DatabaseConfig,
    chosen: &Chosen,
    program: &str,
) -> Result<Option<Database>, String> {
    open_for(settings, chosen, program).map_err(|error| format!("{program}: {error}"))
}

fn open_for(settings: &DatabaseConfig, chosen: &Chosen, program: &str) -> Result<Option<Database>, String> {
    let database = owner::opening(&[settings], Use::Read, program, || {
        open::to_read(settings, chosen.schema())
    });
    database.map_err(|error| format!("could not open database: {error}"))
}
