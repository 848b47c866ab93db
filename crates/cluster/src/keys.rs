//! The names of the keys of one database.

use crate::log::ServerId;

/// The version of batches and places that this program reads and writes.
pub(crate) const FORMAT: &str = "1";

/// The names of the keys of one database.
pub(crate) struct Keys {
    /// The end of the log.
    pub(crate) tail: String,
    /// What the names of batches begin with.
    pub(crate) log: String,
    /// Says how many changes are no longer in the log.
    pub(crate) cut: String,
    /// What the names of servers that tell of themselves begin with.
    pub(crate) node: String,
    /// What the names of parts of batches begin with.
    pub(crate) part: String,
    /// What the names of waiting servers begin with.
    pub(crate) want: String,
    /// What the names of servers that need a copy begin with.
    pub(crate) copy: String,
    /// The version of what is in the log.
    pub(crate) format: String,
    /// The newest state of cn=config, which has no log.
    pub(crate) tree: String,
    /// Says that a server with changes has found no log.
    pub(crate) lost: String,
}

impl Keys {
    /// The keys of the database with this suffix, normalized.
    pub(crate) fn of(prefix: &str, suffix: &str) -> Self {
        let base = format!("{prefix}/{suffix}");
        Self {
            tail: format!("{base}/tail"),
            cut: format!("{base}/cut"),
            log: format!("{base}/log/"),
            node: format!("{base}/node/"),
            part: format!("{base}/part/"),
            want: format!("{base}/want/"),
            copy: format!("{base}/copy/"),
            format: format!("{base}/format"),
            tree: format!("{base}/tree"),
            lost: format!("{base}/lost"),
        }
    }

    /// The batch whose first change has this number.
    pub(crate) fn batch(&self, first: u64) -> String {
        format!("{}{first:016x}", self.log)
    }

    /// The number in the name of a batch.
    pub(crate) fn number(&self, key: &[u8]) -> Option<u64> {
        let digits = std::str::from_utf8(key.strip_prefix(self.log.as_bytes())?).ok()?;
        u64::from_str_radix(digits, 16).ok()
    }

    /// What the names of the parts of the batches before a number begin with, and what comes behind them.
    pub(crate) fn parts_before(&self, first: u64) -> (String, String) {
        (self.part.clone(), format!("{}{first:016x}/", self.part))
    }

    /// What the names of the parts of a batch begin with.
    pub(crate) fn parts(&self, first: u64, mark: [u8; 16]) -> String {
        format!("{}{first:016x}/{:032x}/", self.part, u128::from_be_bytes(mark))
    }

    /// What a server tells of itself.
    pub(crate) fn node(&self, server: ServerId) -> String {
        format!("{}{:016x}", self.node, u64::from_be_bytes(server))
    }

    /// A waiting server, for the time that has this number.
    pub(crate) fn want(&self, server: ServerId, number: u64) -> String {
        format!("{}{number:x}", self.wants(server))
    }

    /// What all such names of a server begin with.
    pub(crate) fn wants(&self, server: ServerId) -> String {
        format!("{}{:016x}/", self.want, u64::from_be_bytes(server))
    }

    /// A server that needs a copy.
    pub(crate) fn asker(&self, server: ServerId) -> String {
        format!("{}{:016x}", self.copy, u64::from_be_bytes(server))
    }

    /// The server of the key of a waiting one.
    pub(crate) fn server(&self, key: &[u8]) -> Option<ServerId> {
        let name = std::str::from_utf8(key.strip_prefix(self.want.as_bytes())?).ok()?;
        let (digits, _) = name.split_once('/')?;
        Some(u64::from_str_radix(digits, 16).ok()?.to_be_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_numbers_and_tell_their_server() {
        let keys = Keys::of("/p", "dc=x");
        assert_eq!(keys.tail, "/p/dc=x/tail");
        assert!(keys.batch(9) < keys.batch(10) && keys.batch(255) < keys.batch(256));
        let want = keys.want([0, 0, 0, 0, 0, 0, 1, 255], 10);
        assert_eq!(want, "/p/dc=x/want/00000000000001ff/a");
        assert_eq!(keys.server(want.as_bytes()), Some([0, 0, 0, 0, 0, 0, 1, 255]));
        assert_eq!(keys.server(b"/p/dc=x/want/x"), None);
        assert_eq!(keys.parts(1, [0; 16]), format!("/p/dc=x/part/{:016x}/{:032x}/", 1, 0));
    }
}
