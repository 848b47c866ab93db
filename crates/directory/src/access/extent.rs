//! What is granted in every entry of a database, whatever the entries hold: found by reading the rules, and not by
//! asking them about each entry.
//!
//! It is a lower bound. A rule or a clause that depends on the entry or the value (`dn=`, `filter=`, `val=`, `self`,
//! `dnattr`, ...) may apply or not: both ways are followed, and what all of them leave is granted. Conditions on the
//! requester, the connection and the operation are known. Groups and sets that name no entry are looked up, so the
//! result is good as long as the decisions that it is remembered with.

use ironbark_config::access::{
    AccessLevel, AttributeTarget, ClauseControl, DnPattern, NameScope, Privileges, SelfOnly,
};
use ironbark_model::{AttributeDescription, Dn, Entry};
use ironbark_store::View;

use super::{
    check::Check,
    decisions::SubjectDecisions,
    matched::Matched,
    requester::Requester,
    target::{Source, Target, Value},
};
use crate::rules::access::{Clause, Condition, Dependence, Rule};

/// What of an entry is asked about.
#[derive(Clone, Copy)]
enum Part<'p> {
    /// The `entry` pseudo-attribute.
    Entry,
    /// All values of an attribute.
    Attribute(&'p AttributeDescription),
    /// All values of all attributes.
    Everything,
}

/// Whether something holds in every entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    Always,
    Never,
    /// In some entries, or for some values.
    Sometimes,
}

/// How much of a database a requester may read, whatever its entries hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent {
    /// It finds each entry by `(objectClass=*)` and may read name, `entryUUID` and `entryCSN` of it.
    pub(crate) has_every_entry: bool,
    /// Besides, it may read all values.
    pub(crate) has_every_value: bool,
}

impl Extent {
    const ALL: Self = Self {
        has_every_entry: true,
        has_every_value: true,
    };

    /// The extent for a requester with these decisions (`None`: it may do everything there) in the state that `view`
    /// shows.
    pub(crate) fn of(requester: Requester<'_>, standing: Option<&SubjectDecisions>, view: View<'_>) -> Self {
        let Some(standing) = standing else { return Self::ALL };
        if let Some(known) = standing.extent() {
            return known;
        }
        let nothing = Entry::new(Dn::root());
        let mut check = Check::of(requester, Source::Memory(&nothing)).within(view);
        check.standing = Some(standing);
        let known = &requester.configuration.well_known;
        let reads = |part| check.grants_everywhere(requester, part, Privileges::READ);
        let finds = |part| check.grants_everywhere(requester, part, Privileges::SEARCH);
        let has_every_entry = reads(Part::Entry)
            && finds(Part::Entry)
            && finds(Part::Attribute(&known.object_class))
            && [&known.object_class, &known.entry_uuid, &known.entry_csn]
                .into_iter()
                .all(|attribute| reads(Part::Attribute(attribute)));
        let extent = Self {
            has_every_entry,
            has_every_value: has_every_entry && reads(Part::Everything),
        };
        if !check.cannot_tell() {
            standing.remember_extent(extent);
        }
        extent
    }
}

