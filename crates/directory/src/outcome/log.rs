//! The stats log: one line per request and result, in the form that log analysers for slapd know (loglevel `stats`).
//!
//! Lines are `tracing` events of target `stats`; a level that is off costs one load. No secret is ever logged.

use std::fmt::{Display, Formatter, Result as FmtResult, Write as _};

use ironbark_ldap_proto::{
    Authentication, MessageId, Operation, Request, SearchRequest,
    controls::SessionTracking,
    extended::{ExtendedOperation, password_modify::PasswordModifyRequest},
};
use ironbark_model::{Dn, filter::log::LogFilter};

use super::end::Outcome;
use crate::{Configuration, request::context::RequestContext};

macro_rules! stats {
    ($origin:expr, $($argument:tt)+) => {
        tracing::info!(target: "stats", "{} {}", Prefix($origin), format_args!($($argument)+))
    };
}

/// The beginning of each line of an operation: `conn=1 op=2`, and the text of the session tracking control.
struct Prefix<'a>(&'a RequestContext);

impl Display for Prefix<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> FmtResult {
        let RequestContext {
            connection,
            operation,
            tracked,
            ..
        } = self.0;
        write!(
            f,
            "conn={connection} op={operation}{}",
            tracked.as_deref().unwrap_or_default()
        )
    }
}

fn is_enabled() -> bool {
    tracing::enabled!(target: "stats", tracing::Level::INFO)
}

/// Bytes as text, with what is not UTF-8 replaced.
struct Text<'a>(&'a [u8]);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> FmtResult {
        for chunk in self.0.utf8_chunks() {
            f.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                f.write_char(char::REPLACEMENT_CHARACTER)?;
            }
        }
        Ok(())
    }
}

/// Parts with a blank in between, written one by one.
struct Words<I>(I);

impl<I: Iterator<Item: Display> + Clone> Display for Words<I> {
    fn fmt(&self, f: &mut Formatter<'_>) -> FmtResult {
        for (number, word) in self.0.clone().enumerate() {
            if number > 0 {
                f.write_char(' ')?;
            }
            word.fmt(f)?;
        }
        Ok(())
    }
}

/// An attribute that a search asks for. An invalid name is shown as `1.1`, which asks for nothing.
struct RequestedAttribute<'a>(&'a [u8]);

impl Display for RequestedAttribute<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> FmtResult {
        let may_be_within = |octet: &u8| octet.is_ascii_alphanumeric() || b"-.;".contains(octet);
        let is_shown = match self.0 {
            b"*" | b"+" | [b'@', _, ..] => true,
            [first, rest @ ..] => first.is_ascii_alphanumeric() && rest.iter().all(may_be_within),
            [] => false,
        };
        Text(if is_shown { self.0 } else { b"1.1" }).fmt(f)
    }
}

/// The text after the operation's number in its lines, for a request with the session tracking control: ` [IP=...
/// NAME=...]`. Unprintable text is left out, and so is text that is too long.
pub(crate) fn tracked(tracking: &SessionTracking<'_>) -> Option<Box<str>> {
    let printable = |octets: &'_ [u8]| {
        let is_printable = octets.iter().all(|octet| matches!(octet, b' '..=b'~'));
        is_printable.then(|| String::from_utf8_lossy(octets).into_owned())
    };
    let part = |name: &str, octets: &[u8]| {
        let text = printable(octets).filter(|text| !text.is_empty());
        text.map(|text| format!("{name}={text}"))
    };
    let identifier = (!tracking.identifier.is_empty()).then(|| {
        let text = printable(tracking.identifier).unwrap_or_default();
        format!("{}={text}", Text(tracking.format_name()))
    });
    let parts = [
        part("IP", tracking.source_ip),
        part("NAME", tracking.source_name),
        identifier,
    ];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
    (!text.is_empty() && text.len() < MAX_TRACKED).then(|| format!(" [{text}]").into())
}

/// Longest text of the session tracking control that is logged.
const MAX_TRACKED: usize = 224;

/// The line of a request.
pub(crate) fn request(configuration: &Configuration, origin: &RequestContext, request: &Request<'_>) {
    if !is_enabled() {
        return;
    }
    let Some(dn) = named(configuration, origin, request) else {
        return;
    };
    let dn = dn.pretty();
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
            stats!(origin, "BIND dn=\"{dn}\" method={method}");
        }
        Request::Search(request) => search(configuration, origin, dn, request),
        Request::Modify(request) => {
            stats!(origin, "MOD dn=\"{dn}\"");
            let names = request.changes.iter().map(|change| Text(change.attribute));
            stats!(origin, "MOD attr={}", Words(names));
        }
        Request::Add(_) => stats!(origin, "ADD dn=\"{dn}\""),
        Request::Delete(_) => stats!(origin, "DEL dn=\"{dn}\""),
        Request::ModifyDn(_) => stats!(origin, "MODRDN dn=\"{dn}\""),
        Request::Compare(request) => {
            stats!(origin, "CMP dn=\"{dn}\" attr=\"{}\"", Text(request.attribute));
        }
        Request::Extended(request) => {
            stats!(origin, "EXT oid={}", Text(request.name));
            extended(configuration, origin, request);
        }
        Request::Unbind | Request::Abandon(_) => {}
    }
}

