//! What one server holds, in 48 octets for each entry.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher as _, RandomState},
    sync::LazyLock,
};

use ironbark_client::{Client, ClientError, ConnectSettings, Search, SearchEntry, SearchItem, SearchStream};
use ironbark_ldap_proto::{
    Filter, ResultCode, Scope,
    controls::{Control, ManageDsaIt, Subentries},
    extended::replica_digest::{self, ReplicaDigest, ReplicaDigestRequest},
};
use ironbark_store::{ContextVector, Csn};
use uuid::Uuid;

use crate::shared::replicas::{connect, contexts, read_one};

/// An entry, as far as it is compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Line {
    pub(super) uuid: [u8; 16],
    csn: [u8; 16],
    /// Hash of its name relative to the base.
    pub(super) place: u64,
    /// Hash of its attributes; 0 if they are not compared.
    pub(super) content: u64,
}

impl Line {
    pub(super) fn new(uuid: [u8; 16], csn: Csn, place: u64, content: u64) -> Self {
        let csn = csn.octets();
        Self {
            uuid,
            csn,
            place,
            content,
        }
    }

    pub(super) fn csn(&self) -> Csn {
        Csn::from_octets(&self.csn)
    }
}

/// What is read of each entry.
#[derive(Clone, Debug)]
pub(super) struct Depth {
    /// All replicated attributes are compared.
    pub(super) is_deep: bool,
    /// Attributes that are not compared, in lower case.
    pub(super) excluded: Vec<String>,
}

impl Depth {
    fn attributes(&self) -> &'static [&'static str] {
        if self.is_deep {
            &["*", "+"]
        } else {
            &["entryUUID", "entryCSN"]
        }
    }

    /// Whether servers should have the same values of this attribute.
    fn compares(&self, name: &str) -> bool {
        !self.excluded.iter().any(|excluded| name.eq_ignore_ascii_case(excluded))
    }

    /// The compared attributes: names in lower case, sorted values.
    pub(super) fn content(&self, entry: &SearchEntry) -> BTreeMap<String, Vec<Vec<u8>>> {
        let compared = entry.attributes.iter().filter(|(name, _)| self.compares(name));
        compared
            .map(|(name, values)| {
                let mut values = values.clone();
                values.sort_unstable();
                (name.to_ascii_lowercase(), values)
            })
            .collect()
    }
}

/// The sums of a server's entries.
pub(super) struct Digest {
    pub(super) entries: u64,
    /// For each bucket of entryUUIDs.
    pub(super) sums: Vec<[u8; 16]>,
}

/// A server that is compared.
#[derive(Debug)]
pub(super) struct Replica {
    /// Its URL as the user wrote it.
    pub(super) name: String,
    client: Client,
    /// Name of the base, as this server spells it.
    base: String,
    /// Name of the entry that has `contextCSN`.
    context: String,
}

impl Replica {
    /// Connects and finds the base.
    pub(super) async fn open(name: &str, base: Option<&str>, settings: &ConnectSettings) -> Result<Self, String> {
        let (url, client) = connect(name, settings).await?;
        let contexts = contexts(&client).await.map_err(|error| format!("{name}: {error}"))?;
        let base = match (url.dn.as_str(), base, contexts.as_slice()) {
            ("", None, [only]) => only.clone(),
            ("", None, _) => return Err(format!("{name}: say which base with -b: {}", contexts.join("; "))),
            ("", Some(base), _) => base.to_owned(),
            (of_url, ..) => of_url.to_owned(),
        };
        let found = read_one(&client, &base, &["contextCSN"]).await;
        let found = found.map_err(|error| format!("{name}: {base}: {error}"))?;
        let base = found.dn;
        let folded = base.to_ascii_lowercase();
        let holder = contexts
            .into_iter()
            .filter(|context| is_within(&folded, &context.to_ascii_lowercase()))
            .max_by_key(String::len);
        Ok(Self {
            name: name.to_owned(),
            client,
            context: holder.unwrap_or_else(|| base.clone()),
            base,
        })
    }

