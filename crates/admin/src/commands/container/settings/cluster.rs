//! `IRONBARK_CLUSTER*`: a database as one of the copies of a cluster.

use std::path::PathBuf;

use ironbark_config::cluster::ClusterConfig;

use super::super::environment::Given;

const URLS: &str = "IRONBARK_CLUSTER";
const FIRST: &str = "IRONBARK_CLUSTER_FIRST";
const USER: &str = "IRONBARK_CLUSTER_USER";
const PASSWORD: &str = "IRONBARK_CLUSTER_PASSWORD";
const COPY: &str = "IRONBARK_CLUSTER_COPY";
const OPTIONS: &str = "IRONBARK_CLUSTER_OPTIONS";
/// Variables with files, and their words of the line.
const FILES: [(&str, &str); 3] = [
    ("IRONBARK_CLUSTER_TLS_CA_FILE", "tls_cacert"),
    ("IRONBARK_CLUSTER_TLS_CERT_FILE", "tls_cert"),
    ("IRONBARK_CLUSTER_TLS_KEY_FILE", "tls_key"),
];
/// Words of the line that have variables of their own.
const OWN: [(&str, &str); 6] = [
    ("user", USER),
    ("password", PASSWORD),
    ("copy", COPY),
    ("tls_cacert", "IRONBARK_CLUSTER_TLS_CA_FILE"),
    ("tls_cert", "IRONBARK_CLUSTER_TLS_CERT_FILE"),
    ("tls_key", "IRONBARK_CLUSTER_TLS_KEY_FILE"),
];

/// A line `cluster`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in super::super) struct Cluster {
    /// Its words but for the password.
    words: Vec<String>,
    /// The variable with the password.
    pub(in super::super) password: Option<&'static str>,
    /// `HOSTNAME` of the container that makes the entries of a new cluster; `None`: no container does.
    pub(in super::super) first: Option<String>,
    /// Files that it names.
    pub(in super::super) files: Vec<(&'static str, PathBuf)>,
}

impl Cluster {
    /// The words of the line, with this in place of the password.
    pub(in super::super) fn line(&self, password: Option<&str>) -> Vec<String> {
        let password = password.map(|password| format!("password={password}"));
        self.words.iter().cloned().chain(password).collect()
    }
}

/// The cluster that the variables ask for.
///
/// # Errors
/// The variable that is wrong or missing.
pub(super) fn cluster(given: &Given) -> Result<Option<Cluster>, String> {
    let Some(urls) = given.value(URLS).filter(|text| !text.eq_ignore_ascii_case("none")) else {
        let others = [FIRST, USER, PASSWORD, COPY, OPTIONS].into_iter();
        let mut others = others.chain(FILES.map(|(name, _)| name));
        // With `none` the others may stay for a later day.
        let other = others.find(|name| given.value(URLS).is_none() && given.value(name).is_some());
        return other.map_or(Ok(None), |name| Err(format!("{name} needs {URLS}")));
    };
    if urls.contains('@') {
        return Err(format!(
            "{URLS}: a URL has no user and no password here; {USER} and {PASSWORD} have them"
        ));
    }
    let first = given.value(FIRST).ok_or_else(|| {
        format!(
            "{URLS} needs {FIRST}, the same on all containers: the HOSTNAME of the one that makes the entries if etcd \
             has no log yet, or none"
        )
    })?;
    let urls = urls.split([',', ';', ' ', '\t']).filter(|url| !url.is_empty());
    let mut line = Line(vec![urls.collect::<Vec<_>>().join(",")]);
    line.check(URLS)?;
    for word in given.or(OPTIONS, "").split_whitespace() {
        let keyword = word.split_once('=').map_or("", |(keyword, _)| keyword);
        if let Some((keyword, name)) = OWN.iter().find(|(own, _)| own.eq_ignore_ascii_case(keyword)) {
            return Err(format!("{OPTIONS}: {keyword} is the variable {name}"));
        }
        line.push(word.to_owned(), OPTIONS)?;
    }
    let mut files = Vec::new();
    for (name, word) in FILES {
        if let Some(path) = given.value(name) {
            line.push(format!("{word}={path}"), name)?;
            files.push((name, path.into()));
        }
    }
    let [_, certificate, key] = FILES.map(|(name, _)| name);
    if given.value(certificate).is_some() != given.value(key).is_some() {
        return Err(format!("{certificate} and {key} belong together"));
    }
    if let Some(place) = given.value(COPY) {
        line.push(format!("copy={place}"), COPY)?;
    }
    let password = match (given.value(USER), given.value(PASSWORD)) {
        (None, None) => None,
        (Some(user), Some(password)) => {
            if [user, password].iter().any(|text| text.contains('"')) {
                return Err(format!("{USER}, {PASSWORD}: a double quote cannot be part of it"));
            }
            // The two are only valid together.
            line.0.push(format!("user={user}"));
            Some(PASSWORD)
        }
        _ => return Err(format!("{USER} and {PASSWORD} (or {PASSWORD}_FILE) belong together")),
    };
    Ok(Some(Cluster {
        words: line.0,
        password,
        first: Some(first.to_owned()).filter(|first| !first.eq_ignore_ascii_case("none")),
        files,
    }))
}

/// Words that are valid so far.
struct Line(Vec<String>);

impl Line {
    fn push(&mut self, word: String, name: &str) -> Result<(), String> {
        self.0.push(word);
        self.check(name)
    }

    /// The error names the variable to which the last word belongs.
    fn check(&self, name: &str) -> Result<(), String> {
        let checked = ClusterConfig::of_words(&self.0);
        checked.map(drop).map_err(|error| format!("{name}: {error}"))
    }
}
