//! Distinguished names (RFC 4514), in pretty and in normal form.

use std::{
    fmt::{self, Display, Formatter},
    hash::{Hash, Hasher},
    ops::ControlFlow,
};

use smallvec::SmallVec;

use crate::{AttributeDescription, Schema, schema::TypeNumber};

mod ber_value;
mod build;
mod der;
mod escape;
mod lexer;
mod limits;
pub mod name_and_uid;

#[cfg(test)]
mod tests;

pub use limits::{InvalidDn, MAX_LENGTH};

/// A distinguished name that was checked against a schema.
///
/// `pretty` is the printed form, as slapd prints it: each attribute type by its first name in the schema, and values
/// with only the escapes that RFC 4514 needs. `normalized` is the form that is compared and indexed: types lower-cased,
/// values normalized by their equality rule, RDNs leaf first, joined by `,`, multi-valued RDNs sorted. Two names are
/// equal exactly when their normal forms are equal.
///
/// Both forms escape in one way: `,` `+` `"` `\` `<` `>` `;` `=` and NUL, white space that begins or ends the value,
/// and a `#` that begins it, are `\` and two upper-case hexadecimal digits.
#[derive(Clone, Debug, Default)]
pub struct Dn {
    pretty: String,
    normalized: Vec<u8>,
    /// For each RDN, leaf first: its ranges in `pretty` and in `normalized`.
    rdns: SmallVec<[RdnRange; 8]>,
}

/// How long the two forms of a name are, in octets.
#[derive(Clone, Copy)]
struct FormLengths {
    pretty: u32,
    normalized: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RdnRange {
    pretty: (u32, u32),
    normalized: (u32, u32),
}

impl PartialEq for Dn {
    fn eq(&self, other: &Self) -> bool {
        self.normalized == other.normalized
    }
}
impl Eq for Dn {}

impl Hash for Dn {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.normalized.hash(state);
    }
}

impl Display for Dn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pretty)
    }
}

