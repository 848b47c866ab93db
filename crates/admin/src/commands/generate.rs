//! `ironbark generate`: see `ironbark_load::generate`.

use std::{
    fs::File,
    io::{self, BufWriter, IsTerminal, Write},
    path::PathBuf,
};

use clap::Args;

use ironbark_load::generate::{DataSet, DataSetKind, PasswordStorage};

use crate::shared::progress::Progress;

/// Options of `ironbark generate`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Generate {
    /// zimbra, telco, university, directorymark, ycsb or groups
    kind: DataSetKind,
    /// Number of people, subscribers or records; or members of the largest group
    #[arg(long)]
    count: u64,
    /// The suffix
    #[arg(long, default_value = "dc=example,dc=com", value_name = "DN")]
    suffix: String,
    /// The same seed gives the same bytes
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How passwords are stored: usual, ssha or plain; subscribers have passwords only with ssha or plain
    #[arg(long, default_value = "usual")]
    passwords: PasswordStorage,
    /// The output file, which must not exist; stdout without it
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  ironbark generate zimbra --count 100000 -o data.ldif
  ironbark generate telco --count 50000 --passwords ssha -o telco.ldif";

impl Generate {
    pub(super) fn run(&self) -> Result<(), String> {
        let progress = match &self.output {
            None if io::stdout().is_terminal() => Progress::hidden(),
            _ => Progress::entries(Some(self.count)),
        };
        let result = match &self.output {
            None => self.write(&mut io::stdout().lock(), &progress),
            Some(path) => {
                let file = File::create_new(path).map_err(|error| format!("{}: {error}", path.display()))?;
                self.write(&mut BufWriter::with_capacity(1 << 20, file), &progress)
            }
        };
        result.map_err(|error| match &self.output {
            Some(path) => format!("{}: {error}", path.display()),
            None => error.to_string(),
        })
    }

    fn write(&self, out: &mut impl Write, progress: &Progress) -> io::Result<()> {
        let set = DataSet::new(self.kind, self.seed, &self.suffix, self.passwords)?;
        set.write(self.count, out, &mut |done| progress.set(done))?;
        out.flush()
    }
}
