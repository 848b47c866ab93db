//! Entries that one client alone writes. They are known to it by UUID; others move what they are below.

use std::collections::BTreeMap;

use ironbark_client::proto::{ModifyOperation, Scope};

use super::{
    client::{Outcome, Writer},
    held::{Held, SUFFIX, find, find_with, rdn_of},
    ledger::Request,
    shared::is_wanted,
};

/// An entry as its client left it.
#[derive(Clone, Debug)]
pub(super) struct OwnEntry {
    pub(super) held: Held,
    /// The UUID of its superior.
    pub(super) superior: String,
}

impl OwnEntry {
    fn is_unit(&self) -> bool {
        self.held.rdn().starts_with("ou=")
    }
}

/// An operation whose outcome the client does not know.
#[derive(Clone, Debug)]
struct Open {
    /// `None`: an addition.
    uuid: Option<String>,
    request: Request,
    superior: String,
}

/// What a client knows of its entries.
#[derive(Default)]
pub(super) struct Own {
    pub(super) entries: BTreeMap<String, OwnEntry>,
    /// UUIDs of the places where they can be, besides own units.
    pub(super) roots: Vec<String>,
    /// RDNs of units and of leaves that are free again.
    freed: Vec<String>,
    open: Option<Open>,
}

const MOST_LEVELS: usize = 4;

/// What a client does to its entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OwnKind {
    AddOwn,
    AddOwnUnit,
    ModifyOwn,
    RenameOwn,
    MoveOwn,
    MoveAndRenameOwn,
    DeleteOwn,
    DeleteOwnUnit,
    AddOwnAgain,
    SwapOwn,
    RenameOwnToFreed,
    MoveOwnOutOfDeleted,
}

impl OwnKind {
    /// Frequent ones twice.
    const ALL: [Self; 16] = [
        Self::AddOwn,
        Self::AddOwn,
        Self::AddOwn,
        Self::AddOwnUnit,
        Self::ModifyOwn,
        Self::ModifyOwn,
        Self::RenameOwn,
        Self::MoveOwn,
        Self::MoveOwn,
        Self::MoveAndRenameOwn,
        Self::DeleteOwn,
        Self::DeleteOwnUnit,
        Self::AddOwnAgain,
        Self::SwapOwn,
        Self::RenameOwnToFreed,
        Self::MoveOwnOutOfDeleted,
    ];
    /// An entry takes a name that another one has given away. Left out at first: a server may give the entry that had
    /// the name another one for ever, and lose its rename.
    const REUSING: [Self; 2] = [Self::SwapOwn, Self::RenameOwnToFreed];
}

impl Own {
    pub(super) fn has_open(&self) -> bool {
        self.open.is_some()
    }

    fn children(&self, uuid: &str) -> Vec<String> {
        let below = self.entries.iter().filter(|(_, entry)| entry.superior == uuid);
        below.map(|(uuid, _)| uuid.clone()).collect()
    }

    /// The entry, its superior, and so on.
    fn line(&self, uuid: &str) -> Vec<String> {
        let mut line = vec![uuid.to_owned()];
        while let Some(entry) = self.entries.get(line.last().unwrap()) {
            line.push(entry.superior.clone());
        }
        line
    }

    fn kept(&self, keep: impl Fn(&String, &OwnEntry) -> bool) -> Vec<String> {
        let found = self.entries.iter().filter(|(uuid, entry)| keep(uuid, entry));
        found.map(|(uuid, _)| uuid.clone()).collect()
    }

    /// Where an entry can go: roots and units that are not below it, and have room.
    fn places(&self, without: &str) -> Vec<String> {
        let units = self.kept(|uuid, entry| {
            let line = self.line(uuid);
            entry.is_unit() && line.len() <= MOST_LEVELS && !line.iter().any(|above| above == without)
        });
        self.roots.iter().cloned().chain(units).collect()
    }
}

