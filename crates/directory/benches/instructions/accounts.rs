//! A directory of mail accounts as `ironbark generate zimbra` makes them, about 2 KB each, with the indexes of a Zimbra server.

use std::{collections::BTreeSet, fmt::Write as _};

use ironbark_load::generate::{DataSet, Entry, Kind, Passwords};

use crate::harness::Site;

/// Accounts, and so the number of times that most operations are done.
pub const ACCOUNTS: usize = 256;

/// The directory and what was put into it.
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
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let example = include_str!("../../../../data/zimbra.slapd.conf");
        let indexes = example.lines().filter(|line| line.starts_with("index "));
        let lines = indexes.fold(SETTINGS.to_owned(), |lines, index| lines + "\n" + index);
        let mut site = Site::open_globally(&format!("include {root}/schema/zimbra.schema"), &lines);
        site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
        let set = DataSet::new(Kind::Zimbra, SEED, "dc=ex", Passwords::Ssha).expect("a data set");
        let mut containers = BTreeSet::new();
        let all = (0..ACCOUNTS as u64)
            .map(|number| {
                let entry = set.entry(number).expect("an entry");
                add(&mut site, &entry, &mut containers)
            })
            .collect();
        Self { site, all }
    }
}

fn add(site: &mut Site, entry: &Entry, containers: &mut BTreeSet<String>) -> Account {
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

fn first(entry: &Entry, attribute: &str) -> String {
    text(entry.values(attribute).first().expect("a value"))
}

fn text(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).expect("text").to_owned()
}

const SEED: u64 = 1;

/// valgrind has not the address space that is reserved by default.
const SETTINGS: &str = "maxsize 268435456
envflags nosync
sizelimit unlimited
access to attrs=userPassword by self write by anonymous auth by * none
access to * by * read";
