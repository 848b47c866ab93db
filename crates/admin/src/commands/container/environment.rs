//! The variables of a container as they are given: known, complete, without contradiction.

use std::{collections::BTreeMap, ffi::OsString};

use super::variables::{self, Fate, Image, Variable};

/// The given variables. Those that are empty count as not given, but for `LDAP_SUFFIX`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) values: BTreeMap<String, String>,
}

/// What was read.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) given: Given,
    pub(super) image: Image,
    /// For the administrator.
    pub(super) warnings: Vec<String>,
}

impl Given {
    /// The value of a variable.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        debug_assert!(variables::find(name).is_some(), "{name} is no row");
        self.values.get(name).map(String::as_str)
    }

    /// The value, or the default.
    pub(super) fn or<'a>(&'a self, name: &str, default: &'a str) -> &'a str {
        self.value(name).unwrap_or(default)
    }

    /// yes or no, as both images write them.
    ///
    /// # Errors
    /// Any other word.
    pub(super) fn is_set(&self, name: &str, default: bool) -> Result<bool, String> {
        let Some(text) = self.value(name) else {
            return Ok(default);
        };
        match text.to_ascii_lowercase().as_str() {
            "yes" | "true" | "1" | "on" => Ok(true),
            "no" | "false" | "0" | "off" => Ok(false),
            _ => Err(format!("{name}={text}: yes or no is expected")),
        }
    }

    /// A number.
    ///
    /// # Errors
    /// Anything else.
    pub(super) fn number<N: std::str::FromStr>(&self, name: &str) -> Result<Option<N>, String> {
        let parse = |text: &str| text.parse().map_err(|_| format!("{name}={text}: a number is expected"));
        self.value(name).map(parse).transpose()
    }
}

/// Reads an environment; `read_file` gives the content of a file that a variable names.
///
/// # Errors
/// Everything that is wrong, in one text.
pub(super) fn read(
    environment: impl Iterator<Item = (OsString, OsString)>,
    read_file: &dyn Fn(&str) -> Result<Vec<u8>, String>,
) -> Result<Read, String> {
    let mut reading = Reading::default();
    for (name, value) in environment {
        let Some(name) = name.to_str().filter(|name| is_ours(name)) else {
            continue;
        };
        match value.to_str() {
            Some(value) => reading.variable(name, value, read_file),
            None => reading.errors.push(format!("{name}: the value is not UTF-8")),
        }
    }
    let image = reading.image();
    reading.unknown();
    if !reading.errors.is_empty() {
        return Err(reading.errors.join("\n"));
    }
    Ok(Read {
        given: Given { values: reading.values },
        image,
        warnings: reading.warnings,
    })
}

#[derive(Default)]
struct Reading {
    values: BTreeMap<String, String>,
    unknown: Vec<String>,
    warnings: Vec<String>,
    errors: Vec<String>,
}

impl Reading {
    fn variable(&mut self, name: &str, value: &str, read_file: &dyn Fn(&str) -> Result<Vec<u8>, String>) {
        if is_service_link(name, value) {
            return;
        }
        if let Some(row) = variables::find(name) {
            return self.known(row, value);
        }
        let secret = name.strip_suffix("_FILE").and_then(variables::find);
        match secret.filter(|row| row.is_secret) {
            Some(_) if value.is_empty() => {}
            Some(row) => match read_file(value).and_then(|text| secret_text(&text)) {
                Ok(text) => self.put(row, &text),
                Err(error) => self.errors.push(format!("{name}={value}: {error}")),
            },
            None => self.unknown.push(name.to_owned()),
        }
    }

    fn known(&mut self, row: &'static Variable, value: &str) {
        if value.is_empty() && row.name != "LDAP_SUFFIX" {
            return;
        }
        match row.fate {
            Fate::Refused => self.errors.push(format!("{} is refused: {}", row.name, row.text)),
            Fate::Ignored => self.warnings.push(format!("{} has no effect: {}", row.name, row.text)),
            Fate::Obeyed | Fate::First | Fate::Fixed => self.put(row, value),
        }
    }

