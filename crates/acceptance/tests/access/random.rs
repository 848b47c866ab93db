//! Random rules.

use super::site::{Site, assert_same};

const ROUNDS: u64 = 40;
const SEED: u64 = 0x5eed_acce_55ed_0001;

/// The words that rules are made of.
pub(crate) struct Vocabulary {
    pub(crate) whats: &'static [&'static str],
    pub(crate) attributes: &'static [&'static str],
    pub(crate) whos: &'static [&'static str],
    pub(crate) grants: &'static [&'static str],
}

/// Forms that the evaluator of the tests knows as well.
pub(crate) const PLAIN: Vocabulary = Vocabulary {
    whats: WHATS,
    attributes: ATTRIBUTES,
    whos: WHOS,
    grants: GRANTS,
};

const WHATS: &[&str] = &[
    "*",
    "dn.base=\"uid=ann,ou=People,dc=example,dc=com\"",
    "dn.subtree=\"ou=People,dc=example,dc=com\"",
    "dn.children=\"dc=example,dc=com\"",
    "dn.one=\"ou=Groups,dc=example,dc=com\"",
    "dn.regex=\"^(.+,)?uid=([^,]+),(ou=staff,)?ou=people,dc=example,dc=com$\"",
    "filter=(objectClass=inetOrgPerson)",
    "dn.subtree=\"ou=People,dc=example,dc=com\" filter=(!(title=boss))",
];
const ATTRIBUTES: &[&str] = &[
    "",
    "",
    "",
    " attrs=entry",
    " attrs=cn,sn,mail",
    " attrs=@inetOrgPerson",
    " attrs=!person",
    " attrs=member,manager",
    " attrs=mail val.regex=\"^([^@]+)@example.com$\"",
    " attrs=member val.subtree=\"ou=People,dc=example,dc=com\"",
    " attrs=title val=\"boss\"",
];
const WHOS: &[&str] = &[
    "*",
    "anonymous",
    "users",
    "self",
    "self.level{-1}",
    "dn.exact=\"uid=bob,ou=Staff,ou=People,dc=example,dc=com\"",
    "dn.children=\"ou=Staff,ou=People,dc=example,dc=com\"",
    "dn.regex=\"^uid=[ab][^,]+,.*$\"",
    "dnattr=manager",
    "users dnattr=member",
    "group=\"cn=editors,ou=Groups,dc=example,dc=com\"",
    "group/groupOfURLs/memberURL=\"cn=dynamic,ou=Groups,dc=example,dc=com\"",
    "set=\"this/owner & user\"",
    "users set=\"user/manager/uid & [bob]\"",
    "peername.ip=127.0.0.1",
    "realusers ssf=1",
];
const GRANTS: &[&str] = &[
    "none",
    "disclose",
    "auth",
    "compare",
    "search",
    "read",
    "read",
    "write",
    "selfwrite",
    "=rs",
    "+r",
    "+w",
    "-r",
    "-s",
    "=cd",
    "self+a",
    "+0",
    "manage",
];
const CONTROLS: &[&str] = &["", "", "", " continue", " break", " stop"];

/// The same numbers for the same seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    pub(crate) fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// The rules of a database.
    pub(crate) fn rules(&mut self, words: &Vocabulary) -> Vec<String> {
        (0..=self.below(5)).map(|_| self.rule(words)).collect()
    }

    fn rule(&mut self, words: &Vocabulary) -> String {
        let mut rule = format!("to {}{}", self.pick(words.whats), self.pick(words.attributes));
        for _ in 0..=self.below(4) {
            let (who, grant) = (self.pick(words.whos), self.pick(words.grants));
            rule = format!("{rule} by {who} {grant}{}", self.pick(CONTROLS));
        }
        rule
    }
}

/// A number from the environment.
pub(crate) fn environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[tokio::test]
async fn random_rules_mean_what_they_mean_to_slapd() {
    let sites = Site::both().await;
    let mut random = Random::new(environment("ACCESS_SEED").unwrap_or(SEED));
    for _ in 0..environment("ACCESS_ROUNDS").unwrap_or(ROUNDS) {
        let rules = random.rules(&PLAIN);
        assert_same(&sites, &rules).await;
    }
}
