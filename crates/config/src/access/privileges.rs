//! The `<access>` field: levels and privileges.

use crate::word_set::word_set;

word_set! {
    /// Single privileges, by the letters of slapd.access(5), in the order in which slapd prints them.
    ///
    /// As in slapd, the privileges to write share a bit, 0x200, and none of them holds without it. So `-z` also ends
    /// `a`, until `+` gives one of them again. `-i`, which slapd has since 2.7, ends nothing else.
    Privileges {
        /// Manage: change what the schema or the server protects.
        MANAGE = 0x100, "m";
        /// Add, delete and increment.
        WRITE = 0x2e0, "w";
        /// Add values, entries, children.
        ADD = 0x220, "a";
        /// Delete values, entries, children.
        DELETE = 0x240, "z";
        /// Increment values.
        INCREMENT = 0x280, "i";
        /// Read.
        READ = 0x10, "r";
        /// Use in a search filter.
        SEARCH = 0x8, "s";
        /// Compare.
        COMPARE = 0x4, "c";
        /// Authenticate with.
        AUTH = 0x2, "x";
        /// Be told that it exists, in errors.
        DISCLOSE = 0x1, "d";
    }
}

impl Privileges {
    /// The bit that the privileges to write share.
    const SHARED: u32 = 0x200;
    /// Those of `a` and `z` alone.
    const ADD_OR_DELETE: u32 = 0x60;

    /// slapd before 2.7 has no `i`: who is given `a` or `z`, and has both then, may increment.
    const fn completed_by(self, given: Self) -> Self {
        let has_both = self.0 & Self::ADD_OR_DELETE == Self::ADD_OR_DELETE;
        if has_both && given.0 & Self::ADD_OR_DELETE != 0 {
            self.with(Self::INCREMENT)
        } else {
            self
        }
    }
}

/// Whether a clause applies only to values that are the requester's own name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SelfOnly {
    /// It applies to all values.
    #[default]
    No,
    /// `self`: the name that it acts as.
    Own,
    /// `realself`: the name that it authenticated as. (slapd, contrary to its manual, then checks no name.)
    Real,
}

/// A level: privileges that build on each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessLevel {
    /// Nothing.
    None,
    /// `d`.
    Disclose,
    /// `dx`.
    Auth,
    /// `dxc`.
    Compare,
    /// `dxcs`.
    Search,
    /// `dxcsr`.
    Read,
    /// Read and add.
    Add,
    /// Read and delete.
    Delete,
    /// Read and increment.
    Increment,
    /// Read, add, delete, increment.
    Write,
    /// Everything.
    Manage,
}

impl AccessLevel {
    const WORDS: &[(&str, Self)] = &[
        ("none", Self::None),
        ("disclose", Self::Disclose),
        ("auth", Self::Auth),
        ("compare", Self::Compare),
        ("search", Self::Search),
        ("read", Self::Read),
        ("add", Self::Add),
        ("delete", Self::Delete),
        ("increment", Self::Increment),
        ("write", Self::Write),
        ("manage", Self::Manage),
    ];

    /// The privileges of the level.
    pub const fn privileges(self) -> Privileges {
        let read = Privileges(0x1f);
        match self {
            Self::None => Privileges(0),
            Self::Disclose => Privileges::DISCLOSE,
            Self::Auth => Privileges(0x3),
            Self::Compare => Privileges(0x7),
            Self::Search => Privileges(0xf),
            Self::Read => read,
            Self::Add => read.with(Privileges::ADD),
            Self::Delete => read.with(Privileges::DELETE),
            Self::Increment => read.with(Privileges::INCREMENT),
            Self::Write => read.with(Privileges::WRITE),
            Self::Manage => read.with(Privileges::WRITE).with(Privileges::MANAGE),
        }
    }

    fn parse(word: &str) -> Option<Self> {
        Self::WORDS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(word))
            .map(|&(_, level)| level)
    }

    /// The level that grants exactly this.
    pub fn of(privileges: Privileges) -> Option<Self> {
        let known = Self::WORDS.iter().find(|(_, level)| level.privileges() == privileges);
        known.map(|&(_, level)| level)
    }

    /// As it is written.
    pub fn word(self) -> &'static str {
        Self::WORDS
            .iter()
            .find(|(_, level)| *level == self)
            .map_or("none", |(word, _)| word)
    }
}

/// The grant of a clause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grant {
    /// Only for values that are the requester's own name.
    pub self_only: SelfOnly,
    /// The change of privileges.
    pub kind: GrantKind,
}

/// How a clause changes the privileges so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GrantKind {
    /// A level: replaces all earlier privileges.
    Level(AccessLevel),
    /// `=`: replaces all earlier privileges.
    Set(Privileges),
    /// `+`.
    Add(Privileges),
    /// `-`.
    Remove(Privileges),
}

impl GrantKind {
    /// The privileges after the clause, given those before it.
    pub const fn apply(self, before: Privileges) -> Privileges {
        match self {
            Self::Level(level) => level.privileges(),
            Self::Set(privileges) => privileges.completed_by(privileges),
            Self::Add(privileges) => before.with(privileges).completed_by(privileges),
            // With `a` or `z`, `i` goes too.
            Self::Remove(privileges) if privileges.0 & Privileges::ADD_OR_DELETE != 0 => {
                before.without(privileges).without(Privileges::INCREMENT)
            }
            Self::Remove(privileges) => {
                let left = before.without(privileges);
                let shared = before.0 & Privileges::SHARED;
                if left.0 & Privileges::ADD_OR_DELETE == 0 {
                    left
                } else {
                    Privileges(left.0 | shared)
                }
            }
        }
    }
}

