//! A walk down one tree for several keys together: all lanes are at the same level, and each makes one probe in turn.
//! So what one lane reads from memory comes while the others probe.

use smallvec::SmallVec;

use super::{
    LANES,
    node::{Node, Page, leading},
    pages::{Mapped, request},
};
use crate::check::{
    file::Root,
    tree::{BRANCH, DEEPEST, LEAF},
};

/// One key's way down the tree.
pub(super) struct Lane<'t, 'k> {
    /// Which of the keys.
    pub(super) number: usize,
    key: &'k [u8],
    leading: u64,
    page: Option<Page<'t>>,
    /// Place of the first node that is still in question, and the number of such nodes.
    low: usize,
    left: usize,
}

/// Lanes on their way.
pub(super) type Lanes<'t, 'k> = SmallVec<[Lane<'t, 'k>; LANES]>;

impl<'t> Lane<'t, '_> {
    /// The first node whose key is not below the lane's own. `None`: it is not in this leaf.
    pub(super) fn node(&self) -> Option<Node<'t>> {
        let page = self.page.filter(|page| self.low < page.count)?;
        page.node(self.low)
    }

    /// Moves to a page. `false`: it is not what it should be.
    #[inline]
    fn enter(&mut self, pages: Mapped<'t>, number: u64, kind: u16) -> bool {
        self.page = pages.page(number).and_then(|bytes| Page::of(bytes, number, kind));
        // The first key of a branch page counts for nothing.
        self.low = usize::from(kind == BRANCH);
        self.left = self.page.map_or(0, |page| page.count.saturating_sub(self.low));
        self.request_next();
        self.page.is_some()
    }

    /// Halves what is in question. `false`: a node is damaged.
    #[inline]
    fn probe(&mut self, kind: u16) -> bool {
        let Some(page) = self.page else { return false };
        if self.left == 0 {
            return true;
        }
        let half = self.left / 2;
        let middle = self.low + half;
        let Some(found) = page.leading(middle) else {
            return false;
        };
        let mut is_before = found < self.leading;
        if found == self.leading {
            let Some(node) = page.node(middle) else { return false };
            is_before = if kind == BRANCH {
                node.key <= self.key
            } else {
                node.key < self.key
            };
        }
        // Both ways are computed: a jump would be foretold wrongly every second time.
        self.low = if is_before { middle + 1 } else { self.low };
        self.left = if is_before { self.left - half - 1 } else { half };
        self.request_next();
        true
    }

    /// Requests the node of the next probe.
    #[inline]
    fn request_next(&self) {
        if let Some(next) = self.page.and_then(|page| page.at_node(self.low + self.left / 2)) {
            request(next);
        }
    }

    /// The page of the next level.
    #[inline]
    fn child(&self) -> Option<u64> {
        Some(self.page?.node(self.low.checked_sub(1)?)?.child())
    }
}

/// Walks down to the leaves in which the keys are, or would be. A lane that meets something unexpected is left out.
#[inline]
pub(super) fn descend<'t, 'k>(pages: Mapped<'t>, root: &Root, keys: impl Iterator<Item = &'k [u8]>) -> Lanes<'t, 'k> {
    let mut lanes = Lanes::new();
    let Some(number) = root
        .page
        .filter(|_| root.flags == 0 && (1..=DEEPEST).contains(&root.depth))
    else {
        return lanes;
    };
    let kind_at = |level: u16| if level == root.depth { LEAF } else { BRANCH };
    lanes.extend(keys.take(LANES).enumerate().map(|(number, key)| Lane {
        number,
        key,
        leading: leading(key),
        page: None,
        low: 0,
        left: 0,
    }));
    lanes.retain(|lane| lane.enter(pages, number, kind_at(1)));
    for level in 1..=root.depth {
        let kind = kind_at(level);
        let mut most = lanes.iter().map(|lane| lane.left).max().unwrap_or(0);
        while most > 0 {
            lanes.retain(|lane| lane.probe(kind));
            most /= 2;
        }
        if level < root.depth {
            go_down(pages, &mut lanes, kind_at(level + 1));
        }
    }
    lanes
}

/// Moves all lanes one level down. The pages are requested first, and entered then.
fn go_down<'t>(pages: Mapped<'t>, lanes: &mut Lanes<'t, '_>, kind: u16) {
    let mut children = SmallVec::<[u64; LANES]>::new();
    lanes.retain(|lane| {
        let child = lane.child();
        if let Some(child) = child {
            pages.request_page(child);
            children.push(child);
        }
        child.is_some()
    });
    let mut children = children.into_iter();
    lanes.retain(|lane| children.next().is_some_and(|child| lane.enter(pages, child, kind)));
}
