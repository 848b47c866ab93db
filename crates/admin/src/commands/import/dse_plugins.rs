//! The plugins that dse.ldif of 389 Directory Server switches on.

use super::settings::{ConfigEntry, Settings, quoted};

/// Plugins that are on without a choice of the administrator, or whose work is part of this server: nothing to say.
const SILENT: &[&str] = &[
    "account usability plugin",
    "acl plugin",
    "acl preoperation",
    "auto membership plugin",
    "bitwise plugin",
    "class of service",
    "content synchronization",
    "deref",
    "distributed numeric assignment plugin",
    "entryuuid",
    "entryuuid_syntax",
    "http client",
    "internationalization plugin",
    "ldbm database",
    "memberof plugin",
    "roles plugin",
    "schema reload",
    "state change plugin",
    "views",
    "whoami",
    "attribute uniqueness",
    "referential integrity postoperation",
    "retro changelog plugin",
    "account policy plugin",
    "linked attributes",
    "managed entries",
    "multisupplier replication plugin",
    "multimaster replication plugin",
    "chaining database",
    "legacy replication plugin",
    "7-bit check",
    "rootdn access control",
    "pwdchan",
    "syntax validation task",
];
/// Types of plugins that are part of this server.
const SILENT_TYPES: &[&str] = &["syntax", "matchingrule", "pwdstoragescheme", "reverpwdstoragescheme"];
/// Plugins that are not here, and what serves instead.
const INSTEAD: &[(&str, &str)] = &[
    (
        "usn",
        "`overlay usn` has uSNChanged; the name of the attribute differs (entryUSN)",
    ),
    ("pam pass through auth", "no counterpart: passwords are checked here"),
    (
        "pass through authentication",
        "no counterpart: users bind where their entries are",
    ),
    (
        "posix winsync api",
        "`syncrepl` with `type=dirSync` takes entries from Active Directory (docs/replication.md)",
    ),
    ("ldap access control", "`access to`"),
    ("posix attributes", "no counterpart"),
];
/// Takes over a plugin that is on.
pub(super) fn plugin(plugin: &ConfigEntry, entries: &[ConfigEntry], settings: &mut Settings) {
    let name = plugin.one("cn").unwrap_or_default().to_ascii_lowercase();
    let init = plugin
        .one("nsslapd-pluginInitfunc")
        .unwrap_or_default()
        .to_ascii_lowercase();
    let below = |class: &str| {
        let (class, end) = (class.to_owned(), format!(",{}", plugin.dn));
        entries
            .iter()
            .filter(move |entry| entry.dn.ends_with(&end) && entry.has_class(&class))
    };
    match name.as_str() {
        "memberof plugin" => member_of(plugin, settings),
        "referential integrity postoperation" => referential_integrity(plugin, settings),
        "retro changelog plugin" => {
            settings.overlay("overlay psearch", None);
            settings.note(
                "Retro Changelog plugin",
                "`overlay psearch` for persistent searches, and `ironbark changes`; there is no tree cn=changelog",
            );
        }
        "account policy plugin" => {
            settings.database.push("lastbind on".to_owned());
            settings.note(
                "Account Policy plugin",
                "`lastbind on`: pwdLastSuccess; pwdMaxIdle of a policy locks idle accounts",
            );
        }
        "distributed numeric assignment plugin" => below("dnaPluginConfig").for_each(|entry| dna(entry, settings)),
        "auto membership plugin" => {
            for entry in below("autoMemberDefinition") {
                let end = format!(",{}", entry.dn);
                let rules = entries.iter().filter(|rule| rule.dn.ends_with(&end));
                automember(entry, &rules.collect::<Vec<_>>(), settings);
            }
        }
        "linked attributes" | "managed entries" => {
            let instead = if name == "linked attributes" {
                "no counterpart but `overlay memberof`"
            } else {
                "no counterpart: the entries are kept as they are"
            };
            for entry in below("extensibleObject") {
                settings.note(format!("{name}: {}", entry.dn), instead);
            }
        }
        "7-bit check" => settings.note(
            "7-bit check plugin",
            "`overlay constraint` with an expression serves instead",
        ),
        _ if init == "nsuniqueattr_init" => unique(plugin, settings),
        _ => other(&name, plugin, settings),
    }
}

/// A plugin without a counterpart that is configured.
fn other(name: &str, plugin: &ConfigEntry, settings: &mut Settings) {
    let kind = plugin
        .one("nsslapd-pluginType")
        .unwrap_or_default()
        .to_ascii_lowercase();
    if let Some((_, instead)) = INSTEAD.iter().find(|(known, _)| *known == name) {
        settings.note(format!("plugin {name}"), *instead);
    } else if !SILENT.contains(&name) && !SILENT_TYPES.contains(&kind.as_str()) {
        settings.note(
            format!("plugin {name}"),
            "not known here: look at what it does for your clients",
        );
    }
}

