//! Nodes and links, what happens to them, and what must hold.

use std::{collections::BTreeMap, collections::BTreeSet, time::Duration};

use ironbark_store::Csn;
use tokio::runtime::{Builder, Runtime};

use crate::{
    Event, WHOLE,
    ledger::{self, Ledger},
    link::{Content, Ends, Link},
    node::{Kind, Node, Replicator},
};

/// Rounds in which all messages are delivered, until nothing more may come.
const MOST_ROUNDS: usize = 100;
/// Rounds in which one link is brought up to date.
const FEW_ROUNDS: usize = 10;

pub(crate) struct World {
    nodes: Vec<Node>,
    links: Vec<Link>,
    runtime: Runtime,
    /// Whether all nodes take writes.
    is_shared: bool,
    /// What clients have done, if no two entries ever have the same name.
    ledger: Option<Ledger>,
}

impl World {
    /// So many nodes; clients write at the first one.
    pub(crate) fn new(count: usize) -> Self {
        let kind = Kind {
            providers: 0,
            replicator: Replicator::ByRule,
            by_log: false,
        };
        let nodes = (1..).take(count).map(|id| Node::new(id, kind));
        Self::of(nodes.collect(), false)
    }

    /// Nodes that all take writes, and follow each other so: consumer and provider.
    pub(crate) fn shared(count: usize, links: &[(usize, usize)], (replicator, by_log): (Replicator, bool)) -> Self {
        let providers = |node| links.iter().filter(|(consumer, _)| *consumer == node).count();
        let nodes = (1..).zip(0..count).map(|(id, node)| {
            let providers = providers(node);
            Node::new(
                id,
                Kind {
                    providers,
                    replicator,
                    by_log,
                },
            )
        });
        let mut world = Self::of(nodes.collect(), true);
        for (consumer, provider) in links {
            world.link(*consumer, *provider, WHOLE);
        }
        world
    }

    /// The first one has the fixed entries.
    fn of(mut nodes: Vec<Node>, is_shared: bool) -> Self {
        let first = &mut nodes[0].site;
        first.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
        for name in ["ou=1,dc=ex", "ou=2,dc=ex"] {
            first.must_add(name, "objectClass: organizationalUnit");
        }
        Self {
            nodes,
            links: Vec::new(),
            runtime: Builder::new_current_thread().enable_time().build().unwrap(),
            is_shared,
            ledger: None,
        }
    }

    /// From now on all entries get different names, and it is noted what clients do.
    pub(crate) fn keep_ledger(&mut self) {
        self.ledger = Some(Ledger::default());
    }

    pub(crate) fn link(&mut self, consumer: usize, provider: usize, content: Content) {
        let rid = self.links.iter().filter(|link| link.ends.consumer == consumer).count() + 1;
        let ends = Ends {
            consumer,
            provider,
            rid: u16::try_from(rid).expect("few"),
        };
        self.links.push(Link::new(&self.nodes, ends, content, self.is_shared));
    }

    pub(crate) fn run(&mut self, events: &[Event]) {
        for (number, event) in events.iter().enumerate() {
            if crate::is_traced() {
                eprintln!("{event:?}");
            }
            match event {
                Event::Change(writer, change) => {
                    if self.ledger.is_some()
                        && let Some(link) = self.links.iter().find(|link| link.ends.consumer == *writer)
                    {
                        // What is on its way into the database would look like a change of the client.
                        link.drain(&self.nodes[*writer], &self.runtime);
                    }
                    let node = &mut self.nodes[*writer];
                    node.site.clock.advance(Duration::from_micros(700));
                    let Some(ledger) = &mut self.ledger else {
                        ironbark_harness::changes::make(&mut node.site, change);
                        continue;
                    };
                    let before = ledger::versions(node);
                    ironbark_harness::changes::make(&mut node.site, &change.clone().with_name(number));
                    ledger.note(&before, &ledger::versions(node));
                }
                Event::Deliver(link, most) => {
                    self.links[*link].deliver(&self.runtime, *most);
                }
                Event::Cut(link, settles) => self.links[*link].cut(&self.runtime, *settles),
                Event::Restart(node) => self.begin_anew(*node, Node::restart),
                Event::Save(node) => self.nodes[*node].save(),
                Event::Restore(node) => self.begin_anew(*node, Node::restore),
                Event::RestoreAsAnother(node) => self.begin_anew(*node, Node::restore_as_another),
                Event::Forget(node) => self.nodes[*node].forget_log(),
                Event::Purge(node) => self.nodes[*node].purge_log(&self.runtime),
                Event::Clock(node, millis) => {
                    let clock = &self.nodes[*node].site.clock;
                    let now = clock.clock().now().unix_micros();
                    clock.set_wall(ironbark_runtime::WallTime::from_unix_micros(now + millis * 1_000));
                }
                Event::Look(link) => {
                    if self.bring_up(*link) && !self.is_shared {
                        self.link_is_equal(*link);
                    }
                }
            }
        }
    }

    /// A node begins anew. Its connections break.
    fn begin_anew(&mut self, node: usize, begin: impl FnOnce(&mut Node)) {
        let mut cut = Vec::new();
        for (number, link) in self.links.iter_mut().enumerate() {
            if link.ends.consumer == node || link.ends.provider == node {
                link.cut(&self.runtime, false);
                link.drain(&self.nodes[link.ends.consumer], &self.runtime);
                cut.push(number);
            }
        }
        begin(&mut self.nodes[node]);
        for number in cut {
            let Link { ends, content, .. } = self.links[number];
            self.links[number] = Link::new(&self.nodes, ends, content, self.is_shared);
        }
    }

