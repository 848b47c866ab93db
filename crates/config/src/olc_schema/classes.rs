//! The object classes of cn=config. The order of `may` is that in which a converted configuration prints attributes, as
//! in slapd.

/// One object class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClassRow {
    /// Names, the usual one first.
    pub(crate) names: &'static [&'static str],
    /// What follows [`ARC`].
    pub(crate) oid: &'static str,
    /// Superclass and kind, as a definition says them.
    pub(crate) kind: &'static str,
    /// Required attributes.
    pub(crate) must: &'static [&'static str],
    /// Allowed attributes.
    pub(crate) may: &'static [&'static str],
}

/// Above all object classes of cn=config.
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
        must,
        may,
    }
}

/// The row of a class, by any of its names.
pub(crate) fn find(name: &str) -> Option<&'static ClassRow> {
    ROWS.iter()
        .find(|row| row.names.iter().any(|known| known.eq_ignore_ascii_case(name)))
}

impl ClassRow {
    /// The row of the superclass, if it has one.
    fn superclass(&self) -> Option<&'static Self> {
        find(self.kind.strip_prefix("SUP ")?.split(' ').next()?)
    }

    /// The superclasses from the top, and the class itself.
    fn lineage(&'static self) -> Vec<&'static Self> {
        let mut rows: Vec<_> = std::iter::successors(Some(self), |row| row.superclass()).collect();
        rows.reverse();
        rows
    }
}

/// The attributes of an entry of these classes in the order in which slapd reads and keeps them when the entry is
/// added.
pub(crate) fn order_of<'a>(names: impl DoubleEndedIterator<Item = &'a str>) -> Vec<&'static str> {
    let mut rows: Vec<&'static ClassRow> = Vec::new();
    for row in names.rev().filter_map(find).flat_map(ClassRow::lineage) {
        if !rows.iter().any(|known| known.oid == row.oid) {
            rows.push(row);
        }
    }
    let mut order: Vec<&'static str> = Vec::new();
    for row in rows.into_iter().rev() {
        let lineage = row.lineage();
        let required = lineage.iter().flat_map(|row| row.must);
        for attribute in required.chain(lineage.iter().flat_map(|row| row.may)) {
            if !order.contains(attribute) {
                order.push(attribute);
            }
        }
    }
    order
}

/// The class of an overlay's entry.
pub(crate) fn of_overlay(name: &str) -> &'static str {
    let known = [
        ("auditlog", "olcAuditlogConfig"),
        ("memberof", "olcMemberOfConfig"),
        ("ppolicy", "olcPPolicyConfig"),
        ("refint", "olcRefintConfig"),
        ("sssvlv", "olcSssVlvConfig"),
        ("unique", "olcUniqueConfig"),
    ];
    known
        .into_iter()
        .find(|(overlay, _)| *overlay == name)
        .map_or("olcOverlayConfig", |(_, class)| class)
}

/// By OID.
pub(crate) const ROWS: &[ClassRow] = &[
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
        ],
    ),
    class(
        &["olcUniqueConfig"],
        "3.10.1",
        OVERLAY,
        &[],
        &[
            "olcUniqueBase",
            "olcUniqueIgnore",
            "olcUniqueAttribute",
            "olcUniqueStrict",
            "olcUniqueURI",
        ],
    ),
    class(
        &["olcRefintConfig"],
        "3.11.1",
        OVERLAY,
        &[],
        &["olcRefintAttribute", "olcRefintNothing", "olcRefintModifiersName"],
    ),
    class(
        &["olcPPolicyConfig"],
        "3.12.1",
        OVERLAY,
        &[],
        &[
            "olcPPolicyDefault",
            "olcPPolicyHashCleartext",
            "olcPPolicyUseLockout",
            "olcPPolicyForwardUpdates",
            "olcPPolicyDisableWrite",
            "olcPPolicySendNetscapeControls",
            "olcPPolicyCheckModule",
            "olcPPolicyRules",
            "olcPPolicyQualityClasses",
            "olcPPolicyQualityCharacters",
            "olcPPolicyQualityDictionary",
            "olcPPolicyQualityForbid",
        ],
    ),
    class(
        &["olcAuditlogConfig"],
        "3.15.1",
        OVERLAY,
        &[],
        &["olcAuditlogFile", "olcAuditlogNonBlocking"],
    ),
    class(
        &["olcMemberOfConfig", "olcMemberOf"],
        "3.18.1",
        OVERLAY,
        &[],
        &[
            "olcMemberOfDN",
            "olcMemberOfDangling",
            "olcMemberOfDanglingError",
            "olcMemberOfRefInt",
            "olcMemberOfGroupOC",
            "olcMemberOfMemberAD",
            "olcMemberOfMemberOfAD",
            "olcMemberOfReverse",
            "olcMemberOfAddCheck",
        ],
    ),
    class(
        &["olcSssVlvConfig"],
        "3.21.1",
        OVERLAY,
        &[],
        &["olcSssVlvMax", "olcSssVlvMaxKeys", "olcSssVlvMaxPerConn"],
    ),
];

/// What a `bdb` or `hdb` database of OpenLDAP 2.4 may have.
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
