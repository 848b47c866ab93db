//! Rules for every row of the table, including those of the overlays.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

use std::{cell::RefCell, collections::BTreeSet, sync::Arc};

use ironbark_config::{
    DatabaseConfig, Fate, GlobalConfig, Handler, MemoryFiles, OWN, OverlayConfig, Presence, Setting, SettingError,
    SettingLevel, Statement,
    database::DatabaseDescriptor,
    fuzz,
    kinds::MDB,
    parts::PartKind,
    reader::{self, quote},
    statement_text,
};
use ironbark_ldap_proto::controls::{OverlayNumber, lookup};
use ironbark_model::{Dn, Schema, schema::Source};
use ironbark_overlays::{OVERLAYS, registry};

/// The directives of slapd.conf(5), slapd-mdb(5), slapd-bdb(5), slapo-memberof(5), slapo-auditlog(5), slapo-refint(5),
/// slapo-unique(5), slapo-sssvlv(5), slapo-constraint(5), slapo-valsort(5), slapo-lastbind(5), slapd-null(5),
/// slapd-ldif(5) and slapd-sock(5) of 2.4 to 2.7.
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
    ppolicy_forward_updates ppolicy_disable_write ppolicy_send_netscape_controls ppolicy_check_module constraint_attribute \
    constraint_allowempty valsort-attr lastbind_forward_updates dds-state dds-max-ttl dds-min-ttl dds-default-ttl \
    dds-interval dds-tolerance dds-max-dynamicobjects retcode-parent retcode-item retcode-indir retcode-sleep socketpath \
    extensions sockops sockresps sockdnpat smbk5pwd-enable smbk5pwd-must-change smbk5pwd-can-change denyop";

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
    olcPPolicySendNetscapeControls olcPPolicyCheckModule \
    olcConstraintAttribute olcConstraintAllowEmpty olcValSortAttr olcLastBindForwardUpdates olcDDSstate olcDDSmaxTtl \
    olcDDSminTtl olcDDSdefaultTtl olcDDSinterval olcDDStolerance olcDDSmaxDynamicObjects olcRetcodeParent olcRetcodeItem \
    olcRetcodeInDir olcRetcodeSleep olcDbSocketPath olcDbSocketExtensions olcOvSocketOps olcOvSocketResps \
    olcOvSocketDNpat olcSmbK5PwdEnable olcSmbK5PwdMustChange olcSmbK5PwdCanChange";

#[test]
fn every_directive_and_attribute_has_a_row() {
    let registry = registry();
    for directive in DIRECTIVES.split_whitespace() {
        assert!(registry.settings().any(|row| row.has_keyword(directive)), "{directive}");
    }
    for attribute in ATTRIBUTES.split_whitespace() {
        // A database and an overlay may share an attribute.
        let rows = registry.settings().filter(|row| row.attributes.contains(&attribute));
        let oids: BTreeSet<&str> = rows.map(|row| row.oid).collect();
        assert_eq!(oids.len(), 1, "{attribute}");
    }
}