    fn put(&mut self, row: &Variable, value: &str) {
        // A line of a value would be a line of the configuration.
        if value.contains(char::is_control) {
            self.errors.push(format!(
                "{}: the value has a control character, such as the end of a line",
                row.name
            ));
            return;
        }
        if self.values.insert(row.name.to_owned(), value.to_owned()).is_some() {
            self.errors.push(format!("{0} and {0}_FILE are both set", row.name));
        }
    }

    /// The image whose variables are given.
    fn image(&mut self) -> Image {
        let of = |image: Image| {
            let names = self.values.keys();
            names
                .filter_map(|name| variables::find(name))
                .find(|row| row.image == image)
        };
        let (bitnami, osixia) = (of(Image::Bitnami), of(Image::Osixia));
        let asked = match self.values.get("IRONBARK_IMAGE").map(String::as_str) {
            None => None,
            Some("bitnami") => Some(Image::Bitnami),
            Some("osixia") => Some(Image::Osixia),
            Some(other) => {
                self.errors
                    .push(format!("IRONBARK_IMAGE={other}: bitnami or osixia is expected"));
                None
            }
        };
        let foreign = match asked {
            Some(Image::Bitnami) => osixia,
            Some(_) => bitnami,
            None => osixia.filter(|_| bitnami.is_some()),
        };
        if let Some(row) = foreign {
            let other = bitnami.filter(|_| asked.is_none());
            let beside = other.map_or("IRONBARK_IMAGE", |row| row.name);
            self.errors.push(format!(
                "{} is a variable of {}/openldap, which {beside} contradicts",
                row.name,
                row.image.name()
            ));
        }
        match (asked, osixia) {
            (Some(image), _) => image,
            (None, Some(_)) => Image::Osixia,
            (None, None) => Image::Bitnami,
        }
    }

    /// A misspelt name may be that of a protection, so it is an error.
    fn unknown(&mut self) {
        let ignored = self.values.get("IRONBARK_IGNORE_UNKNOWN");
        let ignored =
            ignored.is_some_and(|text| matches!(text.to_ascii_lowercase().as_str(), "yes" | "true" | "1" | "on"));
        for name in std::mem::take(&mut self.unknown) {
            if ignored {
                self.warnings.push(format!("{name} is unknown, and has no effect"));
            } else {
                self.errors.push(format!(
                    "{name} is unknown; `ironbark container --help` lists the variables, and \
                     IRONBARK_IGNORE_UNKNOWN=yes makes this a warning"
                ));
            }
        }
    }
}

/// Whether a variable is for us: all names with our prefixes, and the few others of the table.
fn is_ours(name: &str) -> bool {
    name.starts_with("LDAP_") || name.starts_with("IRONBARK_") || variables::find(name).is_some()
}

/// Whether Kubernetes or Docker made the variable for a service of such a name: `LDAP_SERVICE_HOST`,
/// `LDAP_PORT=tcp://10.0.0.1:389`, `LDAP_PORT_389_TCP_ADDR`.
fn is_service_link(name: &str, value: &str) -> bool {
    let is_url = value.starts_with("tcp://") || value.starts_with("udp://");
    let is_part = |protocol: &str| {
        let parts = name.rsplit_once(protocol);
        parts.is_some_and(|(before, after)| {
            let number = before.rsplit_once("_PORT_").map(|(_, number)| number);
            number.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|octet| octet.is_ascii_digit()))
                && matches!(after, "" | "_ADDR" | "_PORT" | "_PROTO")
        })
    };
    is_url
        || name.ends_with("_SERVICE_HOST")
        || name.ends_with("_SERVICE_PORT")
        || name.contains("_SERVICE_PORT_")
        || is_part("_TCP")
        || is_part("_UDP")
}

