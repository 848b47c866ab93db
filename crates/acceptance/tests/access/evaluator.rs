//! slapd.access(5), followed sentence by sentence: rules are split into words for each question, and nothing is cached.
//!
//! It knows the words that the generator uses, in the generator's form.

use regex::RegexBuilder;

use super::model::{Directory, Entry, is_equal, is_subtype, is_within, normal, parent};

/// Somebody who asks about an entry, and the rules.
pub(crate) struct Evaluator<'a> {
    pub(crate) rules: &'a [String],
    pub(crate) directory: &'a Directory,
    /// Empty: anonymous.
    pub(crate) who: &'a str,
    pub(crate) entry: &'a Entry,
}

/// The target of a question: an attribute, `entry` or `children`, perhaps one value.
type What<'w> = (&'w str, Option<&'w str>);

/// "none", "disclose", "auth", "compare", "search", "read", "write", "manage", each with the ones before it.
const LEVELS: &[(&str, &str)] = &[
    ("none", ""),
    ("disclose", "d"),
    ("auth", "dx"),
    ("compare", "dxc"),
    ("search", "dxcs"),
    ("read", "dxcsr"),
    ("write", "dxcsraz"),
    ("manage", "dxcsrazm"),
];

impl Evaluator<'_> {
    /// Whether a privilege (a letter) is granted.
    pub(crate) fn permits(&self, what: What<'_>, privilege: char) -> bool {
        let (granted, is_decided) = self.privileges(what);
        is_decided && granted.contains(privilege)
    }

    /// The same, but if the last rule ended with `break`, the privileges given so far count. slapd asks in this way
    /// about the base object.
    pub(crate) fn permits_or_left(&self, what: What<'_>, privilege: char) -> bool {
        self.privileges(what).0.contains(privilege)
    }

    /// The privileges on something, and whether some rule has decided them: "if no more `access` directives,
    /// `to * by * none`".
    fn privileges(&self, what: What<'_>) -> (String, bool) {
        if self.rules.is_empty() {
            return ("dxcsr".to_owned(), true);
        }
        let mut granted = String::new();
        for rule in self.rules {
            let words = words(rule);
            let mut parts = words[1..].split(|word| word == "by");
            if !self.is_about(parts.next().unwrap(), what) {
                continue;
            }
            match self.apply(parts, what, &mut granted) {
                "break" => {}
                _ => return (granted, true),
            }
        }
        (granted, false)
    }

    /// The clauses of a rule in order: "the first matching one determines", unless it says `continue` or `break`.
    fn apply<'r>(&self, clauses: impl Iterator<Item = &'r [String]>, what: What<'_>, granted: &mut String) -> &'r str {
        for clause in clauses {
            let count = clause.iter().take_while(|word| is_who(word)).count();
            let (who, rest) = clause.split_at(count);
            let (access, control) = (rest[0].as_str(), rest.get(1).map_or("stop", String::as_str));
            let plain = access.strip_prefix("self");
            let is_own = plain.is_some();
            if is_own && !self.is_own_name(what) {
                continue;
            }
            if !who.iter().all(|who| self.is(who, is_own)) {
                continue;
            }
            *granted = changed(granted, plain.unwrap_or(access));
            if control != "continue" {
                return control;
            }
        }
        // "The implicit `by * none stop`."
        granted.clear();
        "stop"
    }

    /// The value that is asked about is the requester's own name.
    fn is_own_name(&self, (attribute, value): What<'_>) -> bool {
        let holds_names = ["member", "owner", "manager", "seeAlso"];
        holds_names.iter().any(|name| is_subtype(attribute, name))
            && !self.who.is_empty()
            && value.is_some_and(|value| normal(value) == normal(self.who))
    }

    /// `<what>`.
    fn is_about(&self, words: &[String], what: What<'_>) -> bool {
        let (attribute, value) = what;
        let is_pseudo = ["entry", "children"].contains(&attribute);
        words.iter().all(|word| {
            let (key, text) = word.split_once('=').unwrap_or((word, ""));
            match key {
                "*" => true,
                "filter" => {
                    let everything = |_: &str, _: Option<&str>| true;
                    self.entry.matches(text, &everything) == Some(true)
                }
                "attrs" => text.split(',').any(|named| match named.split_at(1) {
                    ("@", class) => !is_pseudo && is_in_class(attribute, class),
                    ("!", class) => is_pseudo || !is_in_class(attribute, class),
                    _ if is_pseudo => named == attribute,
                    _ => is_subtype(attribute, named),
                }),
                "val" => value.is_some_and(|value| is_equal(attribute, value, text)),
                "val.regex" => value.is_some_and(|value| is_match(text, &value.to_lowercase())),
                "val.subtree" => value.is_some_and(|value| is_within(value, text)),
                _ => is_named(key, text, &self.entry.dn),
            }
        })
    }

    /// One condition of `<who>`. `is_own`: the clause is about the requester's own name, which need not be in the list
    /// then.
    fn is(&self, condition: &str, is_own: bool) -> bool {
        let is_user = !self.who.is_empty();
        let (key, text) = condition.split_once('=').unwrap_or((condition, ""));
        match key {
            "*" => true,
            "anonymous" => !is_user,
            // Nobody acts for anybody else here.
            "users" | "realusers" => is_user,
            "self" => is_user && normal(&self.entry.dn) == normal(self.who),
            // The entry is this far above (negative: below) the requester's.
            "self.level{1}" => is_user && normal(&self.entry.dn) == normal(parent(self.who)),
            "self.level{-1}" => is_user && normal(parent(&self.entry.dn)) == normal(self.who),
            "dnattr" => is_user && (is_own || self.entry.holds(text, self.who)),
            "group" => is_user && self.names("groupOfNames", "member", text),
            "group/groupOfURLs/memberURL" => is_user && self.is_found(text),
            "set" => self.is_of_set(text),
            // All connections come from there, and none is protected.
            "peername.ip" => text == "127.0.0.1",
            "ssf" => text == "0",
            _ => is_user && is_named(key, text, self.who),
        }
    }

    fn names(&self, class: &str, attribute: &str, group: &str) -> bool {
        let group = self.directory.find(group);
        group.is_some_and(|group| group.holds("objectClass", class) && group.holds(attribute, self.who))
    }

    /// Whether a URL of a group finds the requester's entry.
    fn is_found(&self, group: &str) -> bool {
        let Some(group) = self.directory.find(group) else {
            return false;
        };
        group.values("memberURL").any(|(_, url)| {
            let parts: Vec<&str> = url.strip_prefix("ldap:///").unwrap().split('?').collect();
            let style = format!("dn.{}", parts[2]);
            let everything = |_: &str, _: Option<&str>| true;
            let own = self.directory.find(self.who);
            is_named(&style, parts[0], self.who)
                && own.is_some_and(|own| own.matches(parts[3], &everything) == Some(true))
        })
    }

    /// Two sets joined by `&`, each a path or a text in brackets: true if they have an element in common.
    fn is_of_set(&self, text: &str) -> bool {
        let (left, right) = text.split_once(" & ").unwrap();
        let (left, right) = (self.set(left), self.set(right));
        left.iter().any(|one| right.iter().any(|other| one == other))
    }

    fn set(&self, path: &str) -> Vec<String> {
        if let Some(literal) = path.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            return vec![literal.to_owned()];
        }
        let mut steps = path.split('/');
        let mut found = match steps.next().unwrap() {
            "this" => vec![normal(&self.entry.dn)],
            "user" if self.who.is_empty() => Vec::new(),
            "user" => vec![normal(self.who)],
            other => panic!("{other}"),
        };
        for attribute in steps {
            let entries = found.iter().filter_map(|dn| self.directory.find(dn));
            let values = entries.flat_map(|entry| entry.values(attribute).map(|(_, value)| value.to_lowercase()));
            found = values.collect();
        }
        found
    }
}