    /// Brings one link up to date. A provider that has nothing yet refuses a consumer that has something.
    fn bring_up(&mut self, link: usize) -> bool {
        // What is on its way into the provider would come in the middle of the comparison.
        for link in &mut self.links {
            link.settle(&self.runtime);
            link.drain(&self.nodes[link.ends.consumer], &self.runtime);
        }
        for _ in 0..FEW_ROUNDS {
            let delivered = self.links[link].deliver(&self.runtime, usize::MAX);
            self.links[link].settle(&self.runtime);
            if delivered == 0 && self.links[link].follows() {
                return true;
            }
        }
        // A server that was restored refuses those who have more of its own changes.
        let (failure, provider) = (&self.links[link].failure, self.links[link].ends.provider);
        assert!(
            self.is_shared || self.nodes[provider].vector().is_empty(),
            "link {link} never follows: {failure:?}"
        );
        false
    }

    /// No vector covers a write that its server lacks.
    pub(crate) fn vectors_are_true(&mut self) {
        for link in &mut self.links {
            link.settle(&self.runtime);
            link.drain(&self.nodes[link.ends.consumer], &self.runtime);
        }
        let Some(ledger) = &self.ledger else { return };
        for (number, node) in self.nodes.iter_mut().enumerate() {
            let (vector, held) = (node.vector(), ledger::versions(node));
            let covers = |csn: &str| Csn::parse(csn.as_bytes()).is_some_and(|csn| vector.covers(csn));
            ledger.check(&held, covers, &format!("node {number} at once"));
        }
    }

    /// Lets everything be delivered, until nothing more may come.
    pub(crate) fn heal(&mut self) {
        for _ in 0..MOST_ROUNDS {
            let mut is_quiet = true;
            for link in &self.links {
                link.drain(&self.nodes[link.ends.consumer], &self.runtime);
            }
            for link in &mut self.links {
                let delivered = link.deliver(&self.runtime, usize::MAX);
                link.settle(&self.runtime);
                is_quiet &= delivered == 0 && link.follows();
            }
            if is_quiet {
                return;
            }
        }
        let failures: Vec<_> = self.links.iter().map(|link| &link.failure).collect();
        panic!("there is always something more: {failures:?}");
    }

    pub(crate) fn all_are_equal(&mut self) {
        let whole = self.links[0].content;
        let vector = self.nodes[0].vector();
        let found = self.nodes[0].found(whole);
        if let Some(ledger) = &self.ledger {
            let held = ledger::versions(&mut self.nodes[0]);
            ledger.check(&held, |_| true, "in the end");
            ledger.check_places(&held);
        }
        for number in 1..self.nodes.len() {
            compare(&found, &self.nodes[number].found(whole), number);
            assert_eq!(self.nodes[number].vector(), vector, "vector of node {number}");
            assert_eq!(
                self.nodes[number].digest(),
                self.nodes[0].digest(),
                "digest of node {number}"
            );
        }
    }

    /// Where each may see only a part of the others, no write is lost: one of them has it.
    pub(crate) fn nothing_is_lost(&mut self) {
        let mut held = ledger::Versions::new();
        for node in &mut self.nodes {
            for (uuid, version) in ledger::versions(node) {
                match held.get(&uuid) {
                    Some(known) if known.is_from_after(&version) => {}
                    _ => _ = held.insert(uuid, version),
                }
            }
        }
        if let Some(ledger) = &self.ledger {
            ledger.check_kept(&held);
        }
    }

    pub(crate) fn links_are_equal(&mut self) {
        (0..self.links.len()).for_each(|link| self.link_is_equal(link));
    }

    fn link_is_equal(&mut self, number: usize) {
        let link = &self.links[number];
        let (consumer, provider, content) = (link.ends.consumer, link.ends.provider, link.content);
        let wanted = self.nodes[provider].found(content);
        let everything = Content {
            filter: "(objectClass=*)",
            ..content
        };
        let held = self.nodes[consumer].found(everything);
        compare(&wanted, &held, number);
        // A consumer may know of more than its provider's provider has told it.
        let (has, may_have) = (self.nodes[consumer].vector(), self.nodes[provider].vector());
        assert!(
            has.iter().all(|csn| may_have.covers(csn)),
            "link {number}: {has:?} {may_have:?}"
        );
    }
}

type Entries = BTreeMap<String, BTreeSet<String>>;

/// Fails with what differs.
fn compare(wanted: &Entries, held: &Entries, number: usize) {
    let differing = |one: &Entries, other: &Entries| {
        let entries = one.iter().filter(|(name, lines)| other.get(*name) != Some(*lines));
        entries
            .map(|(name, lines)| {
                let of_other = other.get(name).cloned().unwrap_or_default();
                let own: Vec<&String> = lines.difference(&of_other).collect();
                format!("{name} {own:?}")
            })
            .collect::<Vec<_>>()
    };
    let (less, more) = (differing(wanted, held), differing(held, wanted));
    assert!(
        less.is_empty() && more.is_empty(),
        "{number}: wanted {less:#?}, held {more:#?}"
    );
}
