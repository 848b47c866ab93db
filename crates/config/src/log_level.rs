//! `loglevel`: what is logged, by name and by bit.

use crate::{value, word_set::word_set};

word_set! {
    /// Subsystems whose messages are logged. -1 (`any`) is all bits.
    LogLevel {
        /// Everything.
        ANY = 0xffff_ffff, "any";
        /// Function calls.
        TRACE = 0x1, "trace";
        /// Packet handling.
        PACKETS = 0x2, "packets";
        /// Arguments of functions.
        ARGS = 0x4, "args";
        /// Connection management.
        CONNS = 0x8, "conns";
        /// Bytes sent and received.
        BER = 0x10, "ber";
        /// Search filter processing.
        FILTER = 0x20, "filter";
        /// Configuration processing.
        CONFIG = 0x40, "config";
        /// Access control.
        ACL = 0x80, "acl";
        /// Connections, operations, results.
        STATS = 0x100, "stats";
        /// Entries sent.
        STATS2 = 0x200, "stats2";
        /// Shell backends (none here).
        SHELL = 0x400, "shell";
        /// Entry parsing.
        PARSE = 0x800, "parse";
        /// Old slapd's caches (none here).
        CACHE = 0x1000, "cache";
        /// Old slapd's indexing.
        INDEX = 0x2000, "index";
        /// Content synchronization.
        SYNC = 0x4000, "sync";
        /// Only messages that are logged at any level.
        NONE = 0x8000, "none";
    }
}

impl LogLevel {
    /// One word of `loglevel` or `-d`: a name, a number in decimal, octal or hexadecimal, or -1.
    pub fn parse(word: &str) -> Option<Self> {
        if word == "-1" {
            return Some(Self::ANY);
        }
        Self::word(word).or_else(|| value::parse_u32(word).map(Self))
    }

    /// Names, and one number for the bits that have none.
    pub fn text(self) -> Vec<String> {
        if self.0 == 0 {
            return vec!["0".to_owned()];
        }
        // slapd no longer knows the names of the two.
        let is_known = |word: &&str| !matches!(*word, "cache" | "index");
        let named: Vec<&str> = self.words().into_iter().filter(is_known).collect();
        let mut words: Vec<String> = named.iter().map(|word| (*word).to_owned()).collect();
        let named = named
            .into_iter()
            .filter_map(Self::word)
            .fold(0, |bits, level| bits | level.0);
        if self.0 & !named != 0 {
            words.push(format!("{:#x}", self.0 & !named));
        }
        words
    }
}
