//! The protocol of a consumer: what each message of a provider means, in which phase it may come, and which cookie is
//! taken in with it.
//!
//! Rules that keep a consumer from losing anything:
//! - A cookie is taken in with the change that it came with, or with the end of the refresh; never before.
//! - Entries are deleted because they were not named only after a refresh with its well-formed end.
//! - A message that has no meaning in its phase ends the search; nothing of it is applied.

use ironbark_directory::SyncCookie;
use ironbark_ldap_proto::controls::EntryState;
use ironbark_model::ResultCode;
use ironbark_store::{ContextVector, Csn};

use crate::{Info, Logged, Message, log_entry};

/// Why a provider's message cannot be taken. The search must be abandoned.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Violation {
    /// RFC 4533 §2.3.
    #[error("an entry came without Sync State control")]
    NoState,
    /// RFC 4533 §3.3.1: there is one end.
    #[error("the refresh ended twice")]
    SecondEnd,
    /// A present entry after the refresh means nothing.
    #[error("an unchanged entry came after the refresh")]
    PresentAfterRefresh,
    /// The search ended with success, but without Sync Done control.
    #[error("the refresh ended without Sync Done control")]
    NoDone,
    /// The cookie is not one of OpenLDAP's form.
    #[error("the cookie \"{0}\" has an unknown form")]
    UnknownCookie(String),
    /// A control or a Sync Info message cannot be read.
    #[error("{0}")]
    Malformed(String),
    /// There is no search.
    #[error("a message came without a search")]
    NoSearch,
}

/// What is to be done, in this order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Order {
    /// Stores the entry as it is here, whatever it was.
    Put {
        /// Its `entryUUID`.
        uuid: [u8; 16],
        /// Its name.
        dn: String,
        /// Attribute descriptions and values.
        attributes: Vec<(Box<str>, Vec<Vec<u8>>)>,
        /// The CSN of the change, if it came after the refresh and its cookie told it.
        csn: Option<Csn>,
        /// CSNs that the context vector takes in with it.
        cookie: Vec<Csn>,
    },
    /// Deletes the entry, if it is there.
    Delete {
        /// Its `entryUUID`.
        uuid: [u8; 16],
        /// The CSN of the deletion, if the provider told it.
        csn: Option<Csn>,
        /// CSNs that the context vector takes in with it.
        cookie: Vec<Csn>,
    },
    /// Makes a change that the provider's log tells of.
    Make {
        /// What was done.
        change: Box<Logged>,
        /// Its CSN.
        csn: Csn,
        /// CSNs that the context vector takes in with it.
        cookie: Vec<Csn>,
    },
    /// Remembers until the end of the refresh that these entries are there.
    Remember(Vec<[u8; 16]>),
    /// Takes in CSNs. All changes up to them were told.
    TakeIn(Vec<Csn>),
    /// Ends the refresh: deletes what was neither stored nor remembered in it, if that is so; then takes in the CSNs.
    EndRefresh {
        /// Whether entries that were not named are gone.
        deletes_others: bool,
        /// What the provider has.
        vector: ContextVector,
    },
    /// The search has ended; another one is to begin.
    Search(Again),
}

/// When another search begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Again {
    /// After the interval: the refresh was completed.
    AfterInterval,
    /// At once: the provider wants a refresh.
    AtOnce,
    /// At once: the provider's log does not reach back so far, as its text says. A refresh of the content follows.
    FallBack(String),
    /// At once, in the provider's log: the refresh was completed.
    InLog,
    /// After the next wait of the list of retries: result code and text.
    AfterRetry(ResultCode, String),
}

/// A consumer of one provider.
#[derive(Clone, Debug)]
pub struct Machine {
    rid: u16,
    /// The own server ID, if the database has several providers.
    sid: Option<u16>,
    persists: bool,
    log: LogUse,
    phase: Phase,
    /// The provider does not know the cookie at all: the next refresh brings everything.
    begins_anew: bool,
    /// `slapd -c`: what the provider is told instead of what the database has, until a refresh is completed.
    given: Option<SyncCookie>,
    /// The server ID of the provider, as its last cookie said; 0: not known.
    provider: u16,
}

