//! `ironbark compare-replicas`: whether servers that replicate each other hold the same.
//!
//! Each server is asked for the entryUUID and entryCSN of all entries. Entries that differ are asked for again, because
//! the listings of several servers are not of the same moment. What still differs is told.

mod comparison;
mod difference;
mod listing;

use std::{process::ExitCode, time::Duration};

use clap::Args;

use self::{comparison::Comparison, listing::Depth};
use crate::shared::access_options::AccessOptions;

/// Options of `ironbark compare-replicas`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompareReplicas {
    /// The servers, ldap:// ldaps:// or ldapi://. Others are compared with the first one. A URL may name its base
    #[arg(required = true, num_args = 2.., value_name = "URL")]
    urls: Vec<String>,
    /// What is compared: this entry and all below it [default: the only naming context]
    #[arg(short = 'b', long, value_name = "DN")]
    base: Option<String>,
    #[command(flatten)]
    access: AccessOptions,
    /// Compare all replicated attributes, and name those that differ
    #[arg(long)]
    deep: bool,
    /// An attribute that --deep does not compare; may be repeated
    #[arg(long, value_name = "ATTRIBUTE", requires = "deep")]
    exclude: Vec<String>,
    /// Try again until all are equal, at most so many seconds
    #[arg(long, default_value_t = 0, value_name = "SECONDS")]
    wait: u64,
    /// Differences that are named for each server
    #[arg(long, default_value_t = 100, value_name = "NUMBER")]
    names: usize,
}

const EXAMPLES: &str = "Examples:
  ironbark compare-replicas ldap://a/ ldap://b/ -Z --ca-file ca.crt
  ironbark compare-replicas --deep --wait 60 ldap://a/ ldap://b/";

impl CompareReplicas {
    /// Exit status 0: equal, 1: different, 2: an error.
    pub(super) fn run(&self) -> ExitCode {
        match self.compare() {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(text) => {
                eprintln!("ironbark: {text}");
                ExitCode::from(2)
            }
        }
    }

    fn depth(&self) -> Depth {
        Depth {
            is_deep: self.deep,
            excluded: OWN
                .into_iter()
                .map(str::to_owned)
                .chain(self.exclude.iter().cloned())
                .collect(),
        }
    }

    fn compare(&self) -> Result<bool, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        runtime.block_on(async {
            let settings = self.access.settings()?;
            let base = self.base.as_deref();
            let mut comparison = Comparison::open(&self.urls, base, &settings, self.depth()).await?;
            comparison.run(Duration::from_secs(self.wait), self.names).await
        })
    }
}

/// Attributes that each server has for itself: computed ones, what binds record, and the vector.
const OWN: [&str; 8] = [
    "entryDN",
    "hasSubordinates",
    "numSubordinates",
    "subschemaSubentry",
    "contextCSN",
    "pwdPolicySubentry",
    "pwdLastSuccess",
    "authTimestamp",
];
