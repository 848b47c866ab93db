//! Sets: an algebra on names and values, as in slapd (`set=`; its only documentation there is an FAQ).
//!
//! `this` is the name of the entry, `user` that of the requester, `[text]` a value; `set/attribute` are the values of
//! an attribute of the entries that a set names, `set/attribute*` those of theirs, and so on; `set/-1` are the
//! superiors, `set/-*` the names and all their superiors; `|`, `&` and `+` join two sets, from left to right: union,
//! intersection, all concatenations. A clause holds if its set is not empty.

use std::{collections::HashSet, rc::Rc};

use ironbark_model::budget::cost;

/// A parsed expression: steps for a machine with a stack. A malformed one holds for nobody.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Program(Option<Vec<Step>>);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Step {
    Literal(Vec<u8>),
    This,
    User,
    /// Values of an attribute; whether to continue with the found values.
    Attribute(String, bool),
    Ancestor(usize),
    Ancestors,
    Union,
    Intersection,
    Concatenation,
}

/// The data for the evaluation of a set.
pub(crate) trait World {
    /// Name of the entry, normal form.
    fn this(&self) -> Vec<u8>;
    /// Name of the requester, normal form; for an anonymous requester, a set with `user` does not hold.
    fn user(&self) -> Option<Vec<u8>>;
    /// Normal forms of the values of an attribute of the entry of this name, or of the entries that a URL finds.
    fn values(&self, name: &[u8], attribute: &str) -> Option<Vec<Vec<u8>>>;
    /// A name without its `levels` first RDNs.
    fn ancestor(&self, name: &[u8], levels: usize) -> Vec<u8>;
    /// Whether there is such an attribute.
    fn is_attribute(&self, attribute: &str) -> bool;
    /// Takes steps from the budget; `false`: the evaluation must end.
    fn spend(&self, steps: u64) -> bool;
    /// The set is too big to evaluate: its result is unknown.
    fn too_big(&self);
}

/// A set of more elements than this is too big.
const MAX_ELEMENTS: usize = 100_000;
/// So are concatenations with a greater total length.
const MAX_OCTETS: usize = 16 << 20;
const MAX_DEPTH: usize = 32;
/// Steps for an element, besides those for its octets.
const ELEMENT_STEPS: u64 = 2;

impl Program {
    pub(crate) fn parse(text: &[u8]) -> Self {
        let mut parser = Parser {
            rest: text,
            steps: Vec::new(),
        };
        let is_whole = parser.expression(0).is_some() && parser.rest.is_empty();
        Self(is_whole.then_some(parser.steps))
    }

    /// Whether the set depends on the entry, and not on the requester alone.
    pub(crate) fn depends_on_entry(&self) -> bool {
        self.0.as_ref().is_some_and(|steps| steps.contains(&Step::This))
    }

    /// Whether the set is not empty.
    pub(crate) fn holds(&self, world: &impl World) -> bool {
        self.0
            .as_deref()
            .and_then(|steps| evaluate(steps, world))
            .is_some_and(|set| !set.elements.is_empty())
    }
}

/// Recursive descent; operators have no precedence and bind to the left.
struct Parser<'a> {
    rest: &'a [u8],
    steps: Vec<Step>,
}

impl Parser<'_> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    fn take(&mut self, octet: u8) -> bool {
        self.blanks();
        let found = self.rest.first() == Some(&octet);
        if found {
            self.rest = self.rest.get(1..).unwrap_or_default();
        }
        found
    }

    fn expression(&mut self, depth: usize) -> Option<()> {
        self.term(depth)?;
        loop {
            let step = if self.take(b'|') {
                Step::Union
            } else if self.take(b'&') {
                Step::Intersection
            } else if self.take(b'+') {
                Step::Concatenation
            } else {
                return Some(());
            };
            self.term(depth)?;
            self.steps.push(step);
        }
    }

    fn term(&mut self, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        if self.take(b'(') {
            self.expression(depth + 1)?;
            self.take(b')').then_some(())?;
        } else if self.take(b'[') {
            let end = self.rest.iter().position(|octet| *octet == b']')?;
            let (text, rest) = self.rest.split_at_checked(end)?;
            self.steps.push(Step::Literal(text.to_vec()));
            self.rest = rest.get(1..)?;
        } else {
            match self.word()? {
                "this" => self.steps.push(Step::This),
                "user" => self.steps.push(Step::User),
                _ => return None,
            }
        }
        self.selectors()
    }

    /// `/attribute`, `->attribute`, `/-1`, `/-*`.
    fn selectors(&mut self) -> Option<()> {
        loop {
            self.blanks();
            if let Some(rest) = self.rest.strip_prefix(b"->") {
                self.rest = rest;
            } else if !self.take(b'/') {
                return Some(());
            }
            self.blanks();
            if let Some(rest) = self.rest.strip_prefix(b"-*") {
                self.rest = rest;
                self.steps.push(Step::Ancestors);
            } else if let Some(rest) = self.rest.strip_prefix(b"-") {
                let end = rest
                    .iter()
                    .position(|octet| !octet.is_ascii_digit())
                    .unwrap_or(rest.len());
                let (digits, rest) = rest.split_at_checked(end)?;
                self.steps
                    .push(Step::Ancestor(std::str::from_utf8(digits).ok()?.parse().ok()?));
                self.rest = rest;
            } else {
                let name = self.word()?.to_owned();
                let is_closure = self.rest.first() == Some(&b'*');
                if is_closure {
                    self.rest = self.rest.get(1..)?;
                }
                self.steps.push(Step::Attribute(name, is_closure));
            }
        }
    }

    /// Letters, digits, hyphens and options; a hyphen before `>` belongs to an arrow.
    fn word(&mut self) -> Option<&str> {
        self.blanks();
        let is_name = |octet: &u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.' | b';' | b'_');
        let mut end = self
            .rest
            .iter()
            .position(|octet| !is_name(octet))
            .unwrap_or(self.rest.len());
        if self.rest.get(end) == Some(&b'>') && self.rest.get(end.wrapping_sub(1)) == Some(&b'-') {
            end -= 1;
        }
        let (word, rest) = self.rest.split_at_checked(end).filter(|(word, _)| !word.is_empty())?;
        self.rest = rest;
        std::str::from_utf8(word).ok()
    }
}

