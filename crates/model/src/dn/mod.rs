//! Distinguished names (RFC 4514), in pretty and in normal form.

use smallvec::SmallVec;

use crate::Schema;

/// A distinguished name that was checked against a schema.
///
/// `pretty` is what is printed (slapd's pretty form: attribute types as given by the schema's first name, values with the
/// escapes that RFC 4514 needs and no others); `normalized` is the form that is compared and indexed: types lower-cased, values
/// normalized by their equality rule, RDNs leaf first, joined by `,`, multi-valued RDNs sorted. Two names are equal exactly when
/// their normal forms are.
#[derive(Clone, Debug, Default)]
pub struct Dn {
    pretty: Vec<u8>,
    normalized: Vec<u8>,
    /// For each RDN, leaf first: its ranges in `pretty` and in `normalized`.
    rdns: SmallVec<[RdnRange; 8]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RdnRange {
    pretty: (u32, u32),
    normalized: (u32, u32),
}

/// Not a distinguished name of this schema; maps to `invalidDNSyntax`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("invalid DN")]
pub struct InvalidDn;

impl PartialEq for Dn {
    fn eq(&self, other: &Self) -> bool {
        self.normalized == other.normalized
    }
}
impl Eq for Dn {}

impl Dn {
    /// The root, of no RDNs.
    pub fn root() -> Self {
        Self::default()
    }
    /// Parses an RFC 4514 string (RFC 2253 and LDAPv2 leniencies as slapd: `;`, spaces round separators, quotes).
    pub fn parse(schema: &Schema, text: &[u8]) -> Result<Self, InvalidDn> {
        let mut dn = Self::default();
        dn.parse_into(schema, text)?;
        Ok(dn)
    }
    /// As [`Dn::parse`], reusing this value's memory. On an error the value is the root.
    pub fn parse_into(&mut self, schema: &Schema, text: &[u8]) -> Result<(), InvalidDn> {
        let _ = (schema, text);
        todo!()
    }
    /// As printed.
    pub fn pretty(&self) -> &str {
        todo!()
    }
    /// As compared.
    pub fn normalized(&self) -> &[u8] {
        &self.normalized
    }
    /// Number of RDNs.
    pub fn depth(&self) -> usize {
        self.rdns.len()
    }
    /// Pretty and normal form of the RDN `level` steps above the leaf (0 = leaf).
    pub fn rdn(&self, level: usize) -> Option<(&[u8], &[u8])> {
        let _ = level;
        todo!()
    }
    /// The name without its leaf RDN; `None` for the root.
    pub fn parent(&self) -> Option<Dn> {
        todo!()
    }
    /// The ancestor that keeps the `depth` topmost RDNs.
    pub fn ancestor(&self, depth: usize) -> Dn {
        let _ = depth;
        todo!()
    }
    /// Whether this name is `base` or below it.
    pub fn is_within(&self, base: &Dn) -> bool {
        let _ = base;
        todo!()
    }
    /// `rdn` placed below `self`.
    pub fn child(&self, rdn: &Dn) -> Dn {
        let _ = rdn;
        todo!()
    }
    /// The attribute value assertions of the leaf RDN, values unescaped, in the order written.
    pub fn leaf_assertions(&self, schema: &Schema) -> Vec<(crate::AttributeDescription, Vec<u8>)> {
        let _ = schema;
        todo!()
    }
}
