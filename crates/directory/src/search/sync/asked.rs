//! What a request asks for: content synchronization (RFC 4533), or notices of changes, as an overlay offers them.

use std::sync::Arc;

use ironbark_ldap_proto::{
    DerefAliases, SearchRequest,
    controls::{RequestControls, SyncRequest},
};
use ironbark_model::Dn;
use ironbark_store::DitScope;

use super::{Glued, Meeting, Phase, Refresh, Sync, notify::Noticing};
use crate::{
    Configuration, NamingContext, OperationError,
    cookie::SyncCookie,
    overlay::{SyncProvider, overlays_of},
    place::{LOGGED_PLACE, PLACE},
    recent::RECENT,
    refusal::{ControlRefusal, SyncRefusal},
    search::work::Work,
};

impl Sync {
    /// The synchronization or the notices that a request asks for, if the database can do it. Such a search is not
    /// sorted.
    ///
    /// # Errors
    /// `protocolError`: what comes with the control makes no sense. `unavailableCriticalExtension`: the control is
    /// critical, and the database has no overlay for it, or what comes with it and is critical is not done meanwhile.
    pub(in crate::search) fn asked_for(
        configuration: &Configuration,
        context: &Arc<NamingContext>,
        (controls, pdu): (&RequestControls<'_>, &[u8]),
        request: &SearchRequest<'_>,
        (base, scope): (&Dn, DitScope),
    ) -> Result<Option<Box<Self>>, OperationError> {
        let asked = match notices_asked_for(context, controls)? {
            Some(asked) => Some(asked),
            None => content_asked_for(context, controls, request)?,
        };
        let Some(Asked {
            provider,
            sync,
            notices,
        }) = asked
        else {
            return Ok(None);
        };
        let sorted = controls.server_side_sort.as_ref();
        if sorted.is_some_and(|sorted| sorted.critical) || controls.virtual_list_view.is_some() {
            return Err(ControlRefusal::Unavailable.into());
        }
        let is_of_nothing = match context.database() {
            Some(database) if !sync.persists => database.snapshot()?.view().entry_count()? == 0,
            _ => false,
        };
        let asks_for = |name: &str| {
            let mut names = request.attributes.iter();
            names.any(|asked| asked.eq_ignore_ascii_case(name.as_bytes()))
        };
        let glued = Glued::below(configuration, context, base, scope);
        let cookie = sync.cookie.and_then(SyncCookie::parse).unwrap_or_default();
        Ok(Some(Box::new(Self {
            context: Arc::clone(context),
            base: base.clone(),
            scope,
            base_id: None,
            is_subordinate: false,
            glued,
            persists: sync.persists,
            is_of_nothing,
            reload_hint: sync.reload_hint,
            provider,
            request: pdu.into(),
            consumer: (cookie.rid, cookie.sid.unwrap_or_default()),
            sends_log: None,
            known: cookie.csns,
            has_everything: false,
            is_part: false,
            content: None,
            asks_places: asks_for(PLACE),
            asks_logged_places: asks_for(LOGGED_PLACE),
            asks_recent: asks_for(RECENT),
            recent: None,
            allowance: Work::default(),
            phase: Phase::Begin,
            refresh: Refresh::default(),
            meeting: Meeting::Note,
            sending: None,
            notices,
            persisting: None,
            done: None,
        })))
    }
}

/// What is asked for, and how the database provides it.
struct Asked<'r> {
    provider: SyncProvider,
    sync: SyncRequest<'r>,
    notices: Option<Noticing>,
}

fn content_asked_for<'r>(
    context: &NamingContext,
    controls: &RequestControls<'r>,
    request: &SearchRequest<'_>,
) -> Result<Option<Asked<'r>>, OperationError> {
    let Some(control) = &controls.sync_request else {
        return Ok(None);
    };
    if controls.paged_results.is_some() {
        return Err(SyncRefusal::Paged.into());
    }
    let provider = overlays_of(context).provider.as_deref().copied();
    let Some(provider) = provider.filter(|_| context.database().is_some()) else {
        // What an uncritical control asks for is not done where it cannot be.
        if control.critical {
            return Err(ControlRefusal::Unavailable.into());
        }
        return Ok(None);
    };
    // What aliases lead to has changes that no log of the base tells.
    if matches!(request.deref_aliases, DerefAliases::InSearching | DerefAliases::Always) {
        return Err(SyncRefusal::Dereferences.into());
    }
    Ok(Some(Asked {
        provider,
        sync: control.value,
        notices: None,
    }))
}

fn notices_asked_for<'r>(
    context: &NamingContext,
    controls: &RequestControls<'_>,
) -> Result<Option<Asked<'r>>, OperationError> {
    if controls.of_overlays.is_empty() {
        return Ok(None);
    }
    let mut found = None;
    for hooks in &overlays_of(context).notices {
        if let Some(notices) = hooks.begin(controls)? {
            found = Some(notices);
        }
    }
    let Some(notices) = found else {
        return Ok(None);
    };
    // Such an overlay is refused where there is no log to follow.
    if context.database().is_none() {
        return Err(ControlRefusal::Unavailable.into());
    }
    Ok(Some(Asked {
        provider: SyncProvider::default(),
        sync: SyncRequest {
            persists: true,
            cookie: None,
            reload_hint: false,
        },
        notices: Some(Noticing::new(notices)),
    }))
}
