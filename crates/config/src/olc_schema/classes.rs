//! The object classes of cn=config. Their attributes are those of the rows of the settings.

use crate::{
    class::ConfigClass,
    database::DatabaseDescriptor,
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
pub(crate) const ARC: &str = "1.3.6.1.4.1.4203.1.12.2.4.";

const CONFIG: &str = "SUP olcConfig STRUCTURAL";
const BACKEND: &str = "SUP olcBackendConfig STRUCTURAL";
const DATABASE: &str = "SUP olcDatabaseConfig STRUCTURAL";
const OVERLAY: &str = "SUP olcOverlayConfig STRUCTURAL";

/// A class of the server or of its databases.
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
    own(
        "olcMdbBkConfig",
        "1.12.1",
        BACKEND,
        Some(ConfigClass::MdbBackend),
        Naming::Setting,
    ),
    own(
        "olcBdbConfig",
        "2.1.1",
        DATABASE,
        Some(ConfigClass::Berkeley),
        Naming::Setting,
    ),
    own(
        "olcHdbConfig",
        "2.1.2",
        DATABASE,
        Some(ConfigClass::Berkeley),
        Naming::Setting,
    ),
    own(
        "olcLdifConfig",
        "2.2.1",
        DATABASE,
        Some(ConfigClass::Ldif),
        Naming::Setting,
    ),
    own("olcMonitorConfig", "2.4.1", DATABASE, None, Naming::Setting),
    own(
        "olcNullConfig",
        "2.8.1",
        DATABASE,
        Some(ConfigClass::Null),
        Naming::Setting,
    ),
    own(
        "olcMdbConfig",
        "2.12.1",
        DATABASE,
        Some(ConfigClass::Mdb),
        Naming::Setting,
    ),
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
    let of_databases = databases.iter().map(|database| of_database(database));
    let of_overlays = overlays.iter().filter_map(|overlay| of_overlay(overlay));
    let own = OWN.iter().map(of_rows);
    let mut rows: Vec<ClassRow> = own.chain(of_databases).chain(of_overlays).collect();
    rows.sort_by_key(|row| numbers(row.oid));
    rows
}

/// A class of the server or of its databases, made from the rows that belong to it.
fn of_rows(class: &'static OwnClass) -> ClassRow {
    let groups = rows::global::ROWS.iter().chain(rows::database::ROWS);
    let mut places: Vec<_> = groups
        .copied()
        .flatten()
        .flat_map(|row| row.classes.iter().map(move |place| (place, row)))
        .filter(|(place, _)| Some(place.class) == class.rows)
        .filter_map(|(place, row)| Some((place.place, *row.attributes.first()?)))
        .collect();
    places.sort_by_key(|(place, _)| *place);
    let attributes = |is_required: bool| {
        let places = places.iter().filter(move |(place, _)| place.is_none() == is_required);
        places.map(|(_, name)| *name)
    };
    let naming = (class.naming == Naming::Cn).then_some("cn");
    ClassRow {
        names: std::slice::from_ref(&class.name),
        oid: class.oid,
        kind: class.kind,
        must: attributes(true).collect(),
        may: naming.into_iter().chain(attributes(false)).collect(),
    }
}

/// The class of an overlay, made from its settings; `None`: it has no class of its own.
fn of_overlay(overlay: &OverlayDescriptor) -> Option<ClassRow> {
    let class = overlay.class?;
    Some(of_settings(class.names, class.oid, OVERLAY, overlay.settings))
}

/// The class of a type of database that stands in another crate.
fn of_database(database: &DatabaseDescriptor) -> ClassRow {
    of_settings(database.class, database.oid, DATABASE, database.settings)
}

fn of_settings(
    names: &'static [&'static str],
    oid: &'static str,
    kind: &'static str,
    settings: &'static [Setting],
) -> ClassRow {
    let attributes = |is_required: bool| {
        let rows = settings
            .iter()
            .filter(move |row| (row.presence == Presence::Required) == is_required);
        rows.flat_map(|row| row.attributes).copied().collect()
    };
    ClassRow {
        names,
        oid,
        kind,
        must: attributes(true),
        may: attributes(false),
    }
}

/// An OID as numbers, for sorting.
pub(crate) fn numbers(oid: &str) -> Vec<u32> {
    oid.split('.').map(|arc| arc.parse().unwrap_or(u32::MAX)).collect()
}

/// The superclass of one of the server's own classes.
pub(crate) fn own_superclass(name: &str) -> Option<&'static str> {
    let class = OWN.iter().find(|class| class.name.eq_ignore_ascii_case(name))?;
    superclass(class.kind)
}

fn superclass(kind: &'static str) -> Option<&'static str> {
    kind.strip_prefix("SUP ")?.split(' ').next()
}

impl ClassRow {
    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// The name of the superclass, if it has one.
    pub(crate) fn superclass(&self) -> Option<&'static str> {
        superclass(self.kind)
    }
}
