//! The consumers that a configuration has.

use std::sync::Arc;

use ironbark_config::{
    TlsConfig,
    syncrepl::{RetryStep, Syncrepl},
};
use ironbark_directory::{AttributeChoice, Configuration, NamingContext, PLACE_ATTRIBUTE, ReplicaMapping};
use ironbark_ldap_proto::Scope;
use ironbark_model::{Dn, ldap_url::UrlScope};
use ironbark_store::Scope as StoreScope;

use crate::{Line, SyncSearch, log_entry};

/// Without these an entry cannot be kept as it is at the provider.
const ALWAYS: [&str; 4] = ["objectClass", "structuralObjectClass", "entryUUID", "entryCSN"];
/// `retry` of a line without it.
const EVERY_HOUR: (u32, Option<u32>) = (3_600, None);
/// The filter that leaves nothing out.
const EVERYTHING: &str = "(objectclass=*)";

/// The consumers that a configuration has. As in slapd, a line whose provider is this server and whose base is the
/// database's own is skipped, so that all servers may have the same lines.
pub fn lines(configuration: &Configuration, server_id: u16) -> Vec<Line> {
    let mut all = Vec::new();
    for context in &configuration.contexts {
        let lines = context.settings.syncrepl.iter().filter(|line| !line.is_own);
        let lines = lines.filter_map(|line| session_line(context, line, server_id));
        all.extend(lines.map(|line| with_tls(line, &configuration.settings.tls)));
    }
    all
}

/// What the line leaves open of TLS is as the server itself has it.
fn with_tls(mut line: Line, server: &TlsConfig) -> Line {
    line.connection.tls = server.of_connection(&line.connection.tls);
    line
}

/// `None`: the database has no rootdn, which the loader refuses.
fn session_line(context: &NamingContext, line: &Syncrepl, server_id: u16) -> Option<Line> {
    let (scope, held) = match line.scope {
        UrlScope::Base => (Scope::BaseObject, StoreScope::Base),
        UrlScope::OneLevel => (Scope::SingleLevel, StoreScope::OneLevel),
        UrlScope::Subtree => (Scope::WholeSubtree, StoreScope::Subtree),
        UrlScope::Children => (Scope::SubordinateSubtree, StoreScope::Children),
    };
    let multi_provider = context.settings.multi_provider;
    let is_all = line.filter.eq_ignore_ascii_case(EVERYTHING);
    let mapping = ReplicaMapping {
        remote_base: line.base.clone(),
        local_base: line.local_base().clone(),
        scope: held,
        filter: if is_all { "" } else { &*line.filter }.into(),
        attributes: AttributeChoice {
            attributes: line.attributes.clone(),
            excluded: line.excluded.clone(),
        },
        schema_checking: line.schema_checking,
        needs_csn: multi_provider,
        multi_provider,
        merges_values: line.log.is_some(),
        author: context.settings.root_dn.clone()?,
    };
    let step = |step: &RetryStep| (step.seconds, step.count);
    Some(Line {
        suffix: context
            .suffixes()
            .first()
            .map(Dn::pretty)
            .unwrap_or_default()
            .to_owned(),
        rid: line.rid,
        sid: multi_provider.then_some(server_id),
        connection: line.connection.clone(),
        request: SyncSearch {
            base: line.base.pretty().to_owned(),
            scope,
            filter: line.filter.clone(),
            attributes: asked(&line.attributes, multi_provider && is_all && line.log.is_none()),
            size_limit: line.size_limit,
            time_limit: line.time_limit,
        },
        log: line.log.as_ref().map(|log| SyncSearch {
            base: log.base.pretty().to_owned(),
            scope: Scope::WholeSubtree,
            filter: log.filter.clone(),
            attributes: log_entry::ATTRIBUTES.iter().map(ToString::to_string).collect(),
            size_limit: line.size_limit,
            time_limit: line.time_limit,
        }),
        mapping: Arc::new(mapping),
        persists: line.persists,
        strict_refresh: line.log.as_ref().is_some_and(|log| log.strict_refresh),
        interval: line.interval,
        retries: if line.retry.is_empty() {
            vec![EVERY_HOUR]
        } else {
            line.retry.iter().map(step).collect()
        },
        patience: line.connection.operation_timeout,
    })
}

/// The attributes of the request. Where others write, a server of our kind tells the places of entries.
fn asked(chosen: &[Box<str>], asks_places: bool) -> Vec<String> {
    let places = asks_places.then(|| PLACE_ATTRIBUTE.to_owned());
    if chosen.is_empty() {
        return ["*".to_owned(), "+".to_owned()].into_iter().chain(places).collect();
    }
    let mut asked: Vec<String> = chosen.iter().map(ToString::to_string).chain(places).collect();
    let has = |name: &str| chosen.iter().any(|known| known.eq_ignore_ascii_case(name));
    asked.extend(ALWAYS.iter().filter(|name| !has(name)).map(ToString::to_string));
    asked
}
