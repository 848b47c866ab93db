//! The object classes of cn=config. Their attributes are those of the rows of the settings.

use crate::{
    class::{ClassPlace, ConfigClass},
    database::{ClassAttributes, DatabaseClass, DatabaseDescriptor},
    overlay::OverlayDescriptor,
    rows,
    setting::{Presence, Setting},
};

/// One object class.
#[derive(Clone, Debug)]
pub(crate) struct ClassRow {
    /// Names, the usual one first.
    pub(crate) names: &'static [&'static str],
    /// The part of the OID behind [`ARC`].
    pub(crate) oid: &'static str,
    /// Superclass and kind, in the form of a definition.
    pub(crate) kind: &'static str,
    /// Required attributes.
    pub(crate) must: Vec<&'static str>,
    /// Allowed attributes. A converted configuration prints them in this order.
    pub(crate) may: Vec<&'static str>,
}

/// The arc of all object classes of cn=config.
const ARC: &str = "1.3.6.1.4.1.4203.1.12.2.4.";

/// The arc of those that OpenLDAP does not have.
const OWN_ARC: &str = "2.25.1246756151.4.";

const CONFIG: &str = "SUP olcConfig STRUCTURAL";
const BACKEND: &str = "SUP olcBackendConfig STRUCTURAL";
const DATABASE: &str = "SUP olcDatabaseConfig STRUCTURAL";
const OVERLAY: &str = "SUP olcOverlayConfig STRUCTURAL";

/// A class of the server or of all databases.
struct OwnClass {
    name: &'static str,
    oid: &'static str,
    kind: &'static str,
    /// The rows that belong to it; `None`: it has no attributes.
    rows: Option<ConfigClass>,
    naming: Naming,
}

/// Which attribute names the entries of a class.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// `cn`, which is no setting.
    Cn,
    /// One of its settings, or one of its superclass.
    Setting,
}

/// The server's own, by OID.
const OWN: &[OwnClass] = &[
    own("olcConfig", "0.0", "SUP top ABSTRACT", None, Naming::Setting),
    own("olcGlobal", "0.1", CONFIG, Some(ConfigClass::Global), Naming::Cn),
    own("olcSchemaConfig", "0.2", CONFIG, Some(ConfigClass::Schema), Naming::Cn),
    own(
        "olcBackendConfig",
        "0.3",
        CONFIG,
        Some(ConfigClass::Backend),
        Naming::Setting,
    ),
    own(
        "olcDatabaseConfig",
        "0.4",
        CONFIG,
        Some(ConfigClass::Database),
        Naming::Setting,
    ),
    own(
        "olcOverlayConfig",
        "0.5",
        CONFIG,
        Some(ConfigClass::Overlay),
        Naming::Setting,
    ),
    own("olcIncludeFile", "0.6", CONFIG, Some(ConfigClass::Include), Naming::Cn),
    own(
        "olcFrontendConfig",
        "0.7",
        "AUXILIARY",
        Some(ConfigClass::Frontend),
        Naming::Setting,
    ),
    own("olcModuleList", "0.8", CONFIG, Some(ConfigClass::Module), Naming::Cn),
];

const fn own(
    name: &'static str,
    oid: &'static str,
    kind: &'static str,
    rows: Option<ConfigClass>,
    naming: Naming,
) -> OwnClass {
    OwnClass {
        name,
        oid,
        kind,
        rows,
        naming,
    }
}

/// Every class, by OID.
pub(crate) fn all(overlays: &[&'static OverlayDescriptor], databases: &[&'static DatabaseDescriptor]) -> Vec<ClassRow> {
    let places = Places::of(databases);
    let own = OWN.iter().map(|class| of_server(class, &places));
    let of_databases = databases.iter().flat_map(|database| {
        let classes = database.classes.iter().map(|class| (class, DATABASE));
        let classes = classes.chain(database.backend_class.iter().map(|class| (class, BACKEND)));
        classes.map(|(class, kind)| of_database(database, class, kind, &places))
    });
    let of_overlays = overlays.iter().filter_map(|overlay| of_overlay(overlay));
    let mut rows: Vec<ClassRow> = own.chain(of_databases).chain(of_overlays).collect();
    rows.sort_by_key(|row| numbers(row.oid));
    rows
}