impl Dn {
    /// The root, of no RDNs.
    pub fn root() -> Self {
        Self::default()
    }
    /// Parses an RFC 4514 string (RFC 2253 and LDAPv2 leniencies as slapd: `;`, spaces round separators, quotes).
    ///
    /// Unlike slapd it also accepts `#hex` values (RFC 4514 §2.4) whose BER is a string, an integer, a boolean, an OID
    /// or a bit string. It refuses undefined attribute types (except those of [`Schema::gather_unknown_types`]), values
    /// that their syntax or UTF-8 forbid, empty values, a type twice in one RDN, and more than [`MAX_LENGTH`] bytes.
    pub fn parse(schema: &Schema, text: &[u8]) -> Result<Self, InvalidDn> {
        let mut dn = Self::default();
        dn.parse_into(schema, text)?;
        Ok(dn)
    }
    /// As [`Dn::parse`], reusing this value's memory. On an error the value is the root.
    pub fn parse_into(&mut self, schema: &Schema, text: &[u8]) -> Result<(), InvalidDn> {
        self.clear();
        let result = build::parse(self, schema, text, 0);
        if result.is_err() {
            self.clear();
        }
        result
    }
    /// The name of an X.509 issuer or subject: the DER of a `Name`, an RDNSequence (RFC 5280 §4.1.2.4).
    ///
    /// Attribute types that the schema does not know are kept as `oid=#hex`. So every certificate has a name that can
    /// be compared.
    pub fn from_rdn_sequence(schema: &Schema, der: &[u8]) -> Result<Self, InvalidDn> {
        let mut dn = Self::default();
        der::parse_rdn_sequence(&mut dn, schema, der)?;
        Ok(dn)
    }
    /// Makes this the root, keeping its memory.
    pub fn clear(&mut self) {
        self.pretty.clear();
        self.normalized.clear();
        self.rdns.clear();
    }
    /// The printed form.
    pub fn pretty(&self) -> &str {
        &self.pretty
    }
    /// The compared form.
    pub fn normalized(&self) -> &[u8] {
        &self.normalized
    }
    /// Number of RDNs.
    pub fn depth(&self) -> usize {
        self.rdns.len()
    }
    /// Whether this is the root.
    pub fn is_root(&self) -> bool {
        self.rdns.is_empty()
    }
    /// Pretty and normal form of the RDN `level` steps above the leaf (0 = leaf).
    pub fn rdn(&self, level: usize) -> Option<(&[u8], &[u8])> {
        let range = self.rdns.get(level)?;
        let pretty = self
            .pretty
            .as_bytes()
            .get(range.pretty.0 as usize..range.pretty.1 as usize)?;
        let normalized = self
            .normalized
            .get(range.normalized.0 as usize..range.normalized.1 as usize)?;
        Some((pretty, normalized))
    }
    /// The name without its leaf RDN; `None` for the root.
    pub fn parent(&self) -> Option<Dn> {
        Some(self.ancestor(self.depth().checked_sub(1)?))
    }
    /// The ancestor that keeps the `depth` topmost RDNs; the name itself when it has no more than that.
    #[must_use]
    pub fn ancestor(&self, depth: usize) -> Dn {
        let mut ancestor = Dn::default();
        ancestor.push_levels(self, self.depth().saturating_sub(depth)..self.depth());
        ancestor
    }
    /// Pretty and normal form of the ancestor that keeps the `depth` topmost RDNs, without a copy.
    pub fn ancestor_forms(&self, depth: usize) -> (&str, &[u8]) {
        let Some(range) = self.rdns.get(self.depth().saturating_sub(depth)).filter(|_| depth > 0) else {
            return ("", b"");
        };
        let pretty = self.pretty.get(range.pretty.0 as usize..).unwrap_or_default();
        (
            pretty,
            self.normalized.get(range.normalized.0 as usize..).unwrap_or_default(),
        )
    }
    /// Whether this name is `base` or below it.
    pub fn is_within(&self, base: &Dn) -> bool {
        base.depth() <= self.depth() && self.ancestor_forms(base.depth()).1 == base.normalized.as_slice()
    }
    /// Whether this name is immediately below `base`.
    pub fn is_child_of(&self, base: &Dn) -> bool {
        self.depth() == base.depth() + 1 && self.is_within(base)
    }
    /// `rdn` placed below `self`.
    #[must_use]
    pub fn child(&self, rdn: &Dn) -> Dn {
        let mut child = Dn::default();
        child.push_levels(rdn, 0..rdn.depth());
        child.push_levels(self, 0..self.depth());
        child
    }
    /// The same leaf RDN below another superior; `None` for the root.
    pub fn with_new_superior(&self, superior: &Dn) -> Option<Dn> {
        Some(superior.child(&self.leaf()?))
    }
    /// The leaf RDN as a name of its own; `None` for the root.
    pub fn leaf(&self) -> Option<Dn> {
        if self.is_root() {
            return None;
        }
        let mut leaf = Dn::default();
        leaf.push_levels(self, 0..1);
        Some(leaf)
    }
    /// This name moved from below `old` to below `new`; `None` when it is not within `old`.
    pub fn rebase(&self, old: &Dn, new: &Dn) -> Option<Dn> {
        if !self.is_within(old) {
            return None;
        }
        let kept = self.depth() - old.depth();
        let mut moved = Dn::default();
        moved.push_levels(self, 0..kept);
        moved.push_levels(new, 0..new.depth());
        Some(moved)
    }
    /// The attribute value assertions of the leaf RDN, values unescaped, in the order printed.
    pub fn leaf_assertions(&self, schema: &Schema) -> Vec<(AttributeDescription, Vec<u8>)> {
        let mut assertions = Vec::new();
        let _ = self.visit_assertions(schema, 0..1, &mut |attribute_type, value| {
            let description = AttributeDescription {
                attribute_type,
                options: SmallVec::new(),
            };
            assertions.push((description, value.to_vec()));
            ControlFlow::Continue(())
        });
        assertions
    }
    /// Whether the leaf RDN has an attribute type without a definition. [`Dn::leaf_assertions`] leaves such a type out.
    /// No entry has such a name.
    pub fn has_unknown_leaf_type(&self, schema: &Schema) -> bool {
        if !schema.takes_unknown_types() {
            return false;
        }
        let mut lexer = lexer::Lexer::new(self.rdn(0).unwrap_or_default().0);
        while let Ok(Some(ava)) = lexer.next_ava() {
            if schema.find_attribute_type(ava.name).is_none() {
                return true;
            }
        }
        false
    }
    /// Calls `visit` with type and unescaped value of each assertion in the RDNs of `levels` (0 = leaf), until `visit`
    /// breaks.
    pub fn visit_assertions(
        &self,
        schema: &Schema,
        levels: std::ops::Range<usize>,
        visit: &mut dyn FnMut(TypeNumber, &[u8]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for level in levels.start..levels.end.min(self.depth()) {
            let mut lexer = lexer::Lexer::new(self.rdn(level).unwrap_or_default().0);
            while let Ok(Some(ava)) = lexer.next_ava() {
                if let (Some(attribute), Ok(value)) = (schema.find_attribute_type(ava.name), ava.value.decode()) {
                    visit(attribute.number, &value)?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Appends `superior` above the topmost RDN of this name. The name keeps its memory.
    pub fn put_below(&mut self, superior: &Dn) {
        self.push_levels(superior, 0..superior.depth());
    }

    /// Appends RDNs of `other`. Both forms of a name are far below 4 GiB: its text was at most `MAX_LENGTH` per RDN.
    fn push_levels(&mut self, other: &Dn, levels: std::ops::Range<usize>) {
        let levels = other.rdns.get(levels).unwrap_or_default();
        let (Some(first), Some(last)) = (levels.first(), levels.last()) else {
            return;
        };
        let Ok(start) = self.begin_rdn() else { return };
        let pretty = other.pretty.get(first.pretty.0 as usize..last.pretty.1 as usize);
        let normalized = first.normalized.0 as usize..last.normalized.1 as usize;
        self.pretty.push_str(pretty.unwrap_or_default());
        self.normalized
            .extend_from_slice(other.normalized.get(normalized).unwrap_or_default());
        let moved = |(from, to): (u32, u32), first: u32, start: u32| (from - first + start, to - first + start);
        self.rdns.extend(levels.iter().map(|range| RdnRange {
            pretty: moved(range.pretty, first.pretty.0, start.pretty),
            normalized: moved(range.normalized, first.normalized.0, start.normalized),
        }));
    }
    /// Writes the separator and returns where the new RDN begins.
    fn begin_rdn(&mut self) -> Result<FormLengths, InvalidDn> {
        if !self.rdns.is_empty() {
            self.pretty.push(',');
            self.normalized.push(b',');
        }
        self.lengths()
    }
    fn end_rdn(&mut self, start: FormLengths) -> Result<(), InvalidDn> {
        let end = self.lengths()?;
        self.rdns.push(RdnRange {
            pretty: (start.pretty, end.pretty),
            normalized: (start.normalized, end.normalized),
        });
        Ok(())
    }
    fn lengths(&self) -> Result<FormLengths, InvalidDn> {
        let length = |n: usize| u32::try_from(n).map_err(|_| InvalidDn);
        Ok(FormLengths {
            pretty: length(self.pretty.len())?,
            normalized: length(self.normalized.len())?,
        })
    }
}
