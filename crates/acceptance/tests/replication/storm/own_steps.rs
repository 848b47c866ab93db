//! How a client writes its own entries, and finds out what became of them.

use ironbark_client::proto::Scope;

use super::{
    client::{Outcome, Writer},
    held::{Held, SUFFIX, find, find_with, rdn_of},
    ledger::Request,
    own::{Open, OwnEntry, addition},
};

impl Writer {
    /// The name of an entry here, now.
    pub(super) async fn name_of(&mut self, uuid: &str) -> Option<String> {
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
    pub(super) async fn send_own(&mut self, uuid: Option<&str>, request: Request, superior: &str) -> Option<Held> {
        let open = Open {
            uuid: uuid.map(str::to_owned),
            request: request.clone(),
            superior: superior.to_owned(),
        };
        let is_delete = matches!(request, Request::Delete { .. });
        match self.send(request, Some(superior)).await {
            Outcome::Done(held) => {
                self.take_own(&held, (!is_delete).then_some(superior));
                if !is_delete && self.is_stray(&held).await {
                    self.set_free(&held);
                    return None;
                }
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

    /// Whether the entry is below glue: its superior had moved away when the request came, and the name was still there
    /// without an entry.
    async fn is_stray(&mut self, held: &Held) -> bool {
        let Some(client) = self.client().await else {
            return false;
        };
        let filter = format!("(entryUUID={})", held.uuid());
        let found = find_with(&client, SUFFIX, Scope::WholeSubtree, &filter, &["1.1"]).await;
        let Some(found) = self.reached(found) else { return false };
        let Some(now) = found.first() else { return false };
        let above = find(&client, now.superior(), Scope::BaseObject, "(objectClass=*)").await;
        self.reached(above).is_some_and(|above| above.is_empty())
    }

    /// The client changes this entry no more, and the judge does not ask for its place.
    fn set_free(&mut self, held: &Held) {
        self.own.entries.remove(&held.uuid());
        let mut ledger = self.shared.ledger.lock().unwrap();
        ledger.note_event(format!("client {}: {} is below glue", self.number, held.describe()));
        ledger.strays.insert(held.uuid());
    }

    pub(super) async fn add_at(&mut self, rdn: &str, superior: &str) -> Option<Held> {
        let place = self.name_of(superior).await?;
        self.own.freed.retain(|freed| freed != rdn);
        let request = addition(rdn, &place, &format!("by {}", self.number));
        self.send_own(None, request, superior).await
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
                let Some(above) = self.reached(above)?.first().map(Held::uuid) else {
                    self.set_free(held);
                    self.own.open = None;
                    return Some(());
                };
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
