//! Where a container keeps its files.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use super::variables::Image;

/// The places of the files.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// slapd.d.
    pub(super) config: PathBuf,
    /// The folder of data.mdb.
    pub(super) database: PathBuf,
    /// That of the access log.
    pub(super) access_log: PathBuf,
    /// Certificates that were made here.
    pub(super) tls: PathBuf,
    /// The local socket.
    pub(super) socket: PathBuf,
    /// What the last start was told.
    pub(super) state: PathBuf,
    /// Exists while the first start is under way.
    pub(super) beginning: PathBuf,
    /// Exists until the log of a cluster has begun with the entries of the first start.
    pub(super) begins_log: PathBuf,
}

impl Layout {
    /// The folder that a variable names, that of the other image if it exists, or `/data`.
    pub(super) fn choose(image: Image, asked: Option<&str>) -> Self {
        match (asked, image) {
            (Some(folder), _) => Self::own(Path::new(folder)),
            (None, Image::Osixia) if is_folder("/var/lib/ldap") && is_folder("/etc/ldap/slapd.d") => Self::of(
                Path::new("/var/lib/ldap"),
                "/etc/ldap/slapd.d".into(),
                "/var/lib/ldap".into(),
            ),
            (None, Image::Bitnami) if is_folder("/bitnami/openldap") => {
                let base = Path::new("/bitnami/openldap");
                Self::of(base, base.join("slapd.d"), base.join("data"))
            }
            (None, _) => Self::own(Path::new("/data")),
        }
    }

    fn own(base: &Path) -> Self {
        Self::of(base, base.join("slapd.d"), base.join("database"))
    }

    fn of(base: &Path, config: PathBuf, database: PathBuf) -> Self {
        Self {
            access_log: database.join("accesslog"),
            config,
            database,
            tls: base.join("tls"),
            socket: base.join("run/ldapi"),
            state: base.join(".ironbark-container.json"),
            beginning: base.join(".ironbark-first-start"),
            begins_log: base.join(".ironbark-begins-log"),
        }
    }

    /// Makes the folders that are missing, for this user alone.
    ///
    /// # Errors
    /// The folder that cannot be made.
    pub(super) fn make_folders(&self) -> Result<(), String> {
        for folder in [&self.config, &self.database, &self.access_log, &self.tls] {
            make_private(folder)?;
        }
        self.socket.parent().map_or(Ok(()), make_private)
    }

    /// Whether there is a configuration or a database.
    pub(super) fn is_used(&self) -> bool {
        has_entries(&self.config) || self.database.join("data.mdb").exists()
    }

    /// Removes the entries that a first start has made.
    ///
    /// # Errors
    /// The file that cannot be removed.
    pub(super) fn clear_databases(&self) -> Result<(), String> {
        for folder in [&self.database, &self.access_log] {
            for name in ["data.mdb", "lock.mdb"] {
                let path = folder.join(name);
                ignore_missing(fs::remove_file(&path), &path)?;
            }
        }
        Ok(())
    }

    /// Removes what an interrupted first start has left.
    ///
    /// # Errors
    /// The file that cannot be removed.
    pub(super) fn clear(&self) -> Result<(), String> {
        ignore_missing(fs::remove_file(&self.begins_log), &self.begins_log)?;
        self.clear_databases()?;
        // The folder itself may be where a volume is mounted.
        let entries = match fs::read_dir(&self.config) {
            Ok(entries) => entries,
            Err(error) => return ignore_missing(Err(error), &self.config),
        };
        for entry in entries {
            let path = entry.map_err(failed(&self.config))?.path();
            let removed = if path.is_dir() {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_file(&path)
            };
            ignore_missing(removed, &path)?;
        }
        Ok(())
    }
}

fn ignore_missing(result: io::Result<()>, path: &Path) -> Result<(), String> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(path)(error)),
        _ => Ok(()),
    }
}

fn is_folder(path: &str) -> bool {
    Path::new(path).is_dir()
}

/// Whether a folder has something besides what a new file system has.
fn has_entries(path: &Path) -> bool {
    let Ok(entries) = fs::read_dir(path) else { return false };
    entries.flatten().any(|entry| entry.file_name() != "lost+found")
}

/// The error of a file, for the user.
pub(super) fn failed(path: &Path) -> impl Fn(io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

fn make_private(path: &Path) -> Result<(), String> {
    let made = DirBuilder::new().mode(0o700).recursive(true).create(path);
    made.map_err(failed(path))
}

/// Writes a file for this user alone, whole or not at all; it is on disk on return.
///
/// # Errors
/// The file that cannot be written.
pub(super) fn write_whole(path: &Path, content: &[u8]) -> Result<(), String> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    let write = || -> io::Result<()> {
        let options = &mut OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        Ok(())
    };
    write().map_err(failed(path))?;
    sync_folder(path)
}

/// Writes the names of the folder of a file to the disk.
///
/// # Errors
/// The folder cannot be written.
pub(super) fn sync_folder(path: &Path) -> Result<(), String> {
    let sync = |folder: &Path| File::open(folder)?.sync_all();
    path.parent().map_or(Ok(()), sync).map_err(failed(path))
}
