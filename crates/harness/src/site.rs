//! A running directory.

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
};

use ironbark_config::{DatabaseConfig, LoadedConfiguration, OverlayConfig, Registry, SettingError};
use ironbark_directory::{
    Factories, InMemoryTree, OpenOptions, OverlayFactory, Service,
    overlay::{Overlay, SortLimits},
};
use ironbark_ldap_proto::controls;
use ironbark_model::Schema;
use ironbark_runtime::{ManualClock, Randomness, WallTime};
use ironbark_store::LogLimits;

use crate::{
    TestClient,
    configuration::{configuration, registry},
};

/// 2026-01-02T03:04:05Z.
const NOW_MICROS: i64 = 1_767_323_045_000_000;

/// Folders of databases.
const FOLDERS: [&str; 2] = ["db", "log"];

/// A running directory and one session, which begins as the rootdn.
pub struct Site {
    /// The time of the server, which only tests move.
    pub clock: ManualClock,
    /// Configuration and databases.
    pub folder: tempfile::TempDir,
    registry: Registry,
    client: TestClient,
}

impl Deref for Site {
    type Target = TestClient;
    fn deref(&self) -> &TestClient {
        &self.client
    }
}

impl DerefMut for Site {
    fn deref_mut(&mut self) -> &mut TestClient {
        &mut self.client
    }
}

impl Site {
    /// Opens one database `dc=ex` with the given lines in its part of the configuration.
    pub fn open(lines: &str) -> Self {
        Self::open_globally("", lines)
    }

    /// As [`Site::open`], with settings before the database.
    pub fn open_globally(settings: &str, lines: &str) -> Self {
        Self::open_all(
            &registry(),
            settings,
            lines,
            Arc::new(|_, _| Err("no overlays here".into())),
        )
    }

    /// As [`Site::open`], with overlay `tested` as `overlays` makes it. `DIR` in the lines stands for the temporary
    /// folder.
    pub fn open_with(
        lines: &str,
        overlays: impl Fn(&OverlayConfig, &Arc<Schema>) -> Result<Overlay, SettingError> + Send + Sync + 'static,
    ) -> Self {
        Self::open_of(&registry(), lines, overlays)
    }

    /// As [`Site::open_globally`], with an overlay that brings the virtual list view and limits nothing.
    pub fn open_with_views(settings: &str, lines: &str) -> Self {
        let overlay = || Overlay {
            sort_limits: Some(Arc::new(SortLimits {
                max_keys: SortLimits::DEFAULT_KEYS,
                max: u32::MAX,
                max_per_connection: u32::MAX,
                under_way: Arc::default(),
            })),
            controls: controls::ControlSet::NONE.with(controls::ControlKind::VirtualListView),
            ..Overlay::new("tested")
        };
        let lines = format!("{lines}\noverlay tested");
        Self::open_all(&registry(), settings, &lines, Arc::new(move |_, _| Ok(overlay())))
    }

    /// As [`Site::open_with`], with the overlays of a registry.
    pub fn open_of(
        registry: &Registry,
        lines: &str,
        overlays: impl Fn(&OverlayConfig, &Arc<Schema>) -> Result<Overlay, SettingError> + Send + Sync + 'static,
    ) -> Self {
        Self::open_all(registry, "", lines, Arc::new(overlays))
    }

    /// As [`Site::open_globally`], with trees in memory.
    pub fn open_with_trees(
        settings: &str,
        lines: &str,
        trees: impl Fn(&DatabaseConfig) -> Option<Arc<dyn InMemoryTree>> + Send + Sync + 'static,
    ) -> Self {
        let factories = Factories {
            trees: Arc::new(trees),
            ..Factories::default()
        };
        Self::open_made(&registry(), settings, lines, factories)
    }

    /// As [`Site::open`], with this `serverID` and UUIDs of its own.
    pub fn open_server(id: u16, lines: &str) -> Self {
        let factories = Factories {
            server_id: Arc::new(move |_, _| Ok(id)),
            ..Factories::default()
        };
        Self::open_seeded(&registry(), "", lines, factories, u64::from(id))
    }

    /// What [`Site::open_parsed`] takes: a database with these lines, and others that begin in them, in no folder yet.
    pub fn parsed(registry: &Registry, lines: &str) -> LoadedConfiguration {
        let folder = tempfile::tempdir().expect("a temporary folder");
        configuration(registry, folder.path(), "", lines)
    }

