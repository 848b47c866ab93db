//! What changes nothing: reads, binds, extended operations, the ends of sessions, and changes that failed.

use ironbark_directory::{
    ExternalAsker, RequestContext,
    overlay::{ResponseHooks, ResponseWait, SentResult, UnbindHooks},
};
use ironbark_ldap_proto::{
    AttributeList, Authentication, DecodeLimits, ModifyOperation, Operation, Request, RequestMessage, SearchRequest,
};
use ironbark_model::{Dn, Entry, ResultCode, filter::log::LogFilter};
use ironbark_store::change::TextAttribute;

use super::{Accesslog, render::LoggedOperation, settings::Operations};

/// An extended request with a password in clear is logged without its content (RFC 3062).
const PASSWORD_MODIFY: &[u8] = b"1.3.6.1.4.1.4203.1.11.1";

/// Which operation it is for the log, the class of its entry, and its type.
fn kind(operation: Operation) -> (Operations, &'static str, &'static str) {
    match operation {
        Operation::Add => (Operations::ADD, "auditAdd", "add"),
        Operation::Delete => (Operations::DELETE, "auditDelete", "delete"),
        Operation::Modify => (Operations::MODIFY, "auditModify", "modify"),
        Operation::ModifyDn => (Operations::MODRDN, "auditModRDN", "modrdn"),
        Operation::Compare => (Operations::COMPARE, "auditCompare", "compare"),
        Operation::Search => (Operations::SEARCH, "auditSearch", "search"),
        Operation::Bind => (Operations::BIND, "auditBind", "bind"),
        Operation::Extended => (Operations::EXTENDED, "auditExtended", "extended"),
        Operation::Unbind => (Operations::UNBIND, "auditObject", "unbind"),
        Operation::Abandon => (Operations::ABANDON, "auditAbandon", "abandon"),
    }
}

impl Accesslog {
    /// Whether an operation on this entry may be logged.
    fn may_log(&self, operation: Operations, dn: &[u8]) -> bool {
        self.settings.operations.contains(operation)
            || self.is_below_base(operation, Some(&String::from_utf8_lossy(dn)))
    }

    /// One of the ends of a session.
    fn session(&self, operation: Operation, asker: &ExternalAsker, suffixes: &[Dn], details: Vec<TextAttribute>) {
        let (logged, class, kind) = kind(operation);
        let name = Dn::parse(&self.schema, asker.dn.as_bytes()).unwrap_or_default();
        if !suffixes.iter().any(|suffix| name.is_within(suffix)) || !self.may_log(logged, asker.dn.as_bytes()) {
            return;
        }
        let (_, now) = self.clerk.times(u64::MAX);
        self.clerk.take(LoggedOperation {
            operation: logged,
            class,
            kind: kind.to_owned(),
            dn: None,
            csn: None,
            begun_micros: now,
            ended_micros: now,
            session: asker.connection,
            author: asker.dn.as_str().into(),
            controls: Vec::new(),
            message: String::new(),
            result: None,
            details,
        });
    }
}

impl UnbindHooks for Accesslog {
    fn unbind(&self, asker: &ExternalAsker, suffixes: &[Dn]) {
        self.session(Operation::Unbind, asker, suffixes, Vec::new());
    }

    fn abandon(&self, asker: &ExternalAsker, suffixes: &[Dn], target: i32) {
        let details = vec![one("reqId", target.to_string())];
        self.session(Operation::Abandon, asker, suffixes, details);
    }
}

impl ResponseHooks for Accesslog {
    fn takes_results(&self) -> bool {
        true
    }

    fn takes_entries(&self) -> bool {
        false
    }

    fn takes_binds(&self) -> bool {
        true
    }

    fn takes_messages(&self) -> bool {
        true
    }

    fn entry(&self, _: &RequestContext, _: &Entry) -> Option<ResponseWait> {
        None
    }

    fn result(&self, origin: &RequestContext, result: &SentResult<'_>) {
        let (logged, class, kind) = kind(result.operation);
        let success = [ResultCode::SUCCESS, ResultCode::COMPARE_TRUE, ResultCode::COMPARE_FALSE];
        let is_success = success.contains(&result.code);
        // Changes come from the log of changes.
        if (is_success && logged.is_writes()) || (!is_success && self.settings.success) {
            return;
        }
        let limits = DecodeLimits::default();
        let Some(Ok(message)) = origin.message().map(|pdu| RequestMessage::decode(pdu, &limits)) else {
            return;
        };
        let dn = name_of(&message.operation);
        if !self.may_log(logged, dn.unwrap_or_default()) {
            return;
        }
        let kind = match &message.operation {
            Request::Extended(request) => format!("{kind}{{{}}}", String::from_utf8_lossy(request.name)),
            _ => kind.to_owned(),
        };
        let (begun, ended) = self.clerk.times(origin.received_micros);
        let parsed = dn.map(|dn| Dn::parse(&self.schema, dn));
        let text = |parsed: Result<Dn, _>| parsed.ok().map(|dn| dn.pretty().into());
        self.clerk.take(LoggedOperation {
            operation: logged,
            class,
            kind,
            dn: parsed.and_then(text),
            csn: None,
            begun_micros: begun,
            ended_micros: ended,
            session: origin.connection,
            author: origin.identity.dn.pretty().into(),
            controls: Vec::new(),
            message: result.text.to_owned(),
            result: Some(result.code.0),
            details: self.details(&message.operation, result),
        });
    }
}