/// Elements in the order in which they were found, each once.
#[derive(Default)]
struct Set {
    elements: Vec<Rc<[u8]>>,
    known: HashSet<Rc<[u8]>>,
}

impl Set {
    fn of(element: Vec<u8>, world: &impl World) -> Option<Self> {
        let mut set = Self::default();
        set.add([element], world)?;
        Some(set)
    }

    /// Adds new elements. `None`: there are too many, or there are no steps left.
    fn add(&mut self, more: impl IntoIterator<Item = Vec<u8>>, world: &impl World) -> Option<()> {
        for element in more {
            if !world.spend(ELEMENT_STEPS + cost(element.len())) {
                return None;
            }
            let element: Rc<[u8]> = element.into();
            if self.known.insert(Rc::clone(&element)) {
                self.elements.push(element);
            }
            if self.elements.len() > MAX_ELEMENTS {
                world.too_big();
                return None;
            }
        }
        Some(())
    }
}

fn evaluate(steps: &[Step], world: &impl World) -> Option<Set> {
    // A set with `user` has no result for an anonymous requester.
    if steps.contains(&Step::User) && world.user().is_none() {
        return None;
    }
    let mut stack: Vec<Set> = Vec::new();
    for step in steps {
        let set = match step {
            Step::Literal(text) => Set::of(text.clone(), world)?,
            Step::This => Set::of(world.this(), world)?,
            Step::User => Set::of(world.user()?, world)?,
            Step::Attribute(name, is_closure) => {
                if !world.is_attribute(name) {
                    return None;
                }
                follow(&stack.pop()?, name, *is_closure, world)?
            }
            Step::Ancestor(levels) => {
                let mut above = Set::default();
                let names = stack.pop()?.elements;
                above.add(names.iter().map(|name| world.ancestor(name, *levels)), world)?;
                above
            }
            Step::Ancestors => {
                let mut above = Set::default();
                for name in stack.pop()?.elements {
                    let mut line = vec![name.to_vec()];
                    while let Some(last) = line.last().filter(|last| !last.is_empty()) {
                        line.push(world.ancestor(last, 1));
                    }
                    above.add(line, world)?;
                }
                above
            }
            Step::Union | Step::Intersection | Step::Concatenation => {
                let (right, left) = (stack.pop()?, stack.pop()?);
                combine(step, left, &right, world)?
            }
        };
        stack.push(set);
    }
    stack.pop()
}

fn combine(step: &Step, mut left: Set, right: &Set, world: &impl World) -> Option<Set> {
    match step {
        Step::Union => {
            left.add(right.elements.iter().map(|element| element.to_vec()), world)?;
            Some(left)
        }
        Step::Intersection => {
            left.known.retain(|element| right.known.contains(element));
            left.elements.retain(|element| right.known.contains(element));
            Some(left)
        }
        _ => {
            let mut all = Set::default();
            let octets = |set: &Set| set.elements.iter().map(|element| element.len()).sum::<usize>();
            let pairs = left.elements.len().saturating_mul(right.elements.len());
            let length = octets(&left)
                .saturating_mul(right.elements.len())
                .saturating_add(octets(right).saturating_mul(left.elements.len()));
            if pairs > MAX_ELEMENTS || length > MAX_OCTETS {
                world.too_big();
                return None;
            }
            for one in &left.elements {
                all.add(right.elements.iter().map(|other| [&one[..], other].concat()), world)?;
            }
            Some(all)
        }
    }
}

fn follow(names: &Set, attribute: &str, is_closure: bool, world: &impl World) -> Option<Set> {
    let mut found = Set::default();
    for name in &names.elements {
        found.add(world.values(name, attribute).unwrap_or_default(), world)?;
    }
    let mut at = 0;
    while is_closure && let Some(name) = found.elements.get(at) {
        let values = world.values(name, attribute);
        found.add(values.unwrap_or_default(), world)?;
        at += 1;
    }
    Some(found)
}

