//! The attribute types of cn=config: what OpenLDAP calls each setting there, its OID and form.
//!
//! OIDs are below 1.3.6.1.4.1.4203.1.12.2.3 (`0`: global, `1`: backend, `2`: database, `3`: overlay).

/// One attribute type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttributeRow {
    /// Names, the usual one first.
    pub(crate) names: &'static [&'static str],
    /// What follows [`ARC`], or [`OWN_ARC`] after a `+`.
    pub(crate) oid: &'static str,
    /// Syntax, rules, number and order of values.
    pub(crate) form: Form,
    /// Whether a converted slapd.conf shows it even where it was not set.
    pub(crate) is_always_shown: bool,
}

/// Above all attribute types of cn=config.
const ARC: &str = "1.3.6.1.4.1.4203.1.12.2.3.";

/// Above the attribute types of settings that OpenLDAP does not have.
const OWN_ARC: &str = "2.25.197556397984251993642444354322916165580.2.";

impl AttributeRow {
    /// The whole OID.
    pub(crate) fn full_oid(&self) -> String {
        match self.oid.strip_prefix('+') {
            Some(rest) => format!("{OWN_ARC}{rest}"),
            None => format!("{ARC}{}", self.oid),
        }
    }
}

/// Forms of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// Texts without order among them.
    Texts,
    /// One text.
    Text,
    /// Texts in an order that `{n}` shows.
    Ordered,
    /// Schema definitions, ordered.
    Definitions,
    /// Names of attributes.
    Attributes,
    /// Texts whose case matters.
    ExactTexts,
    /// Keywords and LDAP URLs.
    Uris,
    /// One of them: a file name, say.
    ExactText,
    /// TRUE or FALSE.
    Boolean,
    /// The same without a matching rule.
    PlainBoolean,
    /// A number.
    Integer,
    /// The same without a matching rule.
    PlainInteger,
    /// Names.
    Names,
    /// One name.
    Name,
    /// Octets: a password.
    Octets,
    /// The same without a matching rule.
    PlainOctets,
    /// A certificate.
    Certificate,
    /// A private key.
    PrivateKey,
    /// URLs.
    Urls,
    /// One URL.
    Url,
    /// URLs whose case does not matter.
    UrlsAnyCase,
    /// The same, ordered.
    OrderedUrls,
    /// One text without a matching rule.
    PlainText,
    /// Lines of a file, ordered.
    Lines,
    /// The RDN of a backend; siblings are ordered.
    Backend,
    /// The RDN of a database.
    Database,
    /// The RDN of an overlay.
    Overlay,
}

impl Form {
    /// What a definition says behind the names (RFC 4512 §4.1.2).
    pub(crate) const fn definition(self) -> &'static str {
        match self {
            Self::Texts => "EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15",
            Self::Text => "EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE",
            Self::Ordered => "EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 X-ORDERED 'VALUES'",
            Self::Definitions => {
                "EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 X-ORDERED 'VALUES'"
            }
            Self::Attributes => {
                "EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15"
            }
            Self::ExactTexts => "EQUALITY caseExactMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15",
            Self::Uris => {
                "EQUALITY caseExactMatch SUBSTR caseExactSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15"
            }
            Self::ExactText => "EQUALITY caseExactMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE",
            Self::Boolean => "EQUALITY booleanMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.7 SINGLE-VALUE",
            Self::PlainBoolean => "SYNTAX 1.3.6.1.4.1.1466.115.121.1.7 SINGLE-VALUE",
            Self::Integer => "EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE",
            Self::PlainInteger => "SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE",
            Self::Names => "EQUALITY distinguishedNameMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.12",
            Self::Name => "EQUALITY distinguishedNameMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.12 SINGLE-VALUE",
            Self::Octets => "EQUALITY octetStringMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 SINGLE-VALUE",
            Self::PlainOctets => "SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 SINGLE-VALUE",
            Self::Certificate => "EQUALITY certificateExactMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.8 SINGLE-VALUE",
            Self::PrivateKey => "EQUALITY privateKeyMatch SYNTAX 1.2.840.113549.1.8.1.1 SINGLE-VALUE",
            Self::Urls => "SUP labeledURI",
            Self::Url => "SUP labeledURI SINGLE-VALUE",
            Self::UrlsAnyCase => "SUP labeledURI EQUALITY caseIgnoreMatch",
            Self::OrderedUrls => "SUP labeledURI EQUALITY caseIgnoreMatch X-ORDERED 'VALUES'",
            Self::PlainText => "SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE",
            Self::Lines => "SYNTAX 1.3.6.1.4.1.1466.115.121.1.26 X-ORDERED 'VALUES'",
            Self::Backend => {
                "EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE X-ORDERED 'SIBLINGS'"
            }
            Self::Database => "SUP olcBackend SINGLE-VALUE X-ORDERED 'SIBLINGS'",
            Self::Overlay => "SUP olcDatabase SINGLE-VALUE X-ORDERED 'SIBLINGS'",
        }
    }

    /// Whether values are no text: they travel with `;binary`, and a settings row says them in base64.
    pub(crate) const fn is_binary(self) -> bool {
        matches!(self, Self::Certificate | Self::PrivateKey)
    }

    /// Whether values carry `{n}`.
    pub(crate) const fn is_ordered(self) -> bool {
        matches!(
            self,
            Self::Ordered | Self::Definitions | Self::OrderedUrls | Self::Lines
        )
    }
}

