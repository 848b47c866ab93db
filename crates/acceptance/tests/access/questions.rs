//! Single questions to a running server, which may come in any order and any number of times.

use ironbark_client::{Client, proto::ModifyDnRequest};

use super::{
    random::Random,
    site::{CHANGES, COMPARES, SEARCHES, Site},
};

/// A question, by its place in the lists of the site.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Question {
    Search(usize),
    Compare(usize),
    Change(usize),
    /// Adds one of [`NEW`].
    Add(usize),
    Delete(usize),
    Rename(usize),
}

/// Entries that are there for a while.
pub(crate) const NEW: &[&str] = &[
    "cn=new,ou=People,dc=example,dc=com",
    "uid=sub,uid=ann,ou=People,dc=example,dc=com",
];
/// The names that they get.
pub(crate) const RENAMED: &[&str] = &[
    "cn=newer,ou=People,dc=example,dc=com",
    "uid=bob,uid=ann,ou=People,dc=example,dc=com",
];

impl Question {
    pub(crate) fn random(random: &mut Random) -> Self {
        match random.below(10) {
            0..4 => Self::Search(random.below(SEARCHES.len())),
            4 | 5 => Self::Compare(random.below(COMPARES.len())),
            6 => Self::Change(random.below(CHANGES.len())),
            7 => Self::Add(random.below(NEW.len())),
            8 => Self::Delete(random.below(NEW.len())),
            _ => Self::Rename(random.below(NEW.len())),
        }
    }
}

impl Site {
    /// Asks on the connection of somebody; a line that begins with the question.
    pub(crate) async fn ask(&self, who: usize, question: Question) -> String {
        let (dn, client) = &self.clients[who];
        let answer = match question {
            Question::Search(at) => {
                let (base, scope, filter) = SEARCHES[at];
                return format!(
                    "{dn}: {filter}: {}",
                    super::site::search(client, base, scope, filter).await
                );
            }
            Question::Compare(at) => {
                let (entry, attribute, value) = COMPARES[at];
                client.compare(entry, attribute, value.as_bytes(), &[]).await.unwrap()
            }
            Question::Change(at) => super::site::change(client, at).await,
            Question::Add(at) => add(client, NEW[at]).await,
            Question::Delete(at) => client.delete(NEW[at], &[]).await.unwrap(),
            Question::Rename(at) => rename(client, NEW[at], RENAMED[at]).await,
        };
        format!("{dn}: {question:?}: {}", answer.code.0)
    }
}

async fn add(client: &Client, dn: &str) -> ironbark_client::ReceivedResult {
    let (name, value) = dn.split_once(',').unwrap().0.split_once('=').unwrap();
    let value = value.as_bytes();
    let mut attributes: Vec<(&str, &[&[u8]])> = vec![("objectClass", &[b"inetOrgPerson"]), ("sn", &[b"new"])];
    let named = [value];
    attributes.push((name, &named));
    if name != "cn" {
        attributes.push(("cn", &[b"new"]));
    }
    client.add(dn, &attributes, &[]).await.unwrap()
}

async fn rename(client: &Client, dn: &str, new: &str) -> ironbark_client::ReceivedResult {
    let request = ModifyDnRequest {
        entry: dn.as_bytes(),
        new_rdn: new.split_once(',').unwrap().0.as_bytes(),
        delete_old_rdn: false,
        new_superior: None,
    };
    client.modify_dn(&request, &[]).await.unwrap()
}
