//! Rows of the store (slapd-mdb(5)).

use crate::{
    DatabaseConfig, SettingError,
    class::ConfigClass,
    database::mdb::{CheckpointInterval, EnvironmentFlags},
    rows::fields::database_field,
    setting::{
        Form, Handler, OWN, Setting,
        SettingLevel::{Backend, DatabaseOf},
    },
    statement::Statement,
    value::{Value, octal_text, parse_bool, parse_u32},
};

const MDB: crate::setting::SettingLevel = DatabaseOf(&["mdb"]);

pub(crate) const ROWS: &[Setting] = &[
    Setting::new(MDB, &["maxsize"], &["olcDbMaxSize"])
        .olc("2.12.2", Form::Integer)
        .allowed_by(&[ConfigClass::Mdb.at(60)])
        .takes("<bytes>", "")
        .at_next_start()
        .does(
            "Limits the size of the database. The file grows as needed, and no space is reserved: without this line \
             the disk is the limit. slapd's default of 10 MiB does not apply.",
        )
        .since("2.4")
        .like(&["1073741824"])
        .obeyed(Handler::Database {
            set: |config, statement| {
                config.mdb.max_size = Some(u64::parse(statement)?).filter(|&bytes| bytes > 0);
                Ok(())
            },
            get: |config, _| config.mdb.max_size.text(),
        }),
    Setting::new(MDB, &["maxreaders"], &["olcDbMaxReaders"])
        .olc("2.12.1", Form::Integer)
        .allowed_by(&[ConfigClass::Mdb.at(50)])
        .shown()
        .takes("<count>", "126")
        .at_next_start()
        .does(
            "Limits the threads and tools that read the database at the same time. Less than 126 counts as 126: slapd \
             writes 0 for its default.",
        )
        .since("2.4")
        .like(&["256"])
        .obeyed(database_field!(mdb.max_readers)),
    Setting::new(MDB, &["maxentrysize"], &["olcDbMaxEntrySize"])
        .olc("2.12.4", Form::Integer)
        .allowed_by(&[ConfigClass::Mdb.at(90)])
        .shown()
        .takes("<bytes>", "0")
        .does("Refuses bigger entries with adminLimitExceeded. 0 refuses none.")
        .since("2.4")
        .like(&["1048576"])
        .obeyed(database_field!(mdb.max_entry_size)),
    Setting::new(MDB, &["mode"], &["olcDbMode"])
        .olc("2.0.3", Form::Text)
        .allowed_by(&[ConfigClass::Berkeley.at(130), ConfigClass::Mdb.at(70)])
        .shown()
        .takes("<mode>", "0600")
        .at_next_start()
        .does("Sets the protection of new database files: octal, or as `ls -l` prints it.")
        .like(&["0640"])
        .obeyed(Handler::Database {
            set: |config, statement| {
                let text = statement.one()?;
                config.mdb.mode = parse_mode(text).ok_or_else(|| format!("unable to parse mode \"{text}\""))?;
                Ok(())
            },
            get: |config, _| vec![octal_text(config.mdb.mode)],
        }),
    Setting::new(MDB, &["dbnosync"], &["olcDbNoSync"])
        .olc("2.1.4", Form::Boolean)
        .allowed_by(&[ConfigClass::Berkeley.at(70), ConfigClass::Mdb.at(30)])
        .shown()
        .takes("[on|off]", "FALSE")
        .at_next_start()
        .does(
            "Turns off the flush to disk at each commit. After a crash of the machine the database may be damaged \
             beyond repair. Not in a cluster: there commits are never flushed one by one, and the database is whole \
             after a crash nevertheless.",
        )
        .like(&["on"])
        .obeyed(Handler::Database {
            set: |config, statement| {
                let no_sync = match statement.optional()? {
                    None => true,
                    Some(word) => {
                        parse_bool(word).ok_or_else(|| format!("invalid value \"{word}\": on or off expected"))?
                    }
                };
                let flags = config.mdb.flags.without(EnvironmentFlags::NO_SYNC);
                config.mdb.flags = if no_sync {
                    flags.with(EnvironmentFlags::NO_SYNC)
                } else {
                    flags
                };
                Ok(())
            },
            get: |config, _| config.mdb.flags.contains(EnvironmentFlags::NO_SYNC).text(),
        }),
    Setting::new(MDB, &["envflags"], &["olcDbEnvFlags"])
        .olc("2.12.3", Form::Texts)
        .allowed_by(&[ConfigClass::Mdb.at(20)])
        .takes("nosync|nometasync|writemap|mapasync|nordahead ...", "")
        .at_next_start()
        .does(
            "Tunes LMDB. `nosync` is `dbnosync`. `nometasync` may lose the last commit when the machine crashes, and \
             nothing else. `mapasync` flushes later, as `nosync` does. `nordahead` turns read-ahead off; if the file \
             is bigger than half of the memory, read-ahead is always off. `writemap` has no meaning here, and the log \
             says so: the server never writes through a map, because a full disk would then end the server.",
        )
        .since("2.4")
        .like(&["nometasync writemap"])
        .obeyed(Handler::Database {
            set: set_flags,
            get: flags_text,
        }),
    Setting::new(MDB, &["checkpoint"], &["olcDbCheckpoint"])
        .olc("2.1.2", Form::Text)
        .allowed_by(&[ConfigClass::Berkeley.at(20), ConfigClass::Mdb.at(10)])
        .takes("<kilobytes> <minutes>", "")
        .does(
            "Flushes to disk after so much was written or so much time has passed, if `dbnosync` is on. Not in a \
             cluster, which has checkpoints of its own.",
        )
        .like(&["1024 15"])
        .obeyed(Handler::Database {
            set: set_checkpoint,
            get: |config, _| {
                let checkpoint = config.mdb.checkpoint.iter();
                checkpoint
                    .map(|checkpoint| format!("{} {}", checkpoint.kilobytes, checkpoint.minutes))
                    .collect()
            },
        }),
    Setting::new(MDB, &["changelog-size"], &["olcDbChangeLogSize"])
        .olc("+46", Form::Integer)
        .allowed_by(&[ConfigClass::Mdb.at(150)])
        .takes("<bytes>", "")
        .does(
            "Keeps a log of all changes in the database's file, for `ironbark changes`. When the log is longer than \
             this, the oldest changes are deleted. Their size in the file counts. If an overlay follows the database \
             (auditlog), there is always a log, of 4 MiB without this line, and changes stay until the overlay has \
             read them. The log also holds deleted values, password hashes among them.",
        )
        .since(OWN)
        .like(&["268435456"])
        .obeyed(database_field!(mdb.change_log_octets)),
    Setting::new(MDB, &["changelog-age"], &["olcDbChangeLogAge"])
        .olc("+47", Form::Integer)
        .allowed_by(&[ConfigClass::Mdb.at(160)])
        .takes("<seconds>", "")
        .does(
            "Keeps a log of all changes, as `changelog-size` does, and deletes older changes from it, at most an hour \
             later. Without `changelog-size` it has 256 MiB at most.",
        )
        .since(OWN)
        .like(&["604800"])
        .obeyed(database_field!(mdb.change_log_age_s)),
    Setting::new(MDB, &["dbpagesize"], &["olcDbPageSize"])
        .olc("2.1.15", Form::Integer)
        .allowed_by(&[ConfigClass::Berkeley.at(180), ConfigClass::Mdb.at(120)])
        .takes("<bytes>", "4096")
        .does("Sets the page size of a new database file.")
        .meaningless("pages have the size of the machine's pages, and long values need no bigger ones"),
    Setting::new(MDB, &["multival"], &["olcDbMultival"])
        .olc("2.12.6", Form::Texts)
        .allowed_by(&[ConfigClass::Mdb.at(110)])
        .takes("<attribute>[,...]|default <high>,<low>", "")
        .does("Sets the number of values from which an attribute is stored apart from its entry.")
        .since("2.5")
        .meaningless("big attributes are always stored apart, by their size"),
    Setting::new(MDB, &["rtxnsize"], &["olcDbRtxnSize"])
        .olc("2.12.5", Form::Integer)
        .allowed_by(&[ConfigClass::Mdb.at(100)])
        .shown()
        .takes("<entries>", "10000")
        .does("Sets after how many entries a search renews its snapshot.")
        .since("2.4")
        .meaningless("a long search renews its snapshot with each slice of work"),
    Setting::new(MDB, &["searchstack"], &["olcDbSearchStack"])
        .olc("2.1.9", Form::Integer)
        .allowed_by(&[ConfigClass::Berkeley.at(140), ConfigClass::Mdb.at(80)])
        .shown()
        .takes("<depth>", "16")
        .does("Sets the depth of the preallocated filter stack.")
        .meaningless("filters are evaluated without a preallocated stack"),
    Setting::new(MDB, &["crypto"], &["olcDbCryptoModule"])
        .olc("2.12.7", Form::ExactText)
        .allowed_by(&[ConfigClass::Mdb.at(130)])
        .takes("<module>", "")
        .does("Loads a module that encrypts the database.")
        .since("2.7")
        .whole()
        .refused("database encryption"),
    Setting::new(MDB, &["passphrase"], &["olcDbPassphrase"])
        .olc("2.12.8", Form::ExactText)
        .allowed_by(&[ConfigClass::Mdb.at(140)])
        .takes("<passphrase>", "")
        .does("Sets the key of an encrypted database.")
        .since("2.7")
        .whole()
        .refused("database encryption"),
    Setting::new(Backend("mdb"), &["idlexp"], &["olcBkMdbIdlExp"])
        .olc("1.12.1", Form::Integer)
        .allowed_by(&[ConfigClass::MdbBackend.at(10)])
        .takes("<exponent>", "16")
        .does("Sets the size from which an index slot is stored as a range.")
        .since("2.5")
        .meaningless("index entries are never stored as ranges"),
];

