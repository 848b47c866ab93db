//! cn=config as a value: nodes in slapd's order, attributes as text.

use ironbark_model::{Attribute, Dn, Entry, Schema, schema::Source};

use super::index;
use crate::{
    registry::Registry,
    setting::{Setting, base_attribute},
};

/// The whole of cn=config.
#[derive(Clone, PartialEq, Debug)]
pub struct Tree {
    /// `cn=config`.
    pub root: OlcNode,
    /// The parts that it may name.
    pub(crate) registry: Registry,
}

/// One entry of cn=config, with those below it.
#[derive(Clone, PartialEq, Debug)]
pub struct OlcNode {
    /// Attribute type of the RDN, as written.
    pub naming: String,
    /// Its value, with its `{n}`.
    pub name: String,
    /// Attributes in order, `objectClass` first; includes the attribute of the RDN and operational ones.
    pub attributes: Vec<(String, Vec<Vec<u8>>)>,
    /// Immediate subordinates, in order.
    pub children: Vec<OlcNode>,
    /// Where it was read; messages name this place.
    pub location: Source,
}

/// The kind of an entry of cn=config. The order is that of siblings.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum OlcKind {
    /// cn=config itself.
    Global,
    /// An included file.
    Include,
    /// A list of modules.
    Module,
    /// Schema definitions.
    Schema,
    /// Settings of a type of database.
    Backend,
    /// A database.
    Database,
    /// An overlay.
    Overlay,
}

impl OlcKind {
    /// The attribute of the RDN.
    pub(super) const fn naming(self) -> &'static str {
        match self {
            Self::Global | Self::Include | Self::Module | Self::Schema => "cn",
            Self::Backend => "olcBackend",
            Self::Database => "olcDatabase",
            Self::Overlay => "olcOverlay",
        }
    }

    /// Found by one of the classes that are not of a type of database or of an overlay.
    fn of_class(class: &str) -> Option<Self> {
        let named = |name: &str| name.eq_ignore_ascii_case(class);
        let kinds = [
            ("olcGlobal", Self::Global),
            ("olcIncludeFile", Self::Include),
            ("olcModuleList", Self::Module),
            ("olcSchemaConfig", Self::Schema),
            ("olcBackendConfig", Self::Backend),
            ("olcDatabaseConfig", Self::Database),
            ("olcOverlayConfig", Self::Overlay),
        ];
        kinds.into_iter().find(|(name, _)| named(name)).map(|(_, kind)| kind)
    }

    /// Found by the attribute of the RDN, where only one kind has it.
    fn of_naming(naming: &str) -> Option<Self> {
        let kinds = [Self::Backend, Self::Database, Self::Overlay];
        kinds
            .into_iter()
            .find(|kind| kind.naming().eq_ignore_ascii_case(naming))
    }
}

/// Whether two descriptions mean one attribute: certificates and keys may be written with or without `;binary`.
fn is_same(one: &str, other: &str) -> bool {
    base_attribute(one).eq_ignore_ascii_case(base_attribute(other))
}

impl OlcNode {
    /// An entry with its class.
    pub(super) fn new(naming: &str, name: impl Into<String>, classes: &[&str], location: Source) -> Self {
        let name = name.into();
        let mut node = Self {
            naming: naming.to_owned(),
            name: name.clone(),
            attributes: Vec::new(),
            children: Vec::new(),
            location,
        };
        for class in classes {
            node.add("objectClass", class.as_bytes().to_vec());
        }
        node.add(naming, name.into_bytes());
        node
    }

    /// Values of an attribute.
    pub fn values(&self, attribute: &str) -> &[Vec<u8>] {
        let found = self.attributes.iter().find(|(name, _)| is_same(name, attribute));
        found.map_or(&[], |(_, values)| values)
    }

    /// Values that are text.
    pub fn texts(&self, attribute: &str) -> impl Iterator<Item = &str> {
        self.values(attribute)
            .iter()
            .filter_map(|value| std::str::from_utf8(value).ok())
    }

    /// Adds a value behind the others.
    pub(super) fn add(&mut self, attribute: &str, value: Vec<u8>) {
        let known = self.attributes.iter_mut().find(|(name, _)| is_same(name, attribute));
        match known {
            Some((_, values)) => values.push(value),
            None => self.attributes.push((attribute.to_owned(), vec![value])),
        }
    }

    /// Sets the values of an attribute; none removes it.
    pub fn set(&mut self, attribute: &str, values: Vec<Vec<u8>>) {
        let known = self
            .attributes
            .iter_mut()
            .position(|(name, _)| is_same(name, attribute));
        match known {
            Some(at) if values.is_empty() => {
                self.attributes.remove(at);
            }
            Some(at) => {
                if let Some((_, held)) = self.attributes.get_mut(at) {
                    *held = values;
                }
            }
            None if values.is_empty() => {}
            None => self.attributes.push((attribute.to_owned(), values)),
        }
    }

    /// Sets the values of an attribute and moves it behind the others, as slapd does with replaced attributes.
    pub(super) fn replace(&mut self, attribute: &str, values: Vec<Vec<u8>>) {
        self.set(attribute, Vec::new());
        self.set(attribute, values);
    }

    /// Its kind; `None` if it is no entry of a configuration.
    pub fn kind(&self) -> Option<OlcKind> {
        let by_class = self.texts("objectClass").find_map(OlcKind::of_class);
        // It may name only the class of its overlay or its type of database.
        by_class.or_else(|| OlcKind::of_naming(&self.naming))
    }

