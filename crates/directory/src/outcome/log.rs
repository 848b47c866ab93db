//! The stats log: one line per request and result, in the form that log analysers for slapd know (loglevel `stats`).
//!
//! Lines are `tracing` events of target `stats`; a level that is off costs one load. No secret is ever logged.

use ironbark_ldap_proto::{
    Authentication, MessageId, Operation, Request, SearchRequest,
    controls::SessionTracking,
    extended::{ExtendedOperation, password_modify::PasswordModifyRequest},
};
use ironbark_model::{Dn, filter::log::LogFilter};

use super::{
    end::Outcome,
    line::{self, Line},
};
use crate::{Configuration, request::context::RequestContext, request::last_base::LastBase};

/// An attribute that a search asks for. An invalid name is shown as `1.1`, which asks for nothing.
fn requested_attribute(name: &[u8]) -> &[u8] {
    let may_be_within = |octet: &u8| octet.is_ascii_alphanumeric() || b"-.;".contains(octet);
    let is_shown = match name {
        b"*" | b"+" | [b'@', _, ..] => true,
        [first, rest @ ..] => first.is_ascii_alphanumeric() && rest.iter().all(may_be_within),
        [] => false,
    };
    if is_shown { name } else { b"1.1" }
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
        format!("{}={text}", String::from_utf8_lossy(tracking.format_name()))
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

/// The line of a request. `base` is memory for the name of a search's base object.
pub(crate) fn request(
    configuration: &Configuration,
    base: &mut LastBase,
    origin: &RequestContext,
    request: &Request<'_>,
) {
    if !line::is_enabled() {
        return;
    }
    if let Request::Search(request) = request {
        return search(configuration, base, origin, request);
    }
    let Some(dn) = named(configuration, origin, request) else {
        return;
    };
    let about = |word: &str| {
        line::write(origin, |line| {
            line.text(word).text(" dn=\"").text(dn.pretty()).text("\"");
        });
    };
    match request {
        Request::Bind(request) => {
            let method: u32 = match request.authentication {
                Authentication::Simple(_) => 128,
                Authentication::Sasl { .. } => 163,
                Authentication::Other { identifier } => u32::from(identifier),
            };
            if !origin.identity.is_anonymous() {
                line::write(origin, |line| {
                    line.text("BIND anonymous mech=implicit bind_ssf=0 ssf=")
                        .number(origin.strength.ssf);
                });
            }
            line::write(origin, |line| {
                line.text("BIND dn=\"").text(dn.pretty());
                line.text("\" method=").number(method);
            });
        }
        Request::Modify(request) => {
            about("MOD");
            let names = request.changes.iter().map(|change| change.attribute);
            line::write(origin, |line| {
                line.text("MOD attr=").words(names);
            });
        }
        Request::Add(_) => about("ADD"),
        Request::Delete(_) => about("DEL"),
        Request::ModifyDn(_) => about("MODRDN"),
        Request::Compare(request) => line::write(origin, |line| {
            line.text("CMP dn=\"").text(dn.pretty());
            line.text("\" attr=\"").octets(request.attribute).text("\"");
        }),
        Request::Extended(request) => {
            line::write(origin, |line| {
                line.text("EXT oid=").octets(request.name);
            });
            extended(configuration, origin, request);
        }
        Request::Search(_) | Request::Unbind | Request::Abandon(_) => {}
    }
}

/// The name of a request in the schema's spelling, as slapd prints it: `uid=Ann,dc=example,dc=com`. `None`: it is no
/// name, and slapd's line for that was written instead of the request's own line.
fn named(configuration: &Configuration, origin: &RequestContext, request: &Request<'_>) -> Option<Dn> {
    let (word, name) = match request {
        Request::Bind(request) => ("do_bind", request.name),
        Request::Modify(request) => ("do_modify", request.object),
        Request::Add(request) => ("do_add", request.entry),
        Request::Delete(entry) => ("do_delete", *entry),
        Request::ModifyDn(request) => ("do_modrdn", request.entry),
        Request::Compare(request) => ("do_compare", request.entry),
        Request::Search(_) | Request::Extended(_) | Request::Unbind | Request::Abandon(_) => return Some(Dn::root()),
    };
    let parsed = Dn::parse(&configuration.schema, name).ok();
    if parsed.is_none() {
        line::write(origin, |line| {
            line.text(word).text(": invalid dn (").octets(name).text(")");
        });
    }
    parsed
}

fn search(configuration: &Configuration, base: &mut LastBase, origin: &RequestContext, request: &SearchRequest<'_>) {
    let Ok(base) = base.read(&configuration.schema, request.base) else {
        return line::write(origin, |line| {
            line.text("do_search: invalid dn: \"").octets(request.base).text("\"");
        });
    };
    line::write(origin, |line| {
        line.text("SRCH base=\"").text(base.pretty());
        line.text("\" scope=").number(request.scope.number());
        line.text(" deref=").number(request.deref_aliases.number());
        line.text(" filter=\"")
            .filter(&LogFilter::new(&configuration.schema, &request.filter));
        line.text("\"");
    });
    if !request.attributes.is_empty() {
        let attributes = request.attributes.iter();
        line::write(origin, |line| {
            line.text("SRCH attr=").words(attributes.map(requested_attribute));
        });
    }
}

fn extended(
    configuration: &Configuration,
    origin: &RequestContext,
    request: &ironbark_ldap_proto::ExtendedRequest<'_>,
) {
    let say = |text: &str| {
        line::write(origin, |line| {
            line.text(text);
        });
    };
    match configuration.extended_operation(request.name).map(|row| row.operation) {
        Some(ExtendedOperation::WhoAmI) if request.value.is_none() => say("WHOAMI"),
        Some(ExtendedOperation::WhoAmI) => {}
        Some(ExtendedOperation::StartTls) => say("STARTTLS"),
        Some(ExtendedOperation::PasswordModify) => {
            let Ok(request) = PasswordModifyRequest::decode(request.value) else {
                return;
            };
            line::write(origin, |line| {
                line.text("PASSMOD");
                if let Some(id) = request.user_identity {
                    line.text(" id=\"").octets(id).text("\"");
                }
                line.text(if request.old_password.is_some() { " old" } else { "" });
                line.text(if request.new_password.is_some() { " new" } else { "" });
            });
        }
        Some(ExtendedOperation::Cancel) => {
            if let Ok(id) = ironbark_ldap_proto::extended::cancel::decode_request(request.value) {
                say(&format!("CANCEL msg={id}"));
            }
        }
        Some(ExtendedOperation::StartTransaction) => say("TXN START"),
        Some(ExtendedOperation::EndTransaction) => say("TXN END"),
        Some(ExtendedOperation::ReplicaDigest) => say("REPLICA DIGEST"),
        // The bind has lines of its own.
        Some(ExtendedOperation::VerifyCredentials | ExtendedOperation::OfOverlay) => {}
        None => line::write(origin, |line| {
            line.text("do_extended: unsupported operation \"")
                .octets(request.name)
                .text("\"");
        }),
    }
}

/// The line of a bind that succeeded.
pub(crate) fn bound(origin: &RequestContext, dn: &str, mechanism: &str, strength: u32) {
    line::write(origin, |line| {
        line.text("BIND dn=\"").text(dn).text("\" mech=").text(mechanism);
        line.text(" bind_ssf=").number(strength);
        line.text(" ssf=").number(origin.strength.ssf.max(strength));
    });
}

/// The authentication and authorization names of a client, as slapd prints them: with the realm, if there is one.
pub(crate) fn sasl_names(origin: &RequestContext, name: &str, realm: Option<&str>, wanted: Option<&str>) {
    let realm = realm.filter(|_| !name.contains(['@', '=']));
    let with_realm = |line: &mut Line| {
        line.text(name);
        if let Some(realm) = realm {
            line.text("@").text(realm);
        }
    };
    line::write(origin, |line| {
        line.text("BIND authcid=\"");
        with_realm(line);
        line.text("\" authzid=\"");
        match wanted {
            Some(wanted) => {
                line.text(wanted);
            }
            None => with_realm(line),
        }
        line.text("\"");
    });
}

/// The line of a request with the proxied authorization control.
pub(crate) fn proxied(origin: &RequestContext, dn: &str) {
    line::write(origin, |line| {
        line.text("PROXYAUTHZ dn=\"").text(dn).text("\"");
    });
}

pub(crate) fn abandon(origin: &RequestContext, target: MessageId) {
    line::write(origin, |line| {
        line.text(&format!("ABANDON msg={target}"));
    });
}

pub(crate) fn unbind(origin: &RequestContext) {
    line::write(origin, |line| {
        line.text("UNBIND");
    });
}

/// The line of a result at a time in monotonic microseconds.
pub(crate) fn result(origin: &RequestContext, outcome: &Outcome<'_>, now: u64) {
    line::write(origin, |line| {
        let is_search = outcome.operation == Operation::Search;
        line.text(if is_search { "SEARCH RESULT " } else { "RESULT " });
        // The response of a known extended operation has the operation's name or none, exactly as we send it.
        match outcome.operation.response_tag() {
            Some(_) if origin.request.extended.is_some() => line.text("oid="),
            tag => line.text("tag=").number(tag.unwrap_or_default()),
        };
        line.text(" err=").number(outcome.code.0);
        let queued = origin.taken_micros.saturating_sub(origin.arrived_micros);
        line.text(" qtime=").seconds(queued);
        line.text(" etime=").seconds(now.saturating_sub(origin.arrived_micros));
        if is_search {
            line.text(" nentries=").number(outcome.entries);
        }
        line.text(" text=").text(outcome.text);
    });
}

/// The line of a slow operation (`slowlog`). It is written whenever any line is.
pub(crate) fn slow(origin: &RequestContext, outcome: &Outcome<'_>, micros: u64) {
    let RequestContext {
        connection, operation, ..
    } = origin;
    let tracked = origin.tracked.as_deref().unwrap_or_default();
    let (word, code) = (word_of(outcome.operation), outcome.code.0);
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let detail = outcome.detail.map_or_else(String::new, |detail| format!(" {detail}"));
    tracing::warn!(
        target: "any",
        "conn={connection} op={operation}{tracked} SLOW {word} etime={seconds}.{fraction:06} err={code}{detail}"
    );
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

/// The line of a filter term that no index serves, in the form that operators of back-mdb know.
pub(crate) fn unindexed(plan: &ironbark_store::Plan) {
    for term in plan.unindexed_terms() {
        tracing::info!(target: "stats", "<= mdb_{}_candidates: ({}) not indexed", term.kind.word(), term.attribute);
    }
}
