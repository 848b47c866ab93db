//! Items that must all match: what the indexes say of each, and which of them are worth reading.

use smallvec::SmallVec;

use super::{
    conjunction::Conjunction,
    leaf::ListKey,
    planner::{Answer, FEW, Planner, READ_AT_ONCE, READ_FACTOR, SHORT},
};
use crate::{StoreError, posting::IdSet};

impl Planner<'_, '_> {
    /// Probes all children of an AND; a small set ends it at once.
    pub(super) fn probe_and(&mut self, at: usize) -> Result<Answer, StoreError> {
        match self.look_at_and(at)? {
            Looked::Done(answer) => Ok(answer),
            Looked::Operands(operands) => self.combine_if_cheap(operands),
        }
    }
    pub(super) fn fetch_and(&mut self, at: usize) -> Result<Answer, StoreError> {
        match self.look_at_and(at)? {
            Looked::Done(answer) => Ok(answer),
            Looked::Operands(operands) => self.combine(operands),
        }
    }
    #[inline]
    pub(super) fn look_at_and(&mut self, at: usize) -> Result<Looked, StoreError> {
        let mut operands = Operands::default();
        let mut children: SmallVec<[usize; 8]> = self.children(at).collect();
        // Items that cost one look-up and often decide alone come first: `(&(objectClass=person)(uid=x))` looks at uid
        // only.
        children.sort_by_key(|&child| !self.is_plain_equality(child));
        let mut later: SmallVec<[usize; 2]> = SmallVec::new();
        let worth = self.derived_worth.take();
        for child in children {
            let answer = self.probe(child)?;
            match answer {
                Answer::Later => later.push(child),
                Answer::Set(few, _) if few.len() <= FEW => {
                    self.derived_worth = worth;
                    return Ok(Looked::Done(Answer::Set(few, false)));
                }
                answer => operands.add(child, answer),
            }
        }
        self.derived_worth = worth;
        for child in later {
            let Some(worth) = worth else {
                return Ok(Looked::Done(Answer::Later));
            };
            // What spares no verification that costs more is not looked up.
            let smallest = operands.smallest().unwrap_or(u64::MAX);
            self.derived_worth = Some(worth.min(smallest.saturating_mul(READ_FACTOR)));
            let answer = self.probe(child)?;
            self.derived_worth = Some(worth);
            match answer {
                Answer::Set(few, _) if few.len() <= FEW => return Ok(Looked::Done(Answer::Set(few, false))),
                answer => operands.add(child, answer),
            }
        }
        Ok(if operands.are_everything {
            Looked::Done(Answer::Everything)
        } else {
            Looked::Operands(operands)
        })
    }
    #[inline]
    pub(super) fn combine_if_cheap(&mut self, operands: Operands) -> Result<Answer, StoreError> {
        match operands.smallest() {
            Some(count) if count > READ_AT_ONCE && !operands.are_lists() => Ok(Answer::Large(count)),
            _ => self.combine(operands),
        }
    }
    /// The common entries of all operands: reads the smallest, and others while reading them pays.
    pub(super) fn combine(&mut self, operands: Operands) -> Result<Answer, StoreError> {
        let are_lists = operands.are_lists();
        let Operands { lists, mut others, .. } = operands;
        match lists {
            Some(lists) if are_lists && lists.estimate() > SHORT => return Ok(Answer::Lists(lists, false)),
            Some(lists) => others.push((lists.estimate(), Operand::Common(lists))),
            None => {}
        }
        others.sort_by_key(|operand| operand.0);
        let mut result: Option<IdSet> = None;
        for (count, operand) in others {
            let candidates = result.as_ref().map_or(u64::MAX, IdSet::len);
            let is_read = matches!(operand, Operand::Set(_) | Operand::Common(_));
            if candidates <= FEW || !is_read && !pays(candidates, count) {
                break;
            }
            if let (Operand::Common(lists), Some(set)) = (&operand, &result) {
                result = Some(lists.narrow(self.view, set)?);
                continue;
            }
            let Some(set) = self.read(operand)? else { continue };
            match &mut result {
                None => result = Some(set),
                Some(result) => result.intersect(&set),
            }
        }
        Ok(result.map_or(Answer::Unknown, |set| Answer::Set(set, false)))
    }
    fn read(&mut self, operand: Operand) -> Result<Option<IdSet>, StoreError> {
        Ok(match operand {
            Operand::Set(set) => Some(set),
            Operand::Common(lists) => Some(lists.read(self.view)?),
            Operand::Lists(lists) => Some(self.union(&SmallVec::from_elem(lists, 1))?),
            Operand::Node(child) => match self.fetch_large(child)? {
                Answer::Set(set, _) => Some(set),
                Answer::Lists(lists, _) => Some(lists.read(self.view)?),
                _ => None,
            },
        })
    }
}

/// What an AND is made of.
pub(super) struct Operands {
    /// All plain lists.
    lists: Option<Conjunction>,
    /// With their sizes.
    pub(super) others: Vec<(u64, Operand)>,
    /// Whether any entry may match all of them, because of what they ask.
    are_everything: bool,
}

impl Default for Operands {
    fn default() -> Self {
        Self {
            lists: None,
            others: Vec::new(),
            are_everything: true,
        }
    }
}

pub(super) enum Operand {
    Set(IdSet),
    /// What lists have in common.
    Common(Conjunction),
    /// All lists with a prefix.
    Lists(ListKey),
    /// A filter node to be fetched.
    Node(usize),
}

impl Operands {
    /// Adds what is known of a node.
    #[inline]
    pub(super) fn add(&mut self, node: usize, answer: Answer) {
        match answer {
            Answer::Everything => return,
            Answer::Set(set, _) => self.others.push((set.len(), Operand::Set(set))),
            Answer::Lists(lists, _) => self.add_lists(lists),
            Answer::Large(count) => self.others.push((count, Operand::Node(node))),
            Answer::Unknown | Answer::Later => {}
        }
        self.are_everything = false;
    }
    #[inline]
    pub(super) fn add_lists(&mut self, added: Conjunction) {
        match &mut self.lists {
            None => self.lists = Some(added),
            Some(lists) => lists.and(added),
        }
    }
    #[inline]
    pub(super) fn smallest(&self) -> Option<u64> {
        let lists = self.lists.as_ref().map(Conjunction::estimate);
        self.others.iter().map(|operand| operand.0).chain(lists).min()
    }
    /// Whether the lists are enough: there is no other set yet, and none is worth reading.
    #[inline]
    pub(super) fn are_lists(&self) -> bool {
        let Some(lists) = &self.lists else { return false };
        let is_wanted =
            |(count, operand): &(u64, Operand)| matches!(operand, Operand::Set(_)) || pays(lists.estimate(), *count);
        !self.others.iter().any(is_wanted)
    }
}

pub(super) enum Looked {
    Done(Answer),
    Operands(Operands),
}

/// Whether reading `count` IDs costs less than verifying `candidates`.
fn pays(candidates: u64, count: u64) -> bool {
    candidates > FEW && count / READ_FACTOR < candidates
}
