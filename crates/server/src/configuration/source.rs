//! Where the configuration comes from: slapd.conf, a configuration directory, or a directory made from the file.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use ironbark_config::{
    ConfigError, Disk, LoadedConfiguration,
    olc::{self, Folder, Stamps, Tree},
};
use ironbark_directory::stamp::StampGenerator;
use ironbark_model::Schema;
use ironbark_overlays::registry;
use ironbark_runtime::{Clock, Randomness, RandomnessError};

use crate::options::{DEFAULT_CONFIG_DIRECTORY, DEFAULT_CONFIG_FILE};

/// Why a configuration is not taken from its source, or not kept there. The text names file and line, and is without
/// the program's name.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The name of slapd.conf.
    #[error("{}: the name is not UTF-8", .0.display())]
    Name(PathBuf),
    /// The configuration directory does not exist, or may not be read.
    #[error("could not open config directory \"{}\": {error}", folder.display())]
    Open {
        /// The directory.
        folder: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The names in the configuration directory cannot be read.
    #[error("{}: {error}", folder.display())]
    Read {
        /// The directory.
        folder: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// slapd.conf would replace a configuration.
    #[error(
        "\"{}\" is not empty: with -f and -F, {} would be converted into it and replace what is there; \
         leave -f out to use {}, leave -F out to use {}, or name an empty directory",
        folder.display(), file.display(), folder.display(), file.display()
    )]
    NotEmpty {
        /// slapd.conf.
        file: PathBuf,
        /// The directory.
        folder: PathBuf,
    },
    /// The configuration directory has no configuration.
    #[error("{}: holds no configuration", .0.display())]
    Nothing(PathBuf),
    /// Changes of a cluster's cn=config must be kept.
    #[error("{file}: line {line}: `cluster` in `database config` needs a configuration directory (-F)")]
    ClusterWithoutFolder {
        /// Where the setting stands.
        file: Arc<str>,
        /// Its line.
        line: u32,
    },
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The configuration directory cannot be read or written, or another process writes to it.
    #[error(transparent)]
    Folder(#[from] olc::FolderError),
    /// The system has no randomness.
    #[error("making an entryUUID: {0}")]
    Randomness(RandomnessError),
}

/// A configuration and its source.
#[derive(Debug)]
pub struct Loaded {
    /// The configuration.
    pub configuration: LoadedConfiguration,
    /// The same as cn=config shows it.
    pub tree: Tree,
    /// Where changes are kept. `None`: they last as long as the server.
    pub folder: Option<Folder>,
    /// The content of the folder; `None` until something is written to it.
    pub stored: Option<Tree>,
}

/// Reads the configuration as slapd and its tools do:
///
/// - `file` alone: slapd.conf; changes are not kept.
/// - `folder` alone: a configuration directory.
/// - both: the file; [`Loaded::keep`] then converts it into the directory, which must be empty.
/// - none: the usual directory if it holds a configuration, otherwise the usual file.
///
/// # Errors
/// The reason, with file and line, without the program's name.
pub fn load_configuration(file: Option<&Path>, folder: Option<&Path>) -> Result<Loaded, SourceError> {
    let usual = Folder::new(DEFAULT_CONFIG_DIRECTORY, &registry());
    match (file, folder) {
        (Some(file), folder) => of_file(file, folder),
        (None, Some(folder)) => of_folder(&Folder::new(folder, &registry())),
        (None, None) if usual.holds_configuration() => of_folder(&usual),
        (None, None) => of_file(Path::new(DEFAULT_CONFIG_FILE), None),
    }
}

/// The same for a server, which writes to the directory as long as it runs. Nobody else does then.
///
/// # Errors
/// As of [`load_configuration`]; another process writes to the directory.
pub(crate) fn claim_configuration(file: Option<&Path>, folder: Option<&Path>) -> Result<Loaded, SourceError> {
    let usual = Folder::new(DEFAULT_CONFIG_DIRECTORY, &registry());
    let claimed = match (file, folder) {
        (_, Some(folder)) => Some(Folder::new(folder, &registry())),
        (None, None) if usual.holds_configuration() => Some(usual),
        (_, None) => None,
    };
    if let Some(folder) = &claimed {
        check_folder(folder.path())?;
        folder.claim()?;
    }
    let loaded = load_configuration(file, folder)?;
    Ok(Loaded {
        folder: claimed,
        ..loaded
    })
}