impl Check<'_> {
    /// Whether all of `wanted` is granted on this part of every entry.
    fn grants_everywhere(&self, requester: Requester<'_>, part: Part<'_>, wanted: Privileges) -> bool {
        if self.keeps_some(part) {
            return false;
        }
        if self.rules.all.is_empty() {
            return AccessLevel::Read.privileges().contains(wanted);
        }
        // What is held at least before the next rule.
        let mut held = Privileges::default();
        for rule in &self.rules.all {
            let applies = self.is_about_part(requester, rule, part);
            if applies == Holds::Never {
                continue;
            }
            let Some(left) = self.left_behind(rule, held, wanted) else {
                return false;
            };
            held = match (applies, left) {
                (Holds::Always, None) => return !self.cannot_tell(),
                (Holds::Always, Some(left)) => left,
                (_, None) => held,
                (_, Some(left)) => common(held, left),
            };
        }
        // Behind the last rule nothing is granted.
        false
    }

    /// Follows the clauses of a rule that applies. `None`: on some way they end the rules without all of `wanted`.
    /// Otherwise what is held at least where they let the rules go on; `Some(None)`: they never do.
    #[expect(clippy::option_option, reason = "a refusal, an end, and a way that goes on")]
    fn left_behind(&self, rule: &Rule, held: Privileges, wanted: Privileges) -> Option<Option<Privileges>> {
        let (mut behind, mut before) = (None, Some(held));
        for clause in &rule.by {
            let Some(held) = before else { break };
            let means = self.means(clause);
            if means == Holds::Never {
                continue;
            }
            let granted = clause.grant.kind.apply(held);
            let unmet = (means == Holds::Sometimes).then_some(held);
            before = unmet;
            match clause.control {
                ClauseControl::Stop if !granted.contains(wanted) => return None,
                ClauseControl::Stop => {}
                ClauseControl::Continue => before = Some(unmet.map_or(granted, |held| common(held, granted))),
                ClauseControl::Break => behind = Some(behind.map_or(granted, |held| common(held, granted))),
            }
        }
        // Who comes to the end meets the implicit `by * none stop`.
        before.is_none().then_some(behind)
    }

    fn keeps_some(&self, part: Part<'_>) -> bool {
        let schema = &self.configuration.schema;
        match part {
            Part::Entry => false,
            Part::Attribute(attribute) => self.rules.keeps(schema, attribute),
            Part::Everything => self.rules.keeps_any(),
        }
    }

    fn is_about_part(&self, requester: Requester<'_>, rule: &Rule, part: Part<'_>) -> Holds {
        if !self.is_about_request(rule) {
            return Holds::Never;
        }
        let names = |target| rule.attributes.iter().any(|named| self.names(named, target));
        let of_part = match part {
            _ if rule.attributes.is_empty() => Holds::Always,
            Part::Entry if names(Target::Entry) => Holds::Always,
            // A rule about a subtype does not name its supertype, but applies to values that answer for it.
            Part::Attribute(attribute) if names(Target::Attribute(attribute, None)) => Holds::Always,
            Part::Everything
                if rule
                    .attributes
                    .iter()
                    .any(|named| !matches!(named, AttributeTarget::Entry | AttributeTarget::Children)) =>
            {
                Holds::Sometimes
            }
            Part::Entry | Part::Attribute(_) | Part::Everything => Holds::Never,
        };
        let of_name = rule
            .dn
            .as_ref()
            .map_or(Holds::Always, |(pattern, _)| is_named(requester, pattern));
        let of_content = match (&rule.filter, &rule.value) {
            (None, None) => Holds::Always,
            _ => Holds::Sometimes,
        };
        of_part.and(of_name).and(of_content)
    }

    fn means(&self, clause: &Clause) -> Holds {
        let of_value = match clause.grant.self_only {
            SelfOnly::No => Holds::Always,
            SelfOnly::Own | SelfOnly::Real => Holds::Sometimes,
        };
        let conditions = clause.who.iter();
        conditions.fold(of_value, |all, condition| all.and(self.is_met(condition)))
    }

    fn is_met(&self, condition: &Condition) -> Holds {
        match condition.dependence {
            Dependence::Nothing if self.is(condition, &Matched::NOTHING, Value::None) => Holds::Always,
            Dependence::Nothing => Holds::Never,
            Dependence::Question(_) | Dependence::Entry | Dependence::Value => Holds::Sometimes,
        }
    }
}

impl Holds {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Never, _) | (_, Self::Never) => Self::Never,
            (Self::Always, Self::Always) => Self::Always,
            _ => Self::Sometimes,
        }
    }
}

/// Expressions that are written for `*`.
const ANY_NAME: [&str; 4] = [".*", "^.*", ".*$", "^.*$"];

/// Whether a pattern is about all entries of the requester's database.
fn is_named(requester: Requester<'_>, pattern: &DnPattern) -> Holds {
    let name = match pattern {
        DnPattern::Name(name) => name,
        DnPattern::Regex(regex) if ANY_NAME.contains(&regex.as_str()) => return Holds::Always,
        DnPattern::Regex(_) => return Holds::Sometimes,
    };
    let suffixes = requester.context.suffixes();
    if name.scope == NameScope::Subtree && suffixes.iter().all(|suffix| suffix.is_within(&name.dn)) {
        return Holds::Always;
    }
    let may_meet = |suffix: &Dn| suffix.is_within(&name.dn) || name.dn.is_within(suffix);
    if suffixes.iter().any(may_meet) {
        Holds::Sometimes
    } else {
        Holds::Never
    }
}

fn common(one: Privileges, other: Privileges) -> Privileges {
    one.without(one.without(other))
}
