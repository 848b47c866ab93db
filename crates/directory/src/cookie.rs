//! The cookie of content synchronization as OpenLDAP writes it: which changes of which servers a consumer has.
//!
//! ```text
//! rid=001,sid=002,csn=20260101000000.000000Z#000000#001#000000;20260101000000.000001Z#000000#002#000000,delcsn=...
//! ```

use ironbark_store::{ContextVector, Csn};

/// A cookie.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SyncCookie {
    /// The consumer's number of its line `syncrepl`, 0 to 999.
    pub rid: u16,
    /// The server ID of who wrote the cookie, if it is not 0.
    pub sid: Option<u16>,
    /// The greatest CSN of each server.
    pub csns: ContextVector,
    /// The CSN of a deletion, in a message that names a deleted entry.
    pub deletion: Option<Csn>,
    /// Among several writing servers of our kind: the rules or its filter may keep entries of its base from the
    /// consumer. slapd skips this part.
    pub is_part: bool,
}

/// The longest cookie that is read, in octets: one CSN of each of 4,096 servers takes less.
const LONGEST: usize = 256 << 10;

impl SyncCookie {
    /// Reads a cookie. `None`: it is malformed, or has no `rid`; servers act then as if there were none, and so does
    /// slapd. Unknown parts are skipped.
    pub fn parse(text: &[u8]) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let text = std::str::from_utf8(text).ok()?;
        let (mut rid, mut cookie) = (None, Self::default());
        for part in text.split(',') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            match key {
                "rid" => rid = Some(value.parse().ok().filter(|rid| *rid <= 999)?),
                "sid" => cookie.sid = Some(u16::from_str_radix(value, 16).ok().filter(|sid| *sid <= 0xfff)?),
                "csn" => {
                    for csn in value.split(';').filter(|csn| !csn.is_empty()) {
                        cookie.csns.merge(Csn::parse(csn.as_bytes())?);
                    }
                }
                "part" => cookie.is_part = value == "1",
                "delcsn" => cookie.deletion = Some(Csn::parse(value.as_bytes())?),
                _ => {}
            }
        }
        cookie.rid = rid?;
        Some(cookie)
    }

    /// Its text.
    pub fn text(&self) -> String {
        let csns: Vec<String> = self.csns.iter().map(Csn::text).collect();
        let parts = [
            Some(format!("rid={:03}", self.rid)),
            self.sid.map(|sid| format!("sid={sid:03x}")),
            self.is_part.then(|| "part=1".to_owned()),
            (!csns.is_empty()).then(|| format!("csn={}", csns.join(";"))),
            self.deletion.map(|deletion| format!("delcsn={deletion}")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "20260101000000.000000Z#000000#001#000000";
    const TWO: &str = "20260101000000.000001Z#000000#002#000000";

    #[test]
    fn a_cookie_comes_back() {
        for text in [
            "rid=000".to_owned(),
            "rid=001,sid=00f".to_owned(),
            format!("rid=999,csn={ONE}"),
            format!("rid=001,sid=002,csn={ONE};{TWO}"),
            format!("rid=001,sid=002,csn={ONE};{TWO},delcsn={TWO}"),
            format!("rid=001,sid=002,part=1,csn={ONE}"),
        ] {
            assert_eq!(SyncCookie::parse(text.as_bytes()).unwrap().text(), text);
        }
        let unordered = SyncCookie::parse(format!("rid=001,csn={TWO};{ONE}").as_bytes()).unwrap();
        assert_eq!(unordered.text(), format!("rid=001,csn={ONE};{TWO}"));
    }

    #[test]
    fn unknown_parts_are_skipped() {
        let cookie = SyncCookie::parse(format!("rid=001,color=blue,csn={ONE},x").as_bytes()).unwrap();
        assert_eq!(cookie.text(), format!("rid=001,csn={ONE}"));
    }

    #[test]
    fn what_is_no_cookie_counts_as_none() {
        for text in [
            "",
            "sid=001",
            "rid=",
            "rid=1000",
            "rid=-1",
            "rid=001,sid=1000",
            "rid=001,csn=20260101",
            "rid=001,delcsn=",
            "\u{fffd}",
        ] {
            assert_eq!(SyncCookie::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(SyncCookie::parse(&[b'r', b'i', b'd', b'=', b'1', b',', 0xff]), None);
        assert_eq!(SyncCookie::parse(&vec![b','; LONGEST + 1]), None);
    }
}