fn of_file(file: &Path, folder: Option<&Path>) -> Result<Loaded, SourceError> {
    if let Some(folder) = folder {
        check_folder(folder)?;
        check_is_empty(file, folder)?;
    }
    let name = file.to_str().ok_or_else(|| SourceError::Name(file.to_owned()))?;
    let configuration = ironbark_config::load(name, &Disk, &registry())?;
    let mut tree = olc::render(&configuration);
    if let Some(folder) = folder {
        let shown = folder.display().to_string().into_bytes();
        tree.root.set("olcConfigDir", vec![shown]);
    }
    stamp(&mut tree, &configuration.schema)?;
    Ok(Loaded {
        configuration,
        tree,
        folder: folder.map(|folder| Folder::new(folder, &registry())),
        stored: None,
    })
}

/// A configuration is converted into an empty directory alone: what is in it may have been changed since, through
/// cn=config. As in slapd, names that begin with a dot do not count.
fn check_is_empty(file: &Path, folder: &Path) -> Result<(), SourceError> {
    let read = || std::fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect();
    let names: std::io::Result<Vec<_>> = read();
    let names = names.map_err(|error| SourceError::Read {
        folder: folder.to_owned(),
        error,
    })?;
    if names.iter().all(|name| name.as_encoded_bytes().starts_with(b".")) {
        return Ok(());
    }
    Err(SourceError::NotEmpty {
        file: file.to_owned(),
        folder: folder.to_owned(),
    })
}

/// A missing directory is an error and is not created: after a typing error, the server would start without its
/// configuration.
fn check_folder(folder: &Path) -> Result<(), SourceError> {
    let read = std::fs::read_dir(folder);
    read.map(drop).map_err(|error| SourceError::Open {
        folder: folder.to_owned(),
        error,
    })
}

fn of_folder(folder: &Folder) -> Result<Loaded, SourceError> {
    check_folder(folder.path())?;
    if !folder.holds_configuration() {
        return Err(SourceError::Nothing(folder.path().to_owned()));
    }
    let (stored, notices) = folder.read()?;
    let mut tree = stored.clone();
    tree.complete();
    let mut configuration = olc::load(&tree)?;
    configuration.notices.splice(0..0, notices);
    stamp(&mut tree, &configuration.schema)?;
    Ok(Loaded {
        configuration,
        tree,
        folder: Some(folder.clone()),
        stored: Some(stored),
    })
}

/// Gives its operational attributes to every entry of a tree that has none.
///
/// # Errors
/// The system has no randomness.
pub fn stamp(tree: &mut Tree, schema: &Schema) -> Result<(), SourceError> {
    let mut failure = None;
    tree.stamp(schema, &mut || {
        new_stamps("cn=config").unwrap_or_else(|error| {
            failure = Some(error);
            Stamps {
                author: String::new(),
                time: String::new(),
                csn: String::new(),
                uuid: String::new(),
            }
        })
    });
    failure.map_or(Ok(()), Err)
}

/// The operational attributes of an entry of cn=config that a tool makes, or the server at its start.
///
/// # Errors
/// The system has no randomness.
pub fn new_stamps(author: &str) -> Result<Stamps, SourceError> {
    let block = StampGenerator::new(0).block(&Clock::system(), 1);
    let uuid = Randomness::system().uuid_v4().map_err(SourceError::Randomness)?;
    Ok(Stamps {
        author: author.to_owned(),
        time: block.time().to_owned(),
        csn: block.csn(0, 0),
        uuid: uuid.hyphenated().to_string(),
    })
}

impl Loaded {
    /// Writes the tree to the folder, if there is one.
    ///
    /// # Errors
    /// The file that cannot be written.
    pub fn keep(&mut self) -> Result<(), SourceError> {
        if let Some(folder) = &self.folder {
            let known = self.stored.as_ref();
            let written = folder.write(known, &self.tree)?;
            if let Some(error) = written {
                return Err(error.into());
            }
            self.stored = Some(self.tree.clone());
        }
        Ok(())
    }
}

/// The usual configuration file.
pub fn usual_file() -> PathBuf {
    PathBuf::from(DEFAULT_CONFIG_FILE)
}

/// The usual configuration directory.
pub fn usual_folder() -> PathBuf {
    PathBuf::from(DEFAULT_CONFIG_DIRECTORY)
}
