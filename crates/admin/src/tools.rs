//! The slap* tools by name: one row in [`TOOLS`] each.

use std::{ffi::OsString, process::ExitCode};

use crate::commands::{
    slapacl, slapadd, slapauth, slapcat, slapdn, slapindex, slapmodify, slappasswd, slapschema, slaptest,
};

/// A tool that OpenLDAP's users call by name, or as `slapd -T<word>`.
#[derive(Debug)]
pub(crate) struct Tool {
    /// The program's name, `slapadd`. The part after `slap` is the word of `-T`.
    pub(crate) name: &'static str,
    /// Runs the tool. The first argument is the name of the call; `-T` and its value have been removed.
    pub(crate) run: fn(Vec<OsString>) -> ExitCode,
}

/// All tools of OpenLDAP, in the order in which slapd looks for a prefix: `-Ta` is slapadd, not slapacl.
pub(crate) const TOOLS: &[Tool] = &[
    Tool {
        name: "slapadd",
        run: slapadd::run,
    },
    Tool {
        name: "slapcat",
        run: slapcat::run,
    },
    Tool {
        name: "slapdn",
        run: slapdn::run,
    },
    Tool {
        name: "slapindex",
        run: slapindex::run,
    },
    Tool {
        name: "slapmodify",
        run: slapmodify::run,
    },
    Tool {
        name: "slappasswd",
        run: slappasswd::run,
    },
    Tool {
        name: "slapschema",
        run: slapschema::run,
    },
    Tool {
        name: "slaptest",
        run: slaptest::run,
    },
    Tool {
        name: "slapauth",
        run: slapauth::run,
    },
    Tool {
        name: "slapacl",
        run: slapacl::run,
    },
];

/// The full name of a tool for the value of `-T`: the tool with exactly this word, or else the first tool whose word
/// begins with the value.
pub(crate) fn name_of_word(word: &str) -> Option<&'static str> {
    let words = || {
        TOOLS
            .iter()
            .map(|tool| (tool.name, tool.name.strip_prefix("slap").unwrap_or(tool.name)))
    };
    let exact = words().find(|(_, known)| *known == word);
    let found = exact.or_else(|| words().find(|(_, known)| !word.is_empty() && known.starts_with(word)));
    found.map(|(name, _)| name)
}

/// Runs a tool by its full name.
pub(crate) fn run(name: &str, arguments: Vec<OsString>) -> ExitCode {
    if let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) {
        (tool.run)(arguments)
    } else {
        eprintln!("program name \"{name}\" unrecognized; aborting...");
        ExitCode::FAILURE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_may_be_shortened_as_slapd_does() {
        let words = |prefixes: &str, name| {
            for prefix in prefixes.split('|') {
                assert_eq!(name_of_word(prefix), Some(name), "{prefix}");
            }
        };
        words("a|ad|add", "slapadd");
        words("ac|acl", "slapacl");
        words("au|aut|auth", "slapauth");
        words("c|ca|cat", "slapcat");
        words("d|dn", "slapdn");
        words("i|in|ind|inde|index", "slapindex");
        words("m|mo|mod|modi|modif|modify", "slapmodify");
        words("p|pa|pas|pass|passw|passwd", "slappasswd");
        words("s|sc|sch|sche|schem|schema", "slapschema");
        words("t|te|tes|test", "slaptest");
        assert_eq!(name_of_word("xx"), None);
        assert_eq!(name_of_word(""), None);
    }
}