impl Writer {
    /// One change, or a few that belong together.
    pub(super) async fn write_own(&mut self) -> Option<()> {
        let kinds = OwnKind::ALL
            .iter()
            .copied()
            .filter(|kind| is_wanted(*kind, &OwnKind::REUSING));
        let kind = *self.pick(&kinds.collect::<Vec<_>>())?;
        let done = match kind {
            OwnKind::AddOwn => self.add_own("cn").await,
            OwnKind::AddOwnUnit => self.add_own("ou").await,
            OwnKind::ModifyOwn => self.modify_own().await,
            OwnKind::RenameOwn => self.rename_own().await,
            OwnKind::MoveOwn => self.move_own(false).await,
            OwnKind::MoveAndRenameOwn => self.move_own(true).await,
            OwnKind::DeleteOwn => self.delete_own_leaf().await,
            OwnKind::DeleteOwnUnit => self.delete_own_unit().await,
            OwnKind::AddOwnAgain => self.add_own_again().await,
            OwnKind::SwapOwn => self.swap_own().await,
            OwnKind::RenameOwnToFreed => self.rename_own_to_free().await,
            OwnKind::MoveOwnOutOfDeleted => self.move_own_out_of_deleted().await,
        };
        // Nothing of this kind is there yet.
        if done.is_none() && self.own.entries.len() < 10 {
            self.add_own("ou").await;
        }
        done.map(|_| ())
    }

    /// The name of an entry here, now.
    async fn name_of(&mut self, uuid: &str) -> Option<String> {
        let client = self.client().await?;
        let filter = format!("(entryUUID={uuid})");
        let found = find_with(&client, SUFFIX, Scope::WholeSubtree, &filter, &["1.1"]).await;
        let found = self.reached(found)?;
        if found.is_empty() {
            let entry = self.own.entries.get(uuid).map(|entry| entry.held.describe());
            let what = format!(
                "client {} finds no {uuid} at its server {}: {entry:?}",
                self.number, self.server
            );
            self.shared.ledger.lock().unwrap().fault(what);
        }
        found.first().map(|held| held.dn.clone())
    }

    /// Sends it, and takes down what the entry is then. `None`: it was not made, or that is not known.
    async fn send_own(&mut self, uuid: Option<&str>, request: Request, superior: &str) -> Option<Held> {
        let open = Open {
            uuid: uuid.map(str::to_owned),
            request: request.clone(),
            superior: superior.to_owned(),
        };
        let is_delete = matches!(request, Request::Delete { .. });
        match self.send(request, Some(superior)).await {
            Outcome::Done(held) => {
                self.take_own(&held, (!is_delete).then_some(superior));
                Some(held)
            }
            Outcome::Refused => None,
            Outcome::Unknown => {
                self.own.open = Some(open);
                None
            }
        }
    }

    /// Takes down what an entry is now; without a superior it is gone.
    fn take_own(&mut self, held: &Held, superior: Option<&str>) {
        let former = self.own.entries.remove(&held.uuid());
        if let Some(superior) = superior {
            let entry = OwnEntry {
                held: held.clone(),
                superior: superior.to_owned(),
            };
            self.own.entries.insert(held.uuid(), entry);
        }
        let is_used = |rdn: &str| self.own.entries.values().any(|entry| entry.held.rdn() == rdn);
        if let Some(former) = former
            && !is_used(former.held.rdn())
        {
            self.own.freed.push(former.held.rdn().to_owned());
        }
    }

    async fn add_at(&mut self, rdn: &str, superior: &str) -> Option<Held> {
        let place = self.name_of(superior).await?;
        self.own.freed.retain(|freed| freed != rdn);
        let request = addition(rdn, &place, &format!("by {}", self.number));
        self.send_own(None, request, superior).await
    }

    async fn add_own(&mut self, attribute: &str) -> Option<Held> {
        let places = self.own.places("");
        let superior = self.pick(&places)?.clone();
        let freed: Vec<String> = self
            .own
            .freed
            .iter()
            .filter(|rdn| rdn.starts_with(attribute))
            .cloned()
            .collect();
        let rdn = match self.pick(&freed).cloned() {
            Some(rdn) if self.is_chosen(2) => rdn,
            _ => format!("{attribute}={}", self.new_name("o")),
        };
        self.add_at(&rdn, &superior).await
    }

    fn any_own(&mut self) -> Option<String> {
        let all = self.own.kept(|_, _| true);
        self.pick(&all).cloned()
    }

