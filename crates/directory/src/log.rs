//! The stats log: one line per request and result, in the words that slapd's log analysers know (loglevel `stats`).
//!
//! Lines are `tracing` events of target `stats`; a level that is off costs one load. No secret is ever logged.

use std::fmt::{Display, Formatter, Result as FmtResult};

use ironbark_ldap_proto::{
    Authentication, MessageId, Operation, Request, SearchRequest,
    extended::{ExtendedOperation, lookup, password_modify::PasswordModifyRequest},
};
use ironbark_model::filter::log::LogFilter;

use crate::{Configuration, ended::Outcome, operation::Origin};

macro_rules! stats {
    ($origin:expr, $($argument:tt)+) => {
        tracing::info!(target: "stats", "conn={} op={} {}", $origin.connection, $origin.operation, format_args!($($argument)+))
    };
}

fn is_enabled() -> bool {
    tracing::enabled!(target: "stats", tracing::Level::INFO)
}

/// Bytes as text, with what is not UTF-8 replaced.
struct Text<'a>(&'a [u8]);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> FmtResult {
        f.write_str(&String::from_utf8_lossy(self.0))
    }
}

/// The line of a request.
pub(crate) fn request(configuration: &Configuration, origin: &Origin, request: &Request<'_>) {
    if !is_enabled() {
        return;
    }
    match request {
        Request::Bind(request) => {
            let method = match request.authentication {
                Authentication::Simple(_) => 128,
                Authentication::Sasl { .. } => 163,
                Authentication::Other { identifier } => u32::from(identifier),
            };
            if !origin.identity.is_anonymous() {
                stats!(
                    origin,
                    "BIND anonymous mech=implicit bind_ssf=0 ssf={}",
                    origin.strength.ssf
                );
            }
            stats!(origin, "BIND dn=\"{}\" method={method}", Text(request.name));
        }
        Request::Search(request) => search(configuration, origin, request),
        Request::Modify(request) => {
            stats!(origin, "MOD dn=\"{}\"", Text(request.object));
            let names: Vec<_> = request
                .changes
                .iter()
                .map(|change| String::from_utf8_lossy(change.attribute))
                .collect();
            stats!(origin, "MOD attr={}", names.join(" "));
        }
        Request::Add(request) => stats!(origin, "ADD dn=\"{}\"", Text(request.entry)),
        Request::Delete(name) => stats!(origin, "DEL dn=\"{}\"", Text(name)),
        Request::ModifyDn(request) => stats!(origin, "MODRDN dn=\"{}\"", Text(request.entry)),
        Request::Compare(request) => {
            stats!(
                origin,
                "CMP dn=\"{}\" attr=\"{}\"",
                Text(request.entry),
                Text(request.attribute)
            );
        }
        Request::Extended(request) => {
            stats!(origin, "EXT oid={}", Text(request.name));
            extended(origin, request);
        }
        Request::Unbind | Request::Abandon(_) => {}
    }
}

fn search(configuration: &Configuration, origin: &Origin, request: &SearchRequest<'_>) {
    stats!(
        origin,
        "SRCH base=\"{}\" scope={} deref={} filter=\"{}\"",
        Text(request.base),
        request.scope.number(),
        request.deref_aliases.number(),
        LogFilter::new(&configuration.schema, &request.filter)
    );
    if !request.attributes.is_empty() {
        let names: Vec<_> = request.attributes.iter().map(String::from_utf8_lossy).collect();
        stats!(origin, "SRCH attr={}", names.join(" "));
    }
}

fn extended(origin: &Origin, request: &ironbark_ldap_proto::ExtendedRequest<'_>) {
    match lookup(request.name).map(|row| row.operation) {
        Some(ExtendedOperation::WhoAmI) => stats!(origin, "WHOAMI"),
        Some(ExtendedOperation::StartTls) => stats!(origin, "STARTTLS"),
        Some(ExtendedOperation::PasswordModify) => {
            let Ok(request) = PasswordModifyRequest::decode(request.value) else {
                return;
            };
            let old = if request.old_password.is_some() { " old" } else { "" };
            let new = if request.new_password.is_some() { " new" } else { "" };
            let name = request
                .user_identity
                .map_or_else(String::new, |id| format!(" id=\"{}\"", Text(id)));
            stats!(origin, "PASSMOD{name}{old}{new}");
        }
        Some(ExtendedOperation::Cancel) => {
            if let Ok(id) = ironbark_ldap_proto::extended::cancel::decode_request(request.value) {
                stats!(origin, "CANCEL msg={id}");
            }
        }
        None => {}
    }
}

