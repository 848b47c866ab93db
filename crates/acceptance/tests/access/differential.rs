//! Random rules of every form, in both servers: what their slapacl says, and what the running servers answer when
//! questions come in random order over the same connections, so that decisions are remembered in between.

use ironbark_testkit::{Flavor, Server, Tool};

use super::{
    questions::{NEW, Question, RENAMED},
    random::{Random, Vocabulary, environment},
    site::{ANN, BASE, BOB, DATA, GROUP, IDENTITIES, Site, is_about_hidden, unlike},
};

/// Sets of rules. ACCESS_DIFFERENTIAL sets another number, ACCESS_SEED another seed.
const ROUNDS: u64 = 25;
const SEED: u64 = 0x5eed_acce_55ed_0003;
/// Questions to each running server for a set of rules.
const QUESTIONS: usize = 60;
/// Questions to slapacl for a set of rules, each about everything of an entry.
const APPRAISALS: usize = 3;

const WIDE: Vocabulary = Vocabulary {
    whats: &[
        "*",
        "*",
        "dn.base=\"uid=ann,ou=People,dc=example,dc=com\"",
        "dn.subtree=\"ou=People,dc=example,dc=com\"",
        "dn.one=\"ou=People,dc=example,dc=com\"",
        "dn.regex=\"^(cn=[^,]+,)?uid=([^,]+),(ou=staff,)?ou=people,dc=example,dc=com$\"",
        "dn.regex=\"^(uid=([^,]+),)?(cn=([^,]+),)?(ou=([^,]+),)?(.*)$\"",
        "filter=(entryDN=uid=ann,ou=People,dc=example,dc=com)",
        "filter=(entryDN=cn=new,ou=People,dc=example,dc=com)",
        "filter=(!(entryDN=cn=new,ou=People,dc=example,dc=com))",
        "filter=(entryDN=cn=newer,ou=People,dc=example,dc=com)",
        "filter=(entryDN:dnSubtreeMatch:=uid=ann,ou=People,dc=example,dc=com)",
        "filter=(entryDN=*)",
        "filter=(!(entryDN=*new*))",
        "filter=(subschemaSubentry=*)",
        "filter=(!(subschemaSubentry=cn=Subschema))",
        "filter=(hasSubordinates=TRUE)",
        "filter=(!(hasSubordinates=FALSE))",
        "filter=(structuralObjectClass=inetOrgPerson)",
        "filter=(!(creatorsName=cn=Manager,dc=example,dc=com))",
        "filter=(ou:dn:=staff)",
        "filter=(&(entryUUID=*)(!(contextCSN=*)))",
    ],
    attributes: &[
        "",
        "",
        "",
        " attrs=entry",
        " attrs=children",
        " attrs=entry,children",
        " attrs=@extensibleObject",
        " attrs=!extensibleObject",
        " attrs=sn,@extensibleObject",
        " attrs=@extended",
        " attrs=!extended",
        " attrs=@named",
        " attrs=!named",
        " attrs=@labelled,entry",
        " attrs=@posixAccount",
        " attrs=!inetOrgPerson",
        " attrs=@person,!inetOrgPerson",
        " attrs=@top",
        " attrs=organizationalPerson",
        " attrs=name",
        " attrs=mail val.regex=\"^([^@]+)@example.com$\"",
        " attrs=title val=\"boss\"",
    ],
    whos: &[
        "*",
        "anonymous",
        "users",
        "self",
        "dn.subtree,expand=\"$1\"",
        "dn.subtree,expand=\"$3\"",
        "dn.exact,expand=\"$3\"",
        "dn.base,expand=\"uid=$2,ou=People,dc=example,dc=com\"",
        "dn.one,expand=\"$1\"",
        "dn.children,expand=\"$3\"",
        "dn.children,expand=\"$3ou=People,dc=example,dc=com\"",
        "dn.subtree,expand=\"$6\"",
        "dn.subtree,expand=\"$9\"",
        "dn.level{1},expand=\"$3\"",
        "dn.exact,expand=\"${v1}\"",
        "realdn.subtree,expand=\"$3\"",
        "dn.regex=\"^uid=$2,(ou=staff,)?ou=people,dc=example,dc=com$$\"",
        "dn.regex=\"^uid=${v1},.*$$\"",
        "group.expand=\"$1\"",
        "group.expand=\"cn=$4,ou=Groups,dc=example,dc=com\"",
        "set.expand=\"[uid=$2,ou=people,dc=example,dc=com] & user\"",
        "set.expand=\"[$3ou=people,dc=example,dc=com] & user/-1\"",
        "dnattr=manager",
        "group=\"cn=editors,ou=Groups,dc=example,dc=com\"",
        "set=\"this/entryDN & user\"",
    ],
    grants: &[
        "none", "auth", "search", "read", "read", "read", "add", "delete", "write", "write", "manage", "=rs", "=w",
        "=a", "=z", "=az", "+r", "+w", "+a", "+z", "+az", "-w", "-a", "-z", "-az", "-zr", "-s", "-r", "+0", "=cdx",
    ],
};

/// Changes rules on which slapd fails. It ends with a failed assertion when an anonymous client meets a name that is
/// empty after insertion. Where the expression is of the value alone, it inserts what an earlier rule has matched.
fn for_slapd(rules: &mut [String]) {
    for rule in rules {
        if rule.contains(",expand=\"$") {
            *rule = rule.replacen(" by ", " by anonymous search by ", 1);
        }
        if rule.contains("val.regex") && !rule.starts_with("to dn.regex") {
            *rule = rule.replacen(" val.regex=\"^([^@]+)@example.com$\"", "", 1);
        }
    }
}

