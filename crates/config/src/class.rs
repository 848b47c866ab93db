//! The object classes of cn=config that hold the settings of the server and of its databases, and the place of an
//! attribute in them. The classes of overlays have the attributes of their own rows, and so have those of types of
//! databases whose settings stand together.

/// An object class of cn=config whose attributes say themselves that they belong to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigClass {
    /// olcGlobal: the server.
    Global,
    /// olcSchemaConfig: schema definitions.
    Schema,
    /// olcBackendConfig: every `backend`.
    Backend,
    /// olcDatabaseConfig: every `database`.
    Database,
    /// olcOverlayConfig: every `overlay`.
    Overlay,
    /// olcIncludeFile: an included file.
    Include,
    /// olcFrontendConfig: the defaults of all databases.
    Frontend,
    /// olcModuleList: modules.
    Module,
    /// olcMdbBkConfig: `backend mdb`.
    MdbBackend,
    /// olcBdbConfig and olcHdbConfig: `database bdb` and `database hdb` of OpenLDAP 2.4.
    Berkeley,
    /// olcLdifConfig: `database ldif`.
    Ldif,
    /// olcMdbConfig: `database mdb`.
    Mdb,
}

/// An attribute's place in a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClassPlace {
    /// The class.
    pub(crate) class: ConfigClass,
    /// The sort key among the attributes of the class; `None`: the class requires the attribute.
    pub(crate) place: Option<u16>,
}

impl ConfigClass {
    /// An allowed attribute. The attributes of a class are sorted by `place`, in slapd's order: a converted
    /// configuration prints them so, and an entry of cn=config is read so. The places of slapd's attributes are ten
    /// apart, so a new attribute fits between any two.
    pub const fn at(self, place: u16) -> ClassPlace {
        ClassPlace {
            class: self,
            place: Some(place),
        }
    }

    /// A required attribute.
    pub const fn required(self) -> ClassPlace {
        ClassPlace {
            class: self,
            place: None,
        }
    }
}