    /// The context vector; empty if the server shows none.
    pub(super) async fn vector(&self) -> Result<ContextVector, String> {
        let entry = read_one(&self.client, &self.context, &["contextCSN"]).await;
        let entry = entry.map_err(|error| self.failed(&error))?;
        Ok(entry
            .values("contextCSN")
            .iter()
            .filter_map(|text| Csn::parse(text))
            .collect())
    }

    /// All entries, sorted by UUID. `told` gets their number from time to time.
    ///
    /// # Errors
    /// The message: the search did not succeed, or entries have no entryUUID.
    pub(super) async fn list(&self, depth: &Depth, told: &mut (dyn FnMut(u64) + Send)) -> Result<Vec<Line>, String> {
        let mut lines = Vec::new();
        self.walk(&not_glue(), depth, |entry| {
            lines.push(self.line(&entry, depth)?);
            if lines.len().is_multiple_of(1_000) {
                told(lines.len() as u64);
            }
            Ok(())
        })
        .await?;
        lines.sort_unstable();
        lines.dedup_by_key(|line| line.uuid);
        Ok(lines)
    }

    /// The sums of its entries, if it has the operation, the base is a naming context and this identity may ask.
    pub(super) async fn digest(&self) -> Result<Option<Digest>, String> {
        let mut request = Vec::new();
        let base = self.base.as_bytes();
        ReplicaDigestRequest { base }.encode(&mut request);
        let reply = self.client.extended(replica_digest::OID, Some(&request), &[]).await;
        let reply = reply.map_err(|error| self.failed(&error.to_string()))?;
        let value = reply.value.filter(|_| reply.result.is_success());
        let Some(value) = value else { return Ok(None) };
        let digest = ReplicaDigest::decode(&value).map_err(|error| self.failed(&error.to_string()))?;
        Ok(Some(Digest {
            entries: digest.entries,
            sums: digest.sums.as_chunks().0.to_vec(),
        }))
    }

    /// The entries of these buckets, sorted by UUID.
    pub(super) async fn list_buckets(&self, buckets: &[usize], depth: &Depth) -> Result<Vec<Line>, String> {
        let mut lines = Vec::new();
        for bucket in buckets {
            let text = format!(
                "(&(entryUUID>={bucket:03x}00000-0000-0000-0000-000000000000)\
                 (entryUUID<={bucket:03x}fffff-ffff-ffff-ffff-ffffffffffff))"
            );
            let filter = Filter::parse(text.as_bytes(), 2).map_err(|error| error.to_string())?;
            self.walk(&filter, depth, |entry| {
                lines.push(self.line(&entry, depth)?);
                Ok(())
            })
            .await?;
        }
        lines.sort_unstable();
        lines.dedup_by_key(|line| line.uuid);
        Ok(lines)
    }

    /// The entries with these UUIDs, each with its line.
    pub(super) async fn find(
        &self,
        uuids: &[[u8; 16]],
        depth: &Depth,
        each: &mut (dyn FnMut(Line, SearchEntry) + Send),
    ) -> Result<(), String> {
        for some in uuids.chunks(AT_ONCE) {
            let texts = some
                .iter()
                .map(|uuid| format!("(entryUUID={})", Uuid::from_bytes(*uuid)));
            let text = format!("(|{})", texts.collect::<String>());
            let filter = Filter::parse(text.as_bytes(), 2).map_err(|error| error.to_string())?;
            self.walk(&filter, depth, |entry| {
                each(self.line(&entry, depth)?, entry);
                Ok(())
            })
            .await?;
        }
        Ok(())
    }

