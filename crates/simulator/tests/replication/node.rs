//! A server of the simulation.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

use ironbark_config::LoadedConfiguration;
use ironbark_directory::{NamingContext, run_errand};
use ironbark_overlays::accesslog::Purging;
use ironbark_runtime::ManualClock;
use ironbark_store::ContextVector;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::link::Content;
use ironbark_harness::Site;

const LINES: &str = "changelog-size 100000000\nenvflags nosync\noverlay syncprov\n";
/// What a server has besides whose log others follow.
const LOGGING: &str = "overlay accesslog\nlogdb cn=log\nlogops writes\nlogsuccess TRUE\n";
/// The database of that log. A server keeps as much of it as of its own log of changes.
const LOG: &str = "database mdb\nsuffix cn=log\nrootdn cn=root,dc=ex\ndirectory DIR/log\nchangelog-size 100000000\n\
                   envflags nosync\noverlay syncprov\nsyncprov-nopresent TRUE\nsyncprov-reloadhint TRUE\n\
                   access to * by dn.exact=cn=replicator,dc=ex read\n";
/// Attributes that say something of the entry's place, or of the server.
const COMPUTED: [&str; 4] = ["entryDN:", "hasSubordinates:", "subschemaSubentry:", "contextCSN:"];

/// Without a provider nobody has to be waited for after a restore.
const SHARED: &str = "multiprovider on\n";
/// How far the next ID of a server is from its last one.
const NEXT_ID: u16 = 100;
/// Most providers of a server that takes writes.
const MOST_PROVIDERS: usize = 2;

/// The identity with which consumers bind, and what it may read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Replicator {
    /// None; there are no rules.
    Anyone,
    /// One that may read everything by a rule, as docs/replication.md says.
    ByRule,
    /// One from whom a rule hides entries by their content, and a subtree.
    Partly,
}

impl Replicator {
    /// The name of the identity.
    pub(crate) const NAME: &str = "cn=replicator,dc=ex";

    fn lines(self) -> &'static str {
        match self {
            Self::Anyone => "",
            Self::ByRule => "access to * by dn.exact=cn=replicator,dc=ex read by * break\naccess to * by users read\n",
            Self::Partly => {
                "access to filter=(sn=hidden) by dn.exact=cn=replicator,dc=ex none by * break\n\
                 access to dn.subtree=ou=2,dc=ex by dn.exact=cn=replicator,dc=ex none by * break\n\
                 access to * by users read\n"
            }
        }
    }
}

/// What all servers of a kind have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kind {
    /// How many others it follows; none: nobody else writes.
    pub(crate) providers: usize,
    pub(crate) replicator: Replicator,
    /// Whether servers follow each other's access logs.
    pub(crate) by_log: bool,
}

/// The configuration of a kind. Making it is most of what a short run costs.
fn configuration(kind: Kind) -> LoadedConfiguration {
    static PARSED: [[[OnceLock<LoadedConfiguration>; MOST_PROVIDERS + 1]; 3]; 2] =
        [const { [const { [const { OnceLock::new() }; MOST_PROVIDERS + 1] }; 3] }; 2];
    let Kind {
        providers,
        replicator,
        by_log,
    } = kind;
    let log = if by_log {
        " syncdata=accesslog logbase=cn=log"
    } else {
        ""
    };
    let line = |rid| format!("syncrepl rid={rid} provider=ldap://127.0.0.1:{rid} searchbase=dc=ex{log}\n");
    let shared = if providers > 0 { SHARED } else { "" };
    let lines: String = (1..=providers).map(line).collect();
    let (logging, log) = if by_log { (LOGGING, LOG) } else { ("", "") };
    let parse = || {
        Site::parsed(
            &ironbark_overlays::registry(),
            &format!("{LINES}{logging}{}{shared}{lines}{log}", replicator.lines()),
        )
    };
    PARSED[usize::from(by_log)][replicator as usize][providers]
        .get_or_init(parse)
        .clone()
}

/// Starts a server that was started so often before.
fn open(kind: Kind, (folder, clock): (TempDir, ManualClock), (id, starts): (u16, u64)) -> Site {
    let seed = u64::from(id) + starts * 1_000;
    Site::open_parsed(configuration(kind), folder, clock, id, seed, ironbark_overlays::make)
}

