//! `ironbark config-file`: converts a configuration directory back to a slapd.conf file.

use std::{fs::OpenOptions, io::Write as _, os::unix::fs::OpenOptionsExt, path::PathBuf};

use clap::Args;
use ironbark_config::olc;
use ironbark_server::load_configuration;

/// Options of `ironbark config-file`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ConfigFile {
    /// The configuration directory
    #[arg(short = 'F', long = "config-directory", value_name = "DIRECTORY")]
    config_directory: Option<PathBuf>,
    /// The output file; standard output without it
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  ironbark config-file -F /etc/ldap/slapd.d -o slapd.conf";

impl ConfigFile {
    pub(super) fn run(&self) -> Result<(), String> {
        let loaded = load_configuration(None, self.config_directory.as_deref()).map_err(|error| error.to_string())?;
        let text = olc::slapd_conf(&loaded.tree).map_err(|error| error.to_string())?;
        match &self.output {
            None => print!("{text}"),
            Some(path) => {
                // The file may hold passwords.
                let file = OpenOptions::new()
                    .write(true)
                    .create(true)
                    .truncate(true)
                    .mode(0o600)
                    .open(path);
                let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
                written.map_err(|error| format!("{}: {error}", path.display()))?;
            }
        }
        Ok(())
    }
}
