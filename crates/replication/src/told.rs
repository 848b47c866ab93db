//! How much the provider tells a consumer, as far as the line and the messages of a search show it.

use ironbark_directory::{LOGGED_PLACE_ATTRIBUTE, PLACE_ATTRIBUTE, SyncContent, SyncPlaces};
use ironbark_ldap_proto::{Scope, controls::EntryState};

use crate::{SyncMessage, SyncreplLine};

/// What a search has shown so far.
#[derive(Debug)]
pub(crate) struct Told {
    /// Whether the line asks for places.
    is_asked: bool,
    /// Whether the first entry of the search came with its place, or the first change of a log that gives one. All of
    /// them do, or none.
    has_places: Option<bool>,
    /// Whether the log has said that the content is a part.
    is_part_logged: bool,
}

impl Told {
    /// Nothing has come yet.
    pub(crate) fn of(line: &SyncreplLine) -> Self {
        let mut asked = line.request.attributes.iter();
        let asks = asked.any(|name| name.eq_ignore_ascii_case(PLACE_ATTRIBUTE));
        Self {
            is_asked: asks,
            has_places: None,
            is_part_logged: false,
        }
    }

    /// Looks at a message of the search.
    pub(crate) fn see(&mut self, message: &SyncMessage) {
        if self.has_places.is_some() || !self.is_asked {
            return;
        }
        if let SyncMessage::Entry {
            state: EntryState::Add | EntryState::Modify,
            attributes,
            ..
        } = message
        {
            let has = |name: &str| attributes.iter().any(|(held, _)| held.eq_ignore_ascii_case(name));
            let logged = attributes.iter().find(|(held, _)| held.eq_ignore_ascii_case("reqType"));
            let gives_place = logged.is_none_or(|(_, values)| {
                let mut kinds = values.iter();
                kinds.any(|kind| kind.eq_ignore_ascii_case(b"add") || kind.eq_ignore_ascii_case(b"modrdn"))
            });
            if gives_place {
                self.has_places = Some(has(PLACE_ATTRIBUTE) || has(LOGGED_PLACE_ATTRIBUTE));
            }
        }
    }

    /// What is known. `has_part`: a cookie has said so. A refresh tells it with its end, so an entry without its place
    /// means nothing before that (`refreshed`).
    pub(crate) fn places(&self, has_part: bool, refreshed: bool) -> SyncPlaces {
        match (self.is_asked, self.has_places) {
            (false, _) => SyncPlaces::Unasked,
            _ if has_part => SyncPlaces::Part,
            (_, Some(true)) => SyncPlaces::Told,
            (_, Some(false)) if refreshed => SyncPlaces::None,
            _ => SyncPlaces::Unknown,
        }
    }

    /// Whether the log is to say now that the content is a part: once in a search.
    pub(crate) fn is_news_of_part(&mut self, places: SyncPlaces) -> bool {
        let is_part = places == SyncPlaces::Part;
        is_part && !std::mem::replace(&mut self.is_part_logged, true)
    }
}

/// What of the provider's content a consumer gets by its line and by what it was told. `None`: that is not known.
pub(crate) fn content(line: &SyncreplLine, places: SyncPlaces) -> Option<SyncContent> {
    let is_filtered = !line.mapping.filter.is_empty();
    let is_whole = line.request.scope == Scope::WholeSubtree && line.mapping.local_base.pretty() == line.suffix;
    match places {
        _ if is_filtered => Some(SyncContent::Filter),
        SyncPlaces::Part => Some(SyncContent::Rules),
        SyncPlaces::Told => Some(SyncContent::Whole),
        _ if !is_whole => Some(SyncContent::Base),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(names: &[&str]) -> SyncMessage {
        SyncMessage::Entry {
            state: EntryState::Add,
            uuid: [1; 16],
            cookie: None,
            dn: "cn=a".to_owned(),
            attributes: names.iter().map(|name| (Box::from(*name), Vec::new())).collect(),
        }
    }

    #[test]
    fn adds_and_renames_of_a_log_show_whether_places_are_told() {
        let logged = |kind: &str, place: Option<&str>| {
            let mut message = entry(&["reqDN"]);
            if let SyncMessage::Entry { attributes, .. } = &mut message {
                attributes.push(("reqType".into(), vec![kind.as_bytes().to_vec()]));
                attributes.extend(place.map(|name| (Box::from(name), Vec::new())));
            }
            message
        };
        let mut told = asking();
        told.see(&logged("modify", None));
        told.see(&logged("delete", None));
        assert_eq!(told.places(false, true), SyncPlaces::Unknown);
        told.see(&logged("modrdn", Some("ironbarkReqPlace")));
        assert_eq!(told.places(false, true), SyncPlaces::Told);
        let mut told = asking();
        told.see(&logged("add", None));
        assert_eq!(told.places(false, true), SyncPlaces::None, "slapd");
    }

    fn asking() -> Told {
        Told {
            is_asked: true,
            has_places: None,
            is_part_logged: false,
        }
    }

    #[test]
    fn an_entry_without_its_place_means_something_at_the_end_of_the_refresh() {
        let mut told = asking();
        assert_eq!(told.places(false, true), SyncPlaces::Unknown);
        told.see(&SyncMessage::Reference);
        told.see(&entry(&["cn"]));
        assert_eq!(told.places(false, false), SyncPlaces::Unknown);
        assert_eq!(told.places(false, true), SyncPlaces::None);
        assert_eq!(told.places(true, true), SyncPlaces::Part);
    }

    #[test]
    fn an_entry_with_its_place_is_enough() {
        let mut told = asking();
        told.see(&entry(&["cn", "IRONBARKPLACE"]));
        assert_eq!(told.places(false, false), SyncPlaces::Told);
    }

    #[test]
    fn a_part_is_news_once_in_a_search() {
        let mut told = asking();
        assert!(!told.is_news_of_part(SyncPlaces::Told));
        assert!(told.is_news_of_part(SyncPlaces::Part));
        assert!(!told.is_news_of_part(SyncPlaces::Part));
    }
}
