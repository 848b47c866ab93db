//! The databases of the configuration that a tool works on: by `-n`, by `-b`, or the first one, and those glued to it.

use std::sync::Arc;

use ironbark_config::{DatabaseConfig, LoadedConfiguration, database::DatabaseDescriptor};
use ironbark_model::{Dn, Schema};

use ironbark_server::Loaded;
use ironbark_store::fault::{self, Maps};

use super::{options::Options, owner};

/// The program of our own subcommands.
const OWN: &str = "ironbark";

/// A configuration and its chosen databases.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// The whole configuration.
    pub(crate) configuration: LoadedConfiguration,
    /// Positions in `configuration.databases`: the chosen one, then those glued to it in the order of the file.
    pub(crate) positions: Vec<usize>,
}

/// Reads the configuration that `-f` and `-F` name, or the default one. A file is converted into the directory, unless
/// it is a dry run.
///
/// # Errors
/// The message for the user, without the program's name.
pub(crate) fn read_configuration(options: &Options) -> Result<Loaded, String> {
    let program = options.program;
    // Without the watch a tool still works.
    let _ = fault::watch(Maps::open(), move |text| eprintln!("{program}: {text}"));
    let (file, folder) = (options.config_file.as_deref(), options.config_directory.as_deref());
    let mut loaded = ironbark_server::load_configuration(file, folder).map_err(|error| error.to_string())?;
    if file.is_some() && !options.dry_run {
        loaded.keep().map_err(|error| error.to_string())?;
        if let Some(folder) = &loaded.folder {
            owner::adopt_folder(folder.path()).map_err(|error| format!("{}: {error}", folder.path().display()))?;
        }
    }
    Ok(loaded)
}

impl Chosen {
    /// Reads the configuration and chooses as slapd's tools do.
    ///
    /// # Errors
    /// The message for the user has been printed.
    pub(crate) fn new(options: &Options) -> Result<Self, ()> {
        let program = options.program;
        let Loaded { configuration, .. } = read_configuration(options).map_err(|error| match program {
            OWN => eprintln!("{OWN}: {error}"),
            tool => eprintln!("{error}\n{tool}: bad configuration file!"),
        })?;
        let positions = choose(&configuration, options);
        let positions = positions.map_err(|why| eprintln!("{}", why.text(program, &configuration)))?;
        Ok(Self {
            configuration,
            positions,
        })
    }

    /// The settings of the chosen databases. The requested one comes first.
    pub(crate) fn databases(&self) -> impl Iterator<Item = (usize, &DatabaseConfig)> {
        let all = &self.configuration.databases;
        self.positions.iter().filter_map(move |&at| Some((at, all.get(at)?)))
    }

    /// The schema.
    pub(crate) fn schema(&self) -> &Arc<Schema> {
        &self.configuration.schema
    }
}

/// Whether entries of a database may be dynamic: overlay dds deletes them in time.
pub(crate) fn keeps_dynamic_entries(settings: &DatabaseConfig) -> bool {
    settings.overlays.iter().any(|overlay| overlay.name() == "dds")
}

/// The database into which another is glued: the nearest one above it that is not glued itself.
pub(crate) fn glue_root(configuration: &LoadedConfiguration, position: usize) -> Option<usize> {
    let database = configuration.databases.get(position)?;
    database.subordinate?;
    let suffix = database.suffixes.first()?;
    let above = |other: &DatabaseConfig| {
        let holding = other
            .suffixes
            .iter()
            .filter(|above| suffix.is_within(above) && *above != suffix);
        holding.map(Dn::depth).max()
    };
    let others = configuration.databases.iter().enumerate();
    let roots = others.filter(|(_, other)| other.subordinate.is_none() && !other.hidden);
    roots
        .filter_map(|(at, other)| Some((above(other)?, at)))
        .max_by_key(|(depth, _)| *depth)
        .map(|(_, at)| at)
}

/// Whether a tool works on such a database, even if it finds nothing there.
fn is_for(program: &str, kind: &DatabaseDescriptor) -> bool {
    match program {
        // Only the store has indexes.
        "slapindex" => kind.has_indexes(),
        // What is elsewhere no tool reaches.
        _ => kind.has_suffix() && !kind.is_external(),
    }
}

/// Why no database is chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
enum NotChosen {
    /// The tool does not work on such a database.
    Unsuited,
    /// `-n`: there are only so many.
    OutOfRange(usize),
    /// `-b` is no name.
    NoName(String),
    /// No database holds the name of `-b`.
    NoneHolds(String),
    /// There is no database for the tool.
    None,
}

impl NotChosen {
    /// What slapd's tool says, or what our own commands say.
    fn text(&self, program: &str, configuration: &LoadedConfiguration) -> String {
        let is_own = program == OWN;
        match self {
            Self::Unsuited if is_own => format!("{OWN}: this command works on entries that are stored in files here"),
            Self::Unsuited => format!("{program}: database doesn't support necessary operations."),
            Self::OutOfRange(count) if is_own => format!("{OWN}: -n: the databases are numbered from 1 to {count}"),
            Self::OutOfRange(count) => format!(
                "Database number selected via -n is out of range\nMust be in the range 0 to {count} (the number of \
                 configured databases)"
            ),
            Self::NoName(text) if is_own => format!(
                "{OWN}: -b: \"{text}\" is no name of an entry; one such as ou=people,dc=example,dc=com is wanted"
            ),
            Self::NoName(text) => format!("{program}: invalid suffix (\"{text}\")"),
            Self::NoneHolds(text) if is_own => {
                let all = configuration.databases.iter().flat_map(|database| &database.suffixes);
                let all: Vec<String> = all.map(|suffix| format!("\"{}\"", suffix.pretty())).collect();
                format!("{OWN}: -b: no database holds \"{text}\"; there is {}", all.join(", "))
            }
            Self::NoneHolds(text) => format!("{program}: slap_init no backend for \"{text}\""),
            Self::None if is_own => format!("{OWN}: the configuration has no database whose entries are stored here"),
            Self::None => format!("Available database(s) do not allow {program}"),
        }
    }
}

