//! The directory of one test: configuration, database, socket, log.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{Flavor, TestkitError};

/// A temporary directory that is removed when the value is dropped.
///
/// It lies in `/tmp` and has a short name, because the path of a socket may have only 107 bytes.
#[derive(Debug)]
pub struct Layout {
    dir: TempDir,
}

impl Layout {
    /// A new directory with an empty database directory `db` in it.
    pub fn new() -> Result<Self, TestkitError> {
        let dir = tempfile::Builder::new()
            .prefix("ib-")
            .tempdir_in("/tmp")
            .map_err(TestkitError::io("cannot make a temporary directory"))?;
        let layout = Self { dir };
        layout.make_dir("db")?;
        Ok(layout)
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A path in the directory.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Makes a directory in it. It is no error if the directory exists.
    pub fn make_dir(&self, name: &str) -> Result<PathBuf, TestkitError> {
        let path = self.join(name);
        fs::create_dir_all(&path).map_err(TestkitError::io(format!("cannot make {}", path.display())))?;
        Ok(path)
    }

    /// Writes a file in it.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<PathBuf, TestkitError> {
        let path = self.join(name);
        fs::write(&path, content).map_err(TestkitError::io(format!("cannot write {}", path.display())))?;
        Ok(path)
    }

    /// Reads a file in it.
    pub fn read(&self, name: &str) -> Result<String, TestkitError> {
        let path = self.join(name);
        let bytes = fs::read(&path).map_err(TestkitError::io(format!("cannot read {}", path.display())))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Fills the placeholders `{schema}`, `{dir}` and `{port}` of a text, and puts the flavor's preamble before it.
    pub(crate) fn configuration(&self, flavor: Flavor, template: &str, port: u16) -> String {
        let filled = template
            .replace("{schema}", &flavor.schema_dir().to_string_lossy())
            .replace("{dir}", &self.path().to_string_lossy())
            .replace("{port}", &port.to_string());
        format!("{}{filled}", flavor.preamble())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_goes_away_with_the_value() {
        let layout = Layout::new().unwrap();
        layout.write("a", "text").unwrap();
        assert_eq!(layout.read("a").unwrap(), "text");
        let path = layout.path().to_owned();
        assert!(path.join("db").is_dir() && path.as_os_str().len() < 40);
        drop(layout);
        assert!(!path.exists());
    }

    #[test]
    fn placeholders_are_filled() {
        let layout = Layout::new().unwrap();
        let text = layout.configuration(
            Flavor::OpenLdap,
            "include {schema}/core.schema\ndirectory {dir}/db\n# {port}\n",
            7,
        );
        let dir = layout.path().display();
        assert!(
            text.ends_with(&format!(
                "include /etc/ldap/schema/core.schema\ndirectory {dir}/db\n# 7\n"
            )),
            "{text}"
        );
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = Layout::new().unwrap().read("absent").unwrap_err().to_string();
        assert!(error.contains("absent"), "{error}");
    }
}