/// What the provider's log has to do with a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LogUse {
    /// The line does not name one.
    None,
    /// It is followed once the content is here.
    Later,
    /// The content is brought up to date.
    FallenBack,
    /// The search looks at it.
    Now,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// There is no search.
    Idle,
    Refresh {
        /// The search was sent without a cookie: there was none, or the provider did not know it.
        is_whole: bool,
        /// A phase has ended that named all entries that are still there.
        has_named: bool,
    },
    Persist,
}

/// A search as it begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Begin {
    /// Whether it looks at the provider's log.
    pub in_log: bool,
    /// Whether changes are to follow the refresh.
    pub persists: bool,
    /// The cookie to be sent.
    pub cookie: String,
}

impl Machine {
    /// A consumer with this `rid`, and the server ID of its server if the database has several providers.
    pub fn new(rid: u16, sid: Option<u16>, persists: bool) -> Self {
        Self {
            rid,
            sid: sid.filter(|sid| *sid != 0),
            persists,
            log: LogUse::None,
            phase: Phase::Idle,
            begins_anew: false,
            given: None,
            provider: 0,
        }
    }

    /// The same for a consumer that follows the provider's log once the content is here (`syncdata=accesslog`).
    #[must_use]
    pub fn with_log(self) -> Self {
        Self {
            log: LogUse::Later,
            ..self
        }
    }

    /// The same for a consumer that tells the provider this cookie until a refresh is completed. Without a CSN
    /// everything is sent.
    #[must_use]
    pub fn with_cookie(self, given: Option<SyncCookie>) -> Self {
        Self { given, ..self }
    }

    /// Whether the next search begins with the cookie of [`Self::with_cookie`].
    pub fn has_given_cookie(&self) -> bool {
        self.given.is_some()
    }

    /// The log has a gap: the next search is a refresh of all content.
    pub fn fall_back(&mut self) {
        (self.log, self.begins_anew) = (LogUse::FallenBack, true);
    }

    /// Begins a search. `known`: the context vector of the database.
    pub fn begin(&mut self, known: &ContextVector) -> Begin {
        let known = self.given.as_ref().map_or(known, |given| &given.csns);
        self.log = match self.log {
            LogUse::Later | LogUse::Now if known.is_empty() => LogUse::FallenBack,
            LogUse::Later => LogUse::Now,
            other => other,
        };
        // Without a cookie everything comes, and the provider thinks that there is nothing here. But a refresh that was
        // broken off may have left entries.
        let is_whole = std::mem::take(&mut self.begins_anew) || known.is_empty();
        self.phase = Phase::Refresh {
            is_whole,
            has_named: false,
        };
        let cookie = SyncCookie {
            rid: self.rid,
            sid: self.given.as_ref().and_then(|given| given.sid).or(self.sid),
            csns: if is_whole {
                ContextVector::default()
            } else {
                known.clone()
            },
            deletion: None,
        };
        Begin {
            in_log: self.is_in_log(),
            persists: self.persists && self.log != LogUse::FallenBack,
            cookie: cookie.text(),
        }
    }

    fn is_in_log(&self) -> bool {
        self.log == LogUse::Now
    }

    /// The connection is lost, or the search was given up.
    pub fn stop(&mut self) {
        self.phase = Phase::Idle;
    }

    /// Whether changes are followed: the refresh was completed.
    pub fn follows(&self) -> bool {
        self.phase == Phase::Persist
    }

    /// The server ID of the provider, as its cookies say; 0: not known.
    pub fn provider(&self) -> u16 {
        self.provider
    }

    /// Takes a message.
    ///
    /// # Errors
    /// It makes no sense: the search must be abandoned, and [`Machine::stop`] called.
    pub fn take(&mut self, message: Message) -> Result<Vec<Order>, Violation> {
        if self.phase == Phase::Idle {
            return Err(Violation::NoSearch);
        }
        match message {
            Message::Entry {
                state,
                uuid,
                cookie,
                dn,
                attributes,
            } => self.entry(state, uuid, cookie.as_deref(), dn, attributes),
            Message::PlainEntry => Err(Violation::NoState),
            Message::Reference => Ok(Vec::new()),
            Message::Info(info) => self.info(info),
            Message::Done { code, text, done } => self.done(code, text, done),
        }
    }

