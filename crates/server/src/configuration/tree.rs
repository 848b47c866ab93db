//! cn=config: the tree of the configuration, and writes to it.
//!
//! Invariant: the tree, the configuration in force and the files say the same. A change makes a new tree and a new
//! configuration. First, every step that can fail is *prepared*, without effect. Then the files are *written*; a crash
//! from here on ends in the new configuration. Then everything is *committed*, which cannot fail. So nothing is in
//! force before it is on disk, and nothing is taken back.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use ironbark_config::{
    ConfigError, Notice, Operations, SettingError,
    kinds::CONFIG,
    olc::{self, ChangeError, Folder, ModifySteps, Stamps, Tree},
};
use ironbark_directory::{
    Append, ChangeAuthor, Configuration, InMemoryTree, Modification, ModificationKind, OpenError, OperationError,
    TreeChange, TreeLog, TreeLogged, TreeReplica, complete_entries,
};
use ironbark_model::{Entry, ResultCode, Schema};
use ironbark_overlays::registry;
use ironbark_store::{ClusterLogPlace, Csn};

use super::{
    cluster::{ConfigCluster, News, Published},
    settings::ServerSettings,
    source::Loaded,
    vector,
};
use crate::tls::Completeness;

/// The tree of cn=config.
pub(crate) struct ConfigTree {
    folder: Option<Folder>,
    trees: Mutex<Trees>,
    /// Only the thread that makes changes takes this lock, so it may hold it for long.
    written: Mutex<Written>,
    /// Entries of the tree under one schema.
    shown: Mutex<Option<Shown>>,
    settings: ServerSettings,
    cluster: ConfigCluster,
}

/// The tree in force, and the one before it. The former tree is shown to requests that began under its configuration.
struct Trees {
    current: Arc<Tree>,
    former: Option<(Weak<Configuration>, Arc<Tree>)>,
}

/// Entries, and the tree and schema that they were made from.
struct Shown {
    tree: Arc<Tree>,
    schema: Arc<Schema>,
    entries: Arc<[Entry]>,
}