impl Grant {
    /// The grant of a clause without `<access>`: nothing more.
    pub(super) const NOTHING: Self = Self {
        self_only: SelfOnly::No,
        kind: GrantKind::Add(Privileges(0)),
    };

    /// `read`, `selfwrite`, `=rscxd`, `self+w`.
    pub(super) fn parse(word: &str) -> Option<Self> {
        let own = |prefix: &str| {
            let start = word.get(..prefix.len())?;
            start.eq_ignore_ascii_case(prefix).then_some(word.get(prefix.len()..)?)
        };
        let (self_only, word) = match (own("self"), own("realself")) {
            (Some(rest), _) => (SelfOnly::Own, rest),
            (None, Some(rest)) => (SelfOnly::Real, rest),
            (None, None) => (SelfOnly::No, word),
        };
        let kind = match AccessLevel::parse(word) {
            Some(level) => GrantKind::Level(level),
            None => match (word.get(..1)?, letters(word.get(1..)?)?) {
                ("=", privileges) => GrantKind::Set(privileges),
                ("+", privileges) => GrantKind::Add(privileges),
                ("-", privileges) => GrantKind::Remove(privileges),
                _ => return None,
            },
        };
        Some(Self { self_only, kind })
    }

    /// As it is written.
    pub(super) fn text(self) -> String {
        let own = match self.self_only {
            SelfOnly::No => "",
            SelfOnly::Own => "self",
            SelfOnly::Real => "realself",
        };
        let letters = |privileges: Privileges| match privileges.words().concat() {
            nothing if nothing.is_empty() => "0".to_owned(),
            letters => letters,
        };
        match self.kind {
            GrantKind::Level(level) => format!("{own}{}", level.word()),
            GrantKind::Set(privileges) => format!("{own}={}", letters(privileges)),
            GrantKind::Add(privileges) => format!("{own}+{}", letters(privileges)),
            GrantKind::Remove(privileges) => format!("{own}-{}", letters(privileges)),
        }
    }
}

/// `0` alone, or letters. No letter at all, which slapd also accepts, is the same as `0`.
fn letters(text: &str) -> Option<Privileges> {
    if text == "0" {
        return Some(Privileges(0));
    }
    let mut privileges = Privileges(0);
    for (position, _) in text.char_indices() {
        privileges = privileges.with(Privileges::word(text.get(position..=position)?)?);
    }
    Some(privileges)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clauses with `continue`, one after the other, and the letters that slapd's slapacl shows for them.
    const CHAINS: &[(&str, &str)] = &[
        ("=w -w", ""),
        ("=w -a", ""),
        ("=w -z", ""),
        ("=w -az", ""),
        ("=w -zr", ""),
        ("=w -m", "w"),
        ("=w -0", "w"),
        ("=w =a", "a"),
        ("=a -w", ""),
        ("=a -a", ""),
        ("=a -z", ""),
        ("=a -s", "a"),
        ("=a +w", "w"),
        ("=z -w", ""),
        ("=z -a", ""),
        ("=z -z", ""),
        ("=z +0", "z"),
        ("=wrscdx -z", "rscxd"),
        ("write -a", "rscxd"),
        ("add -z", "rscxd"),
        ("delete -a", "rscxd"),
        ("manage -z", "mrscxd"),
        ("manage -w", "mrscxd"),
        // The letter that was not taken away comes back with the other one.
        ("=w -z +z", "w"),
        ("=w -z +a", "a"),
        ("=w -a +a", "w"),
        ("=w -a +z", "z"),
        ("=w -w +a", "a"),
        ("=w -w +z", "z"),
        ("=a -z +z", "w"),
        ("=a -z +a", "a"),
        ("=a -a +z", "z"),
        ("=z -a +a", "w"),
        ("=w -z -a +z", "z"),
        ("=w -z -a +a", "a"),
        ("=w -z +r", "r"),
        ("=w -z +m", "m"),
        ("write -z +z", "wrscxd"),
        ("manage -w +a", "marscxd"),
    ];

    #[test]
    fn what_increments_is_taken_away_alone() {
        for (chain, expected) in [
            ("=w -i", "az"),
            ("=w -i +i", "w"),
            ("write -i", "azrscxd"),
            ("=ai -i", "a"),
            ("=i -i", ""),
            ("=a -i", "a"),
            ("=w -z -i", ""),
            ("=az", "w"),
            ("=w -i +r", "azr"),
            ("=w -i +a", "w"),
        ] {
            let granted = chain.split(' ').fold(Privileges(0), |before, word| {
                Grant::parse(word).map_or(before, |grant| grant.kind.apply(before))
            });
            assert_eq!(granted.words().concat(), expected, "{chain}");
        }
    }

    #[test]
    fn a_letter_to_write_takes_the_others_with_it_as_in_slapd() {
        for (chain, expected) in CHAINS {
            let granted = chain.split(' ').fold(Privileges(0), |before, word| {
                Grant::parse(word).map_or(before, |grant| grant.kind.apply(before))
            });
            assert_eq!(granted.words().concat(), *expected, "{chain}");
            for (letter, privilege) in [("a", Privileges::ADD), ("z", Privileges::DELETE)] {
                let is_shown = expected.contains(letter) || expected.contains('w');
                assert_eq!(granted.contains(privilege), is_shown, "{chain} {letter}");
            }
        }
    }
}
