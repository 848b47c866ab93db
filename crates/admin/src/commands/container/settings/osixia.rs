//! Settings from the variables of osixia/openldap.

use super::{
    Account, Entries, Given, Image, Ports, Replication, Settings, Tls,
    cluster::cluster,
    common,
    common::{port, words},
    required,
};

const CERTIFICATES: &str = "/container/service/slapd/assets/certs";
const BOOTSTRAP: &str = "/container/service/slapd/assets/config/bootstrap";

/// The image's default for `TLSCipherSuite`.
const CIPHERS: &str =
    "SECURE256:+SECURE128:-VERS-TLS-ALL:+VERS-TLS1.2:-RSA:-DHE-DSS:-CAMELLIA-128-CBC:-CAMELLIA-256-CBC";

/// The image's default for the options of a consumer.
const CONSUMER: &str = "binddn=\"cn=admin,$LDAP_BASE_DN\" bindmethod=simple credentials=\"$LDAP_ADMIN_PASSWORD\" \
    searchbase=\"$LDAP_BASE_DN\" type=refreshAndPersist interval=00:00:00:10 retry=\"60 +\" timeout=1 starttls=critical";

pub(super) fn settings(given: &Given) -> Result<Settings, String> {
    let Names { suffix, base, domain } = names(given)?;
    if !matches!(given.or("LDAP_BACKEND", "mdb").to_ascii_lowercase().as_str(), "mdb") {
        return Err("LDAP_BACKEND: only mdb; load what slapcat writes with IRONBARK_IMPORT".to_owned());
    }
    let reader = reader(given, &base)?;
    let tls = tls(given)?;
    let admin = Account {
        dn: format!("cn=admin,{base}"),
        password: required(given, "LDAP_ADMIN_PASSWORD")?,
    };
    let authority = tls.as_ref().and_then(|tls| tls.authority.clone());
    let replication = match replication(given, &base)? {
        Some(replication) => Some(replication),
        None => common::replication(given, &suffix, &admin.dn, tls.is_some(), authority.as_deref())?,
    };
    let requires_tls = given.is_set("LDAP_TLS_ENFORCE", false)?;
    if requires_tls && tls.is_none() {
        return Err("LDAP_TLS_ENFORCE needs LDAP_TLS=true".to_owned());
    }
    Ok(Settings {
        image: Image::Osixia,
        organization: Some(given.or("LDAP_ORGANISATION", "Example Inc.").to_owned()),
        config_admin: Some(Account {
            dn: "cn=admin,cn=config".to_owned(),
            password: required(given, "LDAP_CONFIG_PASSWORD")?,
        }),
        schemas: schemas(given)?,
        schema_places: places(given, "schema", "LDAP_SEED_INTERNAL_SCHEMA_PATH"),
        ldif_places: places(given, "ldif/custom", "LDAP_SEED_INTERNAL_LDIF_PATH"),
        placeholders: vec![
            ("LDAP_BASE_DN", base),
            ("LDAP_BACKEND", "mdb".to_owned()),
            ("LDAP_DOMAIN", domain),
            (
                "LDAP_READONLY_USER_USERNAME",
                given.or("LDAP_READONLY_USER_USERNAME", "readonly").to_owned(),
            ),
        ],
        import: given.value("IRONBARK_IMPORT").map(Into::into),
        entries: Entries::Root,
        ports: Ports {
            plain: Some(port(given, "LDAP_PORT", 389)?),
            tls: tls.is_some().then(|| port(given, "LDAPS_PORT", 636)).transpose()?,
            proxied: None,
            proxied_tls: None,
        },
        requires_tls,
        allows_anonymous: true,
        log_level: given.or("LDAP_LOG_LEVEL", "256").to_owned(),
        password_hash: None,
        policy: None,
        access_log: None,
        provider: None,
        replication,
        cluster: cluster(given)?,
        address: common::address(given)?,
        open_files: given.number("LDAP_NOFILE")?,
        metrics: common::metrics(given)?,
        max_size: common::max_size(given)?,
        user: given.value("LDAP_OPENLDAP_UID").map(str::to_owned),
        group: given.value("LDAP_OPENLDAP_GID").map(str::to_owned),
        suffix,
        admin,
        reader,
        tls,
    })
}

struct Names {
    suffix: String,
    /// Above the administrators.
    base: String,
    domain: String,
}

