//! One of LMDB's trees, walked page by page: every page is where it should be, holds what it should, and is in use
//! once.
//!
//! ```text
//! branch, leaf  from byte 16 the places (2 bytes each) of the nodes, in the order of their keys; the nodes fill the page from its end
//! node          2 bytes low, 2 bytes high, 2 bytes flags, 2 bytes length of the key, the key
//!               branch: low, high and flags are the page number of the child; the first key counts for nothing
//!               leaf: low and high are the length of the value, which follows; flags: 1 the value is on overflow pages, whose first
//!               follows as 8 bytes; 2 the value is a tree; 4 several values (none of ours)
//! ```

use super::{
    file::{HEADER, Meta, PageFile, ROOT_BYTES, Root, u16_at, u32_at, u64_at},
    findings::CheckFindings,
};
use crate::StoreError;

/// How keys of a tree are ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Bytes,
    /// Numbers of eight bytes in the machine's order.
    Numbers,
}

/// The value of a leaf's node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'p> {
    Here(&'p [u8]),
    /// Number of the first page, length.
    Overflow(u64, u64),
    Tree(Root),
}

/// Pages that have been seen.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    bits: Vec<u64>,
    count: u64,
}

impl Pages {
    /// For pages below `count`.
    pub(crate) fn new(count: u64) -> Result<Self, StoreError> {
        let words = usize::try_from(count.div_ceil(64)).unwrap_or(usize::MAX);
        let mut bits = Vec::new();
        let room = bits.try_reserve_exact(words);
        room.map_err(|_| StoreError::Format(format!("no memory to keep account of {count} pages")))?;
        bits.resize(words, 0);
        Ok(Self { bits, count })
    }
    /// Marks a page; `false` when it was marked.
    pub(crate) fn mark(&mut self, page: u64) -> bool {
        let at = usize::try_from(page / 64).unwrap_or(usize::MAX);
        let Some(word) = self.bits.get_mut(at).filter(|_| page < self.count) else {
            return true;
        };
        let bit = 1 << (page % 64);
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }
}

/// The file that is walked, and what is known of it.
pub(crate) struct Walk<'w> {
    pub(crate) file: &'w PageFile,
    pub(crate) meta: Meta,
    pub(crate) pages: Pages,
    pub(crate) findings: &'w mut CheckFindings,
}

impl<'w> Walk<'w> {
    /// A walk over a commit, which has come by no page yet.
    pub(crate) fn new(file: &'w PageFile, meta: Meta, findings: &'w mut CheckFindings) -> Result<Self, StoreError> {
        Ok(Self {
            file,
            meta,
            pages: Pages::new(file.length()? / file.page_size() as u64)?,
            findings,
        })
    }
}

/// Calls with the key and value of each node.
type Visit<'v> = &'v mut dyn FnMut(&mut Walk<'_>, &[u8], Value<'_>) -> Result<(), StoreError>;

/// A walk over one tree.
struct Progress<'n> {
    name: &'n str,
    root: Root,
    order: Order,
    /// The last key.
    last: Vec<u8>,
    /// No later key may be below this one.
    floor: Vec<u8>,
    branches: u64,
    leaves: u64,
    overflows: u64,
    entries: u64,
}

pub(crate) const BRANCH: u16 = 1;
pub(crate) const LEAF: u16 = 2;
const OVERFLOW: u16 = 4;
/// The flags of a page that mean something in a file.
pub(crate) const KINDS: u16 = 0x2f;
/// Bytes of a node before its key.
pub(crate) const NODE: usize = 8;
const LONGEST_KEY: usize = 511;
/// A node whose value is on overflow pages.
pub(crate) const BIG: u16 = 1;
const TREE: u16 = 2;
/// No tree is deeper.
pub(crate) const DEEPEST: u16 = 32;

/// A node in a page.
#[derive(Clone, Copy)]
struct Node<'p> {
    key: &'p [u8],
    flags: u16,
    /// Length of the value.
    length: usize,
    /// What follows the key.
    rest: &'p [u8],
}

