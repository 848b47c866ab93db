//! What a client does to its own entries.

use ironbark_client::proto::ModifyOperation;

use super::{client::Writer, held::Held, ledger::Request, own::OwnKind};

impl Writer {
    /// One change, or a few that belong together.
    pub(super) async fn write_own(&mut self) -> Option<()> {
        let kinds = self.shared.mode.own_kinds();
        let kind = *self.pick(&kinds)?;
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

    async fn add_own(&mut self, attribute: &str) -> Option<Held> {
        let places = self.own.places("");
        let superior = self.pick(&places)?.clone();
        let mut freed = self.own.freed.clone();
        let is_used_again = self.shared.mode.own_kinds().contains(&OwnKind::RenameOwnToFreed);
        freed.retain(|rdn| rdn.starts_with(attribute) && is_used_again);
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
            delete_old: self.deletes_old_rdn(),
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
}