/// `dn.<style>=<pattern>`: "base" and "exact" are the entry, "one" its children, "subtree" all of it, "children" all
/// but itself.
fn is_named(key: &str, text: &str, dn: &str) -> bool {
    match key.strip_prefix("dn.").unwrap_or_else(|| panic!("{key}")) {
        "base" | "exact" => normal(dn) == normal(text),
        "one" => normal(parent(dn)) == normal(text),
        "subtree" | "sub" => is_within(dn, text),
        "children" => is_within(dn, text) && normal(dn) != normal(text),
        "regex" => is_match(text, &normal(dn)),
        style => panic!("{style}"),
    }
}

fn is_match(pattern: &str, text: &str) -> bool {
    let regex = RegexBuilder::new(pattern).case_insensitive(true).build().unwrap();
    regex.is_match(text)
}

/// A level; `=` and exactly these privileges; `+` or `-` and the privileges to add or remove.
fn changed(granted: &str, access: &str) -> String {
    if let Some((_, letters)) = LEVELS.iter().find(|(level, _)| *level == access) {
        return (*letters).to_owned();
    }
    let (sign, letters) = access.split_at(1);
    let letters = letters.replace('0', "").replace('w', "az");
    match sign {
        "=" => letters,
        "+" => format!("{granted}{letters}"),
        "-" => granted.chars().filter(|letter| !letters.contains(*letter)).collect(),
        _ => panic!("{access}"),
    }
}

/// Words are separated by spaces that are not in quotes.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in text.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            _ => words.last_mut().unwrap().push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn is_who(word: &str) -> bool {
    let access = word
        .strip_prefix("self")
        .filter(|rest| !rest.starts_with('.'))
        .unwrap_or(word);
    let is_level = LEVELS.iter().any(|(level, _)| *level == access);
    !is_level && !["=", "+", "-"].iter().any(|sign| access.starts_with(sign))
}

/// Whether a class, or one above it, has the attribute; only attributes of entries here.
fn is_in_class(attribute: &str, class: &str) -> bool {
    const PERSON: &[&str] = &[
        "objectClass",
        "sn",
        "cn",
        "userPassword",
        "telephoneNumber",
        "seeAlso",
        "description",
    ];
    const INET_ORG_PERSON: &[&str] = &["title", "ou", "mail", "manager", "uid"];
    let holds = |list: &[&str]| list.iter().any(|name| is_subtype(attribute, name));
    match class {
        "person" => holds(PERSON),
        "inetOrgPerson" => holds(PERSON) || holds(INET_ORG_PERSON),
        _ => panic!("{class}"),
    }
}
