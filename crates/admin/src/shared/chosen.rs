//! The databases of the configuration that a tool works on: by `-n`, by `-b`, or the first one, and those glued to it.

use std::sync::Arc;

use ironbark_config::{Configuration, DatabaseConfig, database::DatabaseDescriptor};
use ironbark_model::{Dn, Schema};

use ironbark_server::Loaded;
use ironbark_store::fault::{self, Maps};

use super::{options::Options, owner};

/// A configuration and its chosen databases.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// The whole configuration.
    pub(crate) configuration: Configuration,
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
    let mut loaded = ironbark_server::load_configuration(file, folder)?;
    if file.is_some() && !options.dry_run {
        loaded.keep()?;
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
        let Loaded { configuration, .. } = read_configuration(options).map_err(|error| {
            eprintln!("{error}\n{program}: bad configuration file!");
        })?;
        let positions = choose(&configuration, options).map_err(|error| eprintln!("{error}"))?;
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

/// The database into which another is glued: the nearest one above it that is not glued itself.
pub(crate) fn glue_root(configuration: &Configuration, position: usize) -> Option<usize> {
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

fn choose(configuration: &Configuration, options: &Options) -> Result<Vec<usize>, String> {
    let program = options.program;
    let databases = &configuration.databases;
    let stored = |at: usize| databases.get(at).is_some_and(|database| is_for(program, database.kind));
    // All tools that can work with it have been handled by now.
    let no_config = || format!("{program}: database doesn't support necessary operations.");
    let chosen = match (options.number, &options.suffix) {
        (Some(0), _) => return Err(no_config()),
        (Some(number), _) if number <= databases.len() => number - 1,
        (Some(_), _) => {
            return Err(format!(
                "Database number selected via -n is out of range\nMust be in the range 0 to {} (the number of configured databases)",
                databases.len()
            ));
        }
        (None, Some(text)) => {
            let dn = Dn::parse(&configuration.schema, text.as_bytes())
                .map_err(|_| format!("{program}: invalid suffix (\"{text}\")"))?;
            if dn.normalized() == b"cn=config" {
                return Err(no_config());
            }
            let found = configuration.database_holding(&dn);
            found.ok_or_else(|| format!("{program}: slap_init no backend for \"{text}\""))?
        }
        (None, None) => {
            let first = (0..databases.len()).find(|&at| stored(at));
            let first = first.ok_or_else(|| format!("Available database(s) do not allow {program}"))?;
            glue_root(configuration, first).unwrap_or(first)
        }
    };
    if !stored(chosen) {
        return Err(format!("{program}: database doesn't support necessary operations."));
    }
    let glued = (0..databases.len())
        .filter(|&at| !options.unglued && stored(at) && glue_root(configuration, at) == Some(chosen));
    Ok(std::iter::once(chosen).chain(glued).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ironbark_config::Memory;

    fn configuration() -> Configuration {
        let text = "database mdb\nsuffix cn=a,cn=x\nsubordinate\ndirectory a\n\
            database monitor\n\
            database mdb\nsuffix cn=b,cn=x\nsubordinate\ndirectory b\n\
            database mdb\nsuffix cn=x\ndirectory c\n\
            database mdb\nsuffix cn=y\ndirectory d\n";
        ironbark_config::load(
            "slapd.conf",
            &Memory::file("slapd.conf", text),
            &ironbark_overlays::registry(),
        )
        .unwrap()
    }

    fn chosen(options: Options) -> Result<Vec<usize>, String> {
        choose(
            &configuration(),
            &Options {
                program: "slapcat",
                ..options
            },
        )
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
}