/// The fuzz target: `data` is an expression, evaluated on [`Groups`].
pub(crate) fn fuzz(data: &[u8]) {
    let _ = Program::parse(data).holds(&Groups);
}

/// Memberships for tests: `g1` has members a and g2, `g2` has members b and g1.
struct Groups;

impl World for Groups {
    fn this(&self) -> Vec<u8> {
        b"cn=g1,o=x".to_vec()
    }
    fn user(&self) -> Option<Vec<u8>> {
        Some(b"cn=b,o=x".to_vec())
    }
    fn values(&self, name: &[u8], attribute: &str) -> Option<Vec<Vec<u8>>> {
        let members: &[&[u8]] = match (name, attribute) {
            (b"cn=g1,o=x", "member") => &[b"cn=a,o=x", b"cn=g2,o=x"],
            (b"cn=g2,o=x", "member") => &[b"cn=b,o=x", b"cn=g1,o=x"],
            (b"cn=b,o=x", "uid") => &[b"bob"],
            _ => return None,
        };
        Some(members.iter().map(|member| member.to_vec()).collect())
    }
    fn ancestor(&self, name: &[u8], levels: usize) -> Vec<u8> {
        let mut names = name.splitn(levels.saturating_add(1), |octet| *octet == b',');
        names.nth(levels).unwrap_or_default().to_vec()
    }
    fn is_attribute(&self, attribute: &str) -> bool {
        ["member", "uid"].contains(&attribute)
    }
    fn spend(&self, _: u64) -> bool {
        true
    }
    fn too_big(&self) {}
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn sets_are_what_slapd_makes_of_them() {
        for (text, holds) in [
            ("this", true),
            ("this/member & user", false),
            ("this/member* & user", true),
            ("this->member* & user", true),
            ("( this/member* ) & user", true),
            ("[cn=g2,o=x]/member & user", true),
            ("user/uid & [bob]", true),
            ("user/uid + [,] & [bob,]", true),
            ("[cn=b,o=x] & user | this/uid", true),
            ("this/uid | this/uid", false),
            ("this/-1 & user/-1", true),
            ("this/-2", true),
            ("[o=x] & user/-*", true),
            ("[o=y] & user/-*", false),
            ("this/nothing | user", false),
            ("this member", false),
            ("member", false),
            ("(this", false),
            ("[this", false),
            ("", false),
            ("this &", false),
        ] {
            assert_eq!(Program::parse(text.as_bytes()).holds(&Groups), holds, "{text}");
        }
    }

    #[test]
    fn nothing_grows_without_a_bound() {
        let text = format!("{}user{}", "(".repeat(10_000), ")".repeat(10_000));
        assert_eq!(Program::parse(text.as_bytes()), Program(None));
        let many = ["this/-*"; 200].join(" + ");
        assert!(!Program::parse(many.as_bytes()).holds(&Groups));
    }

    /// A group with this many members, none of which are groups.
    struct Crowd {
        members: usize,
        is_too_big: Cell<bool>,
    }

    impl Crowd {
        fn of(members: usize) -> Self {
            Self {
                members,
                is_too_big: Cell::new(false),
            }
        }
    }

    impl World for Crowd {
        fn this(&self) -> Vec<u8> {
            b"cn=all".to_vec()
        }
        fn user(&self) -> Option<Vec<u8>> {
            Some(format!("cn={}", self.members - 1).into_bytes())
        }
        fn values(&self, name: &[u8], _: &str) -> Option<Vec<Vec<u8>>> {
            let members = (0..self.members).map(|member| format!("cn={member}").into_bytes());
            (name == b"cn=all").then(|| members.collect())
        }
        fn ancestor(&self, _: &[u8], _: usize) -> Vec<u8> {
            Vec::new()
        }
        fn is_attribute(&self, _: &str) -> bool {
            true
        }
        fn spend(&self, _: u64) -> bool {
            true
        }
        fn too_big(&self) {
            self.is_too_big.set(true);
        }
    }

    /// Work that grows with the square of the members would take far too long.
    #[test]
    fn big_groups_are_followed_in_time_that_grows_with_them() {
        for (members, holds) in [(99_998, true), (100_001, false)] {
            for text in [
                "this/member* & user",
                "this/member & user",
                "user & (this/member | this)/-* | this/member & user",
            ] {
                let crowd = Crowd::of(members);
                assert_eq!(Program::parse(text.as_bytes()).holds(&crowd), holds, "{members} {text}");
                assert_eq!(crowd.is_too_big.get(), !holds, "{members} {text}");
            }
        }
        let long = ["this"; 30].join(" + ");
        assert!(Program::parse(long.as_bytes()).holds(&Crowd::of(1)));
        let text = format!("[{}] + this/member", "x".repeat(1000));
        let crowd = Crowd::of(50_000);
        assert!(!Program::parse(text.as_bytes()).holds(&crowd), "50 MB of text");
        assert!(crowd.is_too_big.get());
    }
}