fn choose(configuration: &LoadedConfiguration, options: &Options) -> Result<Vec<usize>, NotChosen> {
    let databases = &configuration.databases;
    let stored = |at: usize| {
        let database = databases.get(at);
        database.is_some_and(|database| is_for(options.program, database.kind))
    };
    let chosen = match (options.number, &options.suffix) {
        // All tools that can work with it have been handled by now.
        (Some(0), _) => return Err(NotChosen::Unsuited),
        (Some(number), _) if number <= databases.len() => number - 1,
        (Some(_), _) => return Err(NotChosen::OutOfRange(databases.len())),
        (None, Some(text)) => {
            let dn = Dn::parse(&configuration.schema, text.as_bytes());
            let dn = dn.map_err(|_| NotChosen::NoName(text.clone()))?;
            if dn.normalized() == b"cn=config" {
                return Err(NotChosen::Unsuited);
            }
            let found = configuration.database_holding(&dn);
            found.ok_or_else(|| NotChosen::NoneHolds(text.clone()))?
        }
        (None, None) => {
            let first = (0..databases.len()).find(|&at| stored(at));
            let first = first.ok_or(NotChosen::None)?;
            glue_root(configuration, first).unwrap_or(first)
        }
    };
    if !stored(chosen) {
        return Err(NotChosen::Unsuited);
    }
    let glued = (0..databases.len())
        .filter(|&at| !options.unglued && stored(at) && glue_root(configuration, at) == Some(chosen));
    Ok(std::iter::once(chosen).chain(glued).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ironbark_config::MemoryFiles;

    fn configuration() -> LoadedConfiguration {
        let text = "database mdb\nsuffix cn=a,cn=x\nsubordinate\ndirectory a\n\
            database monitor\n\
            database mdb\nsuffix cn=b,cn=x\nsubordinate\ndirectory b\n\
            database mdb\nsuffix cn=x\ndirectory c\n\
            database mdb\nsuffix cn=y\ndirectory d\n";
        ironbark_config::load(
            "slapd.conf",
            &MemoryFiles::file("slapd.conf", text),
            &ironbark_overlays::registry(),
        )
        .unwrap()
    }

    fn chosen_by(program: &'static str, options: Options) -> Result<Vec<usize>, String> {
        let configuration = configuration();
        let chosen = choose(&configuration, &Options { program, ..options });
        chosen.map_err(|why| why.text(program, &configuration))
    }

    fn chosen(options: Options) -> Result<Vec<usize>, String> {
        chosen_by("slapcat", options)
    }

    #[test]
    fn databases_are_counted_as_slapd_counts() {
        let number = |number| {
            chosen(Options {
                number: Some(number),
                ..Options::default()
            })
        };
        assert_eq!(number(1), Ok(vec![0]));
        assert_eq!(
            number(4),
            Ok(vec![3, 0, 2]),
            "what is glued comes behind, in the order of the file"
        );
        assert_eq!(number(5), Ok(vec![4]));
        assert!(number(0).unwrap_err().contains("doesn't support"));
        assert!(number(2).unwrap_err().contains("doesn't support"));
        assert!(number(6).unwrap_err().contains("in the range 0 to 5"));
    }

    #[test]
    fn the_first_database_stands_for_the_one_it_is_glued_to() {
        assert_eq!(chosen(Options::default()), Ok(vec![3, 0, 2]));
        assert_eq!(
            chosen(Options {
                unglued: true,
                ..Options::default()
            }),
            Ok(vec![3])
        );
    }

    #[test]
    fn a_suffix_chooses_the_database_that_holds_it() {
        let suffix = |text: &str| {
            chosen(Options {
                suffix: Some(text.to_owned()),
                ..Options::default()
            })
        };
        assert_eq!(suffix("CN=y"), Ok(vec![4]));
        assert_eq!(suffix("cn=sub,cn=a,cn=x"), Ok(vec![0]));
        assert!(suffix("cn=config").unwrap_err().contains("doesn't support"));
        assert_eq!(
            suffix("cn=z").unwrap_err(),
            "slapcat: slap_init no backend for \"cn=z\""
        );
        assert!(suffix("z").unwrap_err().contains("invalid suffix"));
    }

    #[test]
    fn our_own_commands_say_what_there_is() {
        let refused = |number: Option<usize>, suffix: Option<&str>| {
            let suffix = suffix.map(str::to_owned);
            let options = Options {
                suffix,
                number,
                ..Options::default()
            };
            chosen_by(OWN, options).unwrap_err()
        };
        assert_eq!(
            refused(Some(6), None),
            "ironbark: -n: the databases are numbered from 1 to 5"
        );
        assert!(refused(Some(2), None).contains("works on entries"));
        assert!(refused(None, Some("x")).contains("such as ou=people"));
        let none = refused(None, Some("cn=z"));
        assert!(
            none.contains("no database holds \"cn=z\"; there is \"cn=a,cn=x\""),
            "{none}"
        );
    }
}
