//! What a client gets for a request.

use ironbark_ldap_proto::{DecodeLimits, Response, ResponseMessage, SearchResultEntry, controls, frame};
use std::fmt::Write as _;

/// The answer to one request, decoded.
#[derive(Debug, PartialEq)]
pub struct DecodedAnswer {
    /// Result code.
    pub code: u32,
    /// Matched DN.
    pub matched_dn: String,
    /// Diagnostic message.
    pub text: String,
    /// URLs of a referral.
    pub referrals: Vec<String>,
    /// Entries, each as `dn: ...` and a line for each value, in order.
    pub entries: Vec<String>,
    /// The entry of a pre-read or post-read response control.
    pub read_entry: Option<String>,
    /// Value of an extended response, or a SASL mechanism's data for the client.
    pub value: Option<Vec<u8>>,
    /// Of the paged results response control.
    pub cookie: Option<Vec<u8>>,
    /// Continuation references that were sent.
    pub references: usize,
    /// Code of the sort response control.
    pub sorted: Option<u32>,
    /// Position, count and code of the virtual list view response control.
    pub viewed: Option<(u32, u32, u32)>,
    /// The password policy response control.
    pub policy: Option<controls::PasswordPolicyResponse>,
    /// The account usability control of the last entry.
    pub usability: Option<controls::AccountUsability>,
    /// A control of a result that an overlay describes: its OID and its value.
    pub of_overlay: Option<(String, Vec<u8>)>,
    /// Netscape's controls, `oid value`.
    pub expiry: Option<String>,
}

impl DecodedAnswer {
    /// Notes what a control of a result says.
    fn note(&mut self, oid: &[u8], value: &[u8]) {
        let is = |name: &str| oid == name.as_bytes();
        if is(controls::paged_results::DESCRIPTOR.oid) {
            let page = controls::PagedResults::decode_value(value).expect("a page");
            self.cookie = Some(page.cookie.to_vec());
        } else if is(controls::server_side_sort::RESPONSE_OID) {
            let sorted = controls::SortResponse::decode_value(value).expect("a sort result");
            self.sorted = Some(sorted.code.0);
        } else if is(controls::virtual_list_view::RESPONSE_OID) {
            let view = controls::VirtualListViewResponse::decode_value(value).expect("what became of a view");
            assert_eq!(view.context_id, None);
            self.viewed = Some((view.target_position, view.content_count, view.code.0));
        } else if is(controls::password_policy::DESCRIPTOR.oid) {
            self.policy = Some(controls::PasswordPolicyResponse::decode(value).expect("decodes"));
        } else if oid.starts_with(b"2.16.840.1.113730.3.4.") {
            self.expiry = Some(format!("{} {}", text(oid), text(value)));
        } else if is(controls::read_entry::PRE_READ.oid) || is(controls::read_entry::POST_READ.oid) {
            let entry = controls::PostReadResponse(value).entry().expect("an entry");
            self.read_entry = Some(entry_text(&entry));
        } else {
            self.of_overlay = Some((text(oid), value.to_vec()));
        }
    }

    /// Result code and diagnostic message.
    pub fn brief(&self) -> (u32, &str) {
        (self.code, &self.text)
    }
}

/// Parses the octets that answer one request.
pub fn read_answer(mut out: &[u8]) -> DecodedAnswer {
    let mut answer = DecodedAnswer {
        code: u32::MAX,
        matched_dn: String::new(),
        text: String::new(),
        referrals: Vec::new(),
        entries: Vec::new(),
        read_entry: None,
        value: None,
        cookie: None,
        of_overlay: None,
        references: 0,
        sorted: None,
        viewed: None,
        policy: None,
        usability: None,
        expiry: None,
    };
    while let Some(length) = frame(out, 1 << 24).expect("frames") {
        let (pdu, rest) = out.split_at(length);
        out = rest;
        let message = ResponseMessage::decode(pdu, &DecodeLimits::default()).expect("decodes");
        let result = match message.operation {
            Response::SearchEntry(entry) => {
                answer.entries.push(entry_text(&entry));
                for control in &message.controls {
                    if control.oid == controls::account_usability::DESCRIPTOR.oid.as_bytes() {
                        let value = control.value.unwrap_or_default();
                        answer.usability = Some(controls::AccountUsability::decode(value).expect("decodes"));
                    }
                }
                continue;
            }
            Response::SearchReference(_) => {
                answer.references += 1;
                continue;
            }
            Response::Done(_, result) => result,
            Response::Bind(response) => {
                answer.value = response.server_sasl_credentials.map(<[u8]>::to_vec);
                response.result
            }
            Response::Extended(response) => {
                answer.value = response.value.map(<[u8]>::to_vec);
                response.result
            }
            Response::Intermediate(_) => continue,
        };
        answer.code = result.code.0;
        answer.matched_dn = text(result.matched_dn);
        answer.text = text(result.diagnostic_message);
        answer.referrals = result.referrals.iter().map(text).collect();
        for control in &message.controls {
            answer.note(control.oid, control.value.unwrap_or_default());
        }
    }
    answer
}

fn entry_text(entry: &SearchResultEntry<'_>) -> String {
    let mut lines = format!("dn: {}\n", text(entry.dn));
    for attribute in &entry.attributes {
        for value in &attribute.values {
            writeln!(lines, "{}: {}", text(attribute.description), text(value)).expect("writes");
        }
    }
    lines
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
