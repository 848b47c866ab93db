//! The object classes of cn=config. A converted configuration prints attributes in the order of `may`, as in slapd.
//! Classes of overlays are made from their settings.

use std::borrow::Cow;

use crate::{
    database::DatabaseDescriptor,
    overlay::OverlayDescriptor,
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
    pub(crate) must: Cow<'static, [&'static str]>,
    /// Allowed attributes.
    pub(crate) may: Cow<'static, [&'static str]>,
}

/// The arc of all object classes of cn=config.
pub(crate) const ARC: &str = "1.3.6.1.4.1.4203.1.12.2.4.";

const CONFIG: &str = "SUP olcConfig STRUCTURAL";
const DATABASE: &str = "SUP olcDatabaseConfig STRUCTURAL";
const OVERLAY: &str = "SUP olcOverlayConfig STRUCTURAL";

const fn class(
    names: &'static [&'static str],
    oid: &'static str,
    kind: &'static str,
    must: &'static [&'static str],
    may: &'static [&'static str],
) -> ClassRow {
    ClassRow {
        names,
        oid,
        kind,
        must: Cow::Borrowed(must),
        may: Cow::Borrowed(may),
    }
}

/// The class of an overlay, made from its settings; `None`: it has no class of its own.
fn of_overlay(overlay: &OverlayDescriptor) -> Option<ClassRow> {
    let class = overlay.class?;
    Some(of_settings(class.names, (class.oid, OVERLAY), overlay.settings))
}

/// The class of a type of database that stands in another crate.
fn of_database(database: &DatabaseDescriptor) -> ClassRow {
    of_settings(database.class, (database.oid, DATABASE), database.settings)
}

fn of_settings(
    names: &'static [&'static str],
    (oid, kind): (&'static str, &'static str),
    settings: &'static [Setting],
) -> ClassRow {
    let attributes = |is_required: bool| {
        let rows = settings
            .iter()
            .filter(move |row| (row.presence == Presence::Required) == is_required);
        rows.flat_map(|row| row.attributes).copied().collect::<Vec<_>>()
    };
    ClassRow {
        names,
        oid,
        kind,
        must: Cow::Owned(attributes(true)),
        may: Cow::Owned(attributes(false)),
    }
}

/// Every class, by OID.
pub(crate) fn all(overlays: &[&'static OverlayDescriptor], databases: &[&'static DatabaseDescriptor]) -> Vec<ClassRow> {
    let of_databases = databases.iter().map(|database| of_database(database));
    let of_overlays = overlays.iter().filter_map(|overlay| of_overlay(overlay));
    let mut rows: Vec<ClassRow> = ROWS.iter().cloned().chain(of_databases).chain(of_overlays).collect();
    rows.sort_by_key(|row| numbers(row.oid));
    rows
}

/// An OID as numbers, for sorting.
pub(crate) fn numbers(oid: &str) -> Vec<u32> {
    oid.split('.').map(|arc| arc.parse().unwrap_or(u32::MAX)).collect()
}

/// The server's own row of a class, by any of its names.
pub(crate) fn find_own(name: &str) -> Option<&'static ClassRow> {
    ROWS.iter().find(|row| row.is_named(name))
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

