//! The conditions of `by` clauses.

use core::net::IpAddr;
use std::ops::ControlFlow;

use ironbark_config::access::{
    GroupName, NameCondition, PeerPattern, RegexTemplate, SelfOnly, StrengthFactor, Submatches, Template, TextPattern,
    Who,
};
use ironbark_model::{AttributeDescription, Dn, PosixRegex, Schema, syntax};

use super::{
    check::{Check, Held},
    matched::Matched,
    target::Value,
};
use crate::rules::{access::Condition, set::Program};

impl Check<'_> {
    /// Whether a condition holds.
    pub(super) fn is(&self, condition: &Condition, matched: &Matched, value: Value<'_>) -> bool {
        let schema = &*self.configuration.schema;
        // A template needs the value even if the rule is not about values.
        let text = || value.text(schema);
        match &condition.who {
            Who::Name { is_real, is } => {
                let name = if *is_real {
                    self.subject.real_dn
                } else {
                    self.subject.dn
                };
                self.is_of_name(is, name, matched, value)
            }
            Who::DnAttribute { is_real, attribute } => {
                let name = if *is_real {
                    self.subject.real_dn
                } else {
                    self.subject.dn
                };
                !name.is_root() && self.is_named_in(attribute, name)
            }
            Who::Group {
                class,
                attribute,
                group,
            } => {
                !self.subject.is_anonymous()
                    && match group {
                        GroupName::Exact(dn) => self.lookup().is_member(*class, attribute, dn),
                        GroupName::Expanded(template) => {
                            let name = self.expanded(template, matched, text().as_deref());
                            let name = name.and_then(|text| inserted_name(schema, &text));
                            name.is_some_and(|dn| self.lookup().is_member(*class, attribute, &dn))
                        }
                    }
            }
            Who::Peer(pattern) => self.is_peer(pattern, matched),
            Who::SocketName(pattern) => self.connection(|peer| &peer.socket_name, pattern, matched),
            Who::SocketUrl(pattern) => self.connection(|peer| &peer.listener_url, pattern, matched),
            Who::Domain { pattern, is_subtree } => {
                let domain = self.subject.peer.and_then(|peer| peer.domain.as_deref());
                domain.is_some_and(|domain| self.is_domain(pattern, *is_subtree, matched, domain))
            }
            Who::Set { template, .. } => condition.program.as_ref().map_or_else(
                || {
                    let expression = self.expanded(template, matched, text().as_deref());
                    expression.is_some_and(|text| Program::parse(&text).holds(self))
                },
                |(program, number)| self.set_holds(program, *number),
            ),
            Who::Strength { factor, least } => {
                let strength = self.subject.strength;
                let held = match factor {
                    StrengthFactor::Any => strength.ssf,
                    StrengthFactor::Transport => strength.transport,
                    StrengthFactor::Tls => strength.tls,
                    StrengthFactor::Sasl => strength.sasl,
                };
                held >= *least
            }
        }
    }

    fn is_of_name(&self, is: &NameCondition, name: &Dn, matched: &Matched, value: Value<'_>) -> bool {
        let schema = &*self.configuration.schema;
        match is {
            NameCondition::Anyone => true,
            NameCondition::Anonymous => name.is_root(),
            NameCondition::Users => !name.is_root(),
            NameCondition::SelfEntry(level) => self.is_self(name, *level),
            NameCondition::Dn(wanted) => !name.is_root() && wanted.scope.holds(&wanted.dn, name),
            NameCondition::Expanded(scope, template) => {
                let wanted = self.expanded(template, matched, value.text(schema).as_deref());
                let wanted = wanted.and_then(|text| inserted_name(schema, &text));
                wanted.is_some_and(|dn| !name.is_root() && scope.holds(&dn, name))
            }
            NameCondition::Regex(regex) => {
                let (names, _) = matched.submatches(self.dn(), None);
                // As in slapd, and unlike its manual, submatches of the value are not available here: such a clause
                // matches nobody.
                self.regex_holds(regex, names, Submatches::default(), name.normalized())
            }
        }
    }

    fn expanded(&self, template: &Template, matched: &Matched, value: Option<&[u8]>) -> Option<Vec<u8>> {
        let (names, values) = matched.submatches(self.dn(), value);
        template.expand(names, values)
    }

    /// The entry is the requester, or this many levels above it (a negative level: below).
    pub(super) fn is_self(&self, name: &Dn, level: i32) -> bool {
        if name.is_root() {
            return false;
        }
        if level == 0
            && std::ptr::eq(name, self.subject.dn)
            && let Some(is_own) = self.is_own()
        {
            return is_own;
        }
        let levels = usize::try_from(level.unsigned_abs()).unwrap_or(usize::MAX);
        let (lower, upper) = if level < 0 {
            (self.dn(), name)
        } else {
            (name, self.dn())
        };
        match lower.depth().checked_sub(levels) {
            Some(depth) if depth > 0 => lower.ancestor_forms(depth).1 == upper.normalized(),
            _ => false,
        }
    }

    /// Whether a value of an attribute of the entry is a name.
    fn is_named_in(&self, attribute: &AttributeDescription, name: &Dn) -> bool {
        let schema = &*self.configuration.schema;
        self.any_attribute(attribute, |held| match held {
            Held::Stored(held) => held.holds_normalized(name.normalized()).unwrap_or_default(),
            Held::Memory(held) => held
                .values
                .iter()
                .any(|value| Dn::parse(schema, value).is_ok_and(|dn| dn == *name)),
        })
    }

    fn is_peer(&self, pattern: &PeerPattern, matched: &Matched) -> bool {
        let Some(peer) = self.subject.peer else { return false };
        match pattern {
            PeerPattern::Text(pattern) => self.text_holds(pattern, matched, &peer.name),
            PeerPattern::Path(path) => peer.name.strip_prefix("PATH=") == Some(path),
            PeerPattern::Address(pattern) => {
                // An IPv4 client of a socket for both families counts as an IPv4 client.
                let address = peer.address.map(|address| match address {
                    IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(address, IpAddr::V4),
                    IpAddr::V4(_) => address,
                });
                let port = peer.name.rsplit(':').next().and_then(|digits| digits.parse().ok());
                address.is_some_and(|address| pattern.holds(address, port.unwrap_or_default()))
            }
        }
    }

    fn connection(
        &self,
        property: impl FnOnce(&crate::Peer) -> &str,
        pattern: &TextPattern,
        matched: &Matched,
    ) -> bool {
        let peer = self.subject.peer;
        peer.is_some_and(|peer| self.text_holds(pattern, matched, property(peer)))
    }

    /// A name, or with `subtree` one of the domains above it.
    fn is_domain(&self, pattern: &TextPattern, is_subtree: bool, matched: &Matched, domain: &str) -> bool {
        let mut next = Some(domain);
        while let Some(name) = next {
            if self.text_holds(pattern, matched, name) {
                return true;
            }
            next = name.split_once('.').map(|(_, above)| above).filter(|_| is_subtree);
        }
        false
    }

    fn text_holds(&self, pattern: &TextPattern, matched: &Matched, text: &str) -> bool {
        match pattern {
            TextPattern::Anything => true,
            TextPattern::Exact(wanted) => wanted.eq_ignore_ascii_case(text),
            TextPattern::Expanded(template) => {
                let (names, values) = matched.of_expressions(self.dn());
                let wanted = template.expand(names, values);
                wanted.is_some_and(|wanted| wanted.eq_ignore_ascii_case(text.as_bytes()))
            }
            TextPattern::Regex(regex) => {
                let (names, values) = matched.of_expressions(self.dn());
                self.regex_holds(regex, names, values, text.as_bytes())
            }
        }
    }

    fn regex_holds(&self, regex: &RegexTemplate, names: Submatches<'_>, values: Submatches<'_>, text: &[u8]) -> bool {
        match regex {
            RegexTemplate::Fixed { regex, .. } => regex.is_match(text),
            RegexTemplate::Filled(template) => {
                // The expression is compiled anew each time.
                if self.budget().is_some_and(|budget| !budget.spend(EXPRESSION_STEPS)) {
                    return false;
                }
                let Some(filled) = template.expand(names, values) else {
                    return false;
                };
                let regex = String::from_utf8(filled)
                    .ok()
                    .and_then(|filled| PosixRegex::new(&filled).ok());
                if regex.is_none() {
                    // The name of an entry may make an expression invalid. A clause that refuses must not be skipped
                    // because of this.
                    self.fail();
                }
                regex.is_some_and(|regex| regex.is_match(text))
            }
        }
    }
}