    /// The row of one of its attributes.
    pub(super) fn row(&self, registry: &Registry, attribute: &str) -> Option<&'static Setting> {
        let overlay = (self.kind() == Some(OlcKind::Overlay)).then(|| self.index().1);
        registry.with_attribute_of(overlay, attribute)
    }

    /// Number and rest of the RDN's value.
    pub(super) fn index(&self) -> (Option<i64>, &str) {
        match self.kind() {
            Some(OlcKind::Module | OlcKind::Include) => index::split_behind(&self.name),
            _ => index::split(&self.name),
        }
    }

    /// Gives it another name. The attribute of the RDN follows.
    pub(super) fn rename(&mut self, name: String) {
        let naming = self.naming.clone();
        self.set(&naming, vec![name.clone().into_bytes()]);
        self.name = name;
    }

    /// Gives it the name of another node.
    pub(super) fn rename_as(&mut self, other: &Self) {
        if self.name != other.name {
            self.rename(other.name.clone());
        }
    }

    /// Gives it another number among its siblings.
    pub(super) fn renumber(&mut self, number: i64) {
        let (_, rest) = self.index();
        let name = match self.kind() {
            Some(OlcKind::Module | OlcKind::Include) => format!("{rest}{{{number}}}"),
            _ => format!("{{{number}}}{rest}"),
        };
        if name != self.name {
            self.rename(name);
        }
    }

    /// `naming=name`, escaped.
    pub fn rdn(&self) -> String {
        rdn_of(&self.naming, &self.name)
    }

    /// The number in the name; the greatest number if there is none.
    pub(super) fn position(&self) -> i64 {
        self.index().0.unwrap_or(i64::MAX)
    }

    /// Whether `rdn` names it, with or without its number.
    pub fn is_named(&self, naming: &str, name: &str) -> bool {
        self.naming.eq_ignore_ascii_case(naming)
            && (self.name.eq_ignore_ascii_case(name)
                || (self.kind() == Some(OlcKind::Database) && {
                    let (number, rest) = index::split(name);
                    number.is_none() && is_unnumbered(rest) && self.index().1.eq_ignore_ascii_case(rest)
                }))
    }
}

/// Databases that exist only once, so their names need no number.
fn is_unnumbered(name: &str) -> bool {
    ["config", "frontend"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(name))
}

/// `naming=name`, escaped.
pub(super) fn rdn_of(naming: &str, name: &str) -> String {
    format!("{naming}={}", escaped(name))
}

/// Escapes the characters of RFC 4514 §2.4.
fn escaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for (at, character) in value.char_indices() {
        let is_edge = at == 0 || at + character.len_utf8() == value.len();
        if matches!(character, '"' | '+' | ',' | ';' | '<' | '>' | '\\')
            || (is_edge && character == ' ')
            || (at == 0 && character == '#')
        {
            text.push('\\');
        }
        text.push(character);
    }
    text
}

impl Tree {
    /// The node with the RDNs of `path`, topmost (below cn=config) first.
    pub(super) fn find_mut(&mut self, path: &[(String, String)]) -> Option<&mut OlcNode> {
        path.iter().try_fold(&mut self.root, |node, (naming, name)| {
            node.children.iter_mut().find(|child| child.is_named(naming, name))
        })
    }

    /// All nodes, parents first, each with its DN.
    pub fn walk(&self) -> Vec<(String, &OlcNode)> {
        let mut found = Vec::new();
        walk(&self.root, "", &mut found);
        found
    }

    /// The nodes as entries. Attributes that the schema does not have are left out.
    pub fn entries(&self, schema: &Schema) -> Vec<Entry> {
        let nodes = self.walk();
        nodes
            .into_iter()
            .filter_map(|(dn, node)| {
                Some(Entry {
                    dn: Dn::parse(schema, dn.as_bytes()).ok()?,
                    attributes: attributes(schema, node),
                })
            })
            .collect()
    }
}

fn walk<'t>(node: &'t OlcNode, above: &str, found: &mut Vec<(String, &'t OlcNode)>) {
    let dn = if above.is_empty() {
        node.rdn()
    } else {
        format!("{},{above}", node.rdn())
    };
    found.push((dn.clone(), node));
    for child in &node.children {
        walk(child, &dn, found);
    }
}

fn attributes(schema: &Schema, node: &OlcNode) -> Vec<Attribute> {
    let known = node.attributes.iter().filter_map(|(name, values)| {
        Some(Attribute {
            description: schema.attribute_description(name.as_bytes()).ok()?,
            values: values.clone(),
        })
    });
    known.collect()
}

/// The RDNs of a name below cn=config, topmost first; `None` for any other name.
pub(super) fn path_of(schema: &Schema, dn: &Dn) -> Option<Vec<(String, String)>> {
    let mut path = Vec::new();
    for depth in 1..=dn.depth() {
        let name = dn.ancestor(depth);
        let mut assertions = name.leaf_assertions(schema);
        if assertions.len() != 1 {
            return None;
        }
        let (description, value) = assertions.pop()?;
        path.push((schema.description_text(&description), String::from_utf8(value).ok()?));
    }
    let (naming, name) = path.first()?;
    let is_config = naming.eq_ignore_ascii_case("cn") && name.eq_ignore_ascii_case("config");
    is_config.then(|| path.split_off(1))
}
