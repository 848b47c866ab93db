//! What may go wrong, and what may be expected meanwhile.

use crate::cluster::trial::{MEMBERS, NODES, lab::Way};

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    NodeKilled,
    NodeCrashes,
    NodeHangs,
    NodeCutOff,
    NodeClock,
    NodeDiskFull,
    NodeDiskSlow,
    MemberKilled,
    MemberHangs,
    MemberCutOff,
    MemberClock,
    MemberDiskFull,
    MemberDiskSlow,
    MemberLost,
    LinkCut,
    PeerLinkCut,
    Divided,
    MajorityKilled,
    MajorityHangs,
    MajorityCutOff,
}

impl Kind {
    /// All kinds, in the order in which the tests of each change have them.
    pub(crate) const ALL: [Self; 20] = [
        Self::NodeKilled,
        Self::NodeCrashes,
        Self::MemberKilled,
        Self::NodeHangs,
        Self::MemberHangs,
        Self::MajorityKilled,
        Self::MajorityHangs,
        Self::NodeCutOff,
        Self::MemberCutOff,
        Self::LinkCut,
        Self::PeerLinkCut,
        Self::Divided,
        Self::MajorityCutOff,
        Self::NodeClock,
        Self::MemberClock,
        Self::NodeDiskFull,
        Self::MemberDiskFull,
        Self::NodeDiskSlow,
        Self::MemberDiskSlow,
        Self::MemberLost,
    ];

    /// Whether writes take long meanwhile.
    pub(crate) fn is_slow(self) -> bool {
        matches!(self, Self::NodeDiskSlow | Self::MemberDiskSlow)
    }

    /// In words, for the table.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::NodeKilled => "a node is killed",
            Self::NodeCrashes => "a node's machine crashes",
            Self::NodeHangs => "a node hangs",
            Self::NodeCutOff => "a node is cut off from etcd",
            Self::NodeClock => "a node's clock jumps",
            Self::NodeDiskFull => "a node's disk is full",
            Self::NodeDiskSlow => "a node's disk is slow",
            Self::MemberKilled => "a member is killed",
            Self::MemberHangs => "a member hangs",
            Self::MemberCutOff => "a member is cut off",
            Self::MemberClock => "a member's clock jumps",
            Self::MemberDiskFull => "a member's disk is full",
            Self::MemberDiskSlow => "a member's disk is slow",
            Self::MemberLost => "a member is lost with its data",
            Self::LinkCut => "a link of a node to a member is cut",
            Self::PeerLinkCut => "a link between members is cut",
            Self::Divided => "nodes and members are divided",
            Self::MajorityKilled => "a majority is killed",
            Self::MajorityHangs => "a majority hangs",
            Self::MajorityCutOff => "a majority is cut off",
        }
    }
}

/// A fault, with whom it strikes: by a random number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    pub(crate) number: usize,
}

impl Fault {
    /// The node that is struck, if one is.
    pub(crate) fn node(self) -> usize {
        self.number % NODES
    }

    /// The member that is struck, if one is.
    pub(crate) fn member(self) -> usize {
        self.number / NODES % MEMBERS
    }

    /// Two members, which are a majority.
    pub(crate) fn majority(self) -> [usize; 2] {
        [self.member(), (self.member() + 1) % MEMBERS]
    }

    /// A random number beyond the choice of node and member.
    pub(crate) fn further(self) -> usize {
        self.number / NODES / MEMBERS
    }

    /// Parties whose processes, clocks or disks are struck. Faults of a time have none in common.
    fn struck(self) -> Vec<usize> {
        match self.kind {
            Kind::NodeKilled
            | Kind::NodeCrashes
            | Kind::NodeHangs
            | Kind::NodeClock
            | Kind::NodeDiskFull
            | Kind::NodeDiskSlow => vec![self.node()],
            Kind::MemberKilled
            | Kind::MemberHangs
            | Kind::MemberClock
            | Kind::MemberDiskFull
            | Kind::MemberDiskSlow
            | Kind::MemberLost => vec![NODES + self.member()],
            Kind::MajorityKilled | Kind::MajorityHangs => self.majority().map(|member| NODES + member).to_vec(),
            _ => Vec::new(),
        }
    }

