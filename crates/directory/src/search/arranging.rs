//! Overlays that arrange the values of entries before a search sends them.

use std::sync::Arc;

use ironbark_ldap_proto::{SearchRequest, controls::RequestControls};
use ironbark_model::{AttributeDescription, Dn};
use ironbark_runtime::Clock;

use super::run::SearchRun;
use crate::{
    Configuration, NamingContext, OperationError,
    access::{Source, VisibleEntry},
    overlay::{ArrangedEntry, Arrangement, BeginningSearch, overlays_of},
};

/// The arrangements of one search, each with the number of its overlay's database.
#[derive(Default)]
pub(crate) struct Arrangements(Vec<(i32, Box<dyn Arrangement>)>);

impl Arrangements {
    /// Whether no overlay arranges values.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The arrangements for one entry.
pub(super) struct Arranging<'a> {
    all: &'a Arrangements,
    source: Source<'a>,
    dn: Dn,
    /// The numbers of the entry's database and of the database that this is glued into.
    places: [i32; 2],
}

impl SearchRun {
    /// Asks the overlays of the database, and of the databases glued into it.
    ///
    /// # Errors
    /// An overlay refuses the search.
    pub(super) fn ask_search_hooks(
        &mut self,
        configuration: &Configuration,
        context: &Arc<NamingContext>,
        base: &Dn,
        request: &SearchRequest<'_>,
        controls: &RequestControls<'_>,
        clock: &Clock,
    ) -> Result<(), OperationError> {
        if !configuration.of_overlays.has_search_hooks {
            return Ok(());
        }
        let root = configuration.governing(context);
        let is_asked =
            |one: &&Arc<NamingContext>| one.number == root.number || configuration.governing(one).number == root.number;
        let (origin, now) = (&self.origin, clock.now());
        let search_of = |context| BeginningSearch {
            configuration,
            context,
            origin,
            base,
            request,
            now,
            controls,
        };
        let mut all = Vec::new();
        for context in configuration.contexts.iter().filter(is_asked) {
            let search = search_of(context);
            for hooks in &overlays_of(context).searches {
                all.extend(hooks.begin(&search)?.map(|arrangement| (context.number, arrangement)));
            }
        }
        let mut hooks = overlays_of(context).searches.iter();
        self.options.adds_operational = hooks.any(|hooks| hooks.adds_operational(&search_of(context)));
        self.add_operational();
        if !all.is_empty() {
            self.extras.get_or_insert_default().arrangements = Arrangements(all);
        }
        Ok(())
    }

    /// The arrangements for an entry; `None`: there are none.
    pub(super) fn arranging<'a>(&'a self, entry: &VisibleEntry<'a>) -> Option<Arranging<'a>> {
        let all = &self.extras.as_ref()?.arrangements;
        if all.0.is_empty() {
            return None;
        }
        let configuration = &self.configuration;
        let dn = Dn::parse(&configuration.schema, entry.dn().as_bytes()).ok()?;
        let context = configuration.context_of(&dn)?;
        let places = [context.number, configuration.governing(context).number];
        let is_about = |(number, _): &(i32, _)| places.contains(number);
        all.0.iter().any(is_about).then_some(Arranging {
            all,
            source: entry.source(),
            dn,
            places,
        })
    }
}

impl Arranging<'_> {
    /// The error that ends the search in place of the entry, if any.
    pub(super) fn ends_with(&self) -> Option<OperationError> {
        let entry = ArrangedEntry {
            dn: &self.dn,
            source: self.source,
        };
        let all = self.all.0.iter().filter(|(number, _)| self.places.contains(number));
        all.map(|(_, one)| one).find_map(|one| one.ends_with(&entry))
    }

    /// Whether the values of an attribute are arranged.
    pub(super) fn covers(&self, attribute: &AttributeDescription) -> bool {
        self.about(attribute).next().is_some()
    }

    /// The values of an attribute in the order and form for the client.
    pub(super) fn arrange(&self, attribute: &AttributeDescription, values: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let entry = ArrangedEntry {
            dn: &self.dn,
            source: self.source,
        };
        self.about(attribute)
            .fold(values, |values, one| one.arrange(&entry, attribute, values))
    }

    fn about(&self, attribute: &AttributeDescription) -> impl Iterator<Item = &dyn Arrangement> {
        let all = self.all.0.iter().filter(|(number, _)| self.places.contains(number));
        all.map(|(_, one)| &**one)
            .filter(move |one| one.attributes().contains(attribute))
    }
}