/// Whether an answer differs on purpose: slapd tells everybody that a name is taken, and we who may disclose the entry.
fn is_taken(question: Question, theirs: &str, ours: &str) -> bool {
    matches!(question, Question::Add(_) | Question::Rename(_)) && theirs.ends_with(": 68") && ours.ends_with(": 50")
}

/// What of an entry slapacl is asked about.
const PARTS: &[&str] = &[
    "entry",
    "children",
    "objectClass",
    "cn",
    "cn;lang-de",
    "name",
    "sn",
    "title:boss",
    "title/add",
    "title/delete",
    "title/write",
    "mail:ann@example.com",
    "mail/read:ann@example.org",
    "uidNumber",
    "member",
    "labeledURI",
    "userPassword/auth",
    "entryUUID",
    "creatorsName",
    "entryDN",
    "hasSubordinates",
];

/// Behind the last rule, slapd's slapacl shows privileges that a `break` has left, although they are not granted.
const LAST: &str = "access to * by * none";

/// A stopped server of each kind, and its configuration without rules.
struct Appraisers([(Server, String); 2]);

impl Appraisers {
    fn new() -> Self {
        Self([Flavor::OpenLdap, Flavor::Ironbark].map(|flavor| {
            let server = Site::stopped(flavor, DATA);
            let text = std::fs::read_to_string(server.config_path()).unwrap();
            (server, text)
        }))
    }

    fn set_rules(&self, rules: &[String]) {
        let lines = rules.join("\naccess ");
        for (server, text) in &self.0 {
            std::fs::write(server.config_path(), format!("{text}\naccess {lines}\n{LAST}\n")).unwrap();
        }
    }

    fn ask(&self, who: &str, entry: &str) -> [Vec<String>; 2] {
        let mut arguments = vec!["-b", entry];
        if !who.is_empty() {
            arguments.extend(["-D", who]);
        }
        arguments.extend(PARTS);
        [0, 1].map(|at| {
            let said = self.0[at].0.tool(Tool::Acl, &arguments, "").unwrap().stderr;
            // Ours gives reasons, and slapd advice about rules.
            let is_answer = |line: &&str| PARTS.iter().any(|part| answers(line, part));
            said.lines().filter(is_answer).map(str::to_owned).collect()
        })
    }
}

fn answers(line: &str, part: &str) -> bool {
    let (name, value) = part.split_once(':').unwrap_or((part, ""));
    let equal = if value.is_empty() { "" } else { "=" };
    match name.split_once('/') {
        Some((name, level)) => line.starts_with(&format!("{level} access to {name}{equal}{value}: ")),
        None => line.starts_with(&format!("{name}{equal}{value}: ")),
    }
}

/// The differences between the two slapacl for one set of rules.
fn appraisals(appraisers: &Appraisers, random: &mut Random, rules: &[String]) -> Vec<String> {
    appraisers.set_rules(rules);
    let mut different = Vec::new();
    for _ in 0..APPRAISALS {
        let who = random.pick(&IDENTITIES);
        let entry = random.pick(&[ANN, BOB, GROUP, BASE]);
        let [theirs, ours] = appraisers.ask(who, entry);
        if theirs.len() != PARTS.len() || ours.len() != PARTS.len() {
            different.push(format!("{who} about {entry}: slapd {theirs:#?} ours {ours:#?}"));
        }
        let pairs = theirs.iter().zip(&ours).filter(|(theirs, ours)| theirs != ours);
        different.extend(pairs.map(|(theirs, ours)| format!("{who} about {entry}: slapd {theirs}, ours {ours}")));
    }
    different
}

/// The first difference between the answers of the running servers under one set of rules, if there is one.
async fn answers_of_both(sites: &[Site; 2], random: &mut Random, rules: &[String]) -> Option<String> {
    let [theirs, ours] = sites;
    for site in sites {
        let result = site.set_rules(rules).await;
        assert!(result.is_success(), "{rules:#?}: {result}");
    }
    let (mut asked, mut different) = (Vec::new(), None);
    for _ in 0..QUESTIONS {
        let (who, question) = (random.below(IDENTITIES.len()), Question::random(random));
        let (theirs, ours) = (theirs.ask(who, question).await, ours.ask(who, question).await);
        let is_expected = theirs == ours || is_about_hidden(rules, &theirs) || is_taken(question, &theirs, &ours);
        asked.push((who, question));
        if !is_expected && different.is_none() {
            different = Some(format!("{}\n  after {asked:?}", unlike(&theirs, &ours)));
        }
    }
    for site in sites {
        let manager = site.connect("cn=Manager,dc=example,dc=com", "secret").await;
        for dn in NEW.iter().chain(RENAMED) {
            let _ = manager.delete(dn, &[]).await.unwrap();
        }
    }
    different
}

#[tokio::test]
async fn random_rules_of_every_form_decide_as_in_slapd() {
    let (sites, appraisers) = (Site::both().await, Appraisers::new());
    let mut random = Random::new(environment("ACCESS_SEED").unwrap_or(SEED));
    let rounds = environment("ACCESS_DIFFERENTIAL").unwrap_or(ROUNDS);
    let mut different = Vec::new();
    for _ in 0..rounds {
        let mut rules = random.rules(&WIDE);
        for_slapd(&mut rules);
        let mut found = appraisals(&appraisers, &mut random, &rules);
        found.extend(answers_of_both(&sites, &mut random, &rules).await);
        if !found.is_empty() {
            different.push(format!("{rules:#?}\n{}", found.join("\n")));
        }
    }
    let asked = rounds * (QUESTIONS + APPRAISALS * PARTS.len()) as u64;
    println!("{asked} questions to both servers");
    assert!(different.is_empty(), "{}", different.join("\n\n"));
}