impl Node<'_> {
    fn child(&self) -> u64 {
        self.length as u64 | u64::from(self.flags) << 32
    }
    /// Bytes that the node takes in its page.
    fn size(&self, leaf: bool) -> usize {
        let value = match leaf {
            false => 0,
            true if self.flags & BIG != 0 => 8,
            true => self.length,
        };
        (NODE + self.key.len() + value).next_multiple_of(2)
    }
}

/// The length of a value in a leaf, or the lower part of a child's number, of the node at a place.
#[inline]
pub(crate) fn node_length(page: &[u8], place: usize) -> Option<usize> {
    Some(usize::from(u16_at(page, place)?) | usize::from(u16_at(page, place + 2)?) << 16)
}

/// The nodes of a branch or leaf page. `None`: they do not fit into it.
fn nodes(page: &[u8], leaf: bool) -> Option<Vec<Node<'_>>> {
    let (lower, upper) = (usize::from(u16_at(page, 12)?), usize::from(u16_at(page, 14)?));
    if lower < HEADER || lower % 2 != 0 || upper < lower || upper > page.len() {
        return None;
    }
    let mut nodes = Vec::with_capacity((lower - HEADER) / 2);
    let mut used = 0;
    for at in (HEADER..lower).step_by(2) {
        let place = usize::from(u16_at(page, at)?);
        if place < upper {
            return None;
        }
        let key_length = usize::from(u16_at(page, place + 6)?);
        let key = page.get(place + NODE..)?.get(..key_length)?;
        let length = node_length(page, place)?;
        let node = Node {
            key,
            flags: u16_at(page, place + 4)?,
            length,
            rest: page.get(place + NODE + key_length..)?,
        };
        used += node.size(leaf);
        nodes.push(node);
    }
    // The nodes lie side by side, so none overlaps another, and each is as long as it says.
    (used == page.len() - upper).then_some(nodes)
}

