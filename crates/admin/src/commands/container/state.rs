//! What the last start was told, kept beside the data: variables, hashes in place of secrets, facts of the host.

use std::{collections::BTreeMap, fs, io, path::Path};

use ironbark_directory::password;
use serde_json::{Map, Value, json};

use super::{
    environment::Given,
    layout::{failed, write_whole},
    variables::{self, Image},
};

/// What the configuration depends on besides variables.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Facts {
    pub(super) uid: u32,
    pub(super) gid: u32,
    /// Place of this host among those of replication, from 1.
    pub(super) number: Option<u16>,
    /// Whether the certificate was made here.
    pub(super) has_made_certificate: bool,
    /// Its folder.
    pub(super) made_certificate: String,
    /// Whether the file with parameters for Diffie-Hellman exists.
    pub(super) has_parameters: bool,
}

/// A start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct State {
    pub(super) image: Image,
    /// Variables that are no secrets.
    pub(super) plain: BTreeMap<String, String>,
    /// Hashes of those that are.
    pub(super) hashes: BTreeMap<String, String>,
    pub(super) facts: Facts,
}

impl State {
    /// The state of a start; `hash` gives the hash of a secret.
    ///
    /// # Errors
    /// Those of `hash`.
    pub(super) fn of(
        image: Image,
        given: &Given,
        facts: &Facts,
        hash: &mut dyn FnMut(&str, &str) -> Result<String, String>,
    ) -> Result<Self, String> {
        let mut state = Self {
            image,
            plain: BTreeMap::new(),
            hashes: BTreeMap::new(),
            facts: facts.clone(),
        };
        for (name, value) in &given.values {
            if variables::find(name).is_some_and(|row| row.is_secret) {
                state.hashes.insert(name.clone(), hash(name, value)?);
            } else {
                state.plain.insert(name.clone(), value.clone());
            }
        }
        Ok(state)
    }

    /// The variables of that start, with a word in place of each secret.
    pub(super) fn given(&self) -> Given {
        let secrets = self.hashes.keys().map(|name| (name.clone(), String::new()));
        Given {
            values: self.plain.clone().into_iter().chain(secrets).collect(),
        }
    }

    /// Whether a variable has another value now. A slow hash is computed for a secret.
    pub(super) fn differs(&self, name: &str, now: Option<&str>) -> bool {
        let is_secret = variables::find(name).is_some_and(|row| row.is_secret);
        match (is_secret, now) {
            (false, now) => self.plain.get(name).map(String::as_str) != now,
            (true, None) => self.hashes.contains_key(name),
            (true, Some(now)) => {
                let known = self.hashes.get(name);
                !known.is_some_and(|hash| password::verify(hash.as_bytes(), now.as_bytes()))
            }
        }
    }

    /// Reads the state; `None` if there is none.
    ///
    /// # Errors
    /// A file that cannot be read, or was damaged.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, String> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(path)(error)),
        };
        let parsed: Option<Self> = serde_json::from_str(&text).ok().and_then(|value| of_json(&value));
        let damaged = || {
            format!(
                "{}: damaged; KEEP_EXISTING_CONFIG=true serves without it",
                path.display()
            )
        };
        parsed.map(Some).ok_or_else(damaged)
    }

    /// Writes the state, whole or not at all.
    ///
    /// # Errors
    /// The file that cannot be written.
    pub(super) fn write(&self, path: &Path) -> Result<(), String> {
        let facts = &self.facts;
        let value = json!({
            "version": 1,
            "image": self.image.name(),
            "variables": self.plain,
            "secrets": self.hashes,
            "host": {
                "uid": facts.uid,
                "gid": facts.gid,
                "number": facts.number,
                "made_certificate": facts.has_made_certificate.then_some(&facts.made_certificate),
                "has_parameters": facts.has_parameters,
            },
        });
        write_whole(path, format!("{value:#}\n").as_bytes())
    }
}

fn of_json(value: &Value) -> Option<State> {
    if value.get("version")?.as_u64()? != 1 {
        return None;
    }
    let host = value.get("host")?;
    let number = |name: &str| host.get(name)?.as_u64()?.try_into().ok();
    let made = host.get("made_certificate").and_then(Value::as_str);
    Some(State {
        image: match value.get("image")?.as_str()? {
            "bitnami" => Image::Bitnami,
            "osixia" => Image::Osixia,
            _ => return None,
        },
        plain: texts(value.get("variables")?.as_object()?)?,
        hashes: texts(value.get("secrets")?.as_object()?)?,
        facts: Facts {
            uid: number("uid")?,
            gid: number("gid")?,
            number: host
                .get("number")
                .and_then(Value::as_u64)
                .and_then(|number| number.try_into().ok()),
            has_made_certificate: made.is_some(),
            made_certificate: made.unwrap_or_default().to_owned(),
            has_parameters: host.get("has_parameters")?.as_bool()?,
        },
    })
}

fn texts(object: &Map<String, Value>) -> Option<BTreeMap<String, String>> {
    let pairs = object
        .iter()
        .map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_comes_back_as_it_was_and_has_no_secret() {
        let values = [("LDAP_ROOT", "dc=x"), ("LDAP_ADMIN_PASSWORD", "hidden")];
        let values = values.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let given = Given {
            values: values.into_iter().collect(),
        };
        let facts = Facts {
            uid: 7,
            gid: 8,
            number: Some(2),
            ..Facts::default()
        };
        let mut hash = |_: &str, value: &str| Ok(format!("{{CLEARTEXT}}{}", value.to_uppercase()));
        let state = State::of(Image::Bitnami, &given, &facts, &mut hash).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        state.write(&path).unwrap();
        assert!(!fs::read_to_string(&path).unwrap().contains("hidden"));
        assert_eq!(State::read(&path).unwrap().as_ref(), Some(&state));
        assert_eq!(State::read(&folder.path().join("none")).unwrap(), None);
        fs::write(&path, "{}").unwrap();
        assert!(State::read(&path).unwrap_err().contains("damaged"));
        assert!(state.differs("LDAP_ROOT", None) && !state.differs("LDAP_ROOT", Some("dc=x")));
        assert!(!state.differs("LDAP_ADMIN_PASSWORD", Some("HIDDEN")));
        assert!(state.differs("LDAP_ADMIN_PASSWORD", Some("other")) && state.differs("LDAP_ADMIN_PASSWORD", None));
    }
}
