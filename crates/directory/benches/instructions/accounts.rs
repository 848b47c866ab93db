//! A directory of mail accounts as `ironbark generate zimbra` makes them, about 2 KB each, with the indexes of a Zimbra
//! server.

use std::{collections::BTreeSet, fmt::Write as _};

use ironbark_load::generate::{DataSet, DataSetKind, GeneratedEntry, PasswordStorage};

use ironbark_harness::Site;

/// Accounts. Most operations are done once for each of them.
pub const ACCOUNTS: usize = 256;

/// The directory and the accounts in it.
pub struct Accounts {
    pub site: Site,
    pub all: Vec<Account>,
}

/// An account, and values by which it is found.
pub struct Account {
    pub dn: String,
    pub uid: String,
    pub address: String,
}

impl Accounts {
    /// Adds the accounts to a new directory.
    pub fn new() -> Self {
        let mut site = Site::open_globally(SCHEMA, &settings(TWO_RULES));
        site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
        let set = DataSet::new(DataSetKind::Zimbra, SEED, "dc=ex", PasswordStorage::Ssha).expect("a data set");
        let mut containers = BTreeSet::new();
        let all = (0..ACCOUNTS as u64)
            .map(|number| {
                let entry = set.entry(number).expect("an entry");
                add(&mut site, &entry, &mut containers)
            })
            .collect();
        Self { site, all }
    }

    /// Puts other access rules into force.
    pub fn rule(&self, rules: &str) {
        let configuration = self.site.configuration(SCHEMA, &settings(rules));
        self.site.directory.reconfigure(configuration).expect("other rules");
    }
}

/// Settings of the database.
fn settings(rules: &str) -> String {
    let example = include_str!("../../../../data/zimbra.slapd.conf");
    let indexes = example.lines().filter(|line| line.starts_with("index "));
    indexes.fold(format!("{SETTINGS}\n{rules}"), |lines, index| lines + "\n" + index)
}

fn add(site: &mut Site, entry: &GeneratedEntry, containers: &mut BTreeSet<String>) -> Account {
    let account = Account {
        dn: text(&entry.dn),
        uid: first(entry, "uid"),
        address: first(entry, "zimbraMailDeliveryAddress"),
    };
    let (_, unit) = account.dn.split_once(',').expect("a unit");
    if containers.insert(unit.to_owned()) {
        let (_, domain) = unit.split_once(',').expect("a domain");
        site.must_add(domain, "objectClass: dcObject\nobjectClass: organization\no: domain");
        site.must_add(unit, "objectClass: organizationalUnit");
    }
    let mut lines = String::new();
    for (name, values) in &entry.attributes {
        for value in values {
            writeln!(lines, "{}: {}", text(name), text(value)).expect("writes");
        }
    }
    site.must_add(&account.dn, lines.trim_end());
    account
}

fn first(entry: &GeneratedEntry, attribute: &str) -> String {
    text(entry.values(attribute).first().expect("a value"))
}

fn text(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).expect("text").to_owned()
}

const SEED: u64 = 1;

/// valgrind does not have the address space that is reserved by default.
const SETTINGS: &str = "maxsize 268435456
envflags nosync
sizelimit unlimited";

const SCHEMA: &str = concat!("include ", env!("CARGO_MANIFEST_DIR"), "/../../schema/zimbra.schema");

const TWO_RULES: &str = "access to attrs=userPassword by self write by anonymous auth by * none
access to * by * read";

/// As many as an operator has, and of all kinds: a name, a regular expression, submatches, a group, the requester.
pub const SIX_RULES: &str = r#"access to dn.base="" by * read
access to attrs=userPassword by self write by anonymous auth by * none
access to dn.subtree="cn=cos,dc=ex" by dn.exact="cn=ops,dc=ex" write by users read
access to dn.regex="^ou=admins,dc=(d[0-9]+),dc=ex$" by dn.regex="^uid=[^,]+,ou=people,dc=$1,dc=ex$" write by users read
access to attrs=homePhone,homePostalAddress,zimbraPasswordModifiedTime by self write by group.exact="cn=staff,dc=ex" read by * none
access to * by self write by users read by * none"#;
