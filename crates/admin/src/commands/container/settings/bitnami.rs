//! Settings from the variables of bitnami/openldap.

use std::path::PathBuf;

use super::{
    AccessLog, Account, Entries, Given, Image, Policy, Ports, Secret, Settings, Tls, Users,
    cluster::cluster,
    common,
    common::{port, words},
    required,
};

pub(super) fn settings(given: &Given) -> Result<Settings, String> {
    let root = given.or("LDAP_ROOT", "dc=example,dc=org").to_owned();
    let suffix = given.or("LDAP_SUFFIX", &root).to_owned();
    let admin_name = given.or("LDAP_ADMIN_USERNAME", "admin");
    let own_name = format!("cn={admin_name},{root}");
    let admin = Account {
        dn: given.or("LDAP_ADMIN_DN", &own_name).to_owned(),
        password: required(given, "LDAP_ADMIN_PASSWORD")?,
    };
    let tls = tls(given)?;
    let requires_tls = given.is_set("LDAP_REQUIRE_TLS", false)?;
    if requires_tls && tls.is_none() {
        return Err("LDAP_REQUIRE_TLS needs LDAP_ENABLE_TLS=yes".to_owned());
    }
    let authority = tls.as_ref().and_then(|tls| tls.authority.clone());
    let replication = common::replication(given, &suffix, &admin.dn, tls.is_some(), authority.as_deref())?;
    Ok(Settings {
        image: Image::Bitnami,
        organization: None,
        config_admin: config_admin(given)?,
        reader: None,
        schemas: schemas(given)?,
        schema_places: places(
            given,
            &[
                ("LDAP_CUSTOM_SCHEMA_FILE", "/schema/custom.ldif"),
                ("LDAP_CUSTOM_SCHEMA_DIR", "/schemas"),
            ],
        ),
        ldif_places: places(given, &[("LDAP_CUSTOM_LDIF_DIR", "/ldifs")]),
        placeholders: Vec::new(),
        import: given.value("IRONBARK_IMPORT").map(PathBuf::from),
        entries: entries(given, root)?,
        ports: ports(given, tls.is_some())?,
        requires_tls,
        allows_anonymous: given.is_set("LDAP_ALLOW_ANON_BINDING", true)?,
        log_level: given.or("LDAP_LOGLEVEL", "256").to_owned(),
        password_hash: given.value("LDAP_PASSWORD_HASH").map(str::to_owned),
        policy: policy(given)?,
        access_log: access_log(given)?,
        provider: provider(given)?,
        replication,
        cluster: cluster(given)?,
        address: common::address(given)?,
        open_files: given.number("LDAP_ULIMIT_NOFILES")?,
        metrics: common::metrics(given)?,
        max_size: common::max_size(given)?,
        user: None,
        group: None,
        suffix,
        admin,
        tls,
    })
}

fn places(given: &Given, names: &[(&str, &str)]) -> Vec<PathBuf> {
    names
        .iter()
        .map(|(name, default)| given.or(name, default).into())
        .collect()
}

fn config_admin(given: &Given) -> Result<Option<Account>, String> {
    if !given.is_set("LDAP_CONFIG_ADMIN_ENABLED", false)? {
        return Ok(None);
    }
    Ok(Some(Account {
        dn: format!("cn={},cn=config", given.or("LDAP_CONFIG_ADMIN_USERNAME", "admin")),
        password: required(given, "LDAP_CONFIG_ADMIN_PASSWORD")?,
    }))
}

