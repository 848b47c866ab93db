//! Normal forms as text.

use super::{
    MatchingRule, integers, object_identifiers,
    rule::{GENERALIZED_TIME_MATCH, INTEGER_MATCH, OBJECT_IDENTIFIER_MATCH},
    time,
};
use crate::Schema;

impl MatchingRule {
    /// A normal form as text. Patterns are matched against this text, and it is filled into them.
    pub fn written(&self, schema: &Schema, normal: Vec<u8>) -> Vec<u8> {
        let text = match self.oid {
            INTEGER_MATCH => integers::written(&normal),
            GENERALIZED_TIME_MATCH => time::written(&normal),
            OBJECT_IDENTIFIER_MATCH => object_identifiers::written(schema, &normal),
            _ => None,
        };
        text.unwrap_or(normal)
    }
}
