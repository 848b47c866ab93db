//! Derivations of several levels.

use std::sync::{Arc, Mutex};

use ironbark_config::{
    Registry,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor, OverlaySettings},
};
use ironbark_directory::overlay::{Derivation, Derive, DerivingEntry, DerivingLook, Entries, Overlay, Reads};
use ironbark_model::{AttributeDescription, CompiledFilter, Filter, Schema};
use ironbark_store::{Derived, DerivedCandidates, FilterItem, Purpose, StoreError, Wanted};

use crate::derived::{
    ask::{self, A, B, found, values},
    rule::{self, ADDS, REPLACES, Rule, Streets},
};
use ironbark_harness::Site;

/// `title` has the values of `description`, between brackets.
#[derive(Clone)]
pub(crate) struct Titles {
    level: u8,
    title: AttributeDescription,
    description: AttributeDescription,
    /// How many candidates each look-up was worth.
    worth: Arc<Mutex<Vec<u64>>>,
}

impl Titles {
    pub(crate) fn new(schema: &Schema, level: u8, worth: &Arc<Mutex<Vec<u64>>>) -> Self {
        Self {
            level,
            title: rule::attribute(schema, "title"),
            description: rule::attribute(schema, "description"),
            worth: Arc::clone(worth),
        }
    }
}

impl Derivation for Titles {
    fn reads(&self) -> Reads {
        Reads::NothingChosen
    }

    fn level(&self) -> u8 {
        self.level
    }

    fn facts(&self, _: Entries<'_>) -> Result<Arc<dyn Derive>, StoreError> {
        Ok(Arc::new(self.clone()))
    }
}

impl Derive for Titles {
    fn attributes(&self) -> &[AttributeDescription] {
        std::slice::from_ref(&self.title)
    }

    fn derive(&self, entry: &DerivingEntry<'_>, _: &Wanted<'_>, found: &mut Derived) -> Result<(), StoreError> {
        let below = entry.values(&self.description, Purpose::Match)?;
        let titles = below.iter().map(|value| [b"<", &value[..], b">"].concat());
        found.add(&self.title, titles);
        Ok(())
    }

    /// The entries that have a description at all, stored or derived below.
    fn candidates(&self, look: &DerivingLook<'_>, item: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError> {
        self.worth.lock().unwrap().push(item.most());
        let mut filter = CompiledFilter::default();
        filter.compile(look.view.schema(), &Filter::Present(b"description".into()));
        look.view.may_match(&filter, item.most())
    }
}

/// No settings.
#[derive(Clone, PartialEq, Debug, Default)]
struct Nothing;

impl OverlaySettings for Nothing {}

const fn overlay(name: &'static str, class: &'static [&'static str], oid: &'static str) -> OverlayDescriptor {
    OverlayDescriptor {
        name,
        modules: &[],
        occurrence: Occurrence::Once,
        class: Some(OverlayClass { names: class, oid }),
        settings: &[],
        controls: &[],
        fresh: AnySettings::of::<Nothing>,
        schema: "",
        introduction: "",
    }
}

static TITLES: OverlayDescriptor = overlay("titles", &["olcTitlesConfig"], "3.901.1");
static STREETS: OverlayDescriptor = overlay("streets", &["olcStreetsConfig"], "3.902.1");

/// With titles of a level, and a rule of level 0, in this order.
fn site(order: &str, level: u8, rule: Rule) -> Site {
    let registry = Registry::new(vec![&TITLES, &STREETS], Vec::new()).expect("good overlays");
    let lines = format!("index description eq,pres\n{order}");
    let mut site = Site::open_of(&registry, &lines, move |config, schema| {
        let derivation: Arc<dyn Derivation> = match config.descriptor().name {
            "titles" => Arc::new(Titles::new(schema, level, &Arc::default())),
            _ => Arc::new(Streets::new(schema, rule, &Arc::default())),
        };
        Ok(Overlay {
            derivation: Some(derivation),
            ..Overlay::new(config.descriptor().name)
        })
    });
    ask::populate(&mut site);
    site
}

const ORDERS: [&str; 2] = ["overlay titles\noverlay streets", "overlay streets\noverlay titles"];

#[test]
fn a_higher_level_sees_what_a_lower_one_derives() {
    for order in ORDERS {
        let mut site = site(order, 1, ADDS);
        assert_eq!(values(&mut site, A, "title"), ["<own>", "<red>"], "{order}");
        assert_eq!(values(&mut site, B, "title"), ["<red>"]);
        assert_eq!(found(&mut site, "(title=<red>)"), ["p", "a", "b", "c"]);
        assert_eq!(found(&mut site, "(&(name=<red>)(!(title=<own>)))"), ["p", "b", "c"]);
        assert_eq!(ask::compare(&mut site, B, "title", "<red>"), 6);
    }
}

#[test]
fn a_higher_level_sees_no_stored_values_that_a_lower_one_replaces() {
    for order in ORDERS {
        let mut site = site(order, 3, REPLACES);
        assert_eq!(values(&mut site, A, "title"), ["<red>"], "{order}");
        assert_eq!(found(&mut site, "(title=<own>)"), [""; 0]);
    }
}

#[test]
fn derivations_of_one_level_do_not_see_each_other() {
    for order in ORDERS {
        let mut site = site(order, 0, ADDS);
        assert_eq!(values(&mut site, A, "title"), ["<own>"], "{order}");
        assert_eq!(values(&mut site, B, "title"), [""; 0]);
        assert_eq!(found(&mut site, "(title=*)"), ["a"]);
    }
}