/// The name of a request in the schema's spelling, as slapd prints it: `uid=Ann,dc=example,dc=com`. `None`: it is no
/// name, and slapd's line for that was written instead of the request's own line.
fn named(configuration: &Configuration, origin: &RequestContext, request: &Request<'_>) -> Option<Dn> {
    let (word, name) = match request {
        Request::Bind(request) => ("do_bind", request.name),
        Request::Search(request) => ("do_search", request.base),
        Request::Modify(request) => ("do_modify", request.object),
        Request::Add(request) => ("do_add", request.entry),
        Request::Delete(entry) => ("do_delete", *entry),
        Request::ModifyDn(request) => ("do_modrdn", request.entry),
        Request::Compare(request) => ("do_compare", request.entry),
        Request::Extended(_) | Request::Unbind | Request::Abandon(_) => return Some(Dn::root()),
    };
    let parsed = Dn::parse(&configuration.schema, name).ok();
    match (&parsed, request) {
        (Some(_), _) => {}
        (None, Request::Search(_)) => stats!(origin, "{word}: invalid dn: \"{}\"", Text(name)),
        (None, _) => stats!(origin, "{word}: invalid dn ({})", Text(name)),
    }
    parsed
}

fn search(configuration: &Configuration, origin: &RequestContext, base: &str, request: &SearchRequest<'_>) {
    stats!(
        origin,
        "SRCH base=\"{base}\" scope={} deref={} filter=\"{}\"",
        request.scope.number(),
        request.deref_aliases.number(),
        LogFilter::new(&configuration.schema, &request.filter)
    );
    if !request.attributes.is_empty() {
        stats!(
            origin,
            "SRCH attr={}",
            Words(request.attributes.iter().map(RequestedAttribute))
        );
    }
}

fn extended(
    configuration: &Configuration,
    origin: &RequestContext,
    request: &ironbark_ldap_proto::ExtendedRequest<'_>,
) {
    match configuration.extended_operation(request.name).map(|row| row.operation) {
        Some(ExtendedOperation::WhoAmI) if request.value.is_none() => stats!(origin, "WHOAMI"),
        Some(ExtendedOperation::WhoAmI) => {}
        Some(ExtendedOperation::StartTls) => stats!(origin, "STARTTLS"),
        Some(ExtendedOperation::PasswordModify) => {
            let Ok(request) = PasswordModifyRequest::decode(request.value) else {
                return;
            };
            let old = if request.old_password.is_some() { " old" } else { "" };
            let new = if request.new_password.is_some() { " new" } else { "" };
            if let Some(id) = request.user_identity {
                stats!(origin, "PASSMOD id=\"{}\"{old}{new}", Text(id));
            } else {
                stats!(origin, "PASSMOD{old}{new}");
            }
        }
        Some(ExtendedOperation::Cancel) => {
            if let Ok(id) = ironbark_ldap_proto::extended::cancel::decode_request(request.value) {
                stats!(origin, "CANCEL msg={id}");
            }
        }
        Some(ExtendedOperation::StartTransaction) => stats!(origin, "TXN START"),
        Some(ExtendedOperation::EndTransaction) => stats!(origin, "TXN END"),
        Some(ExtendedOperation::ReplicaDigest) => stats!(origin, "REPLICA DIGEST"),
        // The bind has lines of its own.
        Some(ExtendedOperation::VerifyCredentials | ExtendedOperation::OfOverlay) => {}
        None => stats!(origin, "do_extended: unsupported operation \"{}\"", Text(request.name)),
    }
}

/// The line of a bind that succeeded.
pub(crate) fn bound(origin: &RequestContext, dn: &str, mechanism: &str, strength: u32) {
    stats!(
        origin,
        "BIND dn=\"{dn}\" mech={mechanism} bind_ssf={strength} ssf={}",
        origin.strength.ssf.max(strength)
    );
}

/// The authentication and authorization names of a client, as slapd prints them: with the realm, if there is one.
pub(crate) fn sasl_names(origin: &RequestContext, name: &str, realm: Option<&str>, wanted: Option<&str>) {
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

/// The line of a request with the proxied authorization control.
pub(crate) fn proxied(origin: &RequestContext, dn: &str) {
    stats!(origin, "PROXYAUTHZ dn=\"{dn}\"");
}

pub(crate) fn abandon(origin: &RequestContext, target: MessageId) {
    stats!(origin, "ABANDON msg={target}");
}

pub(crate) fn unbind(origin: &RequestContext) {
    stats!(origin, "UNBIND");
}

/// The line of a result at a time in monotonic microseconds.
pub(crate) fn result(origin: &RequestContext, outcome: &Outcome<'_>, now: u64) {
    if !is_enabled() {
        return;
    }
    let queued = Seconds(origin.taken_micros.saturating_sub(origin.arrived_micros));
    let elapsed = Seconds(now.saturating_sub(origin.arrived_micros));
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
    // The response of a known extended operation has the operation's name or none, exactly as we send it.
    let what = match outcome.operation.response_tag() {
        Some(_) if origin.request.extended.is_some() => "oid=".to_owned(),
        tag => format!("tag={}", tag.unwrap_or_default()),
    };
    stats!(
        origin,
        "RESULT {what} err={} qtime={queued} etime={elapsed} text={text}",
        code.0
    );
}

/// The line of a slow operation (`slowlog`). It is written whenever any line is.
pub(crate) fn slow(origin: &RequestContext, outcome: &Outcome<'_>, micros: u64) {
    let prefix = Prefix(origin);
    let (word, code, elapsed) = (word_of(outcome.operation), outcome.code.0, Seconds(micros));
    let detail = outcome.detail.map_or_else(String::new, |detail| format!(" {detail}"));
    tracing::warn!(target: "any", "{prefix} SLOW {word} etime={elapsed} err={code}{detail}");
}

/// The word for an operation in the lines of requests.
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

/// The line of a filter term that no index serves, in the form that operators of back-mdb know.
pub(crate) fn unindexed(plan: &ironbark_store::Plan) {
    for term in plan.unindexed_terms() {
        tracing::info!(target: "stats", "<= mdb_{}_candidates: ({}) not indexed", term.kind.word(), term.attribute);
    }
}