    /// Opens the databases of a configuration in this folder, with this `serverID`. UUIDs come from the seed.
    pub fn open_parsed(
        mut configuration: LoadedConfiguration,
        folder: tempfile::TempDir,
        clock: ManualClock,
        id: u16,
        seed: u64,
        overlays: impl Fn(&OverlayConfig, &Arc<Schema>) -> Result<Overlay, SettingError> + Send + Sync + 'static,
    ) -> Self {
        for (database, name) in configuration.databases.iter_mut().zip(FOLDERS) {
            database.directory = folder.path().join(name);
        }
        let factories = Factories {
            overlays: Arc::new(overlays),
            server_id: Arc::new(move |_, _| Ok(id)),
            ..Factories::default()
        };
        Self::open_in(folder, clock, configuration, factories, seed)
    }

    /// A folder for the databases, and the time at which all sites begin.
    pub fn folder_and_clock() -> (tempfile::TempDir, ManualClock) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in FOLDERS {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        (folder, ManualClock::new(WallTime::from_unix_micros(NOW_MICROS)))
    }

    /// A copy of the databases in a folder, as [`Site::open_parsed`] takes it. Later ones are copied first: they may
    /// follow the first one, and find out what they lack.
    pub fn copy(&self) -> tempfile::TempDir {
        let folder = Self::folder_and_clock().0;
        let configuration = self.directory.configuration();
        let databases = configuration.contexts.iter().filter_map(|context| context.database());
        let placed: Vec<_> = databases.zip(FOLDERS).collect();
        for (database, name) in placed.into_iter().rev() {
            database.copy_to(&folder.path().join(name), false).expect("copied");
        }
        folder
    }

    /// Deletes all rows of the first database's log of changes.
    pub fn forget_log(&self) {
        self.forget_log_of(0);
    }

    /// Deletes all rows of the log of changes of a database, by its number.
    pub fn forget_log_of(&self, number: usize) {
        let configuration = self.directory.configuration();
        let context = configuration.contexts.get(number).expect("a naming context");
        let database = context.database().expect("a store");
        let everything = LogLimits {
            bytes: 0,
            changes_since: i64::MIN,
            tombstones_since: None,
            keep_from: u64::MAX,
        };
        while !database.trim_log(&everything, 1_000).expect("trimmed").is_complete {}
    }

    /// As [`Site::open_globally`], with the overlays of a registry.
    pub fn open_all(registry: &Registry, settings: &str, lines: &str, overlays: Arc<OverlayFactory>) -> Self {
        let factories = Factories {
            overlays,
            ..Factories::default()
        };
        Self::open_made(registry, settings, lines, factories)
    }

    /// The configuration that [`Site::open_globally`] would open, in this site's folder.
    pub fn configuration(&self, settings: &str, lines: &str) -> LoadedConfiguration {
        configuration(&self.registry, self.folder.path(), settings, lines)
    }

    fn open_made(registry: &Registry, settings: &str, lines: &str, factories: Factories) -> Self {
        Self::open_seeded(registry, settings, lines, factories, 1)
    }

    fn open_seeded(registry: &Registry, settings: &str, lines: &str, factories: Factories, seed: u64) -> Self {
        let (folder, clock) = Self::folder_and_clock();
        let configuration = configuration(registry, folder.path(), settings, lines);
        Self::open_in(folder, clock, configuration, factories, seed)
    }

    fn open_in(
        folder: tempfile::TempDir,
        clock: ManualClock,
        configuration: LoadedConfiguration,
        factories: Factories,
        seed: u64,
    ) -> Self {
        let registry = configuration.registry.clone();
        let directory = Service::open(OpenOptions {
            bare: false,
            configuration,
            clock: clock.clock(),
            randomness: Randomness::seeded(seed),
            factories,
        })
        .expect("opens");
        Self {
            client: TestClient::new(&directory),
            clock,
            folder,
            registry,
        }
    }

    /// One more connection.
    pub fn connect(&self) -> TestClient {
        TestClient::new(&self.directory)
    }

    /// With `dc=ex`, `ou=p,dc=ex` and people `a`, `b`, `c` in it.
    pub fn populated(lines: &str) -> Self {
        let mut site = Self::open(lines);
        site.populate();
        site
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.client.worker = None;
        self.client.directory.close();
    }
}
