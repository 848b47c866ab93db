//! Which configuration a subcommand of ours takes.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use clap::Args;

/// The directory of `ironbark init` in its examples.
const NEW: &str = "./directory";

/// A configuration, named as slapd's tools name it.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ConfigOptions {
    /// The configuration, a slapd.conf [default: ./directory/slapd.conf if that is yours, else slapd's usual place]
    #[arg(short = 'f', long = "config", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The configuration, a directory
    #[arg(
        short = 'F',
        long = "config-directory",
        value_name = "DIRECTORY",
        conflicts_with = "config"
    )]
    pub(crate) config_directory: Option<PathBuf>,
}

impl ConfigOptions {
    /// Whether one is named.
    pub(crate) fn is_given(&self) -> bool {
        self.config.is_some() || self.config_directory.is_some()
    }

    /// What is named; without that the directory of `ironbark init` below the working directory, if there is one.
    pub(crate) fn or_new(&self) -> Self {
        if self.is_given() {
            return self.clone();
        }
        Self {
            config: new_below(Path::new(NEW)),
            config_directory: None,
        }
    }

    /// The same, and says which one it is where nobody named it: another one may have been meant.
    pub(crate) fn or_new_aloud(&self) -> Self {
        let taken = self.or_new();
        if let Some(file) = taken.config.as_ref().filter(|_| !self.is_given()) {
            eprintln!("ironbark: the configuration is {}", file.display());
        }
        taken
    }
}

/// The configuration in a directory that `ironbark init` has made. Nobody but the caller may have written it: it says
/// what is read, and where it is written to.
fn new_below(directory: &Path) -> Option<PathBuf> {
    let file = directory.join("slapd.conf");
    let is_own = |path: &Path| {
        let found = fs::symlink_metadata(path);
        found.is_ok_and(|found| found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0)
    };
    (is_own(directory) && is_own(&file)).then_some(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_new_directory_is_taken_that_nobody_else_can_have_written() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("directory");
        assert_eq!(new_below(&folder), None);
        fs::create_dir(&folder).unwrap();
        assert_eq!(new_below(&folder), None);
        let file = folder.join("slapd.conf");
        fs::write(&file, "").unwrap();
        for (of_folder, of_file, is_taken) in [
            (0o700, 0o600, true),
            (0o755, 0o644, true),
            (0o777, 0o600, false),
            (0o770, 0o600, false),
            (0o700, 0o666, false),
        ] {
            fs::set_permissions(&folder, fs::Permissions::from_mode(of_folder)).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(of_file)).unwrap();
            assert_eq!(new_below(&folder).is_some(), is_taken, "{of_folder:o} {of_file:o}");
        }
    }
}