impl Walk<'_> {
    /// Walks one tree and calls `visit` with each of its nodes in the order of their keys.
    pub(crate) fn tree(&mut self, name: &str, root: Root, order: Order, visit: Visit<'_>) -> Result<(), StoreError> {
        let mut progress = Progress {
            name,
            root,
            order,
            last: Vec::new(),
            floor: Vec::new(),
            branches: 0,
            leaves: 0,
            overflows: 0,
            entries: 0,
        };
        let before = self.findings.count();
        match root.page {
            Some(_) if root.depth > DEEPEST => self.findings.add(format!("{name}: a depth of {}", root.depth)),
            Some(page) => self.below(&mut progress, page, 1, visit)?,
            None => {}
        }
        let counted = [
            (progress.branches, root.branches, "branch pages"),
            (progress.leaves, root.leaves, "leaf pages"),
            (progress.overflows, root.overflows, "overflow pages"),
            (progress.entries, root.entries, "rows"),
        ];
        // Where something is unreadable, the sums say nothing more.
        let is_readable = self.findings.count() == before;
        for (found, said, what) in counted {
            if is_readable && found != said {
                self.findings.add(format!("{name}: {found} {what} instead of {said}"));
            }
        }
        Ok(())
    }

    /// Reads the root page of a tree, and nothing below it.
    pub(crate) fn root(&mut self, name: &str, root: Root) -> Result<(), StoreError> {
        let Some(number) = root.page else { return Ok(()) };
        let mut page = Vec::new();
        let Some(kind) = self.take(name, number, &mut page)? else {
            return Ok(());
        };
        let leaf = root.depth == 1;
        if kind != if leaf { LEAF } else { BRANCH } || nodes(&page, leaf).is_none() {
            self.damage(name, number, "is not the root that it should be");
        }
        Ok(())
    }

    /// Walks the page and everything below it.
    fn below(&mut self, tree: &mut Progress<'_>, number: u64, level: u16, visit: Visit<'_>) -> Result<(), StoreError> {
        if self.findings.is_enough() {
            return Ok(());
        }
        let mut page = Vec::new();
        let Some(kind) = self.take(tree.name, number, &mut page)? else {
            return Ok(());
        };
        let leaf = level == tree.root.depth;
        if kind != if leaf { LEAF } else { BRANCH } {
            self.damage(tree.name, number, "is of another kind than its place in the tree");
            return Ok(());
        }
        let Some(nodes) = nodes(&page, leaf) else {
            self.damage(tree.name, number, "does not hold what it says");
            return Ok(());
        };
        if leaf {
            tree.leaves += 1;
            tree.entries += nodes.len() as u64;
            for node in nodes {
                self.leaf(tree, number, node, visit)?;
            }
            return Ok(());
        }
        tree.branches += 1;
        for (at, node) in nodes.into_iter().enumerate() {
            if at > 0 {
                if !tree.order.is_above(node.key, &tree.last) {
                    self.damage(tree.name, number, "divides its children at a wrong place");
                }
                node.key.clone_into(&mut tree.floor);
            }
            self.below(tree, node.child(), level + 1, visit)?;
        }
        Ok(())
    }

    fn leaf(&mut self, tree: &mut Progress<'_>, page: u64, node: Node<'_>, visit: Visit<'_>) -> Result<(), StoreError> {
        let key = node.key;
        let is_key = key.len() <= LONGEST_KEY && (tree.order == Order::Bytes || key.len() == 8);
        let in_order = tree.last.is_empty() || tree.order.is_above(key, &tree.last);
        if !is_key || !in_order || tree.order.is_above(&tree.floor, key) && !tree.floor.is_empty() {
            self.damage(tree.name, page, "has a key out of order");
        }
        key.clone_into(&mut tree.last);
        let value = match node.flags {
            0 => node.rest.get(..node.length).map(Value::Here),
            BIG => u64_at(node.rest, 0).map(|first| Value::Overflow(first, node.length as u64)),
            TREE if node.length == ROOT_BYTES => Root::read(node.rest, 0).map(Value::Tree),
            _ => None,
        };
        let Some(value) = value else {
            self.damage(tree.name, page, "has a value of an unknown kind");
            return Ok(());
        };
        if let Value::Overflow(first, length) = value {
            let Some(pages) = self.overflow(tree.name, first, length)? else {
                return Ok(());
            };
            tree.overflows += pages;
        }
        visit(self, key, value)
    }

    /// Reads overflow pages and returns their number. `None`: something is wrong with them.
    fn overflow(&mut self, name: &str, first: u64, length: u64) -> Result<Option<u64>, StoreError> {
        let mut page = Vec::new();
        let Some(kind) = self.take(name, first, &mut page)? else {
            return Ok(None);
        };
        let count = u32_at(&page, 12).map_or(0, u64::from);
        let size = self.file.page_size() as u64;
        if kind != OVERFLOW || count.saturating_mul(size) < length + HEADER as u64 {
            self.damage(name, first, "lacks the long value that it should hold");
            return Ok(None);
        }
        let last = first + count - 1;
        let end = last.saturating_add(1).saturating_mul(size);
        if last > self.meta.last_page || end > self.file.length()? {
            self.damage(name, last, "lies beyond the end");
            return Ok(None);
        }
        for page in first + 1..=last {
            if !self.pages.mark(page) {
                self.damage(name, page, "is in use twice");
                return Ok(None);
            }
        }
        Ok(Some(count))
    }

    /// Reads a page that is named for the first time, and returns its kind. `None`: it cannot be read.
    fn take(&mut self, name: &str, number: u64, page: &mut Vec<u8>) -> Result<Option<u16>, StoreError> {
        if number < 2 || number > self.meta.last_page || !self.file.page(number, page)? {
            self.damage(name, number, "lies beyond the end");
            return Ok(None);
        }
        if u64_at(page, 0) != Some(number) {
            self.damage(name, number, "bears another number");
            return Ok(None);
        }
        if !self.pages.mark(number) {
            self.damage(name, number, "is in use twice");
            return Ok(None);
        }
        Ok(u16_at(page, 10).map(|flags| flags & KINDS))
    }

    fn damage(&mut self, name: &str, page: u64, what: &str) {
        self.findings.add(format!("{name}: page {page} {what}"));
    }
}

impl Order {
    /// Whether `a` comes behind `b`.
    fn is_above(self, a: &[u8], b: &[u8]) -> bool {
        match self {
            Self::Bytes => a > b,
            Self::Numbers => u64_at(a, 0) > u64_at(b, 0),
        }
    }
}