/// The entry of a request.
fn name_of<'a>(request: &Request<'a>) -> Option<&'a [u8]> {
    match request {
        Request::Bind(request) => Some(request.name),
        Request::Search(request) => Some(request.base),
        Request::Modify(request) => Some(request.object),
        Request::Add(request) => Some(request.entry),
        Request::Delete(name) => Some(name),
        Request::ModifyDn(request) => Some(request.entry),
        Request::Compare(request) => Some(request.entry),
        Request::Unbind | Request::Abandon(_) | Request::Extended(_) => None,
    }
}

fn one(name: &str, value: impl Into<Vec<u8>>) -> TextAttribute {
    (name.into(), vec![value.into()])
}

fn truth(value: bool) -> &'static str {
    if value { "TRUE" } else { "FALSE" }
}

impl Accesslog {
    fn details(&self, request: &Request<'_>, result: &SentResult<'_>) -> Vec<TextAttribute> {
        match request {
            Request::Search(request) => self.search(request, result.entries),
            Request::Compare(request) => {
                vec![one("reqAssertion", [request.attribute, b"=", request.value].concat())]
            }
            Request::Bind(request) => {
                let method = match &request.authentication {
                    Authentication::Simple(_) => "SIMPLE".to_owned(),
                    Authentication::Sasl { mechanism, .. } => {
                        format!("SASL({})", String::from_utf8_lossy(mechanism))
                    }
                    Authentication::Other { .. } => "OTHER".to_owned(),
                };
                vec![one("reqVersion", request.version.to_string()), one("reqMethod", method)]
            }
            Request::Extended(request) => {
                let value = request.value.filter(|_| request.name != PASSWORD_MODIFY);
                value.map(|value| one("reqData", value)).into_iter().collect()
            }
            Request::Add(request) => added(&request.attributes),
            Request::Modify(request) => {
                let mut lines = Vec::new();
                for change in &request.changes {
                    let sign: &[u8] = match change.operation {
                        ModifyOperation::Add => b":+",
                        ModifyOperation::Delete => b":-",
                        ModifyOperation::Replace => b":=",
                        ModifyOperation::Increment => b":#",
                    };
                    let before = lines.len();
                    lines.extend(
                        change
                            .values
                            .iter()
                            .map(|value| [change.attribute, sign, b" ", value].concat()),
                    );
                    if lines.len() == before {
                        lines.push([change.attribute, sign].concat());
                    }
                }
                lines.dedup();
                listed("reqMod", lines)
            }
            Request::ModifyDn(request) => {
                let mut details = vec![
                    one("reqNewRDN", request.new_rdn),
                    one("reqDeleteOldRDN", truth(request.delete_old_rdn)),
                ];
                details.extend(request.new_superior.map(|superior| one("reqNewSuperior", superior)));
                details
            }
            Request::Delete(_) | Request::Unbind | Request::Abandon(_) => Vec::new(),
        }
    }

    fn search(&self, request: &SearchRequest<'_>, entries: u32) -> Vec<TextAttribute> {
        let scope = match request.scope.number() {
            0 => "base",
            1 => "one",
            2 => "sub",
            _ => "subord",
        };
        let aliases = match request.deref_aliases.number() {
            0 => "never",
            1 => "searching",
            2 => "finding",
            _ => "always",
        };
        let filter = LogFilter::new(&self.schema, &request.filter).to_string();
        let mut details = vec![
            one("reqScope", scope),
            one("reqDerefAliases", aliases),
            one("reqAttrsOnly", truth(request.types_only)),
            one("reqFilter", filter),
        ];
        let names = request
            .attributes
            .iter()
            .map(<[u8]>::to_vec)
            .filter(|name| !name.is_empty());
        details.extend(listed("reqAttr", names.collect()));
        let limit = |limit: u32| if limit == 0 { "-1".to_owned() } else { limit.to_string() };
        details.extend([
            one("reqEntries", entries.to_string()),
            one("reqTimeLimit", limit(request.time_limit)),
            one("reqSizeLimit", limit(request.size_limit)),
        ]);
        details
    }
}

/// An attribute, unless it has no values.
fn listed(name: &str, values: Vec<Vec<u8>>) -> Vec<TextAttribute> {
    if values.is_empty() {
        return Vec::new();
    }
    vec![(name.into(), values)]
}

fn added(attributes: &AttributeList<'_>) -> Vec<TextAttribute> {
    let values = attributes.iter().flat_map(|attribute| {
        let lines = attribute.values.iter();
        lines.map(move |value| [attribute.description, b":+ ", value].concat())
    });
    listed("reqMod", values.collect())
}