    fn entry(
        &mut self,
        state: EntryState,
        uuid: [u8; 16],
        cookie: Option<&[u8]>,
        dn: String,
        attributes: Vec<(Box<str>, Vec<Vec<u8>>)>,
    ) -> Result<Vec<Order>, Violation> {
        let cookie = self.read(cookie)?;
        let csns: Vec<Csn> = cookie.csns.iter().collect();
        if self.is_in_log() {
            return Self::log_entry(state, &attributes, csns);
        }
        Ok(match state {
            EntryState::Present if self.phase == Phase::Persist => return Err(Violation::PresentAfterRefresh),
            EntryState::Present => {
                let mut orders = vec![Order::Remember(vec![uuid])];
                orders.extend((!csns.is_empty()).then_some(Order::TakeIn(csns)));
                orders
            }
            EntryState::Add | EntryState::Modify => vec![Order::Put {
                uuid,
                dn,
                attributes,
                csn: self.only(&csns),
                cookie: csns,
            }],
            EntryState::Delete => vec![self.deletion(uuid, &cookie, csns)],
        })
    }

    /// An entry of the log. That one is gone from there means nothing.
    fn log_entry(
        state: EntryState,
        attributes: &[(Box<str>, Vec<Vec<u8>>)],
        cookie: Vec<Csn>,
    ) -> Result<Vec<Order>, Violation> {
        let change = match state {
            EntryState::Add | EntryState::Modify => log_entry::read(attributes)?,
            EntryState::Present | EntryState::Delete => None,
        };
        Ok(match change {
            Some((change, csn)) => vec![Order::Make {
                change: Box::new(change),
                csn,
                cookie,
            }],
            None if cookie.is_empty() => Vec::new(),
            None => vec![Order::TakeIn(cookie)],
        })
    }

    /// A deletion.
    fn deletion(&self, uuid: [u8; 16], cookie: &SyncCookie, csns: Vec<Csn>) -> Order {
        Order::Delete {
            uuid,
            csn: cookie.deletion.or(self.only(&csns)),
            cookie: csns,
        }
    }

    /// The CSN of a change, which is the only one of its cookie after the refresh.
    fn only(&self, csns: &[Csn]) -> Option<Csn> {
        match csns {
            [csn] if self.phase == Phase::Persist => Some(*csn),
            _ => None,
        }
    }

    fn read(&mut self, cookie: Option<&[u8]>) -> Result<SyncCookie, Violation> {
        let Some(cookie) = cookie else {
            return Ok(SyncCookie::default());
        };
        let unknown = || Violation::UnknownCookie(String::from_utf8_lossy(cookie).chars().take(200).collect());
        let cookie = SyncCookie::parse(cookie).ok_or_else(unknown)?;
        self.provider = cookie.sid.unwrap_or(self.provider);
        Ok(cookie)
    }

    fn info(&mut self, info: Info) -> Result<Vec<Order>, Violation> {
        match info {
            Info::NewCookie(cookie) => {
                let csns = self.read(Some(&cookie))?.csns;
                Ok(vec![Order::TakeIn(csns.iter().collect())])
            }
            Info::PhaseEnd {
                cookie,
                names_present,
                done,
            } => self.phase_end(cookie.as_deref(), names_present, done),
            Info::IdSet { cookie, deletes, uuids } => self.id_set(cookie.as_deref(), deletes, uuids),
        }
    }

    fn phase_end(&mut self, cookie: Option<&[u8]>, names_present: bool, done: bool) -> Result<Vec<Order>, Violation> {
        let Phase::Refresh { is_whole, has_named } = self.phase else {
            return Err(Violation::SecondEnd);
        };
        let has_named = has_named || names_present;
        let vector = self.read(cookie)?.csns;
        if !done {
            self.phase = Phase::Refresh { is_whole, has_named };
            return Ok(Vec::new());
        }
        self.phase = Phase::Persist;
        self.given = None;
        Ok(vec![Order::EndRefresh {
            deletes_others: !self.is_in_log() && (has_named || is_whole),
            vector,
        }])
    }

