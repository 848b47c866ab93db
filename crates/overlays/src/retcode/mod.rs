//! slapo-retcode(5): chosen results, delays, notifications and closed connections, for tests of clients.
//!
//! A request that names an entry of the configuration, or with `retcode-indir` an entry of the database, gets the
//! answer that the entry describes. A delay holds the request, but no thread and no connection.

mod entries;
mod rows;
mod settings;
mod stored;

use std::{sync::Arc, time::Duration};

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor},
};
use ironbark_directory::{
    NamingContext, OperationResult,
    overlay::{Answer, Decision, IncomingRequest, Overlay, RequestHooks, Unsolicited},
};
use ironbark_ldap_proto::{Operation, Request, Scope};
use ironbark_model::{Dn, ResultCode, Schema};
use ironbark_runtime::Randomness;

use self::settings::{Closes, Item, Notice, RetcodeConfig};
use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "retcode",
        modules: &[],
        occurrence: Occurrence::Once,
        class: Some(OverlayClass {
            names: &["olcRetcodeConfig"],
            oid: "3.20.1",
        }),
        settings: rows::ROWS,
        controls: &[],
        fresh: AnySettings::of::<RetcodeConfig>,
        schema: stored::SCHEMA,
        introduction: "The overlay answers requests with chosen result codes, delays and notifications, to test \
            clients.",
    },
    make: |config, schema| make(config.settings()?, schema),
};

/// The overlay.
struct Retcode {
    settings: RetcodeConfig,
    stored: Option<Arc<stored::Stored>>,
    randomness: Randomness,
    root: Dn,
}

fn make(settings: &RetcodeConfig, schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let stored = settings.in_directory.then(|| stored::Stored::new(schema).map(Arc::new));
    let stored = stored.transpose()?;
    let searches = stored.clone().map(|stored| Arc::new(stored::Searches(stored)) as _);
    Ok(Overlay {
        searches,
        requests: Some(Arc::new(Retcode {
            settings: settings.clone(),
            stored,
            randomness: Randomness::system(),
            root: Dn::root(),
        })),
        ..Overlay::new("retcode")
    })
}

impl RequestHooks for Retcode {
    fn decide(&self, request: &IncomingRequest<'_>) -> Decision {
        let decision = self.chosen(request);
        self.after(self.settings.sleep_s, decision)
    }
}

impl Retcode {
    /// Puts a delay before a decision.
    fn after(&self, seconds: i32, decision: Decision) -> Decision {
        let most = u64::from(seconds.unsigned_abs());
        let millis = if seconds < 0 {
            // Without randomness the delay is zero.
            let random = self.randomness.bytes().map_or(0, u64::from_be_bytes);
            random % (most * 1_000)
        } else {
            most * 1_000
        };
        if millis == 0 {
            return decision;
        }
        Decision::After(Duration::from_millis(millis), Box::new(decision))
    }

    fn chosen(&self, request: &IncomingRequest<'_>) -> Decision {
        match self.parent(request.context) {
            Some(parent) if request.dn.is_within(parent) => self.of_item(parent, request),
            _ => match &self.stored {
                Some(stored) => stored.decide(request, &|seconds, decision| self.after(seconds, decision)),
                None => Decision::Continue,
            },
        }
    }

    /// The parent of the items: the suffix by default. As in slapd it is the root of all names while there is neither a
    /// parent nor an item.
    fn parent<'a>(&'a self, context: &'a NamingContext) -> Option<&'a Dn> {
        match &self.settings.parent {
            Some(parent) => Some(parent),
            None if self.settings.items.is_empty() => Some(&self.root),
            None => context.suffixes().first(),
        }
    }

    fn of_item(&self, parent: &Dn, request: &IncomingRequest<'_>) -> Decision {
        if let Request::Search(search) = request.request
            && search.scope != Scope::BaseObject
            && request.dn == parent
        {
            return Decision::Entries(entries::of(&self.settings.items, parent, request.configuration));
        }
        let unknown = |text: &'static str| {
            let result = OperationResult {
                matched_dn: parent.pretty().to_owned(),
                ..OperationResult::new(ResultCode::NO_SUCH_OBJECT, text)
            };
            Decision::Answer(Box::new(result.into()))
        };
        if !request.dn.is_child_of(parent) {
            return unknown("");
        }
        let has_name = |item: &&Item| item.rdn.normalized() == request.dn.rdn(0).map_or(&[][..], |(_, normal)| normal);
        let Some(item) = self.settings.items.iter().find(has_name) else {
            return unknown("retcode not found");
        };
        if !item.operations.contains(request.kind()) {
            return Decision::Continue;
        }
        if item.closes == Some(Closes::Before) {
            return Decision::Close;
        }
        let referred = (item.code == ResultCode::REFERRAL.0).then(|| request.referral(&item.referrals));
        let is_bad = referred
            .as_ref()
            .is_some_and(|result| result.code != ResultCode::REFERRAL);
        let mut result = referred.unwrap_or_else(|| OperationResult::code(ResultCode(item.code)));
        if let Some(text) = item.text.clone().filter(|_| !is_bad) {
            result.diagnostic_message = text.into();
        }
        result.matched_dn = item
            .matched
            .as_ref()
            .map(|dn| dn.pretty().to_owned())
            .unwrap_or_default();
        let mut answer = Answer::from(result);
        // As in slapd, an extended operation has its own response.
        if request.operation != Operation::Extended {
            answer.unsolicited = item.notice.clone().map(unsolicited);
            answer.closes = item.closes.is_some();
        }
        self.after(item.sleep_s, Decision::Answer(Box::new(answer)))
    }
}

fn unsolicited(notice: Notice) -> Unsolicited {
    Unsolicited {
        name: Some(notice.oid).filter(|oid| oid != "0"),
        value: notice.data,
    }
}