/// The attributes that say themselves to which class they belong: the class, the place in it, the name.
struct Places(Vec<(ClassPlace, &'static str)>);

impl Places {
    fn of(databases: &[&'static DatabaseDescriptor]) -> Self {
        let groups = rows::global::ROWS.iter().chain(rows::database::ROWS);
        let groups = groups.chain(databases.iter().flat_map(|database| database.settings));
        let places = groups.copied().flatten().flat_map(|row| {
            let name = row.attributes.first();
            row.classes.iter().filter_map(move |place| Some((*place, *name?)))
        });
        let mut places: Vec<_> = places.collect();
        places.sort_by_key(|(place, _)| place.place);
        Self(places)
    }

    /// The required or the allowed attributes of a class.
    fn within(&self, class: Option<ConfigClass>, is_required: bool) -> impl Iterator<Item = &'static str> {
        let places = self.0.iter().filter(move |(place, _)| Some(place.class) == class);
        let places = places.filter(move |(place, _)| place.place.is_none() == is_required);
        places.map(|(_, name)| *name)
    }
}

/// A class of the server or of all databases.
fn of_server(class: &'static OwnClass, places: &Places) -> ClassRow {
    let naming = (class.naming == Naming::Cn).then_some("cn");
    ClassRow {
        names: std::slice::from_ref(&class.name),
        oid: class.oid,
        kind: class.kind,
        must: places.within(class.rows, true).collect(),
        may: naming.into_iter().chain(places.within(class.rows, false)).collect(),
    }
}

/// A class of a type of database.
fn of_database(database: &DatabaseDescriptor, class: &DatabaseClass, kind: &'static str, places: &Places) -> ClassRow {
    match class.attributes {
        ClassAttributes::OfSettings => of_settings(class.names, class.oid, kind, database.settings),
        ClassAttributes::Of(rows) => ClassRow {
            names: class.names,
            oid: class.oid,
            kind,
            must: places.within(Some(rows), true).collect(),
            may: places.within(Some(rows), false).collect(),
        },
    }
}

/// The class of an overlay, made from its settings; `None`: it has no class of its own.
fn of_overlay(overlay: &OverlayDescriptor) -> Option<ClassRow> {
    let class = overlay.class?;
    Some(of_settings(class.names, class.oid, OVERLAY, &[overlay.settings]))
}

fn of_settings(
    names: &'static [&'static str],
    oid: &'static str,
    kind: &'static str,
    settings: &[&'static [Setting]],
) -> ClassRow {
    let attributes = |is_required: bool| {
        let rows = settings
            .iter()
            .copied()
            .flatten()
            .filter(move |row| (row.presence == Presence::Required) == is_required);
        // Other names are those of the same attribute.
        rows.filter_map(|row| row.attributes.first()).copied().collect()
    };
    ClassRow {
        names,
        oid,
        kind,
        must: attributes(true),
        may: attributes(false),
    }
}

/// The whole OID of a class.
pub(super) fn full_oid(oid: &str) -> String {
    match oid.strip_prefix('+') {
        Some(rest) => format!("{OWN_ARC}{rest}"),
        None => format!("{ARC}{oid}"),
    }
}

/// An OID as numbers, for sorting.
pub(crate) fn numbers(oid: &str) -> Vec<u32> {
    oid.split('.').map(|arc| arc.parse().unwrap_or(u32::MAX)).collect()
}

impl ClassRow {
    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// The name of the superclass, if it has one.
    pub(crate) fn superclass(&self) -> Option<&'static str> {
        self.kind.strip_prefix("SUP ")?.split(' ').next()
    }
}
