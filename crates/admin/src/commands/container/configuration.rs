//! The slapd.conf that settings make; it is read into cn=config and never stored itself.

use std::{collections::BTreeMap, fmt::Write as _, io, path::Path};

use ironbark_config::{
    Disk, FileSource, LoadedConfiguration,
    olc::{self, Tree},
};
use ironbark_overlays::registry;

use super::{
    layout::Layout,
    schema,
    settings::{Account, Secret, Settings},
    state::Facts,
    variables::Image,
};

/// Which part of the settings is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Enough to make the entries: nothing that refuses them, and no schema twice.
    Making,
    /// All.
    Serving,
}

/// Secrets as the configuration needs them, by the names of their variables.
#[derive(Clone, Default, Debug)]
pub(super) struct Words {
    /// For `rootpw`.
    pub(super) hashed: BTreeMap<&'static str, String>,
    /// For connections to other servers.
    pub(super) clear: BTreeMap<&'static str, String>,
}

/// What the text is made of.
pub(super) struct Source<'s> {
    pub(super) settings: &'s Settings,
    pub(super) facts: &'s Facts,
    pub(super) layout: &'s Layout,
    pub(super) words: &'s Words,
    /// Schema files in slapd.conf's form.
    pub(super) schema_files: &'s [String],
}

/// The configuration and its tree, without stamps.
///
/// # Errors
/// What is wrong with a value. The line is of a text that the user does not know, so it is left out.
pub(super) fn load(source: &Source<'_>, phase: Phase) -> Result<(LoadedConfiguration, Tree), String> {
    let files = Files(text(source, phase)?);
    let configuration = ironbark_config::load(NAME, &files, &registry()).map_err(|error| {
        let text = error.to_string();
        let is_of_user = !text.contains(NAME);
        if is_of_user { text } else { error.message().clone() }
    })?;
    let mut tree = olc::render(&configuration);
    tree.root.set("olcConfigFile", Vec::new());
    Ok((configuration, tree))
}

/// The name of the text in messages.
const NAME: &str = "ironbark-container.conf";

/// The text, the schemas of the program, and the disk.
struct Files(String);

impl FileSource for Files {
    fn read(&self, path: &str, limit: usize) -> io::Result<Vec<u8>> {
        if path == NAME {
            return Ok(self.0.clone().into_bytes());
        }
        match schema::text(path) {
            Some(text) => Ok(text.as_bytes().to_vec()),
            None => Disk.read(path, limit),
        }
    }
}

/// Quotes a text as slapd.conf needs it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn text(source: &Source<'_>, phase: Phase) -> Result<String, String> {
    let settings = source.settings;
    let mut text = Text(String::new());
    // Others are LDIF files.
    for name in settings.schemas.iter().filter(|name| schema::is_known(name)) {
        text.line("include", &schema::path(name));
    }
    for path in source.schema_files {
        text.line("include", path);
    }
    text.raw("sighup reload");
    if phase == Phase::Serving {
        global(&mut text, source);
    }
    match settings.image {
        Image::Osixia => osixia(&mut text, source),
        _ => bitnami(&mut text, source),
    }
    common(&mut text, source, phase)?;
    if let Some(log) = &settings.access_log {
        text.raw("database mdb");
        text.line("suffix", &log.suffix);
        text.account(source, &log.admin);
        text.path("directory", &source.layout.access_log)?;
        text.raw(&format!("maxsize {}", settings.max_size));
        // It holds former values, hashes of passwords among them.
        text.raw(&format!(
            "access to * by dn.base={} read by * none",
            quoted(&settings.admin.dn)
        ));
        text.raw("index default eq");
        text.raw("index entryCSN,objectClass,reqEnd,reqResult,reqStart");
    }
    Ok(text.0)
}

struct Text(String);