/// The line of a bind that succeeded.
pub(crate) fn bound(origin: &Origin, dn: &str, mechanism: &str) {
    stats!(
        origin,
        "BIND dn=\"{dn}\" mech={mechanism} bind_ssf=0 ssf={}",
        origin.strength.ssf
    );
}

/// The names by which a client has authenticated and wants to act, as slapd prints them: with the realm, if there is one.
pub(crate) fn sasl_names(origin: &Origin, (name, realm): (&str, Option<&str>), wanted: Option<&str>) {
    if !is_enabled() {
        return;
    }
    let realm = realm
        .filter(|_| !name.contains(['@', '=']))
        .map_or_else(String::new, |realm| format!("@{realm}"));
    let name = format!("{name}{realm}");
    let wanted = wanted.unwrap_or(&name);
    stats!(origin, "BIND authcid=\"{name}\" authzid=\"{wanted}\"");
}

/// The line of a request by the proxied authorization control.
pub(crate) fn proxied(origin: &Origin, dn: &str) {
    stats!(origin, "PROXYAUTHZ dn=\"{dn}\"");
}

pub(crate) fn abandon(origin: &Origin, target: MessageId) {
    stats!(origin, "ABANDON msg={target}");
}

pub(crate) fn unbind(origin: &Origin) {
    stats!(origin, "UNBIND");
}

/// The line of a result, so many microseconds after the PDU was complete; requests do not queue before they are begun.
pub(crate) fn result(origin: &Origin, outcome: &Outcome<'_>, micros: u64) {
    if !is_enabled() {
        return;
    }
    let (queued, elapsed) = (Seconds(0), Seconds(micros));
    let Outcome {
        code, text, entries, ..
    } = outcome;
    if outcome.operation == Operation::Search {
        stats!(
            origin,
            "SEARCH RESULT tag=101 err={} qtime={queued} etime={elapsed} nentries={entries} text={text}",
            code.0
        );
        return;
    }
    let tag = outcome.operation.response_tag().unwrap_or_default();
    stats!(
        origin,
        "RESULT tag={tag} err={} qtime={queued} etime={elapsed} text={text}",
        code.0
    );
}

/// The line of an operation that took long (`slowlog`). It is written whenever anything is.
pub(crate) fn slow(origin: &Origin, outcome: &Outcome<'_>, micros: u64) {
    let (connection, operation) = (origin.connection, origin.operation);
    let (word, code, elapsed) = (word_of(outcome.operation), outcome.code.0, Seconds(micros));
    let detail = outcome.detail.map_or_else(String::new, |detail| format!(" {detail}"));
    tracing::warn!(target: "any", "conn={connection} op={operation} SLOW {word} etime={elapsed} err={code}{detail}");
}

/// What the lines of requests call an operation.
fn word_of(operation: Operation) -> &'static str {
    match operation {
        Operation::Bind => "BIND",
        Operation::Unbind => "UNBIND",
        Operation::Search => "SRCH",
        Operation::Modify => "MOD",
        Operation::Add => "ADD",
        Operation::Delete => "DEL",
        Operation::ModifyDn => "MODRDN",
        Operation::Compare => "CMP",
        Operation::Abandon => "ABANDON",
        Operation::Extended => "EXT",
    }
}

/// Microseconds, printed as slapd prints times.
struct Seconds(u64);

impl Display for Seconds {
    fn fmt(&self, f: &mut Formatter<'_>) -> FmtResult {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

/// The line of a filter term that no index serves, as operators of back-mdb know it.
pub(crate) fn unindexed(plan: &ironbark_store::Plan) {
    for term in plan.unindexed_terms() {
        tracing::info!(target: "stats", "<= mdb_{}_candidates: ({}) not indexed", term.kind.word(), term.attribute);
    }
}