/// The content of a file with a secret, without the newline at its end.
fn secret_text(content: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(content).map_err(|_| "the content is not UTF-8")?;
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.is_empty() {
        return Err("the file is empty".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Result<Read, String> {
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| (name.into(), value.into())).collect();
        read(pairs.into_iter(), &|path| match path {
            "/secret" => Ok(b"a b \n".to_vec()),
            "/empty" => Ok(b"\n".to_vec()),
            _ => Err("missing".to_owned()),
        })
    }

    #[test]
    fn the_names_say_whose_image_it_was() {
        assert_eq!(of(&[]).unwrap().image, Image::Bitnami);
        assert_eq!(of(&[("LDAP_ADMIN_PASSWORD", "x")]).unwrap().image, Image::Bitnami);
        assert_eq!(of(&[("LDAP_DOMAIN", "x.y")]).unwrap().image, Image::Osixia);
        assert_eq!(of(&[("LDAP_DOMAIN", "")]).unwrap().image, Image::Bitnami);
        assert_eq!(of(&[("IRONBARK_IMAGE", "osixia")]).unwrap().image, Image::Osixia);
        let both = of(&[("LDAP_DOMAIN", "x.y"), ("LDAP_ROOT", "dc=x")]).unwrap_err();
        assert_eq!(
            both,
            "LDAP_DOMAIN is a variable of osixia/openldap, which LDAP_ROOT contradicts"
        );
        assert!(of(&[("IRONBARK_IMAGE", "bitnami"), ("LDAP_DOMAIN", "x")]).is_err());
        assert!(of(&[("IRONBARK_IMAGE", "debian")]).is_err());
    }

    #[test]
    fn a_secret_comes_from_a_file_or_the_variable_but_not_both() {
        let read = of(&[("LDAP_ADMIN_PASSWORD_FILE", "/secret")]).unwrap();
        assert_eq!(read.given.value("LDAP_ADMIN_PASSWORD"), Some("a b "));
        let both = of(&[("LDAP_ADMIN_PASSWORD_FILE", "/secret"), ("LDAP_ADMIN_PASSWORD", "x")]).unwrap_err();
        assert_eq!(both, "LDAP_ADMIN_PASSWORD and LDAP_ADMIN_PASSWORD_FILE are both set");
        for path in ["/empty", "/missing"] {
            assert!(of(&[("LDAP_ADMIN_PASSWORD_FILE", path)]).unwrap_err().contains(path));
        }
        // The name of a file for what is no secret is as unknown as any other.
        assert!(of(&[("LDAP_ROOT_FILE", "/secret")]).is_err());
    }

    #[test]
    fn unknown_names_are_errors_and_service_links_are_not_ours() {
        assert!(
            of(&[("LDAP_REQUIRE_TSL", "yes")])
                .unwrap_err()
                .starts_with("LDAP_REQUIRE_TSL is unknown")
        );
        let read = of(&[("LDAP_REQUIRE_TSL", "yes"), ("IRONBARK_IGNORE_UNKNOWN", "yes")]).unwrap();
        assert_eq!(read.warnings, ["LDAP_REQUIRE_TSL is unknown, and has no effect"]);
        let links = [
            ("LDAP_SERVICE_HOST", "10.0.0.1"),
            ("LDAP_SERVICE_PORT_LDAPS", "636"),
            ("LDAP_PORT", "tcp://10.0.0.1:389"),
            ("LDAP_PORT_389_TCP_ADDR", "10.0.0.1"),
            ("IRONBARK_RO_PORT_1389_TCP", "x"),
            ("PATH", "/"),
            ("LDAPTLS_REQCERT", "never"),
        ];
        let read = of(&links).unwrap();
        assert!(read.given.values.is_empty() && read.warnings.is_empty());
    }

    #[test]
    fn what_is_refused_or_has_no_effect_is_named() {
        assert!(
            of(&[("LDAP_SSL_HELPER_TOOL", "x")])
                .unwrap_err()
                .contains("mount certificates")
        );
        assert!(
            of(&[("BITNAMI_DEBUG", "x")])
                .unwrap()
                .warnings
                .first()
                .unwrap()
                .contains("BITNAMI_DEBUG")
        );
    }

    #[test]
    fn a_value_is_one_line() {
        for value in ["dc=x\nrootpw y", "a\r", "a\0b"] {
            assert!(of(&[("LDAP_ROOT", value)]).unwrap_err().contains("control character"));
        }
    }

    #[test]
    fn words_and_numbers_are_checked() {
        let read = of(&[("LDAP_ENABLE_TLS", "perhaps"), ("LDAP_PORT_NUMBER", "x")]).unwrap();
        assert!(read.given.is_set("LDAP_ENABLE_TLS", false).is_err());
        assert!(read.given.number::<u16>("LDAP_PORT_NUMBER").is_err());
    }
}
