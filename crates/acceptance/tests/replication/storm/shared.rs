//! Changes of entries that other clients change, move, rename and delete as well, at other servers.

use ironbark_client::proto::{ModifyOperation, Scope};

use super::{
    client::{Outcome, Writer},
    held::{SUFFIX, find_with, rdn_of, superior_of},
    ledger::{Changes, Request},
    own::addition,
};

/// Units have one of so many names in a place.
const NAMES: usize = 8;
pub(super) const PLACES: [&str; 3] = [SUFFIX, "ou=people,dc=example,dc=com", "ou=others,dc=example,dc=com"];
pub(super) const CARRIERS: usize = 4;
pub(super) const GROUPS: usize = 3;

/// What a client does to shared entries: *units* have names that are used again and again, *leaves* a name that no
/// other entry ever has, *carriers* are units of such names that are moved and never deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    AddUnit,
    ModifyUnit,
    DeleteUnit,
    RenameUnit,
    MoveUnit,
    MoveAndRenameUnit,
    MoveOutAndDelete,
    DeleteWithChildren,
    AddUnitAgain,
    SwapUnits,
    RenameToFreed,
    MoveCarrier,
    Cycle,
    AddLeafBelowUnit,
    AddLeaf,
    ModifyLeaf,
    RenameLeaf,
    DeleteLeaf,
    MoveLeaf,
    Group,
}

impl Kind {
    pub(super) const ALL: [Self; 20] = [
        Self::AddUnit,
        Self::ModifyUnit,
        Self::DeleteUnit,
        Self::RenameUnit,
        Self::MoveUnit,
        Self::MoveAndRenameUnit,
        Self::MoveOutAndDelete,
        Self::DeleteWithChildren,
        Self::AddUnitAgain,
        Self::SwapUnits,
        Self::RenameToFreed,
        Self::MoveCarrier,
        Self::Cycle,
        Self::AddLeafBelowUnit,
        Self::AddLeaf,
        Self::ModifyLeaf,
        Self::RenameLeaf,
        Self::DeleteLeaf,
        Self::MoveLeaf,
        Self::Group,
    ];
}

impl Writer {
    /// One change, or a few that belong together. Any refusal will do: another client may have been faster.
    pub(super) async fn write_shared(&mut self) -> Option<()> {
        let client = self.client().await?;
        let found = find_with(&client, SUFFIX, Scope::WholeSubtree, "(objectClass=*)", &["1.1"]).await;
        let names: Vec<String> = self.reached(found)?.into_iter().map(|held| held.dn).collect();
        let kinds = self.shared.mode.kinds(self.server);
        let kind = *self.pick(&kinds)?;
        let start =
            |letters: &str| -> Vec<String> { names.iter().filter(|dn| dn.starts_with(letters)).cloned().collect() };
        let (units, leaves, carriers) = (start("ou=n"), start("cn=b"), start("ou=car"));
        match kind {
            Kind::Group => self.change_group().await,
            Kind::AddLeaf | Kind::ModifyLeaf | Kind::RenameLeaf | Kind::DeleteLeaf | Kind::MoveLeaf => {
                self.change_leaf(kind, &leaves, &carriers).await
            }
            Kind::MoveCarrier | Kind::Cycle => self.move_carrier(kind, &carriers, &units).await,
            Kind::AddUnit => {
                let place = self.place(&[&units, &carriers]);
                let rdn = self.unit_name();
                self.tell(addition(&rdn, &place, "shared")).await
            }
            Kind::AddLeafBelowUnit => {
                let place = self.pick(&units)?.clone();
                self.add_leaf(&place).await
            }
            _ => {
                let unit = self.pick(&units)?.clone();
                self.change_unit(kind, &unit, &names, (&units, &carriers)).await
            }
        }
    }

    /// Sends it. `None`: it was not made, or that is not known.
    async fn tell(&mut self, request: Request) -> Option<()> {
        match self.send(request, None).await {
            Outcome::Done(_) => Some(()),
            Outcome::Refused | Outcome::Unknown => None,
        }
    }

    fn unit_name(&mut self) -> String {
        if !self.shared.mode.has_shared_names() {
            return format!("ou={}", self.new_name("n"));
        }
        format!("ou=n{}", self.random.below(NAMES))
    }

    fn place(&mut self, further: &[&[String]]) -> String {
        let further = further.iter().flat_map(|names| names.iter().cloned());
        let places: Vec<String> = PLACES.iter().map(|name| (*name).to_owned()).chain(further).collect();
        self.pick(&places).unwrap().clone()
    }

    async fn shift(&mut self, dn: &str, rdn: &str, superior: Option<&str>) -> Option<()> {
        let request = Request::Move {
            dn: dn.to_owned(),
            rdn: rdn.to_owned(),
            delete_old: self.deletes_old_rdn(),
            superior: superior.map(str::to_owned),
        };
        self.tell(request).await
    }

    async fn remove(&mut self, dn: &str) -> Option<()> {
        self.tell(Request::Delete { dn: dn.to_owned() }).await
    }