    /// Whether this fault may strike together with another one.
    pub(crate) fn agrees_with(self, other: Self) -> bool {
        let struck = other.struck();
        // When a majority is lost with its data, all is lost.
        let are_lost = self.kind == Kind::MemberLost && other.kind == Kind::MemberLost;
        !are_lost && self.struck().iter().all(|party| !struck.contains(party))
    }

    /// Members that are no part of a majority meanwhile.
    pub(crate) fn members_away(self) -> Vec<usize> {
        match self.kind {
            Kind::MemberKilled
            | Kind::MemberHangs
            | Kind::MemberCutOff
            | Kind::MemberDiskFull
            | Kind::MemberLost
            | Kind::Divided => vec![self.member()],
            // The one at the other end may be as well.
            Kind::PeerLinkCut => vec![self.member(), self.member()],
            Kind::MajorityKilled | Kind::MajorityHangs | Kind::MajorityCutOff => self.majority().to_vec(),
            _ => Vec::new(),
        }
    }

    /// Nodes that cannot write meanwhile.
    pub(crate) fn nodes_away(self) -> Vec<usize> {
        match self.kind {
            Kind::NodeKilled
            | Kind::NodeCrashes
            | Kind::NodeHangs
            | Kind::NodeCutOff
            | Kind::NodeDiskFull
            | Kind::Divided => vec![self.node()],
            _ => Vec::new(),
        }
    }

    /// The ways that are cut. A link is cut in both directions, or in one of them.
    pub(crate) fn ways(self) -> Vec<Way> {
        let (node, member) = (self.node(), NODES + self.member());
        let members = NODES..NODES + MEMBERS;
        let both = |pairs: Vec<Way>| {
            pairs
                .iter()
                .flat_map(|&(one, other)| [(one, other), (other, one)])
                .collect()
        };
        match self.kind {
            Kind::NodeCutOff => self.some_directions(members.map(|member| (node, member)).collect()),
            Kind::MemberCutOff => {
                let others = (0..NODES + MEMBERS).filter(|other| *other != member);
                self.some_directions(others.map(|other| (member, other)).collect())
            }
            Kind::LinkCut => self.some_directions(vec![(node, member)]),
            Kind::PeerLinkCut => self.some_directions(vec![(member, NODES + self.majority()[1])]),
            // One node and one member on this side, the others on that side.
            Kind::Divided => {
                let side = |party: usize| party == node || party == member;
                let all = NODES + MEMBERS;
                let pairs = (0..all).flat_map(|one| (0..one).map(move |other| (one, other)));
                both(pairs.filter(|(one, other)| side(*one) != side(*other)).collect())
            }
            Kind::MajorityCutOff => {
                let away = self.majority().map(|member| NODES + member);
                let pairs = away
                    .iter()
                    .flat_map(|one| (0..NODES + MEMBERS).map(|other| (*one, other)));
                both(
                    pairs
                        .filter(|(one, other)| !away.contains(other) || one < other)
                        .collect(),
                )
            }
            _ => Vec::new(),
        }
    }

    fn some_directions(self, there: Vec<Way>) -> Vec<Way> {
        let back = there.iter().map(|&(from, to)| (to, from));
        match self.further() % 4 {
            0 => there,
            1 => back.collect(),
            _ => back.chain(there.iter().copied()).collect(),
        }
    }
}

/// Whether some node must be able to write under these faults.
pub(crate) fn writes_go_on(faults: &[Fault]) -> bool {
    let members = faults.iter().flat_map(|fault| fault.members_away()).count();
    let mut nodes: Vec<_> = faults.iter().flat_map(|fault| fault.nodes_away()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let only_a_link = faults.len() == 1 && faults[0].kind == Kind::PeerLinkCut;
    (members <= 1 || only_a_link) && nodes.len() < NODES
}
