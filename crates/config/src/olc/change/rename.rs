//! Modify DN: another place among the siblings, and nothing else.

use ironbark_model::{Dn, ResultCode, Schema};

use super::{ChangeError, Stamps, first_number, is_fixed, is_numbered, renumber};
use crate::olc::{
    index,
    tree::{OlcKind, Tree, path_of},
};

impl Tree {
    /// The tree with an entry at another place among its siblings: `new_rdn` has another `{n}`.
    ///
    /// # Errors
    /// `noSuchObject`; `namingViolation` if more than the number would change; `unwillingToPerform` for another
    /// superior, and for an entry without a number.
    pub fn rename(
        &self,
        schema: &Schema,
        dn: &Dn,
        new_rdn: &Dn,
        new_superior: Option<&Dn>,
        stamps: &Stamps,
    ) -> Result<Self, ChangeError> {
        let unwilling = |text: &str| ChangeError::new(ResultCode::UNWILLING_TO_PERFORM, text);
        let path = path_of(schema, dn).ok_or_else(ChangeError::missing)?;
        let Some(((naming, name), above)) = path.split_last() else {
            return Err(unwilling("cn=config cannot be renamed"));
        };
        if new_superior.is_some_and(|superior| dn.parent().as_ref() != Some(superior)) {
            return Err(unwilling("entries of cn=config stay below their superior"));
        }
        let mut tree = self.clone();
        let parent = tree.find_mut(above).ok_or_else(ChangeError::missing)?;
        let at = parent.children.iter().position(|child| child.is_named(naming, name));
        let at = at.ok_or_else(ChangeError::missing)?;
        let Some(node) = parent.children.get(at) else {
            return Err(ChangeError::missing());
        };
        let Some(kind) = node
            .kind()
            .filter(|_| is_numbered(node, above.is_empty()) && !is_fixed(node))
        else {
            return Err(unwilling("the entry has a fixed place"));
        };
        let number = new_number(schema, new_rdn, kind, &node.naming, node.index().1)?;
        let mut node = parent.children.remove(at);
        stamps.mark_modified(&mut node);
        let siblings = parent.children.iter().enumerate();
        let mut of_kind = siblings.filter(|(_, other)| other.kind() == Some(kind) && !is_fixed(other));
        let rank = usize::try_from(number - first_number(kind)).unwrap_or(0);
        let place = of_kind.nth(rank).map(|(place, _)| place);
        let place = place.unwrap_or_else(|| super::place(&parent.children, kind, None));
        parent.children.insert(place, node);
        renumber(&mut parent.children, kind);
        Ok(tree)
    }
}

fn new_number(schema: &Schema, rdn: &Dn, kind: OlcKind, naming: &str, rest: &str) -> Result<i64, ChangeError> {
    let violation = || ChangeError::new(ResultCode::NAMING_VIOLATION, "only the number of the RDN can change");
    let assertions = rdn.leaf_assertions(schema);
    let [(description, value)] = assertions.as_slice() else {
        return Err(violation());
    };
    let value = std::str::from_utf8(value).map_err(|_| violation())?;
    let (number, new_rest) = match kind {
        OlcKind::Module | OlcKind::Include => index::split_behind(value),
        _ => index::split(value),
    };
    let is_same =
        schema.description_text(description).eq_ignore_ascii_case(naming) && new_rest.eq_ignore_ascii_case(rest);
    number
        .filter(|number| is_same && *number >= first_number(kind))
        .ok_or_else(violation)
}