    fn id_set(&mut self, cookie: Option<&[u8]>, deletes: bool, uuids: Vec<[u8; 16]>) -> Result<Vec<Order>, Violation> {
        let cookie = self.read(cookie)?;
        if self.is_in_log() {
            return Ok(Vec::new());
        }
        if !deletes {
            if self.phase == Phase::Persist {
                return Err(Violation::PresentAfterRefresh);
            }
            return Ok(vec![Order::Remember(uuids)]);
        }
        // In a refresh the cookie is that of the consumer, with the CSN of the deletion beside it.
        let last = uuids.len().saturating_sub(1);
        let csns: Vec<Csn> = cookie.csns.iter().collect();
        let orders = uuids.into_iter().enumerate().map(|(number, uuid)| {
            let csns = if number == last { csns.clone() } else { Vec::new() };
            self.deletion(uuid, &cookie, csns)
        });
        Ok(orders.collect())
    }

    fn done(
        &mut self,
        code: ResultCode,
        text: String,
        done: Option<(Option<Vec<u8>>, bool)>,
    ) -> Result<Vec<Order>, Violation> {
        let phase = std::mem::replace(&mut self.phase, Phase::Idle);
        if code == ResultCode::SYNC_REFRESH_REQUIRED || code == ResultCode(OLD_REFRESH_REQUIRED) {
            if self.is_in_log() {
                self.log = LogUse::FallenBack;
                return Ok(vec![Order::Search(Again::FallBack(text))]);
            }
            return Ok(vec![Order::Search(match phase {
                Phase::Refresh { is_whole: false, .. } => {
                    self.begins_anew = true;
                    Again::AtOnce
                }
                Phase::Refresh { .. } => Again::AfterRetry(code, text),
                Phase::Idle | Phase::Persist => Again::AtOnce,
            })]);
        }
        let Phase::Refresh { is_whole, has_named } = phase else {
            return Ok(vec![Order::Search(Again::AfterRetry(code, text))]);
        };
        if code != ResultCode::SUCCESS {
            return Ok(vec![Order::Search(Again::AfterRetry(code, text))]);
        }
        let (cookie, deletes) = done.ok_or(Violation::NoDone)?;
        let vector = self.read(cookie.as_deref())?.csns;
        self.given = None;
        let is_in_log = self.is_in_log();
        let again = if self.log == LogUse::FallenBack {
            self.log = LogUse::Later;
            Again::InLog
        } else {
            Again::AfterInterval
        };
        Ok(vec![
            Order::EndRefresh {
                deletes_others: !is_in_log && (!deletes || has_named || is_whole),
                vector,
            },
            Order::Search(again),
        ])
    }
}

