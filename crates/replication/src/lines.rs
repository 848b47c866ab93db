//! The consumers that a configuration has.

use std::sync::Arc;

use ironbark_config::{
    TlsConfig,
    syncrepl::{LogKind, RetryStep, Syncrepl},
};
use ironbark_directory::{
    AttributeChoice, Configuration, NamingContext, PLACE_ATTRIBUTE, RECENT_ATTRIBUTE, ReplicaMapping,
};
use ironbark_ldap_proto::Scope;
use ironbark_model::{Dn, ldap_url::UrlScope};
use ironbark_store::DitScope;

use crate::{
    Changelog, DirSync, SyncSearch, SyncreplLine,
    changelog::{STAMPS, UNIQUE_ID},
    dir_sync, log_entry,
};

/// Without these an entry cannot be kept as it is at the provider.
const ALWAYS: [&str; 4] = ["objectClass", "structuralObjectClass", "entryUUID", "entryCSN"];
/// `retry` of a line without it.
const EVERY_HOUR: (u32, Option<u32>) = (3_600, None);
/// The same where subentries are left out unless a filter names their class.
const WITH_SUBENTRIES: &str = "(|(objectClass=*)(objectClass=ldapSubEntry))";
/// The filter that leaves nothing out.
const EVERYTHING: &str = "(objectclass=*)";

/// The consumers that a configuration has. As in slapd, a line whose provider is this server and whose base is the
/// database's own is skipped, so that all servers may have the same lines.
pub fn lines(configuration: &Configuration, server_id: u16) -> Vec<SyncreplLine> {
    let mut all = Vec::new();
    for context in &configuration.contexts {
        let lines = context.settings.syncrepl.iter().filter(|line| !line.is_own);
        let lines = lines.filter_map(|line| session_line(context, line, server_id));
        all.extend(lines.map(|line| with_tls(line, &configuration.settings.tls)));
    }
    all
}

/// What the line leaves open of TLS is as the server itself has it.
fn with_tls(mut line: SyncreplLine, server: &TlsConfig) -> SyncreplLine {
    line.connection.tls = server.of_connection(&line.connection.tls);
    line
}

