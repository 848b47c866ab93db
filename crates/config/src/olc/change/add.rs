//! Add: a new entry gets its number, and its siblings make room.

use ironbark_model::{Dn, Entry, ResultCode, Schema};

use super::{ChangeError, Stamps, check_schema, is_fixed, is_numbered, place, renumber};
use crate::{
    olc::{
        index,
        tree::{OlcKind, OlcNode, Tree, path_of},
    },
    registry::Registry,
};

impl Tree {
    /// The tree with a new entry.
    ///
    /// # Errors
    /// `noSuchObject` without its superior; `entryAlreadyExists`; `namingViolation` at a place where it is not allowed;
    /// `objectClassViolation` and other refusals of the schema.
    pub fn add(&self, schema: &Schema, entry: &Entry, stamps: &Stamps) -> Result<Self, ChangeError> {
        let path = path_of(schema, &entry.dn).ok_or_else(ChangeError::missing)?;
        let Some(((naming, name), above)) = path.split_last() else {
            return Err(exists());
        };
        let mut tree = self.clone();
        let parent = tree.find_mut(above).ok_or_else(ChangeError::missing)?;
        let mut node = node_of(schema, entry, naming, name);
        arrange(&self.registry, &mut node);
        let kind = check_place(parent, &node, above.is_empty())?;
        check_schema(schema, &mut node, true)?;
        let wanted = node.index().0;
        number(parent, &mut node, kind, above.is_empty())?;
        check_behind(parent, &node, kind, wanted)?;
        for (attribute, values) in &mut node.attributes {
            if self
                .registry
                .with_attribute(attribute)
                .is_some_and(|row| row.form.is_ordered())
            {
                index::arrange(values);
            }
        }
        stamps.mark_created(&mut node);
        let at = place(&parent.children, kind, node.index().0);
        parent.children.insert(at, node);
        if kind != OlcKind::Schema || !above.is_empty() {
            renumber(&mut parent.children, kind);
        }
        Ok(tree)
    }

    /// A tree with this topmost entry.
    ///
    /// # Errors
    /// `noSuchObject` for any other name than cn=config; refusals of the schema.
    pub fn begin(registry: &Registry, schema: &Schema, entry: &Entry, stamps: &Stamps) -> Result<Self, ChangeError> {
        if path_of(schema, &entry.dn).is_none_or(|path| !path.is_empty()) {
            return Err(ChangeError::missing());
        }
        let mut root = node_of(schema, entry, "cn", "config");
        arrange(registry, &mut root);
        if root.kind() != Some(OlcKind::Global) {
            return Err(ChangeError::new(
                ResultCode::OBJECT_CLASS_VIOLATION,
                "cn=config must be an olcGlobal",
            ));
        }
        check_schema(schema, &mut root, true)?;
        stamps.mark_created(&mut root);
        Ok(Self {
            root,
            registry: registry.clone(),
        })
    }

    /// Adds the entries that every server has and the tree lacks: the schema's entry, the frontend, cn=config itself.
    pub fn complete(&mut self) {
        let here = self.root.location.clone();
        let is_there =
            |tree: &Self, naming: &str, name: &str| tree.root.children.iter().any(|child| child.is_named(naming, name));
        let mut missing = Vec::new();
        if !is_there(self, "cn", "schema") {
            missing.push(OlcNode::new("cn", "schema", &["olcSchemaConfig"], here.clone()));
        }
        if !is_there(self, "olcDatabase", "frontend") {
            let classes = ["olcDatabaseConfig", "olcFrontendConfig"];
            missing.push(OlcNode::new("olcDatabase", "{-1}frontend", &classes, here.clone()));
        }
        if !is_there(self, "olcDatabase", "config") {
            missing.push(OlcNode::new("olcDatabase", "{0}config", &["olcDatabaseConfig"], here));
        }
        for node in missing {
            let kind = node.kind().unwrap_or(OlcKind::Database);
            let at = place(&self.root.children, kind, node.index().0);
            self.root.children.insert(at, node);
        }
    }

    /// Gives its operational attributes to every entry that has none.
    pub fn stamp(&mut self, schema: &Schema, next: &mut dyn FnMut() -> Stamps) {
        stamp(&mut self.root, schema, next);
    }

    /// Inserts a stored entry unchanged. The tree of a configuration directory is built from such entries, superiors
    /// first.
    ///
    /// # Errors
    /// As for [`Tree::add`], except those of the schema.
    pub(crate) fn place_stored(&mut self, path: &[(String, String)], node: OlcNode) -> Result<(), ChangeError> {
        let Some((_, above)) = path.split_last() else {
            return Err(exists());
        };
        let parent = self.find_mut(above).ok_or_else(ChangeError::missing)?;
        let kind = check_place(parent, &node, above.is_empty())?;
        let at = place(&parent.children, kind, node.index().0);
        parent.children.insert(at, node);
        Ok(())
    }
}

fn stamp(node: &mut OlcNode, schema: &Schema, next: &mut dyn FnMut() -> Stamps) {
    if node.values("entryUUID").is_empty() {
        // A tree that the server itself made fits its schema.
        let _ = check_schema(schema, node, true);
        next().mark_created(node);
    }
    for child in &mut node.children {
        stamp(child, schema, next);
    }
}

fn exists() -> ChangeError {
    ChangeError::new(ResultCode::ENTRY_ALREADY_EXISTS, "")
}

