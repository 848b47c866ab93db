//! Access rules (slapd.access(5)) as typed values. The evaluator is `directory`'s; slapd's implicit endings (`by * none stop`
//! after each rule, `to * by * none` after the last) are its job.

mod parse;
mod privileges;
mod text;
mod who;

use ironbark_model::{
    AttributeDescription, Dn,
    schema::{ClassNumber, Source},
};

pub use privileges::{AccessLevel, Grant, GrantKind, Privileges};

/// One `access to` line.
#[derive(Clone, PartialEq, Debug)]
pub struct AccessRule {
    /// To what.
    pub what: What,
    /// For whom, in order.
    pub by: Vec<By>,
    /// Where it stands.
    pub location: Source,
}

impl AccessRule {
    /// `to * by * none`: what protects cn=config unless it has rules.
    pub(crate) fn nothing_to_anybody(location: &Source) -> Self {
        let grant = Grant {
            self_only: false,
            kind: GrantKind::Level(AccessLevel::None),
        };
        Self {
            what: What::default(),
            by: vec![By {
                who: vec![Who::Anyone],
                grant,
                control: Control::Stop,
            }],
            location: location.clone(),
        }
    }
}

/// What a rule is about. All conditions must hold.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct What {
    /// `dn...=`; `None`: any entry.
    pub dn: Option<NameMatch>,
    /// `filter=`, as text (RFC 4515).
    pub filter: Option<String>,
    /// `attrs=`; empty: every attribute, `entry` and `children`.
    pub attributes: Vec<AttributeTarget>,
}

/// A name and how it is compared.
#[derive(Clone, PartialEq, Debug)]
pub struct NameMatch {
    /// How.
    pub scope: NameScope,
    /// With what.
    pub dn: Dn,
}

/// How a name is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameScope {
    /// The name itself.
    Base,
    /// Directly below.
    OneLevel,
    /// The name or below.
    Subtree,
    /// Below.
    Children,
}

impl NameScope {
    /// Style words; the first of a scope is the one that is printed.
    const STYLES: &[(&str, Self)] = &[
        ("base", Self::Base),
        ("exact", Self::Base),
        ("baseobject", Self::Base),
        ("one", Self::OneLevel),
        ("onelevel", Self::OneLevel),
        ("subtree", Self::Subtree),
        ("sub", Self::Subtree),
        ("children", Self::Children),
    ];

    fn style(word: &str) -> Option<Self> {
        Self::STYLES
            .iter()
            .find(|(style, _)| style.eq_ignore_ascii_case(word))
            .map(|&(_, scope)| scope)
    }

    fn word(self) -> &'static str {
        Self::STYLES
            .iter()
            .find(|(_, scope)| *scope == self)
            .map_or("base", |(word, _)| word)
    }

    /// Whether `name` is in this scope of `base`.
    pub fn holds(self, base: &Dn, name: &Dn) -> bool {
        match self {
            Self::Base => name == base,
            Self::OneLevel => name.depth() == base.depth() + 1 && name.is_within(base),
            Self::Subtree => name.is_within(base),
            Self::Children => name.depth() > base.depth() && name.is_within(base),
        }
    }
}

/// One name of `attrs=`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AttributeTarget {
    /// `entry`: the entry itself.
    Entry,
    /// `children`: what is directly below.
    Children,
    /// An attribute, its subtypes included.
    Attribute(AttributeDescription),
    /// `@class`: the attributes that the class requires or allows.
    Class(ClassNumber),
    /// `!class`: all others.
    NotClass(ClassNumber),
}

/// One `by` clause.
#[derive(Clone, PartialEq, Debug)]
pub struct By {
    /// For whom. All must hold; never empty.
    pub who: Vec<Who>,
    /// What is granted.
    pub grant: Grant,
    /// How the evaluation goes on when the clause holds.
    pub control: Control,
}

/// A condition on the requester.
#[derive(Clone, PartialEq, Debug)]
pub enum Who {
    /// `*`.
    Anyone,
    /// Not authenticated.
    Anonymous,
    /// Authenticated.
    Users,
    /// The entry itself is the requester.
    SelfEntry,
    /// The requester's name.
    Dn(NameMatch),
    /// A value of this attribute of the entry is the requester.
    DnAttribute(AttributeDescription),
    /// Member of a group.
    Group {
        /// Class of the group, groupOfNames by default.
        class: ClassNumber,
        /// Attribute that names members, member by default.
        attribute: AttributeDescription,
        /// The group.
        dn: Dn,
    },
}

impl Who {
    /// Whether it is about the requester's name alone.
    fn is_name(&self) -> bool {
        matches!(
            self,
            Self::Anyone | Self::Anonymous | Self::Users | Self::SelfEntry | Self::Dn(_)
        )
    }
}

/// How evaluation goes on after a clause that holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Control {
    /// It ends.
    #[default]
    Stop,
    /// With the next `by` of this rule.
    Continue,
    /// With the next rule.
    Break,
}

impl Control {
    const WORDS: &[(&str, Self)] = &[
        ("stop", Self::Stop),
        ("continue", Self::Continue),
        ("break", Self::Break),
    ];

    fn parse(word: &str) -> Option<Self> {
        Self::WORDS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(word))
            .map(|&(_, control)| control)
    }
}

#[cfg(test)]
mod tests;
