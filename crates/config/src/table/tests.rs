//! What holds for every row.

use std::{cell::RefCell, collections::BTreeSet, sync::Arc};

use ironbark_model::{Dn, Schema, schema::Source};

use super::{Place, find, settings, suggestion};
use crate::{
    DatabaseConfig, DatabaseKind, Fate, GlobalConfig, Handler, Level, OverlayConfig, Setting, Statement,
    overlay::OverlayKind,
    reader::{self, Memory},
    test_schema,
};

/// The directives of slapd.conf(5), slapd-mdb(5), slapd-bdb(5), slapo-memberof(5), slapo-auditlog(5), slapo-refint(5),
/// slapo-unique(5), slapo-sssvlv(5), slapd-null(5) and slapd-ldif(5) of 2.4 to 2.7.
const DIRECTIVES: &str = "access add_content_acl allow argsfile attributeoptions attributetype authid-rewriteengine \
    authid-rewritecontext authid-rewriterule authid-rewritemap authz-policy authz-regexp backend concurrency conn_max_pending \
    conn_max_pending_auth database defaultsearchbase disallow ditcontentrule extra_attrs gentlehup hidden idletimeout include \
    index_hash64 index_intlen index_substr_any_len index_substr_any_step index_substr_if_maxlen index_substr_if_minlen lastbind \
    lastbind-precision lastmod ldapsyntax limits listener-threads localssf logfile logfile-format logfile-only logfile-rotate \
    loglevel maxderefdepth maxfilterdepth mirrormode moduleload modulepath monitoring multiprovider objectclass \
    objectidentifier overlay password-crypt-salt-format password-hash pidfile plugin pluginlog readonly referral replica \
    replica-argsfile replica-pidfile replicationinterval replogfile require restrict restrictop reverse-lookup rootdn rootdse \
    rootpw sasl-authz-policy sasl-auxprops sasl-auxprops-dontusecopy sasl-auxprops-dontusecopy-ignore sasl-cbinding sasl-host \
    sasl-realm sasl-regexp saslregexp sasl-secprops schemadn security serverid sizelimit sockbuf_max_incoming \
    sockbuf_max_incoming_auth sortvals subordinate suffix sync_use_subentry syncrepl tcp-buffer threadqueues threads timelimit \
    tlscacertificatefile tlscacertificatepath tlscertificatefile tlscertificatekeyfile tlsciphersuite tlscrlcheck tlscrlfile \
    tlsdhparamfile tlsecname tlsprotocolmin tlsrandfile tlsverifyclient tool-threads ucdata-path updatedn updateref \
    writetimeout checkpoint crypto dbnosync dbpagesize directory envflags idlexp index maxentrysize maxreaders maxsize mode \
    multival passphrase rtxnsize searchstack cachefree cachesize checksum cryptfile cryptkey dbconfig dirtyread dncachesize \
    idlcachesize linearindex lockdetect shm_key memberof-addcheck memberof-dangling memberof-dangling-error memberof-dn \
    memberof-group-oc memberof-member-ad memberof-memberof-ad memberof-refint auditlog auditlognonblocking refint_attributes \
    refint_nothing refint_modifiersname unique_uri unique_base unique_ignore unique_attributes unique_strict sssvlv-max \
    sssvlv-maxkeys sssvlv-maxperconn bind dosearch ppolicy_default ppolicy_rules ppolicy_hash_cleartext ppolicy_use_lockout \
    ppolicy_forward_updates ppolicy_disable_write ppolicy_send_netscape_controls ppolicy_check_module";