/// Where a change comes from.
enum Origin<'a> {
    /// A client, or the server itself; with the steps of a modify.
    Client(Option<ModifySteps<'a>>),
    /// A provider, with the CSNs that it has told.
    Provider(&'a [Csn]),
    /// The cluster, which has it already.
    Cluster(Published),
}

struct Written {
    /// The content of the folder.
    stored: Option<Arc<Tree>>,
    /// The notices that were logged.
    notices: Vec<Notice>,
}

impl ConfigTree {
    /// The tree of a loaded configuration. Its notices have been logged.
    pub(crate) fn new(loaded: &Loaded, settings: ServerSettings) -> Self {
        Self {
            folder: loaded.folder.clone(),
            trees: Mutex::new(Trees {
                current: Arc::new(loaded.tree.clone()),
                former: None,
            }),
            written: Mutex::new(Written {
                stored: loaded.stored.clone().map(Arc::new),
                notices: loaded.configuration.notices.clone(),
            }),
            shown: Mutex::new(None),
            settings,
            cluster: ConfigCluster::new(loaded.folder.clone(), registry()),
        }
    }

    /// The tree that a configuration was made from.
    fn tree(&self, configuration: &Configuration) -> Arc<Tree> {
        let trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        let former = trees.former.as_ref();
        let found = former.filter(|(of, _)| std::ptr::eq(of.as_ptr(), configuration));
        Arc::clone(found.map_or(&trees.current, |(_, tree)| tree))
    }

    /// Puts a new tree into force: the cluster, the directory, the files, the server's own settings.
    fn put(&self, mut tree: Tree, by: &ChangeAuthor<'_>, from: Origin<'_>) -> Result<(), OperationError> {
        let former = self.tree(by.configuration);
        // What others send was checked where it was set.
        let former = matches!(from, Origin::Client(_)).then_some(&*former);
        if let Some(former) = former {
            tree.load_modules(former).map_err(of_tree)?;
        }
        let read = olc::load_change(&tree, former, &by.configuration.schema);
        let read = match &from {
            Origin::Client(Some(steps)) => {
                read.or_else(|error| steps.load(&tree, &by.configuration.schema).map_err(|_| error))
            }
            _ => read,
        };
        let mut configuration = read.map_err(|error| refusal(&error))?;
        let is_member = configuration.config.cluster.is_some();
        if is_member {
            self.cluster.check()?;
        } else if matches!(from, Origin::Cluster(_)) {
            // Nobody could change it here then, nor would it take what comes next.
            return Err(out_of_cluster());
        }
        match &from {
            // To those outside the cluster is one server: what others do not have is not of its vector.
            Origin::Client(_) if is_member && !self.cluster.is_news_for_others(&tree) => {}
            Origin::Client(_) => vector::advance(&mut tree, &configuration, by, None),
            Origin::Provider(came) => vector::advance(&mut tree, &configuration, by, Some(came)),
            Origin::Cluster(_) => {}
        }
        let notices = configuration.notices.clone();
        let settings = self.settings.prepare(&configuration.global, Completeness::InSteps);
        let settings = settings.map_err(|error| of_setting(&error))?;
        configuration.global.lacks_tls = settings.lack_tls(&configuration.global);
        // Before other writers wait: followers write to another database.
        (by.announce)(&configuration.schema, &tree.entries(&configuration.schema));
        let prepared = by.governor.prepare(configuration);
        let prepared = prepared.map_err(|error| unprepared(&error))?;
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let published = match from {
            Origin::Cluster(published) => Some(published),
            Origin::Client(_) | Origin::Provider(_) if is_member => self.cluster.publish(&tree)?,
            Origin::Client(_) | Origin::Provider(_) => None,
        };
        let stored = self.write(&mut written, &tree);
        stored.map_err(|error| {
            let here = unwritten(&error);
            // Others have it: this server takes it when it can.
            published.as_ref().map_or(here, |_| Append::not_here())
        })?;
        self.show(tree, by.configuration);
        match published {
            Some(published) => self.cluster.took(published),
            None if !is_member => self.cluster.leave(),
            None => {}
        }
        settings.commit(|| prepared.commit());
        for notice in notices.iter().filter(|notice| !written.notices.contains(notice)) {
            tracing::warn!(target: "any", "{notice}");
        }
        written.notices = notices;
        Ok(())
    }

    /// Writes CSNs of a provider down that came without a change. The configuration stays in force.
    fn note(&self, tree: &Tree, came: &[Csn], configuration: &Arc<Configuration>) -> Result<(), OperationError> {
        let mut next = tree.clone();
        if !vector::take_in(&mut next, came) {
            return Ok(());
        }
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        self.write(&mut written, &next).map_err(|error| unwritten(&error))?;
        let mut trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        let former = trees.former.take();
        // The tree belongs to the configuration in force, which an operation may have taken before.
        trees.former = former.filter(|(of, _)| !std::ptr::eq(of.as_ptr(), Arc::as_ptr(configuration)));
        trees.current = Arc::new(next);
        Ok(())
    }

    /// Shows the new tree under every configuration except `former`, the one in force: nobody sees it before the
    /// commit.
    fn show(&self, tree: Tree, former: &Arc<Configuration>) {
        let mut trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut trees.current, Arc::new(tree));
        trees.former = Some((Arc::downgrade(former), before));
    }

    fn write(&self, written: &mut Written, tree: &Tree) -> Result<(), olc::FolderError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        if let Some(error) = folder.write(written.stored.as_deref(), tree)? {
            tracing::error!(target: "any", "config: the next change will finish this one: {error}");
        }
        written.stored = Some(Arc::new(tree.clone()));
        Ok(())
    }
}

fn unwritten(error: &olc::FolderError) -> OperationError {
    tracing::error!(target: "any", "config: {error}");
    OperationError::new(ResultCode::OTHER, "the configuration could not be written")
}

fn of_entry(uuid: &str, csn: Option<Csn>, entry: &Entry) -> olc::ReplicaEntry {
    olc::ReplicaEntry {
        uuid: uuid.to_owned(),
        csn: csn.map(Csn::text),
        entry: entry.clone(),
    }
}

