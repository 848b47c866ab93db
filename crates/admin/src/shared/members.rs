//! Databases of clusters, which tools must not change: neither the log nor the other servers would have the change.

use ironbark_config::DatabaseConfig;
use ironbark_model::Dn;

use super::{chosen::Chosen, open::open_for_tool};

/// Refuses to change these of the chosen databases, if one is part of a cluster. One that has not joined yet is not.
///
/// # Errors
/// The message for the user. It begins with the program's name.
pub(crate) fn refuse<'c>(
    databases: impl Iterator<Item = &'c DatabaseConfig>,
    chosen: &Chosen,
    program: &str,
) -> Result<(), String> {
    let is_there = |settings: &&DatabaseConfig| settings.directory.join("data.mdb").exists();
    for settings in databases.filter(|settings| settings.cluster.is_some()).filter(is_there) {
        let Some(database) = open_for_tool(settings, chosen, program)? else {
            continue;
        };
        let joined = database
            .snapshot()
            .and_then(|snapshot| snapshot.view().is_of_a_cluster());
        if joined.map_err(|error| format!("{program}: {error}"))? {
            let suffix = settings.suffixes.first().map(Dn::pretty).unwrap_or_default();
            return Err(format!(
                "{program}: {suffix}: the database is part of a cluster, whose log has all changes: make them at a \
                 running server, or move data.mdb away to make another database"
            ));
        }
    }
    Ok(())
}