    /// Entries that match, referral objects and subentries included.
    async fn walk(
        &self,
        filter: &Filter<'_>,
        depth: &Depth,
        mut each: impl FnMut(SearchEntry) -> Result<(), String>,
    ) -> Result<(), String> {
        let failed = |error: ClientError| self.failed(&error.to_string());
        for of_subentries in [false, true] {
            let mut stream = self.start(filter, depth, of_subentries).map_err(failed)?;
            while let Some(item) = stream.next().await.map_err(failed)? {
                if let SearchItem::Entry(entry) = item {
                    each(entry)?;
                }
            }
            let Some(result) = stream.result() else {
                return Err(self.failed("the search has no result"));
            };
            match result.code {
                // A server that does not know the control hides no subentries.
                ResultCode::UNAVAILABLE_CRITICAL_EXTENSION if of_subentries => {}
                ResultCode::SIZE_LIMIT_EXCEEDED => {
                    return Err(self.failed("a size limit of this identity hides entries: see `limits`"));
                }
                _ => result.clone().success().map(|_| ()).map_err(failed)?,
            }
        }
        Ok(())
    }

    fn start(&self, filter: &Filter<'_>, depth: &Depth, of_subentries: bool) -> Result<SearchStream, ClientError> {
        let search = Search::new(&self.base, Scope::WholeSubtree, filter.clone());
        let search = search.with_attributes(depth.attributes());
        let referrals = Control::critical(ManageDsaIt);
        if !of_subentries {
            return self.client.search(&search, &[&referrals]);
        }
        self.client
            .search(&search, &[&referrals, &Control::critical(Subentries { visible: true })])
    }

    fn line(&self, entry: &SearchEntry, depth: &Depth) -> Result<Line, String> {
        let uuid = entry
            .values("entryUUID")
            .first()
            .and_then(|text| Uuid::try_parse_ascii(text).ok())
            .map(Uuid::into_bytes);
        let uuid = uuid.ok_or_else(|| self.failed(&format!("{}: entryUUID cannot be read", entry.dn)))?;
        let csn = entry.values("entryCSN").first().and_then(|text| Csn::parse(text));
        let place = KEYS.hash_one(self.relative(&entry.dn).to_ascii_lowercase());
        let content = if depth.is_deep {
            content_hash(&depth.content(entry))
        } else {
            0
        };
        Ok(Line::new(uuid, csn.unwrap_or_default(), place, content))
    }

    /// The name below the base, which may have another name at each server.
    fn relative<'a>(&self, dn: &'a str) -> &'a str {
        let at = dn.len().checked_sub(self.base.len());
        let split = at.and_then(|at| dn.split_at_checked(at));
        split.map_or(dn, |(above, base)| {
            if base.eq_ignore_ascii_case(&self.base) {
                above
            } else {
                dn
            }
        })
    }

    fn failed(&self, error: &str) -> String {
        format!("{}: {error}", self.name)
    }
}

/// Of the hashes of one run: nobody can choose names or content that are taken for each other.
static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// Never 0.
fn content_hash(content: &BTreeMap<String, Vec<Vec<u8>>>) -> u64 {
    let mut bytes = Vec::new();
    let mut put = |part: &[u8]| {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part);
    };
    for (name, values) in content {
        put(name.as_bytes());
        put(&(values.len() as u64).to_be_bytes());
        for value in values {
            put(value);
        }
    }
    KEYS.hash_one(&bytes) | 1
}

/// Whether a name in lower case is at or below another.
fn is_within(name: &str, superior: &str) -> bool {
    let above = name.strip_suffix(superior);
    above.is_some_and(|above| above.is_empty() || superior.is_empty() || above.ends_with(','))
}

/// Entries that stand for missing ones are not replicated.
fn not_glue() -> Filter<'static> {
    let glue = ironbark_model::filter::Assertion {
        attribute: b"objectClass".into(),
        value: b"glue".into(),
    };
    Filter::Not(Box::new(Filter::Equality(glue)))
}

/// UUIDs in one filter.
const AT_ONCE: usize = 50;