/// The result code of e-syncRefreshRequired before it was registered.
const OLD_REFRESH_REQUIRED: u32 = 0x4100;

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "20260101000000.000001Z#000000#001#000000";
    const TWO: &str = "20260101000000.000002Z#000000#001#000000";
    const UUID: [u8; 16] = [7; 16];

    fn csn(text: &str) -> Csn {
        Csn::parse(text.as_bytes()).unwrap()
    }

    fn cookie(csns: &str) -> Vec<u8> {
        format!("rid=001,csn={csns}").into_bytes()
    }

    fn begun(persists: bool) -> Machine {
        let mut machine = Machine::new(1, None, persists);
        let known = std::iter::once(csn(ONE)).collect();
        let begin = machine.begin(&known);
        assert_eq!((begin.persists, begin.cookie), (persists, format!("rid=001,csn={ONE}")));
        machine
    }

    fn entry(state: EntryState, cookie: Option<Vec<u8>>) -> Message {
        Message::Entry {
            state,
            uuid: UUID,
            cookie,
            dn: "cn=a".to_owned(),
            attributes: Vec::new(),
        }
    }

    fn end(names_present: bool, done: bool) -> Message {
        Message::Info(Info::PhaseEnd {
            cookie: Some(cookie(TWO)),
            names_present,
            done,
        })
    }

    fn result(code: ResultCode) -> Message {
        Message::Done {
            code,
            text: String::new(),
            done: None,
        }
    }

    fn end_order(deletes_others: bool) -> Vec<Order> {
        vec![Order::EndRefresh {
            deletes_others,
            vector: std::iter::once(csn(TWO)).collect(),
        }]
    }

    #[test]
    fn others_are_deleted_only_after_a_present_phase_with_its_end() {
        for (names_present, deletes) in [(true, true), (false, false)] {
            let mut machine = begun(true);
            assert_eq!(machine.take(end(names_present, true)), Ok(end_order(deletes)));
            assert!(machine.follows());
        }
        let mut both = begun(true);
        assert_eq!(both.take(end(true, false)), Ok(Vec::new()));
        assert_eq!(
            both.take(end(false, true)),
            Ok(end_order(true)),
            "a delete phase after a present phase"
        );
        let mut broken = begun(true);
        let failed = broken.take(result(ResultCode::OTHER)).unwrap();
        assert!(matches!(failed[..], [Order::Search(Again::AfterRetry(..))]));
    }

    #[test]
    fn a_given_cookie_counts_until_a_refresh_is_completed() {
        let known: ContextVector = std::iter::once(csn(TWO)).collect();
        let given = |text: &str| Machine::new(1, Some(7), true).with_cookie(SyncCookie::parse(text.as_bytes()));
        let mut machine = given(&format!("rid=1,sid=005,csn={ONE}"));
        let expected = format!("rid=001,sid=005,csn={ONE}");
        assert_eq!(machine.begin(&known).cookie, expected);
        machine.take(result(ResultCode::OTHER)).unwrap();
        machine.stop();
        assert_eq!(machine.begin(&known).cookie, expected, "the refresh was not completed");
        assert_eq!(machine.take(end(false, true)), Ok(end_order(false)));
        machine.stop();
        assert_eq!(machine.begin(&known).cookie, format!("rid=001,sid=007,csn={TWO}"));
        // Without a CSN everything comes, and what does not come goes.
        let mut machine = given("rid=1");
        assert_eq!(machine.begin(&known).cookie, "rid=001,sid=007");
        assert_eq!(machine.take(end(false, true)), Ok(end_order(true)));
    }

    #[test]
    fn a_refresh_ends_once() {
        let mut machine = begun(true);
        machine.take(end(false, true)).unwrap();
        assert_eq!(machine.take(end(false, true)), Err(Violation::SecondEnd));
        assert_eq!(
            machine.take(entry(EntryState::Present, None)),
            Err(Violation::PresentAfterRefresh)
        );
    }

    #[test]
    fn a_refresh_without_changes_to_follow_ends_with_its_control() {
        for (deletes, others) in [(true, false), (false, true)] {
            let mut machine = begun(false);
            let done = Message::Done {
                code: ResultCode::SUCCESS,
                text: String::new(),
                done: Some((Some(cookie(TWO)), deletes)),
            };
            let mut expected = end_order(others);
            expected.push(Order::Search(Again::AfterInterval));
            assert_eq!(machine.take(done), Ok(expected));
        }
        assert_eq!(begun(false).take(result(ResultCode::SUCCESS)), Err(Violation::NoDone));
    }

    #[test]
    fn a_deletion_has_its_own_csn() {
        let mut machine = begun(true);
        let named = Info::IdSet {
            cookie: Some(format!("rid=001,csn={ONE},delcsn={TWO}").into_bytes()),
            deletes: true,
            uuids: vec![UUID],
        };
        let orders = machine.take(Message::Info(named)).unwrap();
        let delete = |cookie: &str| Order::Delete {
            uuid: UUID,
            csn: Some(csn(TWO)),
            cookie: vec![csn(cookie)],
        };
        assert_eq!(orders, [delete(ONE)]);
        machine.take(end(false, true)).unwrap();
        let orders = machine.take(entry(EntryState::Delete, Some(cookie(TWO)))).unwrap();
        assert_eq!(orders, [delete(TWO)]);
    }

    #[test]
    fn a_provider_that_wants_a_refresh_gets_one_without_cookie_if_that_does_not_help() {
        let required = || result(ResultCode::SYNC_REFRESH_REQUIRED);
        let mut machine = begun(true);
        machine.take(end(false, true)).unwrap();
        assert_eq!(machine.take(required()), Ok(vec![Order::Search(Again::AtOnce)]));
        let known = std::iter::once(csn(TWO)).collect();
        assert!(machine.begin(&known).cookie.contains(TWO));
        assert_eq!(machine.take(required()), Ok(vec![Order::Search(Again::AtOnce)]));
        assert_eq!(machine.begin(&known).cookie, "rid=001");
        assert_eq!(
            machine.clone().take(end(false, true)),
            Ok(end_order(true)),
            "everything came"
        );
        let third = machine.take(required()).unwrap();
        assert!(matches!(third[..], [Order::Search(Again::AfterRetry(..))]));
        assert!(machine.begin(&known).cookie.contains(TWO));
    }

    #[test]
    fn what_has_no_meaning_is_refused() {
        let mut machine = begun(true);
        assert_eq!(machine.take(Message::PlainEntry), Err(Violation::NoState));
        assert_eq!(machine.take(Message::Reference), Ok(Vec::new()));
        let unknown = machine.take(entry(EntryState::Add, Some(b"host:389#cn=replica#7".to_vec())));
        assert!(matches!(unknown, Err(Violation::UnknownCookie(_))));
        machine.stop();
        assert_eq!(machine.take(Message::Reference), Err(Violation::NoSearch));
    }

    #[test]
    fn the_own_server_id_is_told_among_several_providers() {
        let mut machine = Machine::new(12, Some(0xab), true);
        assert_eq!(machine.begin(&ContextVector::default()).cookie, "rid=012,sid=0ab");
    }

    #[test]
    fn the_log_is_followed_once_the_content_is_here_and_again_after_a_gap() {
        let mut machine = Machine::new(1, None, true).with_log();
        let known: ContextVector = std::iter::once(csn(ONE)).collect();
        let done = || Message::Done {
            code: ResultCode::SUCCESS,
            text: String::new(),
            done: Some((Some(cookie(TWO)), true)),
        };
        let begin = machine.begin(&ContextVector::default());
        assert_eq!(
            (begin.in_log, begin.persists, &*begin.cookie),
            (false, false, "rid=001")
        );
        let ended = machine.take(done()).unwrap();
        assert_eq!(ended.last(), Some(&Order::Search(Again::InLog)));
        let begin = machine.begin(&known);
        assert!(begin.in_log && begin.persists);
        let log_entry = |state, kind: &str| Message::Entry {
            state,
            uuid: UUID,
            cookie: Some(cookie(TWO)),
            dn: "reqStart=1,cn=log".to_owned(),
            attributes: [("reqType", kind), ("reqDN", "cn=a"), ("entryCSN", TWO)]
                .map(|(name, value)| (name.into(), vec![value.as_bytes().to_vec()]))
                .into(),
        };
        let made = machine.take(log_entry(EntryState::Add, "delete")).unwrap();
        assert!(
            matches!(&made[..], [Order::Make { csn: made, cookie, .. }] if *made == csn(TWO) && cookie == &[csn(TWO)])
        );
        // That the log is purged, and what it has besides changes, means nothing but the cookie.
        for message in [
            log_entry(EntryState::Delete, "delete"),
            log_entry(EntryState::Add, "bind"),
        ] {
            assert_eq!(machine.take(message), Ok(vec![Order::TakeIn(vec![csn(TWO)])]));
        }
        assert_eq!(
            machine.take(end(true, true)),
            Ok(end_order(false)),
            "nothing is deleted"
        );
        let ended = machine.take(result(ResultCode::SYNC_REFRESH_REQUIRED)).unwrap();
        assert_eq!(ended, [Order::Search(Again::FallBack(String::new()))]);
        let begin = machine.begin(&known);
        assert!(!begin.in_log && !begin.persists && begin.cookie.contains(ONE));
        machine.take(done()).unwrap();
        assert!(machine.begin(&known).in_log);
        machine.fall_back();
        assert_eq!(machine.begin(&known).cookie, "rid=001", "a gap is filled by everything");
    }
}