#[test]
fn every_row_is_complete() {
    let mut seen = BTreeSet::new();
    for row in registry().settings() {
        let name = row.name();
        assert!(!name.is_empty());
        assert!(row.documentation.ends_with('.'), "{name}: documentation is sentences");
        assert!(row.since.starts_with("2.") || row.since == OWN, "{name}");
        assert_eq!(row.attributes.is_empty(), row.oid.is_empty(), "{name}");
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

/// The places for trying rows: a server, a database with suffix and rootdn, and each overlay.
struct Bench {
    schema: Arc<Schema>,
    global: GlobalConfig,
    database: DatabaseConfig,
    overlays: Vec<OverlayConfig>,
}

impl Bench {
    fn new(row: &Setting) -> Self {
        let schema = schema();
        let location = location();
        let mut database = DatabaseConfig::new(kind_of(row), location.clone(), &DatabaseConfig::frontend(), &schema);
        if row.name() != "suffix" {
            database
                .suffixes
                .push(Dn::parse(&schema, b"dc=example,dc=com").unwrap());
        }
        database.root_dn = Some(Dn::parse(&schema, b"cn=root,dc=example,dc=com").unwrap());
        Self {
            global: GlobalConfig::default(),
            database,
            overlays: registry()
                .overlays()
                .iter()
                .map(|overlay| OverlayConfig::new(overlay, location.clone()))
                .collect(),
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
                    .find(|overlay| SettingLevel::Overlay(overlay.name()) == row.level)?;
                Some(get(overlay, &self.schema))
            }
            Handler::Schema(_) | Handler::Structure => None,
        }
    }

    fn set(&mut self, row: &Setting, value: &str) -> Result<(), SettingError> {
        let Fate::Obeyed(handler) = row.fate else {
            return Err("not obeyed".into());
        };
        let text = statement_text(row, value);
        let lines = reader::read("line", &MemoryFiles::file("line", text)).map_err(|error| error.to_string())?;
        let notices = RefCell::default();
        let registry = registry();
        let location = location();
        let schema = Arc::clone(&self.schema);
        let statement = Statement {
            keyword: &lines[0].keyword,
            arguments: &lines[0].arguments,
            escapes: &lines[0].escapes,
            grammar: row.grammar,
            schema: &schema,
            parts: registry.parts(),
            location: &location,
            value: ironbark_config::ValueAge::New,
            notices: &notices,
        };
        match handler {
            Handler::Global { set, .. } => set(&mut self.global, &statement),
            Handler::Database { set, .. } => set(&mut self.database, &statement),
            Handler::Overlay { set, .. } => {
                let overlay = self
                    .overlays
                    .iter_mut()
                    .find(|overlay| SettingLevel::Overlay(overlay.name()) == row.level);
                set(overlay.unwrap(), &statement)
            }
            Handler::Schema(_) | Handler::Structure => Ok(()),
        }
    }
}

/// The type of database that a row stands in.
fn kind_of(row: &Setting) -> &'static DatabaseDescriptor {
    match row.level {
        SettingLevel::DatabaseOf(&[name]) => registry().database(name).unwrap(),
        _ => &MDB,
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
    for row in registry().settings() {
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
            assert!(values != at_first, "{name} {example} changes nothing");
        }
    }
}

#[test]
fn the_default_of_a_row_is_what_is_in_force_without_it() {
    for row in registry().settings() {
        // The bench has these already.
        if row.name() == "rootdn" {
            continue;
        }
        if let Some(values) = Bench::new(row).get(row) {
            assert_eq!(values.join(" "), row.default, "{}", row.name());
        }
    }
}

/// The schema elements that settings refer to, besides the built-in ones.
fn with_schema(text: &str) -> MemoryFiles {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/");
    let mut files = MemoryFiles::file(
        "slapd.conf",
        format!("include core\ninclude cosine\ninclude inetorgperson\ninclude dyngroup\n{text}"),
    );
    for name in ["core", "cosine", "inetorgperson", "dyngroup"] {
        let text = std::fs::read_to_string(format!("{folder}{name}.schema")).unwrap();
        files = files.and(name, text);
    }
    files
}

fn schema() -> Arc<Schema> {
    ironbark_config::load("slapd.conf", &with_schema(""), &registry())
        .unwrap()
        .schema
}

/// The whole file, with its schema in it.
fn whole(text: &str) -> String {
    let read = ironbark_config::load("slapd.conf", &with_schema(text), &registry());
    let read = read.unwrap_or_else(|error| panic!("{text}: {error}"));
    ironbark_config::olc::slapd_conf(&ironbark_config::olc::render(&read)).unwrap()
}