/// The entry as a node, with the requested name.
fn node_of(schema: &Schema, entry: &Entry, naming: &str, name: &str) -> OlcNode {
    let named = |dn: &Dn| format!("{} of cn=config", dn.pretty());
    let mut node = OlcNode {
        naming: naming.to_owned(),
        name: name.to_owned(),
        attributes: Vec::new(),
        children: Vec::new(),
        location: ironbark_model::schema::Source {
            file: named(&entry.dn).into(),
            line: 0,
        },
    };
    for attribute in &entry.attributes {
        let name = schema.description_text(&attribute.description);
        node.attributes.push((name, attribute.values.clone()));
    }
    node
}

/// An entry as another server has it, with its operational attributes, in the order of that server.
pub(in crate::olc) fn node_as_sent(
    schema: &Schema,
    registry: &Registry,
    entry: &Entry,
    naming: &str,
    name: &str,
) -> OlcNode {
    let mut node = node_of(schema, entry, naming, name);
    node.attributes
        .sort_by_key(|(name, _)| !name.eq_ignore_ascii_case("objectClass"));
    for (attribute, values) in &mut node.attributes {
        if registry
            .with_attribute(attribute)
            .is_some_and(|row| row.form.is_ordered())
        {
            index::arrange(values);
        }
    }
    node
}

/// Arranges the attributes in slapd's order: those of the classes, then the others.
fn arrange(registry: &Registry, node: &mut OlcNode) {
    let order = registry.order_of(node.texts("objectClass").collect::<Vec<_>>().into_iter());
    let place = |name: &str| {
        if name.eq_ignore_ascii_case("objectClass") {
            return 0;
        }
        let names = registry.with_attribute(name).map_or(&[][..], |row| row.attributes);
        let found = order.iter().position(|known| *known == name || names.contains(known));
        found.map_or(usize::MAX, |found| found + 1)
    };
    node.attributes.sort_by_key(|(name, _)| place(name));
}

/// The kind of the node, if such a node may stand there.
pub(in crate::olc) fn check_kind_at(
    parent: &OlcNode,
    node: &OlcNode,
    is_below_root: bool,
) -> Result<OlcKind, ChangeError> {
    let Some(kind) = node.kind() else {
        return Err(ChangeError::new(
            ResultCode::OBJECT_CLASS_VIOLATION,
            "the entry has no object class of cn=config",
        ));
    };
    let refuse = |text: &str| Err(ChangeError::new(ResultCode::NAMING_VIOLATION, text));
    if !node.naming.eq_ignore_ascii_case(kind.naming()) {
        return refuse(&format!("the RDN must be of {}", kind.naming()));
    }
    let may_stand = match kind {
        OlcKind::Global => false,
        OlcKind::Schema if is_below_root => node.name.eq_ignore_ascii_case("schema"),
        OlcKind::Schema => parent.kind() == Some(OlcKind::Schema),
        OlcKind::Overlay => parent.kind() == Some(OlcKind::Database),
        OlcKind::Include | OlcKind::Module | OlcKind::Backend | OlcKind::Database => is_below_root,
    };
    if !may_stand {
        return refuse("an entry of this class is not allowed there");
    }
    Ok(kind)
}

/// The kind of the node, if it is allowed there.
fn check_place(parent: &OlcNode, node: &OlcNode, is_below_root: bool) -> Result<OlcKind, ChangeError> {
    let kind = check_kind_at(parent, node, is_below_root)?;
    let is_taken = if is_numbered(node, is_below_root) {
        is_fixed(node)
            && parent
                .children
                .iter()
                .any(|child| child.is_named(&node.naming, &node.name))
    } else {
        parent
            .children
            .iter()
            .any(|child| child.is_named(&node.naming, &node.name))
    };
    if is_taken { Err(exists()) } else { Ok(kind) }
}

/// As in slapd, a new schema or backend comes behind those that are there.
fn check_behind(parent: &OlcNode, node: &OlcNode, kind: OlcKind, wanted: Option<i64>) -> Result<(), ChangeError> {
    if wanted.is_none() || !matches!(kind, OlcKind::Schema | OlcKind::Backend) {
        return Ok(());
    }
    let mut siblings = parent.children.iter().filter(|sibling| sibling.kind() == Some(kind));
    if siblings.any(|sibling| sibling.index().0 >= node.index().0) {
        let text = "operation requires sibling renumbering";
        return Err(ChangeError::new(ResultCode::UNWILLING_TO_PERFORM, text));
    }
    Ok(())
}

/// Gives the node its number, in its name and in the value of its RDN.
pub(in crate::olc) fn number(
    parent: &OlcNode,
    node: &mut OlcNode,
    kind: OlcKind,
    is_below_root: bool,
) -> Result<(), ChangeError> {
    if !is_numbered(node, is_below_root) {
        return Ok(());
    }
    let (wanted, rest) = node.index();
    let rest = rest.to_owned();
    let fixed = match (kind, rest.to_ascii_lowercase().as_str()) {
        (OlcKind::Database, "frontend") => Some(-1),
        (OlcKind::Database, "config") => Some(0),
        _ => None,
    };
    if let Some(number) = fixed {
        if parent
            .children
            .iter()
            .any(|child| child.kind() == Some(kind) && child.index().0 == Some(number))
        {
            return Err(exists());
        }
        node.renumber(number);
        return Ok(());
    }
    let first = super::first_number(kind);
    let siblings = parent
        .children
        .iter()
        .filter(|child| child.kind() == Some(kind) && !is_fixed(child));
    let next = first.saturating_add(i64::try_from(siblings.count()).unwrap_or(i64::MAX));
    node.renumber(wanted.unwrap_or(next).clamp(first, next));
    Ok(())
}