/// Each server has the line `cluster` of cn=config for itself. Only a tree without `database config` takes it away.
fn out_of_cluster() -> OperationError {
    OperationError::new(
        ResultCode::UNWILLING_TO_PERFORM,
        "it would take this server out of the cluster: it has no database config",
    )
}

/// The loader's refusal as a result. The location is omitted: the client just sent it.
fn refusal(error: &ConfigError) -> OperationError {
    OperationError::new(error.result_code(), error.message())
}

fn of_setting(error: &SettingError) -> OperationError {
    OperationError::new(error.result_code(), error.to_string())
}

/// The directory's refusal as a result.
fn unprepared(error: &OpenError) -> OperationError {
    match error {
        OpenError::Statement(error) => refusal(error),
        OpenError::Configuration(error) => of_setting(error),
        OpenError::Store { .. } => OperationError::new(ResultCode::OTHER, error.to_string()),
        OpenError::ShuttingDown => OperationError::new(ResultCode::UNAVAILABLE, error.to_string()),
    }
}

fn of_tree(error: ChangeError) -> OperationError {
    OperationError::new(error.result_code, error.diagnostic_message)
}

/// The modifications in the form that the tree takes.
fn modifications(schema: &Schema, asked: &[Modification]) -> Result<Vec<olc::AttributeChange>, OperationError> {
    let converted = asked.iter().map(|one| {
        Ok(olc::AttributeChange {
            kind: match one.kind {
                ModificationKind::Add | ModificationKind::AddIfAbsent => olc::AttributeChangeKind::Add,
                ModificationKind::Delete => olc::AttributeChangeKind::Delete,
                ModificationKind::Replace => olc::AttributeChangeKind::Replace,
                ModificationKind::Increment => {
                    return Err(OperationError::new(
                        ResultCode::UNWILLING_TO_PERFORM,
                        "modify/increment: not supported in cn=config",
                    ));
                }
            },
            attribute: schema.description_text(&one.description),
            values: one.values.clone(),
        })
    });
    converted.collect()
}

/// A change of a provider's log in the form that the tree takes.
fn of_log(schema: &Schema, logged: &TreeLogged) -> Result<olc::OlcLogEntry, OperationError> {
    let change = match &logged.change {
        TreeChange::Add(entry) => olc::OlcLogOperation::Add(entry.clone()),
        TreeChange::Delete { dn } => olc::OlcLogOperation::Delete { dn: dn.clone() },
        TreeChange::Modify {
            dn,
            modifications: asked,
        } => olc::OlcLogOperation::Modify {
            dn: dn.clone(),
            modifications: modifications(schema, asked)?,
        },
        TreeChange::ModifyDn { dn, new_rdn, .. } => olc::OlcLogOperation::ModifyDn {
            dn: dn.clone(),
            new_rdn: new_rdn.clone(),
        },
    };
    Ok(olc::OlcLogEntry {
        uuid: logged.uuid.clone(),
        csn: logged.csn.text(),
        author: logged.author.clone(),
        time: logged.time.clone(),
        change,
    })
}