/// The domain makes the suffix. The base may be the suffix or a name below it.
fn names(given: &Given) -> Result<Names, String> {
    let of_domain = |domain: &str| {
        let labels: Vec<String> = domain.split('.').map(|label| format!("dc={label}")).collect();
        labels.join(",")
    };
    let (domain, base) = (given.value("LDAP_DOMAIN"), given.value("LDAP_BASE_DN"));
    match (domain, base) {
        (None, Some(base)) => Ok(Names {
            suffix: base.to_owned(),
            base: base.to_owned(),
            domain: String::new(),
        }),
        (domain, base) => {
            let domain = domain.unwrap_or("example.org");
            let suffix = of_domain(domain);
            let base = base.map_or_else(|| suffix.clone(), |base| base.replace(", ", ","));
            let is_within = base.eq_ignore_ascii_case(&suffix)
                || base
                    .to_ascii_lowercase()
                    .ends_with(&format!(",{}", suffix.to_ascii_lowercase()));
            if !is_within {
                return Err(format!("LDAP_BASE_DN={base} is not within LDAP_DOMAIN={domain}"));
            }
            Ok(Names {
                suffix,
                base,
                domain: domain.to_owned(),
            })
        }
    }
}

fn reader(given: &Given, base: &str) -> Result<Option<Account>, String> {
    if !given.is_set("LDAP_READONLY_USER", false)? {
        return Ok(None);
    }
    Ok(Some(Account {
        dn: format!("cn={},{base}", given.or("LDAP_READONLY_USER_USERNAME", "readonly")),
        password: required(given, "LDAP_READONLY_USER_PASSWORD")?,
    }))
}

fn schemas(given: &Given) -> Result<Vec<String>, String> {
    let posix = if given.is_set("LDAP_RFC2307BIS_SCHEMA", false)? {
        "rfc2307bis"
    } else {
        "nis"
    };
    let names = [
        "core",
        "cosine",
        posix,
        "inetorgperson",
        "ppolicy",
        "openssh-lpk",
        "postfix",
        "samba",
    ];
    Ok(names.map(str::to_owned).to_vec())
}

fn places(given: &Given, folder: &str, seed: &str) -> Vec<std::path::PathBuf> {
    let mut places = vec![format!("{BOOTSTRAP}/{folder}").into()];
    places.extend(given.value(seed).map(Into::into));
    places
}

fn tls(given: &Given) -> Result<Option<Tls>, String> {
    if !given.is_set("LDAP_TLS", true)? {
        return Ok(None);
    }
    let file = |seed: &str, name: &str, default: &str| {
        let seeded = given.value(seed).map(str::to_owned);
        seeded.unwrap_or_else(|| format!("{CERTIFICATES}/{}", given.or(name, default)))
    };
    let certificate = file(
        "LDAP_SEED_INTERNAL_LDAP_TLS_CRT_FILE",
        "LDAP_TLS_CRT_FILENAME",
        "ldap.crt",
    );
    let key = file(
        "LDAP_SEED_INTERNAL_LDAP_TLS_KEY_FILE",
        "LDAP_TLS_KEY_FILENAME",
        "ldap.key",
    );
    let authority = file(
        "LDAP_SEED_INTERNAL_LDAP_TLS_CA_CRT_FILE",
        "LDAP_TLS_CA_CRT_FILENAME",
        "ca.crt",
    );
    let parameters = file(
        "LDAP_SEED_INTERNAL_LDAP_TLS_DH_PARAM_FILE",
        "LDAP_TLS_DH_PARAM_FILENAME",
        "dhparam.pem",
    );
    Ok(Some(Tls {
        certificate,
        key,
        authority: Some(authority),
        parameters: Some(parameters),
        verify: given.or("LDAP_TLS_VERIFY_CLIENT", "demand").to_owned(),
        ciphers: Some(given.or("LDAP_TLS_CIPHER_SUITE", CIPHERS).to_owned()),
        may_be_made: true,
    }))
}

fn replication(given: &Given, base: &str) -> Result<Option<Replication>, String> {
    if given.or("LDAP_REPLICATION", "false").eq_ignore_ascii_case("own") || !given.is_set("LDAP_REPLICATION", false)? {
        return Ok(None);
    }
    let hosts = hosts(given.or("LDAP_REPLICATION_HOSTS", ""));
    if hosts.is_empty() {
        return Err("LDAP_REPLICATION=true needs LDAP_REPLICATION_HOSTS".to_owned());
    }
    let options = given.or("LDAP_REPLICATION_DB_SYNCPROV", CONSUMER);
    Ok(Some(Replication {
        hosts,
        is_consumer: false,
        first_rid: 101,
        options: options.replace("$LDAP_BASE_DN", base),
    }))
}

/// `#PYTHON2BASH:['ldap://a','ldap://b']`, or words.
fn hosts(text: &str) -> Vec<String> {
    let text = text.strip_prefix("#PYTHON2BASH:").unwrap_or(text);
    words(&text.replace(['[', ']', '\'', '"'], " "))
}
