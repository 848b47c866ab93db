//! Mistakes that can be seen before anything is made. Each is named with its variable.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ironbark_server::log::level;
use rustix::{
    fs::{Access, access},
    io::Errno,
};

use super::{
    environment::Given,
    layout::Layout,
    settings::{Settings, Tls},
    state::Facts,
};

/// Variables with names of entries, as the images write them.
const NAMES: [&str; 3] = ["LDAP_ROOT", "LDAP_SUFFIX", "LDAP_BASE_DN"];
/// Where the images have their databases.
const DATABASES: [&str; 2] = ["/bitnami/openldap/data", "/var/lib/ldap"];
const LOG_LEVELS: [&str; 2] = ["LDAP_LOGLEVEL", "LDAP_LOG_LEVEL"];
/// Variables with folders and files that a first start loads.
const PLACES: [&str; 5] = [
    "LDAP_CUSTOM_LDIF_DIR",
    "LDAP_CUSTOM_SCHEMA_DIR",
    "LDAP_CUSTOM_SCHEMA_FILE",
    "LDAP_SEED_INTERNAL_LDIF_PATH",
    "LDAP_SEED_INTERNAL_SCHEMA_PATH",
];

/// Checks what a start needs.
///
/// # Errors
/// The variable or the file, and the reason.
pub(super) fn before_anything_is_made(
    given: &Given,
    settings: &Settings,
    facts: &Facts,
    layout: &Layout,
) -> Result<(), String> {
    for name in NAMES {
        if let Some(text) = given.value(name)
            && !text.contains('=')
        {
            return Err(format!("{name}={text}: a name such as dc=example,dc=org is expected"));
        }
    }
    for name in LOG_LEVELS {
        if let Some(text) = given.value(name) {
            level::add_levels(0, text).map_err(|error| format!("{name}={text}: {error}"))?;
        }
    }
    volume(layout, facts.uid)?;
    if let Some(tls) = settings.tls.as_ref().filter(|_| !facts.has_made_certificate) {
        files_of_tls(tls, given)?;
    }
    if let Some(cluster) = &settings.cluster {
        for (name, path) in &cluster.files {
            fs::File::open(path).map_err(|error| format!("{name}={}: {error}", path.display()))?;
        }
    }
    scripts(Path::new("/docker-entrypoint-initdb.d"))
}

/// Warnings of folders and files that were asked for and are not there. The images pass over them, so this is no error.
pub(super) fn missing_places(given: &Given) -> impl Iterator<Item = String> {
    PLACES.iter().filter_map(|name| {
        let place = given.value(name).filter(|place| !Path::new(place).exists())?;
        Some(format!("{name}={place} does not exist, so nothing is loaded from it"))
    })
}

/// An image's database that would stand beside a new and empty one, because its configuration is not mounted or because
/// the variables are of the other image. A folder or a file to import that was named says that this is meant.
///
/// # Errors
/// The database, and what to do.
pub(super) fn no_other_volume(given: &Given, layout: &Layout) -> Result<(), String> {
    let is_meant = |name| given.value(name).is_some();
    if is_meant("IRONBARK_DATA") || is_meant("IRONBARK_IMPORT") {
        return Ok(());
    }
    let places = DATABASES.map(Path::new);
    other_volume(&places, &layout.database).map_or(Ok(()), |file| {
        Err(format!(
            "{} is a database that no container of ours has made, and the new one would be in {}.\nOne of OpenLDAP's \
             comes over by slapcat: write `slapcat -n 1` (bitnami: -n 2) in the old image, and start with an empty \
             volume and IRONBARK_IMPORT=FILE (docs/container.md).",
            file.display(),
            layout.database.display()
        ))
    })
}

fn other_volume(places: &[&Path], database: &Path) -> Option<PathBuf> {
    let others = places.iter().filter(|place| **place != database);
    others.map(|place| place.join("data.mdb")).find(|file| file.exists())
}

/// Whether this user may write the folders that exist.
fn volume(layout: &Layout, uid: u32) -> Result<(), String> {
    let base = layout.state.parent().map(Path::to_owned);
    let folders = [base.as_ref(), Some(&layout.config), Some(&layout.database)];
    for folder in folders.into_iter().flatten() {
        match access(folder, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => {
                let error = std::io::Error::from(error);
                return Err(format!(
                    "{}: {error}: user {uid}, as whom the container runs, must be able to read and write the volume",
                    folder.display()
                ));
            }
        }
    }
    Ok(())
}

/// Files that the server will need.
fn files_of_tls(tls: &Tls, given: &Given) -> Result<(), String> {
    let files = [
        Some(&tls.certificate),
        Some(&tls.key),
        tls.authority.as_ref(),
        tls.parameters.as_ref(),
    ];
    let wrong = files.into_iter().flatten().filter_map(|path| {
        let error = fs::File::open(path).err()?;
        let mut variables = given.values.iter();
        let variable = variables.find(|(name, value)| name.contains("TLS") && *value == path);
        let variable = variable.map_or_else(String::new, |(name, _)| format!("{name}="));
        Some(format!("{variable}{path}: {error}"))
    });
    let wrong: Vec<String> = wrong.collect();
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n"))
    }
}

/// Scripts may protect something, so they are not passed over in silence.
fn scripts(folder: &Path) -> Result<(), String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(());
    };
    let mut paths = entries.flatten().map(|entry| entry.path());
    let is_script = |path: &PathBuf| path.as_os_str().as_encoded_bytes().ends_with(b".sh");
    paths.find(is_script).map_or(Ok(()), |path| {
        Err(format!(
            "{}: there is no shell to run it; LDIF files in LDAP_CUSTOM_LDIF_DIR can change entries and cn=config",
            path.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_elsewhere_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let [own, other] = ["own", "other"].map(|name| folder.path().join(name));
        fs::create_dir(&other).unwrap();
        let places = [own.as_path(), other.as_path()];
        assert_eq!(other_volume(&places, &own), None);
        let file = other.join("data.mdb");
        fs::write(&file, "x").unwrap();
        assert_eq!(other_volume(&places, &own), Some(file));
        assert_eq!(other_volume(&places, &other), None);
    }
}