    async fn modify_own(&mut self) -> Option<Held> {
        let uuid = self.any_own()?;
        let dn = self.name_of(&uuid).await?;
        let value = self.new_name("v");
        let changes = match self.random.below(6) {
            0 => vec![(ModifyOperation::Add, vec![value])],
            1 => {
                let many = (0..70).map(|number| format!("{value}-{number}")).collect();
                vec![(ModifyOperation::Replace, many)]
            }
            2 => vec![(ModifyOperation::Delete, vec![])],
            3 => {
                let held = self.own.entries[&uuid].held.text("description");
                vec![
                    (ModifyOperation::Delete, vec![held]),
                    (ModifyOperation::Add, vec![value]),
                ]
            }
            _ => vec![(ModifyOperation::Replace, vec![value])],
        };
        let with_name = |(operation, values)| (operation, "description".to_owned(), values);
        let changes = changes.into_iter().map(with_name).collect();
        let superior = self.own.entries[&uuid].superior.clone();
        self.send_own(Some(&uuid), Request::Modify { dn, changes }, &superior)
            .await
    }

    async fn rename_to(&mut self, uuid: &str, rdn: &str, superior: Option<&str>) -> Option<Held> {
        let dn = self.name_of(uuid).await?;
        let place = match superior {
            Some(superior) => Some(self.name_of(superior).await?),
            None => None,
        };
        let request = Request::Move {
            dn,
            rdn: rdn.to_owned(),
            delete_old: self.is_chosen(2),
            superior: place,
        };
        self.own.freed.retain(|freed| freed != rdn);
        let superior = superior.map_or_else(|| self.own.entries[uuid].superior.clone(), str::to_owned);
        self.send_own(Some(uuid), request, &superior).await
    }

    fn new_rdn(&mut self, uuid: &str) -> String {
        let attribute = &self.own.entries[uuid].held.rdn()[..2].to_owned();
        format!("{attribute}={}", self.new_name("o"))
    }

    async fn rename_own(&mut self) -> Option<Held> {
        let uuid = self.any_own()?;
        let rdn = self.new_rdn(&uuid);
        self.rename_to(&uuid, &rdn, None).await
    }

    async fn move_own(&mut self, with_new_name: bool) -> Option<Held> {
        let uuid = self.any_own()?;
        let places = self.own.places(&uuid);
        let superior = self.pick(&places)?.clone();
        let rdn = if with_new_name {
            self.new_rdn(&uuid)
        } else {
            self.own.entries[&uuid].held.rdn().to_owned()
        };
        self.rename_to(&uuid, &rdn, Some(&superior)).await
    }

    async fn delete_one(&mut self, uuid: &str) -> Option<Held> {
        let dn = self.name_of(uuid).await?;
        let superior = self.own.entries.get(uuid)?.superior.clone();
        self.send_own(Some(uuid), Request::Delete { dn }, &superior).await
    }

    fn a_leaf(&mut self) -> Option<String> {
        let leaves = self.own.kept(|uuid, _| self.own.children(uuid).is_empty());
        self.pick(&leaves).cloned()
    }

    async fn delete_own_leaf(&mut self) -> Option<Held> {
        let uuid = self.a_leaf()?;
        self.delete_one(&uuid).await
    }

    /// A unit with all leaves below it, the last one included.
    async fn delete_own_unit(&mut self) -> Option<Held> {
        let only_leaves = |below: &String| self.own.children(below).is_empty();
        let units = self.own.kept(|uuid, entry| {
            let below = self.own.children(uuid);
            entry.is_unit() && below.len() <= 4 && below.iter().all(only_leaves)
        });
        let uuid = self.pick(&units)?.clone();
        for below in self.own.children(&uuid) {
            self.delete_one(&below).await?;
        }
        self.delete_one(&uuid).await
    }

    /// Another entry of the same name, at once.
    async fn add_own_again(&mut self) -> Option<Held> {
        let uuid = self.a_leaf()?;
        let superior = self.own.entries[&uuid].superior.clone();
        let gone = self.delete_one(&uuid).await?;
        self.add_at(gone.rdn(), &superior).await
    }

    /// Two entries take each other's name and place.
    async fn swap_own(&mut self) -> Option<Held> {
        let one = self.any_own()?;
        let (rdn, place) = (
            self.own.entries[&one].held.rdn().to_owned(),
            self.own.entries[&one].superior.clone(),
        );
        let others = self.own.kept(|uuid, entry| {
            let related = self.own.line(uuid).contains(&one) || self.own.line(&one).contains(uuid);
            !related && entry.held.rdn()[..2] == rdn[..2]
        });
        let other = self.pick(&others)?.clone();
        let held = &self.own.entries[&other];
        let (other_rdn, other_place) = (held.held.rdn().to_owned(), held.superior.clone());
        let between = self.new_rdn(&one);
        self.rename_to(&one, &between, None).await?;
        self.rename_to(&other, &rdn, Some(&place)).await?;
        self.rename_to(&one, &other_rdn, Some(&other_place)).await
    }