fn set_flags(config: &mut DatabaseConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    for word in statement.some()? {
        let flag = EnvironmentFlags::word(word).ok_or_else(|| format!("unknown flag \"{word}\""))?;
        config.mdb.flags = config.mdb.flags.with(flag);
    }
    Ok(())
}

fn flags_text(config: &DatabaseConfig, _: &ironbark_model::Schema) -> Vec<String> {
    config.mdb.flags.words().into_iter().map(str::to_owned).collect()
}

fn set_checkpoint(config: &mut DatabaseConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let [kilobytes, minutes] = statement.arguments else {
        return Err(format!("takes {}", statement.grammar).into());
    };
    let number = |text: &str| parse_u32(text).ok_or_else(|| format!("invalid value \"{text}\""));
    let checkpoint = CheckpointInterval {
        kilobytes: number(kilobytes)?,
        minutes: number(minutes)?,
    };
    config.mdb.checkpoint = Some(checkpoint).filter(|checkpoint| checkpoint.kilobytes > 0 || checkpoint.minutes > 0);
    Ok(())
}

/// `0640`, `640`, `0x1a0` or `-rw-r-----`. A number that cannot be octal is decimal, as in slapd (`384` is `0600`).
fn parse_mode(text: &str) -> Option<u32> {
    if text.starts_with("0x") {
        return parse_u32(text).filter(|&mode| mode <= 0o777);
    }
    if text.starts_with(|character: char| character.is_ascii_digit()) {
        let octal = u32::from_str_radix(text, 8).ok();
        return octal.or_else(|| text.parse().ok()).filter(|&mode| mode <= 0o777);
    }
    let bits = text.strip_prefix('-')?.as_bytes();
    if bits.len() != 9 {
        return None;
    }
    let mut mode = 0;
    for (position, (&bit, expected)) in bits.iter().zip("rwxrwxrwx".bytes()).enumerate() {
        match bit {
            b'-' => {}
            _ if bit == expected => mode |= 0o400 >> position,
            _ => return None,
        }
    }
    Some(mode)
}