/// `None`: the database has no rootdn, which the loader refuses.
fn session_line(context: &NamingContext, line: &Syncrepl, server_id: u16) -> Option<SyncreplLine> {
    let (scope, held) = match line.scope {
        UrlScope::Base => (Scope::BaseObject, DitScope::Base),
        UrlScope::OneLevel => (Scope::SingleLevel, DitScope::OneLevel),
        UrlScope::Subtree => (Scope::WholeSubtree, DitScope::Subtree),
        UrlScope::Children => (Scope::SubordinateSubtree, DitScope::Children),
    };
    let multi_provider = context.settings.multi_provider;
    let is_all = line.filter.eq_ignore_ascii_case(EVERYTHING);
    let changelog = changelog(line);
    let dir_sync = line.dir_sync.then(|| DirSync { content: content(line) });
    let taken = taken(line);
    let mapping = ReplicaMapping {
        line: line.number(),
        remote_base: line.base.clone(),
        local_base: line.local_base().clone(),
        scope: held,
        // What is here is the provider's. With DirSync it may have ceased to match.
        filter: if is_all || line.dir_sync { "" } else { &*line.filter }.into(),
        attributes: AttributeChoice {
            attributes: taken.clone(),
            excluded: line.excluded.clone(),
        },
        schema_checking: line.schema_checking,
        needs_csn: multi_provider,
        multi_provider,
        is_sole: !multi_provider && context.settings.syncrepl.len() == 1,
        merges_values: line.log.is_some() && changelog.is_none(),
        own_csns: line.other_kind().is_some(),
        author: context.settings.root_dn.clone()?,
    };
    let step = |step: &RetryStep| (step.seconds, step.count);
    Some(SyncreplLine {
        suffix: context
            .suffixes()
            .first()
            .map(Dn::pretty)
            .unwrap_or_default()
            .to_owned(),
        rid: line.rid,
        number: line.number(),
        sid: multi_provider.then_some(server_id),
        connection: line.connection.clone(),
        request: request(line, scope, &taken, multi_provider),
        log: log_request(line),
        changelog,
        dir_sync,
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

/// What `syncdata=changelog` adds.
fn changelog(line: &Syncrepl) -> Option<Changelog> {
    let log = line.log.as_ref().filter(|log| log.kind == LogKind::Changelog)?;
    Some(Changelog {
        base: log.base.pretty().to_owned(),
        chosen: line.attributes.iter().map(ToString::to_string).collect(),
        content: content(line),
    })
}

/// What the content depends on where a provider has no CSNs.
fn content(line: &Syncrepl) -> String {
    let (base, here) = (line.base.pretty(), line.local_base().pretty());
    let (chosen, excluded) = (line.attributes.join(","), line.excluded.join(","));
    let filter = if line.dir_sync {
        format!(" \"{}\"", line.filter)
    } else {
        String::new()
    };
    format!("\"{base}\" \"{here}\" \"{chosen}\" \"{excluded}\"{filter}")
}

/// The search for the content. To one of several writers (`is_shared`) a server of our kind is to tell the places of
/// entries, and what has changed of them if values are merged.
fn request(line: &Syncrepl, scope: Scope, taken: &[Box<str>], is_shared: bool) -> SyncSearch {
    let (filter, attributes) = if line.follows_changelog() {
        let names = taken.iter().map(ToString::to_string);
        (WITH_SUBENTRIES, names.chain([UNIQUE_ID.to_owned()]).collect())
    } else if line.dir_sync {
        (&*line.filter, dir_sync::asked(&line.attributes))
    } else {
        let besides: &[&str] = match (is_shared, &line.log) {
            (false, _) => &[],
            (true, None) => &[PLACE_ATTRIBUTE],
            (true, Some(_)) => &[PLACE_ATTRIBUTE, RECENT_ATTRIBUTE],
        };
        (&*line.filter, asked(taken, besides))
    };
    SyncSearch {
        base: line.base.pretty().to_owned(),
        scope,
        filter: filter.to_owned(),
        attributes,
        size_limit: line.size_limit,
        time_limit: line.time_limit,
    }
}

/// `syncdata=accesslog`: the search for changes.
fn log_request(line: &Syncrepl) -> Option<SyncSearch> {
    let log = line.log.as_ref().filter(|log| log.kind == LogKind::Accesslog)?;
    Some(SyncSearch {
        base: log.base.pretty().to_owned(),
        scope: Scope::WholeSubtree,
        filter: log.filter.clone(),
        attributes: log_entry::ATTRIBUTES.iter().map(ToString::to_string).collect(),
        size_limit: line.size_limit,
        time_limit: line.time_limit,
    })
}

/// `attrs`: the attributes that are the provider's; empty: all. With a server of another kind `+` would name what
/// concerns only the provider itself.
fn taken(line: &Syncrepl) -> Vec<Box<str>> {
    let stamps: &[&str] = match (line.follows_changelog(), line.dir_sync) {
        (true, _) => &STAMPS,
        (_, true) => &[dir_sync::CREATED],
        _ => return line.attributes.clone(),
    };
    let chosen = line.attributes.iter().filter(|name| &***name != "+");
    let mut taken: Vec<Box<str>> = chosen.cloned().collect();
    if taken.is_empty() {
        taken.push("*".into());
    }
    let more = stamps.iter().chain(&["objectClass"]);
    taken.extend(more.map(|name| Box::from(*name)));
    taken
}

/// The attributes of the request, and what a server of our kind is to tell besides.
fn asked(chosen: &[Box<str>], besides: &[&str]) -> Vec<String> {
    let besides = besides.iter().copied().map(str::to_owned);
    if chosen.is_empty() {
        return ["*".to_owned(), "+".to_owned()].into_iter().chain(besides).collect();
    }
    let mut asked: Vec<String> = chosen.iter().map(ToString::to_string).chain(besides).collect();
    let has = |name: &str| chosen.iter().any(|known| known.eq_ignore_ascii_case(name));
    asked.extend(ALWAYS.iter().filter(|name| !has(name)).map(ToString::to_string));
    asked
}
