//! Delete: siblings move up.

use ironbark_model::{Dn, ResultCode, Schema};

use super::{ChangeError, is_fixed, renumber};
use crate::olc::tree::{OlcKind, Tree, path_of};

impl Tree {
    /// The tree without an entry.
    ///
    /// # Errors
    /// `noSuchObject`; `notAllowedOnNonLeaf`; `unwillingToPerform` for entries that must always exist.
    pub fn delete(&self, schema: &Schema, dn: &Dn) -> Result<Self, ChangeError> {
        let path = path_of(schema, dn).ok_or_else(ChangeError::missing)?;
        let Some(((naming, name), above)) = path.split_last() else {
            return Err(needed());
        };
        let mut tree = self.clone();
        let parent = tree.find_mut(above).ok_or_else(ChangeError::missing)?;
        let at = parent.children.iter().position(|child| child.is_named(naming, name));
        let at = at.ok_or_else(ChangeError::missing)?;
        let (Some(node), below_root) = (parent.children.get(at), above.is_empty()) else {
            return Err(ChangeError::missing());
        };
        let Some(kind) = node.kind() else {
            return Err(needed());
        };
        if is_fixed(node) || (kind == OlcKind::Schema && below_root) {
            return Err(needed());
        }
        if !node.children.is_empty() {
            return Err(ChangeError::new(
                ResultCode::NOT_ALLOWED_ON_NON_LEAF,
                "subordinate objects must be deleted first",
            ));
        }
        parent.children.remove(at);
        renumber(&mut parent.children, kind);
        Ok(tree)
    }
}

fn needed() -> ChangeError {
    ChangeError::new(ResultCode::UNWILLING_TO_PERFORM, "every server has this entry")
}
