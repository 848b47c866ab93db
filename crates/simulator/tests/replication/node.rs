//! A server of the simulation.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use ironbark_directory::NamingContext;
use ironbark_store::ContextVector;

use crate::{harness::Site, link::Content};

const LINES: &str = "changelog-size 100000000\nenvflags nosync\noverlay syncprov\n";
/// Attributes that say something of the entry's place, or of the server.
const COMPUTED: [&str; 4] = ["entryDN:", "hasSubordinates:", "subschemaSubentry:", "contextCSN:"];

/// A server.
pub(crate) struct Node {
    pub(crate) site: Site,
}

impl Node {
    /// An empty server with this ID.
    pub(crate) fn new(id: u16, is_shared: bool) -> Self {
        let lines = format!("{LINES}{}", if is_shared { "multiprovider on\n" } else { "" });
        let site = Site::open_server_of(id, &ironbark_overlays::registry(), &lines, ironbark_overlays::make);
        Self { site }
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
