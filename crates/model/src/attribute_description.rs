//! Attribute descriptions: a type and its options (RFC 4512 §2.5).

use smallvec::SmallVec;

use crate::schema::TypeNumber;

/// A resolved attribute description: equal descriptions are equal values.
///
/// Options are lower-cased, sorted and free of duplicates, so that `cn;B;a` and `CN;a;b` are the same (RFC 4512 §2.5.2).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct AttributeDescription {
    /// The attribute type.
    pub attribute_type: TypeNumber,
    /// Normalized options, `binary` included.
    pub options: SmallVec<[Box<str>; 1]>,
}
