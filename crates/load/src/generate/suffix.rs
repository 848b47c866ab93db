//! The naming context of a data set: its entry, and the mail domain that follows from it.

use super::ldif::Ldif;
use std::io::{self, Write};

/// A suffix given by the user, with the type and value of its first RDN.
#[derive(Debug)]
pub(super) struct Suffix {
    /// As given.
    pub(super) dn: String,
    /// The `dc` values joined with dots, or `example.org`.
    pub(super) mail_domain: String,
    attribute: String,
    value: String,
}

impl Suffix {
    /// Reads the first RDN.
    ///
    /// # Errors
    /// `InvalidInput` when the suffix does not begin with dc, o, ou, c or l, or its value is empty or malformed.
    pub(super) fn new(dn: &str) -> io::Result<Self> {
        let refuse = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("suffix `{dn}`: {why}"));
        let rdns: Option<Vec<(String, String)>> = split(dn).into_iter().map(assertion).collect();
        let rdns = rdns.ok_or_else(|| refuse("not a distinguished name of single-valued RDNs"))?;
        let Some((attribute, value)) = rdns.first().cloned() else {
            return Err(refuse("empty"));
        };
        if !CLASSES.iter().any(|(known, _)| *known == attribute) {
            return Err(refuse("must begin with dc, o, ou, c or l"));
        }
        let labels: Vec<&str> = rdns
            .iter()
            .filter(|(attribute, _)| attribute == "dc")
            .map(|(_, value)| value.as_str())
            .collect();
        let named = !labels.is_empty() && labels.iter().all(|label| label.is_ascii());
        let mail_domain = if named {
            labels.join(".")
        } else {
            "example.org".to_owned()
        };
        Ok(Self {
            dn: dn.to_owned(),
            mail_domain,
            attribute,
            value,
        })
    }

    /// Writes the entry of the suffix.
    pub(super) fn write(&self, ldif: &mut Ldif<'_, impl Write>) -> io::Result<()> {
        ldif.line("dn", &self.dn);
        let classes = CLASSES
            .iter()
            .find(|(known, _)| *known == self.attribute)
            .map(|(_, classes)| *classes);
        for class in classes.unwrap_or_default() {
            ldif.line("objectClass", class);
        }
        ldif.line(&self.attribute, &self.value);
        if self.attribute == "dc" {
            ldif.line("o", &self.value);
        }
        ldif.end()
    }

    /// Writes an organizational unit; `path` is its RDNs below the suffix, the first one `ou=name`.
    pub(super) fn write_unit(&self, ldif: &mut Ldif<'_, impl Write>, path: &str, name: &str) -> io::Result<()> {
        ldif.compose("dn", |text| {
            text.push_str(path);
            text.push(',');
            text.push_str(&self.dn);
        });
        ldif.line("objectClass", "organizationalUnit");
        ldif.line("ou", name);
        ldif.end()
    }
}

/// The RDNs of a DN, split at commas that are not escaped.
fn split(dn: &str) -> Vec<&str> {
    let mut escaped = false;
    dn.split(|character| {
        let separator = character == ',' && !escaped;
        escaped = character == '\\' && !escaped;
        separator
    })
    .collect()
}

/// Type (short name, lower case) and value of an RDN; `None` when it is malformed or has several values.
fn assertion(rdn: &str) -> Option<(String, String)> {
    let (attribute, value) = rdn.split_once('=')?;
    let attribute = attribute.trim().to_ascii_lowercase();
    let attribute = match attribute.as_str() {
        "domaincomponent" => "dc",
        "organizationname" => "o",
        "organizationalunitname" => "ou",
        "countryname" => "c",
        "localityname" => "l",
        other => other,
    };
    let mut bytes = Vec::new();
    let mut rest = value.trim().bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => return None,
            b'\\' => {
                let first = rest.next()?;
                match char::from(first).to_digit(16) {
                    Some(high) => {
                        let low = char::from(rest.next()?).to_digit(16)?;
                        bytes.push(u8::try_from(high * 16 + low).ok()?);
                    }
                    None if b" \"#+,;<=>\\".contains(&first) => bytes.push(first),
                    None => return None,
                }
            }
            _ => bytes.push(byte),
        }
    }
    let value = String::from_utf8(bytes).ok()?;
    (!value.is_empty() && !attribute.is_empty()).then(|| (attribute.to_owned(), value))
}

const CLASSES: &[(&str, &[&str])] = &[
    ("dc", &["dcObject", "organization"]),
    ("o", &["organization"]),
    ("ou", &["organizationalUnit"]),
    ("c", &["country"]),
    ("l", &["locality"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_rdn_and_mail_domain() {
        let suffix = Suffix::new("dc=Example, DC=com").unwrap();
        assert_eq!((suffix.attribute.as_str(), suffix.value.as_str()), ("dc", "Example"));
        assert_eq!(suffix.mail_domain, "Example.com");
        let suffix = Suffix::new("o=A\\, B\\2b,c=GR").unwrap();
        assert_eq!((suffix.attribute.as_str(), suffix.value.as_str()), ("o", "A, B+"));
        assert_eq!(suffix.mail_domain, "example.org");
    }

    #[test]
    fn malformed_suffixes_are_refused() {
        for dn in ["", "cn=x", "dc=", "dc", "dc=a+o=b", "dc=a\\", "dc=a\\g", "dc=a,"] {
            assert!(
                Suffix::new(dn).is_err_and(|error| error.kind() == io::ErrorKind::InvalidInput),
                "{dn}"
            );
        }
    }
}
