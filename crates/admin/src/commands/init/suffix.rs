//! The suffix of a new directory and its first entries.

use ironbark_ldif::LdifWriter;

use super::schema;
use crate::shared::wanted;

/// Length is most important (NIST SP 800-63B §5.1.1). A pause stops guesses of one account's password that come from
/// many addresses.
const POLICY: &[(&str, &str)] = &[
    ("cn", "default"),
    ("pwdAttribute", "userPassword"),
    ("pwdMinLength", "10"),
    ("pwdCheckQuality", "1"),
    ("pwdUseCheckModule", "TRUE"),
    ("pwdLockout", "TRUE"),
    ("pwdMaxFailure", "10"),
    ("pwdFailureCountInterval", "600"),
    ("pwdLockoutDuration", "600"),
    ("pwdAllowUserChange", "TRUE"),
];

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// The suffix and its entry.
pub(in crate::commands) struct Suffix {
    pub(super) dn: String,
    class: &'static str,
    attributes: Vec<(String, String)>,
}

impl Suffix {
    pub(in crate::commands) fn new(text: &str, organization: Option<&str>) -> Result<Self, String> {
        let schema = schema()?;
        let wrong = || format!("--suffix: \"{text}\": a suffix begins with dc, o, ou, c or l, as dc=example,dc=com");
        let dn = wanted::dn(&schema, text).map_err(|error| format!("--suffix: {error}"))?;
        let (first, _) = dn.rdn(0).ok_or_else(wrong)?;
        let first = String::from_utf8_lossy(first).into_owned();
        let values = dn.leaf_assertions(&schema);
        let [(_, value)] = values.as_slice() else {
            return Err(wrong());
        };
        let value = String::from_utf8_lossy(value).into_owned();
        let name = first.split('=').next().unwrap_or_default().to_ascii_lowercase();
        let class = match name.as_str() {
            "dc" => "domain",
            "o" => "organization",
            "ou" => "organizationalUnit",
            "c" => "country",
            "l" => "locality",
            _ => return Err(wrong()),
        };
        let mut attributes = vec![(name.clone(), value.clone())];
        if name == "dc" {
            attributes.push(("o".to_owned(), organization.unwrap_or(&value).to_owned()));
        } else if let (Some(organization), true) = (organization, name != "o") {
            attributes.push(("description".to_owned(), organization.to_owned()));
        }
        let class = if name == "dc" { "organization" } else { class };
        // Before anything is made: later slapadd would name a place in a file that nobody has seen. What is of the
        // name has been checked with it.
        for (name, value) in &attributes {
            let found = schema.find_attribute_type(name.as_bytes());
            if found.is_some_and(|found| (found.syntax.validate)(&schema, value.as_bytes()).is_err()) {
                return Err(format!("--organization: \"{value}\" cannot be a value of {name}"));
            }
        }
        Ok(Self {
            dn: dn.pretty().to_owned(),
            class,
            attributes,
        })
    }

    /// The name of the default password policy.
    pub(super) fn policy(&self) -> String {
        format!("cn=default,ou=policies,{}", self.dn)
    }

    /// The entry of the suffix, as LDIF.
    pub(in crate::commands) fn root_entry(&self) -> Vec<u8> {
        let is_domain = self.attributes.iter().any(|(name, _)| name == "dc");
        let classes: &[&str] = if is_domain {
            &["dcObject", self.class]
        } else {
            &[self.class]
        };
        let mut out = Vec::new();
        entry(&mut out, &self.dn, classes, &self.attributes);
        out
    }

    /// The suffix entry, the containers below it and the password policy, as LDIF.
    pub(super) fn entries(&self) -> Vec<u8> {
        let mut out = self.root_entry();
        for name in ["people", "groups", "policies"] {
            let dn = format!("ou={name},{}", self.dn);
            entry(&mut out, &dn, &["organizationalUnit"], &[pair("ou", name)]);
        }
        let policy: Vec<_> = POLICY.iter().map(|&(name, value)| pair(name, value)).collect();
        let classes = ["device", "pwdPolicy", "pwdPolicyChecker"];
        entry(&mut out, &self.policy(), &classes, &policy);
        out
    }
}

fn entry(out: &mut Vec<u8>, dn: &str, classes: &[&str], attributes: &[(String, String)]) {
    let writer = LdifWriter::default();
    writer.dn(out, dn.as_bytes());
    for class in classes {
        writer.attribute(out, b"objectClass", class.as_bytes());
    }
    for (name, value) in attributes {
        writer.attribute(out, name.as_bytes(), value.as_bytes());
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suffix_entry_follows_from_its_name() {
        let text = |suffix: &str| String::from_utf8(Suffix::new(suffix, None).unwrap().entries()).unwrap();
        let domain = text("dc=example,dc=com");
        let expected =
            "dn: dc=example,dc=com\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: example\n\n";
        assert!(domain.starts_with(expected), "{domain}");
        assert!(
            domain.contains("dn: ou=people,dc=example,dc=com\n")
                && domain.contains("dn: ou=groups,dc=example,dc=com\n")
        );
        assert!(text("o=Acme").starts_with("dn: o=Acme\nobjectClass: organization\no: Acme\n\n"));
        assert!(text("c=NL").contains("objectClass: country\nc: NL\n"));
        let refused = |suffix: &str, organization: Option<&str>| Suffix::new(suffix, organization).err().unwrap();
        assert!(refused("c=Germany", None).starts_with("--suffix: \"c=Germany\" is no name"));
        assert!(refused("dc=a", Some("")).starts_with("--organization: \"\" cannot be a value of o"));
        assert!(
            Suffix::new("cn=x", None).is_err() && Suffix::new("", None).is_err() && Suffix::new("x", None).is_err()
        );
    }
}