    async fn change_unit(
        &mut self,
        kind: Kind,
        unit: &str,
        names: &[String],
        (units, carriers): (&[String], &[String]),
    ) -> Option<()> {
        let (rdn, superior) = (rdn_of(unit), superior_of(unit));
        let place = self.place(&[units, carriers]);
        let other = self.pick(units)?.clone();
        let new = self.unit_name();
        match kind {
            Kind::ModifyUnit => self.modify(unit).await,
            Kind::DeleteUnit => self.remove(unit).await,
            Kind::RenameUnit => self.shift(unit, &new, None).await,
            Kind::MoveUnit => self.shift(unit, rdn, Some(&place)).await,
            Kind::MoveAndRenameUnit => self.shift(unit, &new, Some(&place)).await,
            Kind::MoveOutAndDelete => {
                self.shift(unit, rdn, Some(&place)).await?;
                // Carriers are never deleted.
                let superior = units.iter().find(|dn| *dn == superior)?;
                self.remove(superior).await
            }
            Kind::DeleteWithChildren => {
                let below = names.iter().filter(|dn| superior_of(dn) == unit).take(4);
                for dn in below.filter(|dn| dn.starts_with("cn=b") || dn.starts_with("ou=n")) {
                    self.remove(dn).await?;
                }
                self.remove(unit).await
            }
            Kind::AddUnitAgain => {
                self.remove(unit).await?;
                self.tell(addition(rdn, superior, "again")).await
            }
            Kind::SwapUnits => {
                let between = format!("ou={}", self.new_name("nx"));
                self.shift(unit, &between, None).await?;
                self.shift(&other, rdn, Some(superior)).await?;
                let between = format!("{between},{superior}");
                self.shift(&between, rdn_of(&other), Some(superior_of(&other))).await
            }
            _ => {
                self.shift(unit, &new, Some(&place)).await?;
                self.shift(&other, rdn, Some(superior)).await
            }
        }
    }

    /// Moves one of them; two of them below each other, which of them depends on the server.
    async fn move_carrier(&mut self, kind: Kind, carriers: &[String], units: &[String]) -> Option<()> {
        if kind == Kind::MoveCarrier {
            let carrier = self.pick(carriers)?.clone();
            let place = self.place(&[carriers, units]);
            return self.shift(&carrier, rdn_of(&carrier), Some(&place)).await;
        }
        let named = |number: usize| {
            let start = format!("ou=car{number},");
            carriers.iter().find(|dn| dn.starts_with(&start))
        };
        let (upper, lower) = (named(self.server % 2)?, named(1 - self.server % 2)?);
        if upper.ends_with(&format!(",{lower}")) {
            let place = self.place(&[]);
            return self.shift(upper, rdn_of(upper), Some(&place)).await;
        }
        self.shift(lower, rdn_of(lower), Some(upper)).await
    }

    async fn change_leaf(&mut self, kind: Kind, leaves: &[String], carriers: &[String]) -> Option<()> {
        let place = self.place(&[carriers]);
        let leaf = self.pick(leaves).cloned();
        let Some(leaf) = leaf.filter(|_| kind != Kind::AddLeaf) else {
            return self.add_leaf(&place).await;
        };
        match kind {
            Kind::ModifyLeaf => self.modify(&leaf).await,
            Kind::DeleteLeaf => self.remove(&leaf).await,
            Kind::RenameLeaf => {
                let rdn = format!("cn={}", self.new_name("b"));
                self.shift(&leaf, &rdn, None).await
            }
            _ => self.shift(&leaf, rdn_of(&leaf), Some(&place)).await,
        }
    }

    async fn add_leaf(&mut self, place: &str) -> Option<()> {
        let rdn = format!("cn={}", self.new_name("b"));
        self.tell(addition(&rdn, place, "shared")).await
    }

    /// The same attribute as others, or another one.
    async fn modify(&mut self, dn: &str) -> Option<()> {
        let value = self.new_name("v");
        let single = |operation, attribute: &str, value: String| vec![(operation, attribute.to_owned(), vec![value])];
        let changes: Changes = match self.random.below(5) {
            0 => single(ModifyOperation::Replace, "description", value),
            1 => single(
                ModifyOperation::Add,
                "description",
                format!("v{}", self.random.below(6)),
            ),
            2 => single(
                ModifyOperation::Delete,
                "description",
                format!("v{}", self.random.below(6)),
            ),
            3 => single(ModifyOperation::Replace, "seeAlso", format!("cn={value}")),
            _ => single(
                ModifyOperation::Replace,
                "telephoneNumber",
                self.random.below(1_000).to_string(),
            ),
        };
        let dn = dn.to_owned();
        self.tell(Request::Modify { dn, changes }).await
    }

    async fn change_group(&mut self) -> Option<()> {
        let dn = group(self.random.below(GROUPS));
        let (first, count) = match self.random.below(4) {
            // As a block, which is there or not.
            0 => (1_000 + 100 * self.random.below(3), 70),
            more => (self.random.below(40), 1 + more / 3),
        };
        let members = (first..first + count).map(member).collect();
        let operation = if self.is_chosen(2) {
            ModifyOperation::Add
        } else {
            ModifyOperation::Delete
        };
        let changes = vec![(operation, "member".to_owned(), members)];
        self.tell(Request::Modify { dn, changes }).await
    }
}

pub(super) fn member(number: usize) -> String {
    format!("cn=m{number},{SUFFIX}")
}

pub(super) fn group(number: usize) -> String {
    format!("cn=g{number},ou=others,{SUFFIX}")
}
