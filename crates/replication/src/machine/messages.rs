//! What each message of a provider means, in which phase it may come, and which cookie is taken in with it.

use ironbark_directory::SyncCookie;
use ironbark_ldap_proto::controls::EntryState;
use ironbark_model::ResultCode;
use ironbark_store::Csn;

use super::{Again, ConsumerAction, LogUse, Machine, Phase, Violation};
use crate::{Info, SyncMessage, log_entry};

impl Machine {
    /// Takes a message.
    ///
    /// # Errors
    /// It makes no sense: the search must be abandoned, and [`Machine::stop`] called.
    pub fn take(&mut self, message: SyncMessage) -> Result<Vec<ConsumerAction>, Violation> {
        if self.phase == Phase::Idle {
            return Err(Violation::NoSearch);
        }
        match message {
            SyncMessage::Entry {
                state,
                uuid,
                cookie,
                dn,
                attributes,
            } => self.entry(state, uuid, cookie.as_deref(), dn, attributes),
            SyncMessage::PlainEntry => Err(Violation::NoState),
            SyncMessage::Reference => Ok(Vec::new()),
            SyncMessage::Info(info) => self.info(info),
            SyncMessage::Done { code, text, done } => self.done(code, text, done),
        }
    }

    fn entry(
        &mut self,
        state: EntryState,
        uuid: [u8; 16],
        cookie: Option<&[u8]>,
        dn: String,
        attributes: Vec<(Box<str>, Vec<Vec<u8>>)>,
    ) -> Result<Vec<ConsumerAction>, Violation> {
        let cookie = self.read(cookie)?;
        let csns: Vec<Csn> = cookie.csns.iter().collect();
        if self.is_in_log() {
            return Self::log_entry(state, &attributes, csns);
        }
        Ok(match state {
            EntryState::Present if self.phase == Phase::Persist => return Err(Violation::PresentAfterRefresh),
            EntryState::Present => {
                let mut orders = vec![ConsumerAction::Remember(vec![uuid])];
                orders.extend((!csns.is_empty()).then_some(ConsumerAction::TakeIn(csns)));
                orders
            }
            EntryState::Add | EntryState::Modify => vec![ConsumerAction::Put {
                uuid,
                dn,
                attributes,
                csn: self.only(&csns),
                cookie: csns,
            }],
            EntryState::Delete => self.deletion(uuid, &cookie, csns).into_iter().collect(),
        })
    }

    /// An entry of the log. That one is gone from there means nothing.
    fn log_entry(
        state: EntryState,
        attributes: &[(Box<str>, Vec<Vec<u8>>)],
        cookie: Vec<Csn>,
    ) -> Result<Vec<ConsumerAction>, Violation> {
        let change = match state {
            EntryState::Add | EntryState::Modify => log_entry::read(attributes)?,
            EntryState::Present | EntryState::Delete => None,
        };
        Ok(match change {
            Some((change, csn)) => vec![ConsumerAction::Make {
                change: Box::new(change),
                csn,
                cookie,
            }],
            None if cookie.is_empty() => Vec::new(),
            None => vec![ConsumerAction::TakeIn(cookie)],
        })
    }

    /// A deletion.
    fn deletion(&self, uuid: [u8; 16], cookie: &SyncCookie, csns: Vec<Csn>) -> Option<ConsumerAction> {
        if self.has_part && cookie.deletion.is_none() {
            // It may only be out of sight.
            return (!csns.is_empty()).then_some(ConsumerAction::TakeIn(csns));
        }
        Some(ConsumerAction::Delete {
            uuid,
            csn: cookie.deletion.or(self.only(&csns)),
            cookie: csns,
        })
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
        self.has_part |= cookie.is_part;
        Ok(cookie)
    }

    fn info(&mut self, info: Info) -> Result<Vec<ConsumerAction>, Violation> {
        match info {
            Info::NewCookie(cookie) => {
                let csns = self.read(Some(&cookie))?.csns;
                Ok(vec![ConsumerAction::TakeIn(csns.iter().collect())])
            }
            Info::PhaseEnd {
                cookie,
                names_present,
                done,
            } => self.phase_end(cookie.as_deref(), names_present, done),
            Info::IdSet { cookie, deletes, uuids } => self.id_set(cookie.as_deref(), deletes, uuids),
        }
    }

    fn phase_end(
        &mut self,
        cookie: Option<&[u8]>,
        names_present: bool,
        done: bool,
    ) -> Result<Vec<ConsumerAction>, Violation> {
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
        Ok(vec![ConsumerAction::EndRefresh {
            deletes_others: !self.is_in_log() && !self.has_part && (has_named || is_whole),
            vector,
        }])
    }

    fn id_set(
        &mut self,
        cookie: Option<&[u8]>,
        deletes: bool,
        uuids: Vec<[u8; 16]>,
    ) -> Result<Vec<ConsumerAction>, Violation> {
        let cookie = self.read(cookie)?;
        if self.is_in_log() {
            return Ok(Vec::new());
        }
        if !deletes {
            if self.phase == Phase::Persist {
                return Err(Violation::PresentAfterRefresh);
            }
            return Ok(vec![ConsumerAction::Remember(uuids)]);
        }
        // In a refresh the cookie is that of the consumer, with the CSN of the deletion beside it.
        let last = uuids.len().saturating_sub(1);
        let csns: Vec<Csn> = cookie.csns.iter().collect();
        let orders = uuids.into_iter().enumerate().filter_map(|(number, uuid)| {
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
    ) -> Result<Vec<ConsumerAction>, Violation> {
        let phase = std::mem::replace(&mut self.phase, Phase::Idle);
        if code == ResultCode::SYNC_REFRESH_REQUIRED || code == ResultCode(OLD_REFRESH_REQUIRED) {
            if self.is_in_log() {
                self.log = LogUse::FallenBack;
                return Ok(vec![ConsumerAction::Search(Again::FallBack(text))]);
            }
            return Ok(vec![ConsumerAction::Search(match phase {
                Phase::Refresh { is_whole: false, .. } => {
                    self.begins_anew = true;
                    Again::AtOnce
                }
                Phase::Refresh { .. } => Again::AfterRetry(code, text),
                Phase::Idle | Phase::Persist => Again::AtOnce,
            })]);
        }
        let Phase::Refresh { is_whole, has_named } = phase else {
            return Ok(vec![ConsumerAction::Search(Again::AfterRetry(code, text))]);
        };
        if code != ResultCode::SUCCESS {
            return Ok(vec![ConsumerAction::Search(Again::AfterRetry(code, text))]);
        }
        let (cookie, deletes) = done.ok_or(Violation::NoDone)?;
        let vector = self.read(cookie.as_deref())?.csns;
        self.given = None;
        let is_in_log = self.is_in_log();
        let again = if self.log == LogUse::FallenBack {
            self.log = LogUse::Next;
            Again::InLog
        } else {
            Again::AfterInterval
        };
        Ok(vec![
            ConsumerAction::EndRefresh {
                deletes_others: !is_in_log && !self.has_part && (!deletes || has_named || is_whole),
                vector,
            },
            ConsumerAction::Search(again),
        ])
    }
}

/// The result code of e-syncRefreshRequired before it was registered.
const OLD_REFRESH_REQUIRED: u32 = 0x4100;