/// A server.
pub(crate) struct Node {
    pub(crate) site: Site,
    pub(crate) id: u16,
    pub(crate) kind: Kind,
    /// How often it was started.
    starts: u64,
    /// A copy of its database.
    saved: Option<TempDir>,
}

impl Node {
    /// An empty server with this ID.
    pub(crate) fn new(id: u16, kind: Kind) -> Self {
        Self {
            site: open(kind, Site::folder_and_clock(), (id, 0)),
            id,
            kind,
            starts: 0,
            saved: None,
        }
    }

    /// Trims the log of changes that consumers look at to nothing. With an access log that is the one of its database:
    /// its entries stay, and the log of the content, which says what late changes may change.
    pub(crate) fn forget_log(&self) {
        self.site.forget_log_of(usize::from(self.kind.by_log));
    }

    /// Empties the access log: who has not read all of it needs a refresh.
    pub(crate) fn purge_log(&self, runtime: &Runtime) {
        let directory = &self.site.directory;
        let configuration = directory.configuration();
        let Some(context) = configuration.contexts.get(1).filter(|_| self.kind.by_log) else {
            return;
        };
        let purging = Purging::new(context.suffixes()[0].clone(), 0, Some(u32::MAX));
        let ended = run_errand(directory, context, Arc::new(purging)).expect("room");
        runtime.block_on(ended).expect("an end").expect("purged");
    }

    /// Its process ends, and another one begins with what is committed.
    pub(crate) fn restart(&mut self) {
        let folder = self.site.copy();
        self.open(folder);
    }

    /// Makes a backup.
    pub(crate) fn save(&mut self) {
        self.saved = Some(self.site.copy());
    }

    /// Restores the last backup, if there is one.
    pub(crate) fn restore(&mut self) {
        let Some(folder) = self.saved.take() else { return };
        self.open(folder);
        let context = self.context();
        let database = context.database().expect("a store");
        let mut transaction = database.write().expect("a transaction");
        transaction.mark_restored().expect("marked");
        transaction.commit().expect("committed");
    }

    /// The same under an ID that no server had before. Someone whom it does not follow may have what it wrote since.
    pub(crate) fn restore_as_another(&mut self) {
        self.id += NEXT_ID;
        self.restore();
    }

    fn open(&mut self, folder: TempDir) {
        self.starts += 1;
        let place = (folder, self.site.clock.clone());
        self.site = open(self.kind, place, (self.id, self.starts));
    }

    pub(crate) fn context(&self) -> Arc<NamingContext> {
        let configuration = self.site.directory.configuration();
        Arc::clone(configuration.contexts.first().expect("a database"))
    }

    pub(crate) fn vector(&self) -> ContextVector {
        let context = self.context();
        let snapshot = context.database().expect("a store").snapshot().expect("readable");
        snapshot.view().context_vector().expect("readable").unwrap_or_default()
    }

    pub(crate) fn digest(&self) -> [u8; 32] {
        let context = self.context();
        let snapshot = context.database().expect("a store").snapshot().expect("readable");
        snapshot.view().content_digest().expect("readable")
    }

    /// What a search finds: names, and attributes as lines.
    pub(crate) fn found(&mut self, content: Content) -> BTreeMap<String, BTreeSet<String>> {
        self.site.become_("cn=root,dc=ex");
        let asked = if content.attributes.is_empty() {
            vec!["*", "+"]
        } else {
            let always = ["objectClass", "structuralObjectClass", "entryUUID", "entryCSN"];
            content.attributes.iter().copied().chain(always).collect()
        };
        let answer = self
            .site
            .search_with(content.base, content.scope, content.filter, &asked, &[]);
        assert!(matches!(answer.code, 0 | 32), "{}", answer.code);
        let entries = answer.entries.iter().map(|entry| {
            let (name, rest) = entry.split_once('\n').unwrap();
            let lines = rest
                .lines()
                .filter(|line| !COMPUTED.iter().any(|name| line.starts_with(name)));
            let name = name.strip_prefix("dn: ").unwrap();
            (name.to_owned(), lines.map(str::to_owned).collect())
        });
        entries.collect()
    }
}