/// `overlay refint`.
fn referential_integrity(plugin: &ConfigEntry, settings: &mut Settings) {
    let attributes: Vec<String> = plugin.all("referint-membership-attr").map(quoted).collect();
    let text = format!("overlay refint\nrefint_attributes {}", attributes.join(" "));
    settings.overlay(text, None);
    settings.note(
        "Referential Integrity plugin",
        "`overlay refint`, in the transaction of the write",
    );
}

/// `overlay memberof`.
fn member_of(plugin: &ConfigEntry, settings: &mut Settings) {
    settings.member_attributes = plugin.all("memberofgroupattr").map(str::to_owned).collect();
    settings.note(
        "MemberOf plugin",
        "`overlay memberof` with `memberof-computed`: nothing is stored",
    );
    settings.note(
        "memberOf by groups in groups",
        "`overlay nestgroup` shows it; it is not configured",
    );
}

fn unique(plugin: &ConfigEntry, settings: &mut Settings) {
    let old = ["nsslapd-pluginarg0", "nsslapd-pluginarg1"].map(|name| plugin.one(name));
    let mut attributes: Vec<&str> = plugin.all("uniqueness-attribute-name").collect();
    attributes.extend(old.first().copied().flatten());
    let mut trees: Vec<&str> = plugin.all("uniqueness-subtrees").collect();
    trees.extend(old.get(1).copied().flatten());
    let escaped = |tree: &str| tree.replace('%', "%25").replace('?', "%3f").replace(' ', "%20");
    let urls: Vec<String> = trees
        .iter()
        .map(|tree| format!("ldap:///{}?{}?sub", escaped(tree), attributes.join(",")))
        .collect();
    if attributes.is_empty() || urls.is_empty() {
        settings.note(
            "Attribute Uniqueness plugin",
            "not taken: it names no attribute or no subtree",
        );
        return;
    }
    let all: Vec<String> = if plugin.is_on("uniqueness-across-all-subtrees") {
        vec![urls.join(" ")]
    } else {
        urls
    };
    let lines: Vec<String> = all.iter().map(|url| format!("unique_uri {}", quoted(url))).collect();
    settings.overlay(format!("overlay unique\n{}", lines.join("\n")), trees.first().copied());
    settings.note(
        format!("Attribute Uniqueness plugin for {}", attributes.join(", ")),
        "`overlay unique`",
    );
}

fn dna(entry: &ConfigEntry, settings: &mut Settings) {
    let types: Vec<String> = entry.all("dnaType").map(quoted).collect();
    let mut lines = vec!["overlay dna".to_owned(), format!("dna-type {}", types.join(" "))];
    for (theirs, ours) in [
        ("dnaFilter", "dna-filter"),
        ("dnaScope", "dna-scope"),
        ("dnaExcludeScope", "dna-exclude-scope"),
        ("dnaNextValue", "dna-next-value"),
        ("dnaMaxValue", "dna-max-value"),
        ("dnaInterval", "dna-interval"),
        ("dnaMagicRegen", "dna-magic-regen"),
        ("dnaThreshold", "dna-threshold"),
    ] {
        lines.extend(entry.all(theirs).map(|value| format!("{ours} {}", quoted(value))));
    }
    settings.overlay(lines.join("\n"), entry.one("dnaScope"));
    settings.note(
        format!("DNA plugin for {}", entry.all("dnaType").collect::<Vec<_>>().join(", ")),
        "`overlay dna`; see docs/accounts.md",
    );
}

fn automember(entry: &ConfigEntry, rules: &[&ConfigEntry], settings: &mut Settings) {
    let mut lines = vec!["overlay automember".to_owned()];
    for (theirs, ours) in [
        ("autoMemberScope", "automember-scope"),
        ("autoMemberFilter", "automember-filter"),
        ("autoMemberDefaultGroup", "automember-default-group"),
        ("autoMemberGroupingAttr", "automember-grouping-attr"),
    ] {
        lines.extend(entry.all(theirs).map(|value| format!("{ours} {}", quoted(value))));
    }
    for rule in rules {
        let group = rule.one("autoMemberTargetGroup").unwrap_or_default();
        for (theirs, ours) in [
            ("autoMemberInclusiveRegex", "automember-inclusive-regex"),
            ("autoMemberExclusiveRegex", "automember-exclusive-regex"),
        ] {
            lines.extend(
                rule.all(theirs)
                    .map(|value| format!("{ours} {} {}", quoted(group), quoted(value))),
            );
        }
    }
    settings.overlay(lines.join("\n"), entry.one("autoMemberScope"));
    settings.note(
        format!("automember {}", entry.one("cn").unwrap_or_default()),
        "`overlay automember`; see docs/accounts.md",
    );
}