/// Steps for making a regular expression.
const EXPRESSION_STEPS: u64 = 500;

/// A name after submatches are inserted. As in slapd, an empty one, of a group that took no part in the match, is
/// nobody's: every name is below it.
fn inserted_name(schema: &Schema, text: &[u8]) -> Option<Dn> {
    Dn::parse(schema, text).ok().filter(|dn| !dn.is_root())
}

/// Whether a clause for the requester's own name does not need a list of names.
pub(super) fn is_dn_attribute_of(condition: &Condition, self_only: SelfOnly) -> bool {
    matches!(condition.who, Who::DnAttribute { is_real, .. } if is_real == (self_only == SelfOnly::Real))
}

/// Whether values of an attribute are names, with or without a UID.
pub(super) fn holds_names(schema: &Schema, attribute: &AttributeDescription) -> bool {
    let held = schema.attribute_type(attribute.attribute_type);
    [syntax::oid::DN, syntax::oid::NAME_AND_OPTIONAL_UID].contains(&held.syntax.oid)
}

/// The values of an attribute as patterns and sets see them.
pub(super) fn normal_values(schema: &Schema, held: &Held<'_>) -> Vec<Vec<u8>> {
    let mut values = Vec::new();
    match held {
        Held::Stored(held) => {
            // A value that cannot be read counts as missing.
            let _ = held.for_each(&mut |value| {
                values.extend(Value::Plain(held.description(), value).text(schema));
                ControlFlow::Continue(())
            });
        }
        Held::Memory(held) => {
            let normal = held
                .values
                .iter()
                .filter_map(|value| Value::Plain(&held.description, value).text(schema));
            values.extend(normal);
        }
    }
    values
}
