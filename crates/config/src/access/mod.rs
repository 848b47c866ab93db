//! Access rules (slapd.access(5)) as typed values. `directory` evaluates them, and adds slapd's implicit endings (`by *
//! none stop` after each rule, `to * by * none` after the last).

mod operation;
mod parse;
mod peer;
mod privileges;
mod template;
mod text;
mod what;
mod who;
mod words;

use ironbark_model::{
    AttributeDescription, Dn, PosixRegex,
    schema::{ClassNumber, Source},
};

use crate::Operations;

pub use operation::{NamedOid, OperationAction, OperationBy, OperationRule};
pub use peer::{AddressPattern, PeerPattern, TextPattern};
pub use privileges::{AccessLevel, Grant, GrantKind, Privileges, SelfOnly};
pub use template::{RegexTemplate, Submatches, Template};

/// One `access to` line.
#[derive(Clone, PartialEq, Debug)]
pub struct AccessRule {
    /// The targets.
    pub what: What,
    /// The `by` clauses, in order.
    pub by: Vec<By>,
    /// Where the rule stands.
    pub location: Source,
}

impl AccessRule {
    /// `to * by * none`: protects cn=config unless it has rules.
    pub(crate) fn nothing_to_anybody(location: &Source) -> Self {
        let grant = Grant {
            self_only: SelfOnly::No,
            kind: GrantKind::Level(AccessLevel::None),
        };
        Self {
            what: What::default(),
            by: vec![By {
                who: vec![Who::Name {
                    is_real: false,
                    is: NameCondition::Anyone,
                }],
                grant,
                control: ClauseControl::Stop,
            }],
            location: location.clone(),
        }
    }
}

/// The target of a rule. All conditions must hold.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct What {
    /// `dn...=`; `None`: any entry.
    pub dn: Option<DnPattern>,
    /// `filter=`, as text (RFC 4515).
    pub filter: Option<String>,
    /// `attrs=`; empty: every attribute, `entry` and `children`.
    pub attributes: Vec<AttributeTarget>,
    /// `val...=`: only for matching values of the one attribute.
    pub value: Option<ValuePattern>,
    /// `op=`.
    pub operation: Option<OperationPattern>,
    /// `control=`: an OID or a macro, as written, and the OID.
    pub control: Option<(String, String)>,
}

/// Which entries a rule applies to.
#[derive(Clone, PartialEq, Debug)]
pub enum DnPattern {
    /// By their place.
    Name(NameMatch),
    /// Entries whose normal form matches.
    Regex(PosixRegex),
}

/// Which values a rule applies to.
#[derive(Clone, PartialEq, Debug)]
pub enum ValuePattern {
    /// Equal by the matching rule of this name, or the attribute's own.
    Exact {
        /// As written behind `val/`.
        rule: Option<String>,
        /// The value.
        value: String,
    },
    /// The normal form matches.
    Regex(PosixRegex),
    /// A name in this scope.
    Name(NameMatch),
}

/// Which operations a rule applies to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperationPattern {
    /// As written.
    pub text: String,
    /// Operations.
    pub operations: Operations,
    /// For extended operations, only the one with this OID.
    pub extended: Option<String>,
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
    /// This many levels below; for requesters only.
    Level(u32),
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

    fn word(self) -> String {
        if let Self::Level(level) = self {
            return format!("level{{{level}}}");
        }
        let known = Self::STYLES.iter().find(|(_, scope)| *scope == self);
        known.map_or("base", |(word, _)| *word).to_owned()
    }

    /// Whether `name` is in this scope of `base`.
    pub fn holds(self, base: &Dn, name: &Dn) -> bool {
        match self {
            Self::Base => name == base,
            Self::OneLevel => name.depth() == base.depth() + 1 && name.is_within(base),
            Self::Subtree => name.is_within(base),
            Self::Children => name.depth() > base.depth() && name.is_within(base),
            Self::Level(level) => {
                name.depth().checked_sub(base.depth()) == usize::try_from(level).ok() && name.is_within(base)
            }
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
    /// The requesters. All conditions must hold; never empty.
    pub who: Vec<Who>,
    /// The granted privileges.
    pub grant: Grant,
    /// How the evaluation continues when the clause matches.
    pub control: ClauseControl,
}

/// A condition on the requester.
#[derive(Clone, PartialEq, Debug)]
pub enum Who {
    /// Its name.
    Name {
        /// The name that authenticated, even if it acts as another one (`real...`).
        is_real: bool,
        /// The condition.
        is: NameCondition,
    },
    /// A value of this attribute of the entry is the requester.
    DnAttribute {
        /// As for names.
        is_real: bool,
        /// The attribute.
        attribute: AttributeDescription,
    },
    /// Member of a group.
    Group {
        /// Class of the group, groupOfNames by default.
        class: ClassNumber,
        /// Attribute that names members, member by default, or holds URLs that find them.
        attribute: AttributeDescription,
        /// The group.
        group: GroupName,
    },
    /// Address or path of the client.
    Peer(PeerPattern),
    /// Our side of the connection.
    SocketName(TextPattern),
    /// Host name of the client.
    Domain {
        /// The name, or what it matches.
        pattern: TextPattern,
        /// Or the name is below it.
        is_subtree: bool,
    },
    /// URL of the listener.
    SocketUrl(TextPattern),
    /// A set is not empty.
    Set {
        /// The expression.
        template: Template,
        /// Whether submatches are filled in.
        is_expanded: bool,
    },
    /// The connection is protected at least this well.
    Strength {
        /// The kind of protection.
        factor: StrengthFactor,
        /// Never 0.
        least: u32,
    },
}

/// A condition on a requester's name.
#[derive(Clone, PartialEq, Debug)]
pub enum NameCondition {
    /// `*`.
    Anyone,
    /// Not authenticated.
    Anonymous,
    /// Authenticated.
    Users,
    /// The entry itself is the requester. With a positive level, the entry is that ancestor of the requester; with a
    /// negative one, the requester is that ancestor of the entry.
    SelfEntry(i32),
    /// By its place.
    Dn(NameMatch),
    /// By its place under a name with inserted submatches.
    Expanded(NameScope, Template),
    /// By its normal form.
    Regex(RegexTemplate),
}

/// Which group.
#[derive(Clone, PartialEq, Debug)]
pub enum GroupName {
    /// This.
    Exact(Dn),
    /// The group with this name, after submatches are inserted.
    Expanded(Template),
}

/// The kind of protection that a security strength factor measures.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StrengthFactor {
    /// The strongest protection of the connection.
    Any,
    /// The socket.
    Transport,
    /// TLS.
    Tls,
    /// A SASL layer.
    Sasl,
}

impl StrengthFactor {
    const WORDS: [(&str, Self); 4] = [
        ("ssf", Self::Any),
        ("transport_ssf", Self::Transport),
        ("tls_ssf", Self::Tls),
        ("sasl_ssf", Self::Sasl),
    ];
}

/// How the evaluation continues after a matching clause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ClauseControl {
    /// It ends.
    #[default]
    Stop,
    /// With the next `by` of this rule.
    Continue,
    /// With the next rule.
    Break,
}

impl ClauseControl {
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

    /// The end of a clause; `stop` is the default and is left out.
    fn words(self) -> impl Iterator<Item = String> {
        let said = Self::WORDS
            .iter()
            .filter(move |(_, control)| *control == self && self != Self::Stop);
        said.map(|(word, _)| (*word).to_owned())
    }
}

#[cfg(test)]
mod tests;