/// The attributes of cn=config for them.
const ATTRIBUTES: &str = "olcAccess olcAddContentAcl olcAllows olcArgsFile olcAttributeOptions olcAttributeTypes \
    olcAuthIDRewrite olcAuthzPolicy olcAuthzRegexp olcBackend olcConcurrency olcConfigDir olcConfigFile olcConnMaxPending \
    olcConnMaxPendingAuth olcDatabase olcDefaultSearchBase olcDisabled olcDisallows olcDitContentRules olcExtraAttrs \
    olcGentleHUP olcHidden olcIdleTimeout olcInclude olcIndexHash64 olcIndexIntLen olcIndexSubstrAnyLen olcIndexSubstrAnyStep \
    olcIndexSubstrIfMaxLen olcIndexSubstrIfMinLen olcLastBind olcLastBindPrecision olcLastBindSendAssert olcLastMod \
    olcLdapSyntaxes olcLimits olcListenerThreads olcLocalSSF olcLogFile olcLogFileFormat olcLogFileOnly olcLogFileRotate \
    olcLogLevel olcMaxDerefDepth olcMaxFilterDepth olcMirrorMode olcModuleLoad olcModulePath olcMonitoring olcMultiProvider \
    olcObjectClasses olcObjectIdentifier olcOverlay olcPasswordCryptSaltFormat olcPasswordHash olcPidFile olcPlugin \
    olcPluginLogFile olcReadOnly olcReferral olcReplica olcReplicaArgsFile olcReplicaPidFile olcReplicationInterval \
    olcReplogFile olcRequires olcRestrict olcRestrictOp olcReverseLookup olcRootDN olcRootDSE olcRootPW olcSaslAuxprops \
    olcSaslAuxpropsDontUseCopy olcSaslAuxpropsDontUseCopyIgnore olcSaslCBinding olcSaslHost olcSaslRealm olcSaslSecProps \
    olcSchemaDN olcSecurity olcServerID olcSizeLimit olcSockbufMaxIncoming olcSockbufMaxIncomingAuth olcSortVals \
    olcSubordinate olcSuffix olcSyncUseSubentry olcSyncrepl olcTCPBuffer olcTLSCACertificate olcTLSCACertificateFile \
    olcTLSCACertificatePath olcTLSCRLCheck olcTLSCRLFile olcTLSCertificate olcTLSCertificateFile olcTLSCertificateKey \
    olcTLSCertificateKeyFile olcTLSCipherSuite olcTLSDHParamFile olcTLSECName olcTLSProtocolMin olcTLSRandFile \
    olcTLSVerifyClient olcThreadQueues olcThreads olcTimeLimit olcToolThreads olcUpdateDN olcUpdateRef olcWriteTimeout \
    olcBkMdbIdlExp olcDbCheckpoint olcDbCryptoModule olcDbDirectory olcDbEnvFlags olcDbIndex olcDbMaxEntrySize \
    olcDbMaxReaders olcDbMaxSize olcDbMode olcDbMultival olcDbNoSync olcDbPageSize olcDbPassphrase olcDbRtxnSize \
    olcDbSearchStack olcDbCacheFree olcDbCacheSize olcDbChecksum olcDbConfig olcDbCryptFile olcDbCryptKey olcDbDNcacheSize \
    olcDbDirtyRead olcDbIDLcacheSize olcDbLinearIndex olcDbLockDetect olcDbShmKey olcMemberOfAddCheck olcMemberOfDN \
    olcMemberOfDangling olcMemberOfDanglingError olcMemberOfGroupOC olcMemberOfMemberAD olcMemberOfMemberOfAD \
    olcMemberOfRefInt olcMemberOfReverse olcAuditlogFile olcAuditlogNonBlocking olcRefintAttribute olcRefintNothing \
    olcRefintModifiersName olcUniqueURI olcUniqueBase olcUniqueIgnore olcUniqueAttribute olcUniqueStrict \
    olcSssVlvMax olcSssVlvMaxKeys olcSssVlvMaxPerConn olcDbBindAllowed olcDbDoSearch \
    olcPPolicyDefault olcPPolicyHashCleartext olcPPolicyUseLockout olcPPolicyForwardUpdates olcPPolicyDisableWrite \
    olcPPolicySendNetscapeControls olcPPolicyCheckModule";

#[test]
fn every_directive_and_attribute_has_a_row() {
    for directive in DIRECTIVES.split_whitespace() {
        assert!(settings().any(|row| row.has_keyword(directive)), "{directive}");
    }
    for attribute in ATTRIBUTES.split_whitespace() {
        assert_eq!(
            settings().filter(|row| row.attributes.contains(&attribute)).count(),
            1,
            "{attribute}"
        );
    }
}

#[test]
fn every_row_is_complete() {
    let mut seen = BTreeSet::new();
    for row in settings() {
        let name = row.name();
        assert!(!name.is_empty());
        assert!(row.documentation.ends_with('.'), "{name}: documentation is sentences");
        assert!(
            row.since.starts_with("2.") || row.since == crate::setting::OWN,
            "{name}"
        );
        for keyword in row.keywords {
            assert!(
                seen.insert((keyword.to_ascii_lowercase(), format!("{:?}", row.level))),
                "{keyword} is written twice"
            );
        }
        match row.fate {
            Fate::Obeyed(_) => assert!(!row.examples.is_empty(), "{name}: no example"),
            Fate::Meaningless(reason) | Fate::Refused(reason) => {
                assert!(
                    !reason.is_empty() && !reason.ends_with('.') && reason != "a row without a fate",
                    "{name}"
                );
            }
        }
    }
}

/// What rows are tried on: a server, a database with suffix and rootdn, and each overlay.
struct Bench {
    schema: Arc<Schema>,
    global: GlobalConfig,
    database: DatabaseConfig,
    overlays: Vec<OverlayConfig>,
}

impl Bench {
    fn new(row: &Setting) -> Self {
        let schema = test_schema::schema();
        let location = location();
        let mut database = DatabaseConfig::new(
            DatabaseKind::Mdb,
            location.clone(),
            &DatabaseConfig::frontend(),
            &schema,
        );
        if row.name() != "suffix" {
            database.suffixes.push(Dn::parse(&schema, b"dc=bench").unwrap());
        }
        database.root_dn = Some(Dn::parse(&schema, b"cn=root,dc=bench").unwrap());
        let overlays = [
            OverlayKind::Memberof,
            OverlayKind::Auditlog,
            OverlayKind::Refint,
            OverlayKind::Unique,
            OverlayKind::Sssvlv,
        ];
        Self {
            global: GlobalConfig::default(),
            database,
            overlays: overlays.map(|kind| OverlayConfig::new(kind, location.clone())).to_vec(),
            schema,
        }
    }