const fn shown(names: &'static [&'static str], oid: &'static str, form: Form) -> AttributeRow {
    AttributeRow {
        names,
        oid,
        form,
        is_always_shown: true,
    }
}

const fn row(names: &'static [&'static str], oid: &'static str, form: Form) -> AttributeRow {
    AttributeRow {
        is_always_shown: false,
        ..shown(names, oid, form)
    }
}

/// An attribute description without `;binary`.
pub(crate) fn base(name: &str) -> &str {
    let (start, end) = name
        .split_at_checked(name.len().saturating_sub(7))
        .unwrap_or((name, ""));
    if end.eq_ignore_ascii_case(";binary") {
        start
    } else {
        name
    }
}

/// The row of an attribute, by any of its names.
pub(crate) fn find(name: &str) -> Option<&'static AttributeRow> {
    let name = base(name);
    ROWS.iter()
        .find(|row| row.names.iter().any(|known| known.eq_ignore_ascii_case(name)))
}

/// By OID.
pub(crate) const ROWS: &[AttributeRow] = &[
    row(&["olcAccess"], "0.1", Form::Ordered),
    row(&["olcAllows"], "0.2", Form::Texts),
    row(&["olcArgsFile"], "0.3", Form::ExactText),
    row(&["olcAttributeTypes"], "0.4", Form::Definitions),
    shown(&["olcAttributeOptions"], "0.5", Form::Texts),
    row(&["olcAuthIDRewrite"], "0.6", Form::Ordered),
    shown(&["olcAuthzPolicy"], "0.7", Form::Text),
    row(&["olcAuthzRegexp"], "0.8", Form::Ordered),
    row(&["olcBackend"], "0.9", Form::Backend),
    shown(&["olcConcurrency"], "0.10", Form::Integer),
    shown(&["olcConnMaxPending"], "0.11", Form::Integer),
    shown(&["olcConnMaxPendingAuth"], "0.12", Form::Integer),
    row(&["olcDatabase"], "0.13", Form::Database),
    row(&["olcDefaultSearchBase"], "0.14", Form::Name),
    row(&["olcDisallows"], "0.15", Form::Texts),
    row(&["olcDitContentRules"], "0.16", Form::Definitions),
    shown(&["olcGentleHUP"], "0.17", Form::Boolean),
    shown(&["olcIdleTimeout"], "0.18", Form::Integer),
    row(&["olcInclude"], "0.19", Form::Urls),
    shown(&["olcIndexSubstrIfMinLen"], "0.20", Form::Integer),
    shown(&["olcIndexSubstrIfMaxLen"], "0.21", Form::Integer),
    shown(&["olcIndexSubstrAnyLen"], "0.22", Form::Integer),
    shown(&["olcIndexSubstrAnyStep"], "0.23", Form::Integer),
    shown(&["olcLocalSSF"], "0.26", Form::Integer),
    row(&["olcLogFile"], "0.27", Form::ExactText),
    shown(&["olcLogLevel"], "0.28", Form::Texts),
    row(&["olcModuleLoad"], "0.30", Form::Ordered),
    row(&["olcModulePath"], "0.31", Form::ExactText),
    row(&["olcObjectClasses"], "0.32", Form::Definitions),
    row(&["olcObjectIdentifier"], "0.33", Form::Definitions),
    row(&["olcOverlay"], "0.34", Form::Overlay),
    row(&["olcPasswordCryptSaltFormat"], "0.35", Form::Text),
    row(&["olcPasswordHash"], "0.36", Form::Texts),
    row(&["olcPidFile"], "0.37", Form::ExactText),
    row(&["olcPlugin"], "0.38", Form::Ordered),
    row(&["olcPluginLogFile"], "0.39", Form::ExactText),
    shown(&["olcReadOnly"], "0.40", Form::Boolean),
    row(&["olcReferral"], "0.41", Form::Url),
    row(&["olcReplicaArgsFile"], "0.43", Form::PlainText),
    row(&["olcReplicaPidFile"], "0.44", Form::PlainText),
    row(&["olcReplicationInterval"], "0.45", Form::PlainInteger),
    row(&["olcReplogFile"], "0.46", Form::PlainText),
    row(&["olcRequires"], "0.47", Form::Texts),
    row(&["olcRestrict"], "0.48", Form::Texts),
    shown(&["olcReverseLookup"], "0.49", Form::Boolean),
    row(&["olcRootDSE"], "0.51", Form::Texts),
    row(&["olcSaslHost"], "0.53", Form::Text),
    row(&["olcSaslRealm"], "0.54", Form::ExactText),
    shown(&["olcSaslSecProps"], "0.56", Form::ExactText),
    shown(&["olcSchemaDN"], "0.58", Form::Name),
    row(&["olcSecurity"], "0.59", Form::Texts),
    row(&["olcSizeLimit"], "0.60", Form::ExactText),
    shown(&["olcSockbufMaxIncoming"], "0.61", Form::Integer),
    shown(&["olcSockbufMaxIncomingAuth"], "0.62", Form::Integer),
    shown(&["olcThreads"], "0.66", Form::Integer),
    row(&["olcTimeLimit"], "0.67", Form::ExactText),
    row(&["olcTLSCACertificateFile"], "0.68", Form::ExactText),
    row(&["olcTLSCACertificatePath"], "0.69", Form::ExactText),
    row(&["olcTLSCertificateFile"], "0.70", Form::ExactText),
    row(&["olcTLSCertificateKeyFile"], "0.71", Form::ExactText),
    row(&["olcTLSCipherSuite"], "0.72", Form::ExactText),
    row(&["olcTLSCRLCheck"], "0.73", Form::ExactText),
    row(&["olcTLSRandFile"], "0.74", Form::ExactText),
    shown(&["olcTLSVerifyClient"], "0.75", Form::ExactText),
    row(&["olcTLSDHParamFile"], "0.77", Form::ExactText),
    row(&["olcConfigFile"], "0.78", Form::ExactText),
    row(&["olcConfigDir"], "0.79", Form::ExactText),
    shown(&["olcToolThreads"], "0.80", Form::Integer),
    row(&["olcServerID"], "0.81", Form::Texts),
    row(&["olcTLSCRLFile"], "0.82", Form::ExactText),
    row(&["olcSortVals"], "0.83", Form::Texts),
    shown(&["olcIndexIntLen"], "0.84", Form::Integer),
    row(&["olcLdapSyntaxes"], "0.85", Form::Definitions),
    shown(&["olcAddContentAcl"], "0.86", Form::Boolean),
    shown(&["olcTLSProtocolMin"], "0.87", Form::ExactText),
    shown(&["olcWriteTimeout"], "0.88", Form::Integer),
    row(&["olcSaslAuxprops"], "0.89", Form::Text),
    row(&["olcTCPBuffer"], "0.90", Form::ExactTexts),
    row(&["olcSaslAuxpropsDontUseCopy"], "0.91", Form::Texts),
    shown(&["olcSaslAuxpropsDontUseCopyIgnore"], "0.92", Form::Boolean),
    shown(&["olcListenerThreads"], "0.93", Form::Integer),
    shown(&["olcIndexHash64"], "0.94", Form::Boolean),
    shown(&["olcThreadQueues"], "0.95", Form::Integer),
    row(&["olcTLSECName"], "0.96", Form::ExactText),
    row(&["olcTLSCACertificate"], "0.97", Form::Certificate),
    row(&["olcTLSCertificate"], "0.98", Form::Certificate),
    row(&["olcTLSCertificateKey"], "0.99", Form::PrivateKey),
    row(&["olcSaslCBinding"], "0.100", Form::Text),
    shown(&["olcMaxFilterDepth"], "0.101", Form::Integer),
    row(&["olcLogFileOnly"], "0.102", Form::Boolean),
    row(&["olcLogFileRotate"], "0.103", Form::Text),
    row(&["olcLogFileFormat"], "0.104", Form::Text),
    row(&["olcRestrictOp"], "0.105", Form::Ordered),
    row(&["olcSlowLog"], "+1", Form::Integer),
    row(&["olcMetricsListener"], "+2", Form::Text),
    row(&["olcConnectionLimit"], "+21", Form::Integer),
    row(&["olcBindFailureLimit"], "+22", Form::Text),
    row(&["olcProxyTrusted"], "+23", Form::Texts),
    row(&["olcSaslMechanisms"], "+24", Form::Text),
    row(&["olcSigHup"], "+25", Form::Text),
    row(&["olcBkMdbIdlExp"], "1.12.1", Form::Integer),
    shown(&["olcDbDirectory"], "2.0.1", Form::Text),
    row(&["olcDbIndex"], "2.0.2", Form::Texts),
    shown(&["olcDbMode"], "2.0.3", Form::Text),
    shown(&["olcLastMod"], "2.0.4", Form::Boolean),
    row(&["olcLimits"], "2.0.5", Form::Ordered),
    shown(&["olcMaxDerefDepth"], "2.0.6", Form::Integer),
    row(&["olcReplica"], "2.0.7", Form::OrderedUrls),
    row(&["olcRootDN"], "2.0.8", Form::Name),
    row(&["olcRootPW"], "2.0.9", Form::Octets),
    row(&["olcSuffix"], "2.0.10", Form::Names),
    row(&["olcSyncrepl"], "2.0.11", Form::Ordered),
    row(&["olcUpdateDN"], "2.0.12", Form::Name),
    row(&["olcUpdateRef"], "2.0.13", Form::UrlsAnyCase),
    row(&["olcSubordinate"], "2.0.15", Form::ExactText),
    row(&["olcMultiProvider", "olcMirrorMode"], "2.0.16", Form::Boolean),
    row(&["olcHidden"], "2.0.17", Form::Boolean),
    shown(&["olcMonitoring"], "2.0.18", Form::Boolean),
    shown(&["olcSyncUseSubentry"], "2.0.19", Form::Boolean),
    row(&["olcExtraAttrs"], "2.0.20", Form::Texts),
    row(&["olcDisabled"], "2.0.21", Form::Boolean),
    shown(&["olcLastBind"], "2.0.22", Form::Boolean),
    row(&["olcLastBindPrecision"], "2.0.23", Form::Integer),
    row(&["olcLastBindSendAssert"], "2.0.24", Form::Boolean),
    row(&["olcDbCacheSize"], "2.1.1", Form::PlainInteger),
    row(&["olcDbCheckpoint"], "2.1.2", Form::Text),
    row(&["olcDbConfig"], "2.1.3", Form::Lines),
    shown(&["olcDbNoSync"], "2.1.4", Form::Boolean),
    row(&["olcDbDirtyRead"], "2.1.5", Form::PlainBoolean),
    row(&["olcDbIDLcacheSize"], "2.1.6", Form::PlainInteger),
    row(&["olcDbLinearIndex"], "2.1.7", Form::PlainBoolean),
    row(&["olcDbLockDetect"], "2.1.8", Form::PlainText),
    shown(&["olcDbSearchStack"], "2.1.9", Form::Integer),
    row(&["olcDbShmKey"], "2.1.10", Form::PlainInteger),
    row(&["olcDbCacheFree"], "2.1.11", Form::PlainInteger),
    row(&["olcDbDNcacheSize"], "2.1.12", Form::PlainInteger),
    row(&["olcDbCryptFile"], "2.1.13", Form::PlainText),
    row(&["olcDbCryptKey"], "2.1.14", Form::PlainOctets),
    row(&["olcDbPageSize"], "2.1.15", Form::Integer),
    row(&["olcDbChecksum"], "2.1.16", Form::PlainBoolean),
    shown(&["olcDbMaxReaders"], "2.12.1", Form::Integer),
    row(&["olcDbMaxSize"], "2.12.2", Form::Integer),
    row(&["olcDbEnvFlags"], "2.12.3", Form::Texts),
    shown(&["olcDbMaxEntrySize"], "2.12.4", Form::Integer),
    shown(&["olcDbRtxnSize"], "2.12.5", Form::Integer),
    row(&["olcDbMultival"], "2.12.6", Form::Texts),
    row(&["olcDbCryptoModule"], "2.12.7", Form::ExactText),
    row(&["olcDbPassphrase"], "2.12.8", Form::ExactText),
    shown(&["olcDbBindAllowed"], "2.8.1", Form::Boolean),
    shown(&["olcDbDoSearch"], "2.8.2", Form::Boolean),
    row(&["olcUniqueBase"], "3.10.1", Form::Name),
    row(&["olcUniqueIgnore"], "3.10.2", Form::Attributes),
    row(&["olcUniqueAttribute"], "3.10.3", Form::Attributes),
    row(&["olcUniqueStrict"], "3.10.4", Form::Boolean),
    row(&["olcUniqueURI"], "3.10.5", Form::Uris),
    row(&["olcRefintAttribute"], "3.11.1", Form::Texts),
    row(&["olcRefintNothing"], "3.11.2", Form::Name),
    row(&["olcRefintModifiersName"], "3.11.3", Form::Name),
    row(&["olcPPolicyDefault"], "3.12.1", Form::Name),
    shown(&["olcPPolicyHashCleartext"], "3.12.2", Form::Boolean),
    shown(&["olcPPolicyUseLockout"], "3.12.3", Form::Boolean),
    shown(&["olcPPolicyForwardUpdates"], "3.12.4", Form::Boolean),
    shown(&["olcPPolicyDisableWrite"], "3.12.5", Form::Boolean),
    shown(&["olcPPolicySendNetscapeControls"], "3.12.6", Form::Boolean),
    row(&["olcPPolicyCheckModule"], "3.12.7", Form::PlainText),
    row(&["olcPPolicyRules"], "+41", Form::Ordered),
    row(&["olcPPolicyQualityClasses"], "+42", Form::Integer),
    row(&["olcPPolicyQualityCharacters"], "+43", Form::Integer),
    row(&["olcPPolicyQualityDictionary"], "+44", Form::ExactText),
    row(&["olcPPolicyQualityForbid"], "+45", Form::Attributes),
    row(&["olcAuditlogFile"], "3.15.1", Form::ExactText),
    row(&["olcAuditlogNonBlocking"], "3.15.2", Form::Boolean),
    row(&["olcMemberOfDN"], "3.18.0", Form::Name),
    shown(&["olcMemberOfDangling"], "3.18.1", Form::Text),
    shown(&["olcMemberOfRefInt"], "3.18.2", Form::Boolean),
    row(&["olcMemberOfGroupOC"], "3.18.3", Form::Text),
    row(&["olcMemberOfMemberAD"], "3.18.4", Form::Text),
    row(&["olcMemberOfMemberOfAD"], "3.18.5", Form::Text),
    row(&["olcMemberOfReverse"], "3.18.6", Form::PlainBoolean),
    row(&["olcMemberOfDanglingError"], "3.18.7", Form::Text),
    row(&["olcMemberOfAddCheck"], "3.18.8", Form::Boolean),
    shown(&["olcSssVlvMax"], "3.21.1", Form::Integer),
    shown(&["olcSssVlvMaxKeys"], "3.21.2", Form::Integer),
    shown(&["olcSssVlvMaxPerConn"], "3.21.3", Form::Integer),
];
