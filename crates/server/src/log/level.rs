//! The log levels of slapd.conf(5): bits and their names.

use ironbark_config::LogLevel;

/// A set of log levels, as `-d`, `-s` and `loglevel` give it.
pub type LevelMask = u32;

/// Every level: `any`. Also the level of messages that are written if any level is.
pub const ANY: LevelMask = u32::MAX;
/// Connections, operations and results: the default of `loglevel`.
pub const STATS: LevelMask = 256;

/// One named level.
#[derive(Debug)]
pub struct NamedLevel {
    /// The name as `slapd -d ?` lists it; any case is understood.
    pub name: &'static str,
    /// Its bit, or all bits for `Any`.
    pub mask: LevelMask,
}

/// All levels in the order in which `slapd -d ?` lists them.
pub const LEVELS: [NamedLevel; 15] = [
    NamedLevel { name: "Any", mask: ANY },
    NamedLevel { name: "Trace", mask: 1 },
    NamedLevel {
        name: "Packets",
        mask: 2,
    },
    NamedLevel { name: "Args", mask: 4 },
    NamedLevel { name: "Conns", mask: 8 },
    NamedLevel { name: "BER", mask: 16 },
    NamedLevel {
        name: "Filter",
        mask: 32,
    },
    NamedLevel {
        name: "Config",
        mask: 64,
    },
    NamedLevel { name: "ACL", mask: 128 },
    NamedLevel {
        name: "Stats",
        mask: STATS,
    },
    NamedLevel {
        name: "Stats2",
        mask: 512,
    },
    NamedLevel {
        name: "Shell",
        mask: 1024,
    },
    NamedLevel {
        name: "Parse",
        mask: 2048,
    },
    NamedLevel {
        name: "Sync",
        mask: 16384,
    },
    NamedLevel {
        name: "None",
        mask: 32768,
    },
];

/// A text that is neither a number nor the name of a level.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unrecognized log level \"{0}\"")]
pub struct UnknownLevel(pub String);

/// Adds what `-d` or `-s` says to `mask`: one number (decimal, `0x`, leading 0 for octal, or -1), or names joined by
/// commas. A number of zero clears the mask, as slapd's options do.
pub fn add_levels(mask: LevelMask, text: &str) -> Result<LevelMask, UnknownLevel> {
    text.split(',')
        .filter(|word| !word.is_empty())
        .try_fold(mask, |mask, word| match LogLevel::parse(word) {
            Some(LogLevel(0)) => Ok(0),
            Some(LogLevel(level)) => Ok(mask | level),
            None => Err(UnknownLevel(word.to_owned())),
        })
}

/// The mask of a level's name, in any case.
pub fn named(name: &str) -> Option<LevelMask> {
    LEVELS
        .iter()
        .find(|level| level.name.eq_ignore_ascii_case(name))
        .map(|level| level.mask)
}

/// The names of the levels in a mask, as cn=Monitor shows them; bits without a name are given as a number.
pub fn names(mask: LevelMask) -> Vec<String> {
    if mask == ANY {
        return vec!["Any".to_owned()];
    }
    let mut rest = mask;
    let mut names = Vec::new();
    for level in LEVELS
        .iter()
        .filter(|level| level.mask != ANY && mask & level.mask != 0)
    {
        names.push(level.name.to_owned());
        rest &= !level.mask;
    }
    if rest != 0 {
        names.push(rest.to_string());
    }
    names
}

/// What `slapd -d ?` prints.
pub fn list() -> String {
    use std::fmt::Write as _;
    let mut text = String::from("Installed log subsystems:\n\n");
    for level in &LEVELS {
        let _ = if level.mask == ANY {
            writeln!(text, "\t{:<30} (-1, 0xffffffff)", level.name)
        } else {
            writeln!(text, "\t{:<30} ({}, {:#x})", level.name, level.mask, level.mask)
        };
    }
    text.push_str("\nNOTE: custom log subsystems may be later installed by specific code\n\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_numbers_or_names() {
        assert_eq!(add_levels(0, "256"), Ok(256));
        assert_eq!(add_levels(256, "0x4000"), Ok(256 | 16384));
        assert_eq!(add_levels(0, "-1"), Ok(ANY));
        assert_eq!(add_levels(256, "0"), Ok(0));
        assert_eq!(add_levels(0, "010"), Ok(8));
        assert_eq!(add_levels(1, "stats,SYNC"), Ok(1 | 256 | 16384));
        assert_eq!(add_levels(0, "any"), Ok(ANY));
        assert_eq!(add_levels(0, "stats,foo"), Err(UnknownLevel("foo".to_owned())));
        assert_eq!(add_levels(0, "12x"), Err(UnknownLevel("12x".to_owned())));
    }

    #[test]
    fn names_are_those_of_loglevel() {
        for level in &LEVELS {
            assert_eq!(LogLevel::word(level.name), Some(LogLevel(level.mask)), "{}", level.name);
        }
    }

    #[test]
    fn masks_have_names() {
        assert_eq!(names(256 | 16384 | 1 << 20), ["Stats", "Sync", "1048576"]);
        assert_eq!(names(ANY), ["Any"]);
        assert!(list().contains("\tStats                          (256, 0x100)\n"));
    }
}