    /// An entry goes, and another one takes its name.
    async fn rename_own_to_free(&mut self) -> Option<Held> {
        let gone = self.a_leaf()?;
        let (rdn, place) = (
            self.own.entries[&gone].held.rdn().to_owned(),
            self.own.entries[&gone].superior.clone(),
        );
        let line = self.own.line(&place);
        let others = self
            .own
            .kept(|uuid, entry| *uuid != gone && entry.held.rdn()[..2] == rdn[..2] && !line.contains(uuid));
        let other = self.pick(&others)?.clone();
        if self.is_chosen(2) {
            self.delete_one(&gone).await?;
        } else {
            let elsewhere = self.new_rdn(&gone);
            self.rename_to(&gone, &elsewhere, None).await?;
        }
        self.rename_to(&other, &rdn, Some(&place)).await
    }

    /// What is below a unit moves out of it, and the unit goes.
    async fn move_own_out_of_deleted(&mut self) -> Option<Held> {
        let units = self
            .own
            .kept(|uuid, entry| entry.is_unit() && (1..4).contains(&self.own.children(uuid).len()));
        let uuid = self.pick(&units)?.clone();
        for below in self.own.children(&uuid) {
            let mut places = self.own.places(&below);
            places.retain(|place| *place != uuid);
            let place = self.pick(&places)?.clone();
            let rdn = self.own.entries[&below].held.rdn().to_owned();
            self.rename_to(&below, &rdn, Some(&place)).await?;
        }
        self.delete_one(&uuid).await
    }

    /// Finds out how an operation ended whose connection died: the server is there again, and shows it.
    pub(super) async fn settle(&mut self) -> Option<()> {
        let open = self.own.open.clone()?;
        let client = self.client().await?;
        let name = rdn_of(open.request.dn());
        let filter = match &open.uuid {
            Some(uuid) => format!("(entryUUID={uuid})"),
            None => format!("({name})"),
        };
        let found = find(&client, SUFFIX, Scope::WholeSubtree, &filter).await;
        let mut found = self.reached(found)?;
        if open.uuid.is_none() {
            found.retain(|held| held.rdn() == name && !self.own.entries.contains_key(&held.uuid()));
        }
        let is_delete = matches!(open.request, Request::Delete { .. });
        match (found.first(), &open.uuid) {
            (Some(held), _) => {
                let above = find(&client, held.superior(), Scope::BaseObject, "(objectClass=*)").await;
                let above = self.reached(above)?.first().map(Held::uuid)?;
                let former = open.uuid.as_ref().map(|uuid| self.own.entries[uuid].superior.clone());
                if above != open.superior && Some(&above) != former.as_ref() {
                    let what = format!(
                        "{open:?} of client {} led to {} below {above}",
                        self.number,
                        held.describe()
                    );
                    self.shared.ledger.lock().unwrap().fault(what);
                }
                let line = format!("client {}: found {} below {above}", self.number, held.describe());
                self.shared.ledger.lock().unwrap().note_event(line);
                self.take_own(held, Some(&above));
            }
            (None, Some(uuid)) => {
                let gone = self.own.entries[uuid].held.clone();
                if !is_delete {
                    let what = format!("{open:?} of client {} led to nothing at its server", self.number);
                    self.shared.ledger.lock().unwrap().fault(what);
                }
                self.take_own(&gone, None);
                self.shared.ledger.lock().unwrap().deleted.insert(uuid.clone());
            }
            (None, None) => {}
        }
        self.own.open = None;
        Some(())
    }
}

/// A unit or a person.
pub(super) fn addition(rdn: &str, place: &str, description: &str) -> Request {
    let (attribute, name) = rdn.split_once('=').unwrap();
    let value = |name: &str, value: &str| (name.to_owned(), vec![value.to_owned()]);
    let mut attributes = vec![value(attribute, name), value("description", description)];
    if attribute == "ou" {
        attributes.push(value("objectClass", "organizationalUnit"));
    } else {
        attributes.extend([value("objectClass", "person"), value("sn", "s")]);
    }
    Request::Add {
        dn: format!("{rdn},{place}"),
        attributes,
    }
}