impl InMemoryTree for ConfigTree {
    fn entries(&self, configuration: &Configuration) -> Arc<[Entry]> {
        let tree = self.tree(configuration);
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shown) = &*shown
            && Arc::ptr_eq(&shown.schema, &configuration.schema)
            && Arc::ptr_eq(&shown.tree, &tree)
        {
            return Arc::clone(&shown.entries);
        }
        let entries = complete_entries(configuration, tree.entries(&configuration.schema));
        *shown = Some(Shown {
            tree,
            schema: Arc::clone(&configuration.schema),
            entries: Arc::clone(&entries),
        });
        entries
    }

    fn writes(&self) -> Operations {
        Operations::ADD
            .with(Operations::MODIFY)
            .with(Operations::DELETE)
            .with(Operations::RENAME)
    }

    fn change(&self, change: &TreeChange, by: &ChangeAuthor<'_>) -> Result<(), OperationError> {
        let schema = &*by.configuration.schema;
        let tree = self.tree(by.configuration);
        let mut stamps = Stamps {
            author: by.dn.to_owned(),
            time: by.stamp.time.clone(),
            csn: by.stamp.csn.clone(),
            uuid: String::new(),
        };
        let asked = match change {
            TreeChange::Modify {
                modifications: asked, ..
            } => modifications(schema, asked)?,
            _ => Vec::new(),
        };
        let mut steps = None;
        let changed = match change {
            TreeChange::Add(entry) => {
                stamps.uuid = by.entry_uuid()?;
                tree.add(schema, entry, &stamps)
            }
            TreeChange::Modify { dn, .. } => {
                steps = Some(ModifySteps {
                    former: &tree,
                    dn,
                    modifications: &asked,
                });
                tree.modify(schema, dn, &asked, &stamps)
            }
            TreeChange::Delete { dn } => tree.delete(schema, dn),
            TreeChange::ModifyDn {
                dn,
                new_rdn,
                new_superior,
                ..
            } => tree.rename(schema, dn, new_rdn, new_superior.as_ref(), &stamps),
        };
        self.put(changed.map_err(of_tree)?, by, Origin::Client(steps))
    }

    fn replicate(&self, replica: &TreeReplica<'_>, by: &ChangeAuthor<'_>) -> Result<(), OperationError> {
        let tree = self.tree(by.configuration);
        let sent = olc::Replica {
            entries: replica
                .entries
                .iter()
                .map(|(uuid, csn, entry)| of_entry(uuid, *csn, entry))
                .collect(),
            gone: replica.gone.clone(),
            present: replica.present.clone(),
        };
        let extent = olc::ReplicaExtent {
            holds: replica.holds,
            covers: &|csn| Csn::parse(csn.as_bytes()).is_some_and(|csn| replica.covered.covers(csn)),
        };
        let schema = &*by.configuration.schema;
        let logged = replica.logged.iter().map(|one| of_log(schema, one));
        let logged = logged.collect::<Result<Vec<_>, _>>()?;
        let changed = match logged.as_slice() {
            [] => tree.replicate(schema, &sent, &extent),
            logged => tree.replay(schema, logged),
        };
        match changed.map_err(of_tree)? {
            Some(changed) => self.put(changed, by, Origin::Provider(replica.cookie)),
            None => self.note(&tree, replica.cookie, by.configuration),
        }
    }

    fn follow(&self, log: Option<Arc<dyn TreeLog>>) {
        self.cluster.follow(log);
    }

    fn place(&self) -> Option<ClusterLogPlace> {
        self.cluster.place()
    }

    fn is_own(&self, attribute: &str) -> bool {
        self.trees
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .current
            .is_own(attribute)
    }

    fn begin_batch(&self) {
        self.cluster.begin_batch();
    }

    fn confirm(&self, configuration: &Configuration) -> Result<(), OperationError> {
        if is_member(configuration) {
            self.cluster.confirm()
        } else {
            Ok(())
        }
    }

    fn must_repeat(&self) -> bool {
        self.cluster.must_repeat()
    }

    fn catch_up(&self, by: &ChangeAuthor<'_>) -> Result<bool, OperationError> {
        let own = self.tree(by.configuration);
        match self.cluster.news(&own) {
            News::None => Ok(false),
            News::Begin => {
                let published = self.cluster.begin(&own)?;
                self.cluster.took(published);
                Ok(false)
            }
            News::Take(taken) => {
                let (mut tree, published) = *taken;
                if tree.means_the_same_as(&own) {
                    self.cluster.took(published);
                    return Ok(false);
                }
                let place = published.place();
                vector::take_in(&mut tree, &vector::csns_of(&own));
                self.put(tree, by, Origin::Cluster(published)).inspect_err(|error| {
                    self.cluster.failed(place, &error.diagnostic_message);
                })?;
                tracing::info!(target: "any", "cluster: cn=config: change {} is in force", place.position.sequence);
                Ok(true)
            }
        }
    }
}

/// Whether cn=config is that of a cluster.
fn is_member(configuration: &Configuration) -> bool {
    let mut contexts = configuration.contexts.iter();
    contexts.any(|context| context.settings.kind == &CONFIG && context.settings.cluster.is_some())
}