    fn get(&self, row: &Setting) -> Option<Vec<String>> {
        let Fate::Obeyed(handler) = row.fate else { return None };
        match handler {
            Handler::Global { get, .. } => Some(get(&self.global, &self.schema)),
            Handler::Database { get, .. } => Some(get(&self.database, &self.schema)),
            Handler::Overlay { get, .. } => {
                let overlay = self
                    .overlays
                    .iter()
                    .find(|overlay| Level::Overlay(overlay.kind()) == row.level)?;
                Some(get(overlay, &self.schema))
            }
            Handler::Schema(_) | Handler::Structure => None,
        }
    }

    fn set(&mut self, row: &Setting, value: &str) -> Result<(), String> {
        let Fate::Obeyed(handler) = row.fate else {
            return Err("not obeyed".to_owned());
        };
        let text = crate::statement_text(row, value);
        let lines = reader::read("line", &Memory::file("line", text)).map_err(|error| error.to_string())?;
        let notices = RefCell::default();
        let location = location();
        let schema = Arc::clone(&self.schema);
        let statement = Statement {
            keyword: &lines[0].keyword,
            arguments: &lines[0].arguments,
            grammar: row.grammar,
            schema: &schema,
            location: &location,
            notices: &notices,
        };
        match handler {
            Handler::Global { set, .. } => set(&mut self.global, &statement),
            Handler::Database { set, .. } => set(&mut self.database, &statement),
            Handler::Overlay { set, .. } => {
                let overlay = self
                    .overlays
                    .iter_mut()
                    .find(|overlay| Level::Overlay(overlay.kind()) == row.level);
                set(overlay.unwrap(), &statement)
            }
            Handler::Schema(_) | Handler::Structure => Ok(()),
        }
    }
}

fn location() -> Source {
    Source {
        file: "bench".into(),
        line: 1,
    }
}

#[test]
fn what_is_read_back_says_the_same() {
    for row in settings() {
        let before = Bench::new(row);
        let Some(at_first) = before.get(row) else { continue };
        for example in row.examples {
            let name = row.name();
            let mut first = Bench::new(row);
            first
                .set(row, example)
                .unwrap_or_else(|error| panic!("{name} {example}: {error}"));
            let values = first.get(row).unwrap();
            let mut second = Bench::new(row);
            for value in values.iter().filter(|value| !at_first.contains(value)) {
                second
                    .set(row, value)
                    .unwrap_or_else(|error| panic!("{name}: {value}: {error}"));
            }
            assert_eq!(second.get(row).unwrap(), values, "{name} {example}");
            assert_eq!(
                (first.global, first.overlays),
                (second.global, second.overlays),
                "{name} {example}"
            );
            assert_eq!(first.database, second.database, "{name} {example}");
            assert!(
                name == "ppolicy_forward_updates" || values != at_first,
                "{name} {example} changes nothing"
            );
        }
    }
}

#[test]
fn the_default_of_a_row_is_what_is_in_force_without_it() {
    for row in settings() {
        // The bench has these already.
        if row.name() == "rootdn" {
            continue;
        }
        if let Some(values) = Bench::new(row).get(row) {
            assert_eq!(values.join(" "), row.default, "{}", row.name());
        }
    }
}

#[test]
fn a_general_row_comes_before_a_database_row_and_the_last_overlay_before_the_first() {
    let overlays = [OverlayKind::Auditlog, OverlayKind::Memberof];
    let place = Place::Database(DatabaseKind::Mdb, &overlays);
    assert_eq!(find("SIZELIMIT", place, &[]).unwrap().level, Level::Inherited);
    assert_eq!(
        find("maxsize", place, &[]).unwrap().level,
        Level::DatabaseOf(&[DatabaseKind::Mdb])
    );
    assert_eq!(
        find("auditlog", place, &[]).unwrap().level,
        Level::Overlay(OverlayKind::Auditlog)
    );
    assert!(find("maxsize", Place::Global, &[]).is_none());
    assert!(find("auditlog", Place::Global, &[]).is_none());
    assert!(find("auditlog", Place::Global, &[OverlayKind::Auditlog]).is_some());
}

#[test]
fn a_slip_of_the_pen_gets_a_suggestion_and_nonsense_none() {
    assert_eq!(suggestion("sufix"), Some("suffix"));
    assert_eq!(suggestion("RootPV"), Some("rootpw"));
    assert_eq!(suggestion("memberof-groupoc"), Some("memberof-group-oc"));
    assert_eq!(suggestion("xyzzy-plugh"), None);
}