/// The server's own, by OID.
const ROWS: &[ClassRow] = &[
    class(&["olcConfig"], "0.0", "SUP top ABSTRACT", &[], &[]),
    class(
        &["olcGlobal"],
        "0.1",
        CONFIG,
        &[],
        &[
            "cn",
            "olcConfigFile",
            "olcConfigDir",
            "olcAllows",
            "olcArgsFile",
            "olcAttributeOptions",
            "olcAuthIDRewrite",
            "olcAuthzPolicy",
            "olcAuthzRegexp",
            "olcConcurrency",
            "olcConnMaxPending",
            "olcConnMaxPendingAuth",
            "olcDisallows",
            "olcGentleHUP",
            "olcIdleTimeout",
            "olcIndexSubstrIfMaxLen",
            "olcIndexSubstrIfMinLen",
            "olcIndexSubstrAnyLen",
            "olcIndexSubstrAnyStep",
            "olcIndexHash64",
            "olcIndexIntLen",
            "olcListenerThreads",
            "olcLocalSSF",
            "olcLogFile",
            "olcLogFileFormat",
            "olcLogLevel",
            "olcLogFileOnly",
            "olcLogFileRotate",
            "olcMaxFilterDepth",
            "olcMetricsListener",
            "olcConnectionLimit",
            "olcBindFailureLimit",
            "olcProxyTrusted",
            "olcPasswordCryptSaltFormat",
            "olcPasswordHash",
            "olcPidFile",
            "olcPluginLogFile",
            "olcReadOnly",
            "olcReferral",
            "olcReplogFile",
            "olcRequires",
            "olcRestrict",
            "olcReverseLookup",
            "olcRootDSE",
            "olcSaslAuxprops",
            "olcSaslAuxpropsDontUseCopy",
            "olcSaslAuxpropsDontUseCopyIgnore",
            "olcSaslCBinding",
            "olcSaslHost",
            "olcSaslMechanisms",
            "olcSaslRealm",
            "olcSaslSecProps",
            "olcSecurity",
            "olcServerID",
            "olcSigHup",
            "olcSizeLimit",
            "olcSlowLog",
            "olcSockbufMaxIncoming",
            "olcSockbufMaxIncomingAuth",
            "olcTCPBuffer",
            "olcThreads",
            "olcThreadQueues",
            "olcTimeLimit",
            "olcTLSCACertificateFile",
            "olcTLSCACertificatePath",
            "olcTLSCertificateFile",
            "olcTLSCertificateKeyFile",
            "olcTLSCipherSuite",
            "olcTLSCRLCheck",
            "olcTLSCACertificate",
            "olcTLSCertificate",
            "olcTLSCertificateKey",
            "olcTLSRandFile",
            "olcTLSVerifyClient",
            "olcTLSDHParamFile",
            "olcTLSECName",
            "olcTLSCRLFile",
            "olcTLSProtocolMin",
            "olcToolThreads",
            "olcWriteTimeout",
            "olcObjectIdentifier",
            "olcAttributeTypes",
            "olcObjectClasses",
            "olcDitContentRules",
            "olcLdapSyntaxes",
        ],
    ),
    class(
        &["olcSchemaConfig"],
        "0.2",
        CONFIG,
        &[],
        &[
            "cn",
            "olcObjectIdentifier",
            "olcLdapSyntaxes",
            "olcAttributeTypes",
            "olcObjectClasses",
            "olcDitContentRules",
        ],
    ),
    class(&["olcBackendConfig"], "0.3", CONFIG, &["olcBackend"], &[]),
    class(
        &["olcDatabaseConfig"],
        "0.4",
        CONFIG,
        &["olcDatabase"],
        &[
            "olcDisabled",
            "olcHidden",
            "olcSuffix",
            "olcSubordinate",
            "olcAccess",
            "olcAddContentAcl",
            "olcLastMod",
            "olcLastBind",
            "olcLastBindPrecision",
            "olcLimits",
            "olcMaxDerefDepth",
            "olcPlugin",
            "olcReadOnly",
            "olcReplica",
            "olcReplicaArgsFile",
            "olcReplicaPidFile",
            "olcReplicationInterval",
            "olcReplogFile",
            "olcRequires",
            "olcRestrict",
            "olcRestrictOp",
            "olcRootDN",
            "olcRootPW",
            "olcSchemaDN",
            "olcSecurity",
            "olcSizeLimit",
            "olcSyncUseSubentry",
            "olcSyncrepl",
            "olcTimeLimit",
            "olcUpdateDN",
            "olcUpdateRef",
            "olcMultiProvider",
            "olcMonitoring",
            "olcExtraAttrs",
            "olcLastBindSendAssert",
        ],
    ),
    class(&["olcOverlayConfig"], "0.5", CONFIG, &["olcOverlay"], &["olcDisabled"]),
    class(
        &["olcIncludeFile"],
        "0.6",
        CONFIG,
        &["olcInclude"],
        &["cn", "olcRootDSE"],
    ),
    class(
        &["olcFrontendConfig"],
        "0.7",
        "AUXILIARY",
        &[],
        &["olcDefaultSearchBase", "olcPasswordHash", "olcSortVals"],
    ),
    class(
        &["olcModuleList"],
        "0.8",
        CONFIG,
        &[],
        &["cn", "olcModulePath", "olcModuleLoad"],
    ),
    class(
        &["olcMdbBkConfig"],
        "1.12.1",
        "SUP olcBackendConfig STRUCTURAL",
        &[],
        &["olcBkMdbIdlExp"],
    ),
    class(&["olcBdbConfig"], "2.1.1", DATABASE, &["olcDbDirectory"], BERKELEY),
    class(&["olcHdbConfig"], "2.1.2", DATABASE, &["olcDbDirectory"], BERKELEY),
    class(&["olcLdifConfig"], "2.2.1", DATABASE, &["olcDbDirectory"], &[]),
    class(&["olcMonitorConfig"], "2.4.1", DATABASE, &[], &[]),
    class(
        &["olcNullConfig"],
        "2.8.1",
        DATABASE,
        &[],
        &["olcDbBindAllowed", "olcDbDoSearch"],
    ),
    class(
        &["olcMdbConfig"],
        "2.12.1",
        DATABASE,
        &["olcDbDirectory"],
        &[
            "olcDbCheckpoint",
            "olcDbEnvFlags",
            "olcDbNoSync",
            "olcDbIndex",
            "olcDbMaxReaders",
            "olcDbMaxSize",
            "olcDbMode",
            "olcDbSearchStack",
            "olcDbMaxEntrySize",
            "olcDbRtxnSize",
            "olcDbMultival",
            "olcDbPageSize",
            "olcDbCryptoModule",
            "olcDbPassphrase",
            "olcDbChangeLogSize",
            "olcDbChangeLogAge",
        ],
    ),
];

/// Attributes that a `bdb` or `hdb` database of OpenLDAP 2.4 may have.
const BERKELEY: &[&str] = &[
    "olcDbCacheSize",
    "olcDbCheckpoint",
    "olcDbChecksum",
    "olcDbConfig",
    "olcDbCryptFile",
    "olcDbCryptKey",
    "olcDbNoSync",
    "olcDbDirtyRead",
    "olcDbIDLcacheSize",
    "olcDbIndex",
    "olcDbLinearIndex",
    "olcDbLockDetect",
    "olcDbMode",
    "olcDbSearchStack",
    "olcDbShmKey",
    "olcDbCacheFree",
    "olcDbDNcacheSize",
    "olcDbPageSize",
];
