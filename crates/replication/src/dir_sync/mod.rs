//! Active Directory and Samba as an AD domain controller: they tell what has changed since a cookie (the DirSync
//! control, MS-ADTS §3.1.1.3.4.1.3). Of an entry that has changed they send its name as it is now, and the attributes
//! that have changed as they are now. So all that is sent can be applied again.

mod entry;
mod left_out;
mod names;
mod provider;

pub(crate) use self::{
    entry::{Sent, read},
    left_out::{LeftOut, known_now},
    names::{Doubtful, Held, has_guid, plain_name},
    provider::{Matching, Page, Provider, page_of},
};

/// What a line `syncrepl` with `type=dirSync` says besides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DirSync {
    /// What the content depends on. If it has changed, the content is compared again.
    pub content: String,
}

/// The attribute that becomes `entryUUID`.
const GUID: &str = "objectGUID";
/// TRUE: the entry is deleted, and is among the deleted objects now.
const IS_DELETED: &str = "isDeleted";
/// An entry that is new since the cookie has it. Otherwise only changes were sent.
const WHEN_CREATED: &str = "whenCreated";
/// What `whenCreated` is here.
pub(crate) const CREATED: &str = "createTimestamp";
/// These are asked for in any case. A rename or a move is a change of `name`.
const ALWAYS: [&str; 5] = [GUID, IS_DELETED, WHEN_CREATED, "objectClass", "name"];

/// The attributes of the request, by `attrs` of the line. Empty: all.
pub(crate) fn asked(chosen: &[Box<str>]) -> Vec<String> {
    // The provider knows neither `@class` nor `!class`: it sends everything, and this server chooses.
    if chosen.iter().any(|name| &**name == "*" || name.starts_with(['@', '!'])) {
        return Vec::new();
    }
    let names = chosen.iter().map(|name| &**name).filter(|name| *name != "+");
    let mut asked: Vec<String> = names.map(str::to_owned).collect();
    if !asked.is_empty() {
        let has = |name: &str| chosen.iter().any(|known| known.eq_ignore_ascii_case(name));
        asked.extend(ALWAYS.iter().filter(|name| !has(name)).map(ToString::to_string));
    }
    asked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tells_of_changes_is_asked_for_in_any_case() {
        let of = |names: &[&str]| asked(&names.iter().map(|name| Box::from(*name)).collect::<Vec<_>>());
        assert_eq!(
            of(&["sn", "NAME"]),
            ["sn", "NAME", "objectGUID", "isDeleted", "whenCreated", "objectClass"]
        );
        for all in [&[][..], &["*"], &["+"], &["sn", "*"], &["@person"]] {
            assert!(of(all).is_empty(), "{all:?}");
        }
    }
}