impl Text {
    fn raw(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    fn line(&mut self, keyword: &str, value: &str) {
        let _ = writeln!(self.0, "{keyword} {}", quoted(value));
    }

    fn words(&mut self, keyword: &str, words: &[String]) {
        let words: Vec<_> = words.iter().map(|word| quoted(word)).collect();
        self.raw(&format!("{keyword} {}", words.join(" ")));
    }

    fn path(&mut self, keyword: &str, path: &Path) -> Result<(), String> {
        let text = path.to_str();
        self.line(
            keyword,
            text.ok_or_else(|| format!("{}: the name is not UTF-8", path.display()))?,
        );
        Ok(())
    }

    fn account(&mut self, source: &Source<'_>, account: &Account) {
        self.line("rootdn", &account.dn);
        let Secret(name) = account.password;
        if let Some(hash) = source.words.hashed.get(name) {
            self.line("rootpw", hash);
        }
    }
}

/// Protection, and what other hosts are to this one.
fn global(text: &mut Text, source: &Source<'_>) {
    let (settings, facts) = (source.settings, source.facts);
    if let Some(tls) = &settings.tls {
        text.line("TLSCertificateFile", &tls.certificate);
        text.line("TLSCertificateKeyFile", &tls.key);
        for (keyword, value) in [
            ("TLSCACertificateFile", &tls.authority),
            ("TLSDHParamFile", &tls.parameters),
            ("TLSCipherSuite", &tls.ciphers),
        ] {
            if let Some(value) = value {
                text.line(keyword, value);
            }
        }
        text.line("TLSVerifyClient", &tls.verify);
    }
    match (settings.requires_tls, settings.image) {
        (true, Image::Osixia) => text.raw("security ssf=128\nlocalSSF 128"),
        (true, _) => text.raw("security tls=1"),
        (false, _) => {}
    }
    if !settings.allows_anonymous {
        text.raw("disallow bind_anon\nrequire authc");
    }
    if let Some(address) = &settings.metrics {
        text.raw(&format!("metrics-listener {address}"));
    }
    let is_provider = settings.replication.as_ref().is_some_and(|one| !one.is_consumer);
    if let (true, Some(number)) = (is_provider, facts.number) {
        text.raw(&format!("serverID {number}"));
    }
}

fn peer(facts: &Facts) -> String {
    format!(
        "gidNumber={}+uidNumber={},cn=peercred,cn=external,cn=auth",
        facts.gid, facts.uid
    )
}

/// The databases before the one of the entries, as in bitnami/openldap.
fn bitnami(text: &mut Text, source: &Source<'_>) {
    let settings = source.settings;
    let peer = quoted(&peer(source.facts));
    let admin = quoted(&settings.admin.dn);
    text.raw("moduleload pw-sha2");
    if let Some(hash) = &settings.password_hash {
        text.raw("database frontend");
        text.raw(&format!("password-hash {hash}"));
    }
    text.raw("database config");
    text.raw(&format!("access to * by dn.base={peer} manage by * none"));
    if let Some(account) = &settings.config_admin {
        text.account(source, account);
    }
    text.raw("database monitor");
    text.raw(&format!(
        "access to * by dn.base={peer} read by dn.base={admin} read by * none"
    ));
}

/// The databases before the one of the entries, as in osixia/openldap, which begins with Debian's.
fn osixia(text: &mut Text, source: &Source<'_>) {
    let peer = quoted(&peer(source.facts));
    text.raw("modulepath /usr/lib/ldap\nmoduleload back_mdb\nmoduleload memberof\nmoduleload refint");
    text.raw("database frontend\nsizelimit 500");
    text.raw(&format!("access to * by dn.exact={peer} manage by * break"));
    text.raw("access to dn.exact=\"\" by * read\naccess to dn.base=\"cn=Subschema\" by * read");
    text.raw("database config");
    text.raw(&format!("access to * by dn.exact={peer} manage by * break"));
    if let Some(account) = &source.settings.config_admin {
        text.account(source, account);
    }
}

/// The database of the entries.
fn common(text: &mut Text, source: &Source<'_>, phase: Phase) -> Result<(), String> {
    let settings = source.settings;
    text.raw("database mdb");
    text.line("suffix", &settings.suffix);
    text.account(source, &settings.admin);
    text.path("directory", &source.layout.database)?;
    text.raw(&format!("maxsize {}", settings.max_size));
    match settings.image {
        Image::Osixia => osixia_database(text, source),
        _ => bitnami_database(text, settings),
    }
    if phase == Phase::Serving {
        consumers(text, source);
        cluster(text, source);
    }
    overlays(text, settings);
    Ok(())
}

fn bitnami_database(text: &mut Text, settings: &Settings) {
    text.raw("index objectClass eq,pres\nindex ou,cn,mail,surname,givenname eq,pres,sub");
    if settings.access_log.is_some() || settings.provider.is_some() || settings.replication.is_some() {
        text.raw("index entryCSN,entryUUID eq");
    }
    // Without a rule the image shows everyone the hashes of passwords.
    text.raw("access to attrs=userPassword by anonymous auth by * none\naccess to * by * read");
}

fn osixia_database(text: &mut Text, source: &Source<'_>) {
    let peer = quoted(&peer(source.facts));
    let admin = quoted(&source.settings.admin.dn);
    let reader = source.settings.reader.as_ref();
    let reader = reader.map_or_else(String::new, |reader| format!("by dn={} read ", quoted(&reader.dn)));
    text.raw("index uid,mail,memberOf,entryCSN,entryUUID,objectClass eq\ncheckpoint 512 30");
    text.raw(&format!("access to * by dn.exact={peer} manage by * break"));
    text.raw(&format!(
        "access to attrs=userPassword,shadowLastChange by self write by dn={admin} write by anonymous auth by * none"
    ));
    text.raw(&format!(
        "access to * by self read by dn={admin} write {reader}by * none"
    ));
}

fn overlays(text: &mut Text, settings: &Settings) {
    if settings.image == Image::Osixia {
        text.raw(
            "overlay memberof\nmemberof-dangling ignore\nmemberof-refint TRUE\nmemberof-group-oc groupOfUniqueNames\n\
             memberof-member-ad uniqueMember\nmemberof-memberof-ad memberOf\n\
             overlay refint\nrefint_attributes owner manager uniqueMember member memberOf",
        );
    }
    if let Some(policy) = &settings.policy {
        text.raw("overlay ppolicy");
        if policy.hashes {
            text.raw("ppolicy_hash_cleartext");
        }
        if policy.uses_lockout {
            text.raw("ppolicy_use_lockout");
        }
    }
    if let Some(log) = &settings.access_log {
        text.raw("overlay accesslog");
        text.line("logdb", &log.suffix);
        for (keyword, value) in &log.lines {
            text.raw(&format!("{keyword} {value}"));
        }
    }
    let replicates = settings.replication.as_ref().is_some_and(|one| !one.is_consumer);
    if settings.provider.is_some() || replicates {
        text.raw("overlay syncprov");
        for line in settings.provider.iter().flatten() {
            text.raw(line);
        }
    }
}

fn cluster(text: &mut Text, source: &Source<'_>) {
    let Some(cluster) = &source.settings.cluster else {
        return;
    };
    let password = cluster.password.and_then(|name| source.words.clear.get(name));
    text.words("cluster", &cluster.line(password.map(String::as_str)));
}

fn consumers(text: &mut Text, source: &Source<'_>) {
    let Some(replication) = &source.settings.replication else {
        return;
    };
    let mut options = replication.options.clone();
    for (name, value) in &source.words.clear {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        options = options.replace(&format!("${name}"), &value);
    }
    for (rid, (number, host)) in (replication.first_rid..).zip((1..).zip(&replication.hosts)) {
        if replication.is_consumer || source.facts.number != Some(number) {
            text.raw(&format!("syncrepl rid={rid:03} provider={host} {options}"));
        }
    }
    if replication.is_consumer {
        if let Some(provider) = replication.hosts.first() {
            text.line("updateref", provider);
        }
    } else {
        text.raw("multiprovider on");
    }
}