#[test]
fn every_example_of_every_overlay_survives_the_way_to_cn_config_and_back() {
    for overlay in registry().overlays() {
        for row in overlay
            .settings
            .iter()
            .filter(|row| !matches!(row.fate, Fate::Refused(_)))
        {
            assert_eq!(row.level, SettingLevel::Overlay(overlay.name), "{}", row.name());
            for example in row.examples {
                let value = if row.is_whole {
                    quote(example)
                } else {
                    (*example).to_owned()
                };
                let needed = overlay
                    .settings
                    .iter()
                    .filter(|other| other.presence == Presence::Required);
                let needed = needed.filter(|other| other.name() != row.name());
                let needed: Vec<String> = needed
                    .map(|other| format!("{} {}\n", other.name(), other.examples[0]))
                    .collect();
                let needed = needed.concat();
                let text = whole(&format!(
                    "{DATABASE}overlay {}\n{needed}{} {value}\n",
                    overlay.name, row.keywords[0]
                ));
                let said = row.name();
                assert!(
                    *example == row.default || text.lines().any(|line| line.starts_with(said)),
                    "{said} {example} is not shown: {text}"
                );
                fuzz::slapd_conf(text.as_bytes(), &registry());
            }
        }
    }
}

#[test]
fn backslashes_and_quotes_survive_the_way_to_cn_config_and_back() {
    let lines = r#"overlay unique
unique_uri "ldap:///?cn?sub?(cn=\\2a\"a)"
overlay ppolicy
ppolicy_rules dn.regex="^uid=a\\.\"b c" "policy_dn.expand=cn=$0,dc=x\\2Cy"
"#;
    let text = whole(&format!("{DATABASE}{lines}"));
    // The schema is sorted when it comes from one file.
    let of_database = |text: &str| text.split_once("\ndatabase mdb\n").unwrap().1.to_owned();
    assert_eq!(of_database(&text), of_database(&whole_again(&text)));
    fuzz::slapd_conf(text.as_bytes(), &registry());
}

fn whole_again(text: &str) -> String {
    let read = ironbark_config::load("slapd.conf", &MemoryFiles::file("slapd.conf", text), &registry()).unwrap();
    ironbark_config::olc::slapd_conf(&ironbark_config::olc::render(&read)).unwrap()
}

const DATABASE: &str =
    "database mdb\nsuffix dc=example,dc=com\nrootdn cn=Manager,dc=example,dc=com\ndirectory /srv/d\n";

#[test]
fn every_overlay_has_a_name_and_a_class_of_its_own() {
    let mut seen = BTreeSet::new();
    for row in OVERLAYS {
        let overlay = &row.descriptor;
        assert!(seen.insert(overlay.name.to_owned()), "{}", overlay.name);
        let known = registry();
        let mut of_name = known.parts().iter().filter(|part| part.name == overlay.name);
        assert_eq!(of_name.next().map(|part| part.kind), Some(PartKind::Overlay));
        // A type of database may have the same name.
        assert!(
            of_name.all(|part| part.kind == PartKind::Database),
            "{} is built, and said to be missing",
            overlay.name
        );
        assert_eq!(overlay.settings.is_empty(), overlay.class.is_none(), "{}", overlay.name);
        if let Some(class) = overlay.class {
            assert!(seen.insert(class.oid.to_owned()), "{}", overlay.name);
        }
        assert!(
            overlay.introduction.is_empty() || overlay.introduction.ends_with('.'),
            "{}: the introduction is sentences",
            overlay.name
        );
    }
}

#[test]
fn controls_that_only_overlays_know_are_numbered_and_no_rows_of_the_table() {
    let known = registry();
    let all = OVERLAYS.iter().flat_map(|row| row.descriptor.controls);
    for (number, oid) in all.enumerate() {
        assert_eq!(known.overlay_control(oid), Some(number), "{oid} comes once");
        assert!(OverlayNumber::new(number).is_some(), "{oid} has a kind");
        assert!(lookup(oid.as_bytes()).is_none(), "{oid} is a row of the table");
    }
}