fn schemas(given: &Given) -> Result<Vec<String>, String> {
    let mut names = vec!["core".to_owned()];
    if given.is_set("LDAP_ADD_SCHEMAS", true)? {
        for name in words(given.or("LDAP_EXTRA_SCHEMAS", "cosine,inetorgperson,nis")) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    Ok(names)
}

fn entries(given: &Given, root: String) -> Result<Entries, String> {
    if given.is_set("LDAP_SKIP_DEFAULT_TREE", false)? {
        return Ok(Entries::None);
    }
    let names = words(given.or("LDAP_USERS", ""));
    let passwords = given.value("LDAP_PASSWORDS").map_or(0, |_| usize::MAX);
    if !names.is_empty() && passwords == 0 {
        return Err("LDAP_USERS needs LDAP_PASSWORDS".to_owned());
    }
    let unit = given.value("LDAP_USER_DC");
    let name = |variable: &str, default: &str| given.or(variable, unit.unwrap_or(default)).to_owned();
    Ok(Entries::Users(Box::new(Users {
        root,
        names,
        unit: name("LDAP_USER_OU", "users"),
        group: given.or("LDAP_GROUP", "readers").to_owned(),
        group_unit: name("LDAP_GROUP_OU", "groups"),
    })))
}

fn ports(given: &Given, has_tls: bool) -> Result<Ports, String> {
    let plain = port(given, "LDAP_PORT_NUMBER", 1389)?;
    let tls = port(given, "LDAP_LDAPS_PORT_NUMBER", 1636)?;
    let mut ports = Ports {
        plain: Some(plain),
        tls: has_tls.then_some(tls),
        proxied: None,
        proxied_tls: None,
    };
    if given.is_set("LDAP_ENABLE_PROXYPROTO", false)? {
        let proxied = port(given, "LDAP_PROXYPROTO_PORT_NUMBER", plain)?;
        let proxied_tls = port(given, "LDAP_PROXYPROTO_LDAPS_PORT_NUMBER", tls)?;
        ports.plain = ports.plain.filter(|port| *port != proxied);
        ports.tls = ports.tls.filter(|port| *port != proxied_tls);
        (ports.proxied, ports.proxied_tls) = (Some(proxied), has_tls.then_some(proxied_tls));
    }
    let mut all: Vec<u16> = [ports.plain, ports.tls, ports.proxied, ports.proxied_tls]
        .into_iter()
        .flatten()
        .collect();
    all.sort_unstable();
    if let Some([twice, _]) = all.array_windows().find(|[one, other]| one == other) {
        return Err(format!("two listeners have port {twice}"));
    }
    Ok(ports)
}

fn tls(given: &Given) -> Result<Option<Tls>, String> {
    if !given.is_set("LDAP_ENABLE_TLS", false)? {
        return Ok(None);
    }
    let file = |name: &str| given.value(name).map(str::to_owned);
    let needed = |name: &str| file(name).ok_or_else(|| format!("LDAP_ENABLE_TLS=yes needs {name}"));
    Ok(Some(Tls {
        certificate: needed("LDAP_TLS_CERT_FILE")?,
        key: needed("LDAP_TLS_KEY_FILE")?,
        authority: file("LDAP_TLS_CA_FILE"),
        parameters: file("LDAP_TLS_DH_PARAMS_FILE"),
        verify: given.or("LDAP_TLS_VERIFY_CLIENTS", "never").to_owned(),
        ciphers: None,
        may_be_made: false,
    }))
}

fn policy(given: &Given) -> Result<Option<Policy>, String> {
    let policy = Policy {
        uses_lockout: given.is_set("LDAP_PPOLICY_USE_LOCKOUT", false)?,
        hashes: given.is_set("LDAP_PPOLICY_HASH_CLEARTEXT", false)?,
    };
    Ok(given.is_set("LDAP_CONFIGURE_PPOLICY", false)?.then_some(policy))
}

fn access_log(given: &Given) -> Result<Option<AccessLog>, String> {
    if !given.is_set("LDAP_ENABLE_ACCESSLOG", false)? {
        return Ok(None);
    }
    let suffix = given.or("LDAP_ACCESSLOG_DB", "cn=accesslog").to_owned();
    let line = |keyword, name: &str, default: &str| (keyword, given.or(name, default).to_owned());
    let password: Secret = required(given, "LDAP_ACCESSLOG_ADMIN_PASSWORD")?;
    Ok(Some(AccessLog {
        admin: Account {
            dn: format!("cn={},{suffix}", given.or("LDAP_ACCESSLOG_ADMIN_USERNAME", "admin")),
            password,
        },
        suffix,
        lines: vec![
            line("logops", "LDAP_ACCESSLOG_LOGOPS", "writes"),
            line("logsuccess", "LDAP_ACCESSLOG_LOGSUCCESS", "TRUE"),
            line("logpurge", "LDAP_ACCESSLOG_LOGPURGE", "07+00:00 01+00:00"),
            line("logold", "LDAP_ACCESSLOG_LOGOLD", "(objectClass=*)"),
            line("logoldattr", "LDAP_ACCESSLOG_LOGOLDATTR", "objectClass"),
        ],
    }))
}

fn provider(given: &Given) -> Result<Option<Vec<String>>, String> {
    if !given.is_set("LDAP_ENABLE_SYNCPROV", false)? {
        return Ok(None);
    }
    Ok(Some(vec![
        format!(
            "syncprov-checkpoint {}",
            given.or("LDAP_SYNCPROV_CHECKPPOINT", "100 10")
        ),
        format!("syncprov-sessionlog {}", given.or("LDAP_SYNCPROV_SESSIONLOG", "100")),
    ]))
}
