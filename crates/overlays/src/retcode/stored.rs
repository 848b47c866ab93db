//! Entries of the database that describe answers to requests (`retcode-indir`).
//!
//! Access: an entry answers only subjects that may search for it by its object class; for others it is like any other
//! entry. Its text, name and URLs are sent in an answer without a check of read access, as in slapd.

use std::sync::Arc;

use ironbark_config::SettingError;
use ironbark_directory::{
    OperationError, OperationResult,
    overlay::{
        Answer, ArrangedEntry, Arrangement, BeginningSearch, Decision, IncomingRequest, SearchHooks, Unsolicited,
    },
};
use ironbark_ldap_proto::{Operation, Request, Scope};
use ironbark_model::{AttributeDescription, ResultCode, Schema};

use super::settings::parse_code;

pub(super) const SCHEMA: &str = "\
attributetype ( 1.3.6.1.4.1.4203.666.11.4.1.1 NAME 'errCode' DESC 'LDAP error code' EQUALITY integerMatch \
ORDERING integerOrderingMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
attributetype ( 1.3.6.1.4.1.4203.666.11.4.1.2 NAME 'errOp' DESC 'Operations the errObject applies to' \
EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
attributetype ( 1.3.6.1.4.1.4203.666.11.4.1.3 NAME 'errText' DESC 'LDAP error textual description' \
EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE )
attributetype ( 1.3.6.1.4.1.4203.666.11.4.1.4 NAME 'errSleepTime' DESC 'Time to wait before returning the error' \
EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
attributetype ( 1.3.6.1.4.1.4203.666.11.4.1.5 NAME 'errMatchedDN' DESC 'Value to be returned as matched DN' \
EQUALITY distinguishedNameMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.12 SINGLE-VALUE )
attributetype ( 1.3.6.1.4.1.4203.666.11.4.1.6 NAME 'errUnsolicitedOID' \
DESC 'OID to be returned within unsolicited response' EQUALITY objectIdentifierMatch \
SYNTAX 1.3.6.1.4.1.1466.115.121.1.38 SINGLE-VALUE )
attributetype ( 1.3.6.1.4.1.4203.666.11.4.1.7 NAME 'errUnsolicitedData' \
DESC 'Data to be returned within unsolicited response' SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 SINGLE-VALUE )
attributetype ( 1.3.6.1.4.1.4203.666.11.4.1.8 NAME 'errDisconnect' DESC 'Disconnect without notice' \
SYNTAX 1.3.6.1.4.1.1466.115.121.1.7 SINGLE-VALUE )
objectclass ( 1.3.6.1.4.1.4203.666.11.4.3.0 NAME 'errAbsObject' SUP top ABSTRACT MUST errCode \
MAY ( cn $ description $ errOp $ errText $ errSleepTime $ errMatchedDN $ errUnsolicitedOID $ errUnsolicitedData $ \
errDisconnect ) )
objectclass ( 1.3.6.1.4.1.4203.666.11.4.3.1 NAME 'errObject' SUP errAbsObject STRUCTURAL )
objectclass ( 1.3.6.1.4.1.4203.666.11.4.3.2 NAME 'errAuxObject' SUP errAbsObject AUXILIARY )
";

const CLASS: &str = "errAbsObject";

/// The schema elements that the overlay uses.
pub(super) struct Stored {
    schema: Arc<Schema>,
    object_class: AttributeDescription,
    code: AttributeDescription,
    operation: AttributeDescription,
    text: AttributeDescription,
    sleep: AttributeDescription,
    matched: AttributeDescription,
    oid: AttributeDescription,
    data: AttributeDescription,
    disconnect: AttributeDescription,
    referral: AttributeDescription,
}

/// The values of an attribute of some entry, as text.
type Values<'v> = &'v dyn Fn(&AttributeDescription) -> Vec<Vec<u8>>;

impl Stored {
    pub(super) fn new(schema: &Arc<Schema>) -> Result<Self, SettingError> {
        let attribute = |name: &str| {
            let description = schema.attribute_description(name.as_bytes());
            description.map_err(|error| format!("{name}: {error}"))
        };
        Ok(Self {
            object_class: attribute("objectClass")?,
            code: attribute("errCode")?,
            operation: attribute("errOp")?,
            text: attribute("errText")?,
            sleep: attribute("errSleepTime")?,
            matched: attribute("errMatchedDN")?,
            oid: attribute("errUnsolicitedOID")?,
            data: attribute("errUnsolicitedData")?,
            disconnect: attribute("errDisconnect")?,
            referral: attribute("ref")?,
            schema: Arc::clone(schema),
        })
    }

    /// The decision that the entry named by a request describes; `after` puts a delay before a decision.
    pub(super) fn decide(&self, request: &IncomingRequest<'_>, after: &dyn Fn(i32, Decision) -> Decision) -> Decision {
        if request.controls.manage_dsa_it.is_some() {
            return Decision::Continue;
        }
        match request.request {
            Request::Add(add) => {
                let values = |wanted: &AttributeDescription| {
                    let mut all = Vec::new();
                    for attribute in add.attributes {
                        if self.schema.attribute_description(attribute.description).as_ref() == Ok(wanted) {
                            all.extend(attribute.values.iter().map(<[u8]>::to_vec));
                        }
                    }
                    all
                };
                if !self.is_of_class(&values(&self.object_class)) {
                    return Decision::Continue;
                }
                self.of_entry(request, &values, after)
            }
            // The rootdn of a database can always bind, whatever its entry describes.
            Request::Bind(_) if request.context.is_root(request.dn) => Decision::Continue,
            Request::Search(search) if search.scope != Scope::BaseObject => Decision::Continue,
            Request::Extended(_) => Decision::Continue,
            _ => match request.entry_of_class(CLASS) {
                Ok(Some(entry)) => {
                    let values = |wanted: &AttributeDescription| {
                        entry
                            .attribute(wanted)
                            .map(|found| found.values.clone())
                            .unwrap_or_default()
                    };
                    self.of_entry(request, &values, after)
                }
                Ok(None) => Decision::Continue,
                Err(error) => Decision::Answer(Box::new(OperationResult::from(error).into())),
            },
        }
    }

    fn of_entry(
        &self,
        request: &IncomingRequest<'_>,
        values: Values<'_>,
        after: &dyn Fn(i32, Decision) -> Decision,
    ) -> Decision {
        if !self.is_for(values, request.operation) {
            return Decision::Continue;
        }
        let disconnect = first(values, &self.disconnect);
        if disconnect.as_deref() == Some("TRUE") {
            return Decision::Close;
        }
        let Some(code) = self.code(values) else {
            return Decision::Continue;
        };
        let seconds = first(values, &self.sleep).and_then(|text| text.parse().ok());
        let seconds = seconds.filter(|seconds| *seconds > 0).unwrap_or_default();
        if code == ResultCode::SUCCESS {
            return after(seconds, Decision::Continue);
        }
        let mut result = if code == ResultCode::REFERRAL {
            request.referral(&self.urls(values))
        } else {
            OperationResult::code(code)
        };
        if result.diagnostic_message.is_empty() {
            result.diagnostic_message = first(values, &self.text).unwrap_or_default().into();
        }
        result.matched_dn = first(values, &self.matched).unwrap_or_default();
        let mut answer = Answer::from(result);
        answer.closes = disconnect.is_some();
        answer.unsolicited = first(values, &self.oid).map(|oid| Unsolicited {
            name: Some(oid).filter(|oid| oid != "0"),
            value: values(&self.data).into_iter().next(),
        });
        after(seconds, Decision::Answer(Box::new(answer)))
    }

    /// Whether an entry describes an answer to an operation.
    fn is_for(&self, values: Values<'_>, operation: Operation) -> bool {
        let names: &[&str] = match operation {
            Operation::Bind => &["bind"],
            Operation::Add => &["add"],
            Operation::Delete => &["delete"],
            Operation::ModifyDn => &["modrdn", "rename"],
            Operation::Modify => &["modify"],
            Operation::Compare => &["compare"],
            Operation::Search => &["search"],
            Operation::Extended => &["extended"],
            Operation::Unbind | Operation::Abandon => &[],
        };
        let listed = values(&self.operation);
        let is_listed = |value: &Vec<u8>| names.iter().any(|name| name.as_bytes().eq_ignore_ascii_case(value));
        listed.is_empty() || listed.iter().any(is_listed)
    }

    fn code(&self, values: Values<'_>) -> Option<ResultCode> {
        first(values, &self.code)
            .and_then(|text| parse_code(&text))
            .map(ResultCode)
    }

    fn urls(&self, values: Values<'_>) -> Vec<String> {
        let all = values(&self.referral).into_iter();
        all.filter_map(|url| String::from_utf8(url).ok()).collect()
    }

    fn is_of_class(&self, classes: &[Vec<u8>]) -> bool {
        let Some(class) = self.schema.find_object_class(CLASS.as_bytes()) else {
            return false;
        };
        let all = self.schema.subclasses(class.number);
        let named = classes.iter().filter_map(|name| self.schema.find_object_class(name));
        named.into_iter().any(|named| all.contains(&named.number))
    }
}

/// The first value of an attribute, if it is text.
fn first(values: Values<'_>, attribute: &AttributeDescription) -> Option<String> {
    values(attribute)
        .into_iter()
        .next()
        .and_then(|value| String::from_utf8(value).ok())
}

/// The hooks for searches, with a shared handle to the overlay's state.
pub(super) struct Searches(pub(super) Arc<Stored>);

impl SearchHooks for Searches {
    fn begin(&self, search: &BeginningSearch<'_>) -> Result<Option<Box<dyn Arrangement>>, OperationError> {
        let is_off = search.controls.manage_dsa_it.is_some();
        Ok((!is_off).then(|| Box::new(Ending(Arc::clone(&self.0))) as _))
    }
}

/// Ends a search at an entry that says so.
struct Ending(Arc<Stored>);

impl Arrangement for Ending {
    fn ends_with(&self, entry: &ArrangedEntry<'_>) -> Option<OperationError> {
        let stored = &self.0;
        let values = |wanted: &AttributeDescription| entry.values(wanted).unwrap_or_default();
        if !stored.is_of_class(&values(&stored.object_class)) || !stored.is_for(&values, Operation::Search) {
            return None;
        }
        let code = stored.code(&values).filter(|code| *code != ResultCode::SUCCESS)?;
        let text = first(&values, &stored.text).unwrap_or_default();
        let referrals = stored.urls(&values);
        if code == ResultCode::REFERRAL && referrals.is_empty() {
            return Some(OperationError::new(ResultCode::OTHER, "bad referral object"));
        }
        Some(OperationError {
            matched_dn: first(&values, &stored.matched).unwrap_or_default(),
            referrals: if code == ResultCode::REFERRAL {
                referrals
            } else {
                Vec::new()
            },
            ..OperationError::new(code, text)
        })
    }
}
