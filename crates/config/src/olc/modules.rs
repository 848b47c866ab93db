//! The way back to slapd: the modules that it needs for what a client has configured. Here they are parts of the
//! program. A tree without a list of modules is left without one: it is for a slapd that needs none, or for no slapd.

use ironbark_model::ResultCode;

use super::{
    change::ChangeError,
    index,
    tree::{OlcKind, OlcNode, Tree},
};
use crate::{
    parts::{Part, module_name},
    registry::Registry,
};

impl Tree {
    /// Adds the `olcModuleLoad` lines without which slapd could not read what a change has added.
    ///
    /// # Errors
    /// As in slapd: a module that is in use was taken away, or one is loaded twice.
    pub fn load_modules(&mut self, former: &Self) -> Result<(), ChangeError> {
        check_repeated(self, former)?;
        let Some(list) = self.root.children.iter().rposition(is_list) else {
            return Ok(());
        };
        for name in missing(self) {
            let was_loaded = is_loaded(former, name);
            if was_loaded {
                let text = format!("cannot delete olcModuleLoad: {name} is in use");
                return Err(ChangeError::new(ResultCode::OTHER, text));
            }
            if let Some(node) = self.root.children.get_mut(list) {
                let mut values = node.values("olcModuleLoad").to_vec();
                values.push(name.as_bytes().to_vec());
                index::number(&mut values);
                node.set("olcModuleLoad", values);
            }
        }
        Ok(())
    }
}

fn is_list(node: &OlcNode) -> bool {
    node.kind() == Some(OlcKind::Module)
}

/// The values of `olcModuleLoad`, without their numbers.
fn lines(tree: &Tree) -> impl Iterator<Item = &str> {
    let lists = tree.root.children.iter().filter(|node| is_list(node));
    lists
        .flat_map(|node| node.texts("olcModuleLoad"))
        .map(|text| index::split(text).1)
}

/// slapd loads no module twice. It takes several names of one file in one folder.
fn check_repeated(tree: &Tree, former: &Tree) -> Result<(), ChangeError> {
    let count = |tree: &Tree, wanted: &str| lines(tree).filter(|line| *line == wanted).count();
    let elsewhere = |tree: &Tree, wanted: &str| lines(tree).filter(|line| is_elsewhere(line, wanted)).count();
    let repeated = lines(tree)
        .find(|line| count(tree, line) > count(former, line).max(1) || elsewhere(tree, line) > elsewhere(former, line));
    repeated.map_or(Ok(()), |line| {
        let text = format!("<olcModuleLoad> {line} is already loaded");
        Err(ChangeError::new(ResultCode::OTHER, text))
    })
}

/// Whether two lines name one module by files of different folders.
fn is_elsewhere(line: &str, other: &str) -> bool {
    let folder = |line: &str| line.rsplit_once('/').map(|(folder, _)| folder.to_owned());
    module_name(line) == module_name(other) && folder(line) != folder(other)
}

fn is_loaded(tree: &Tree, name: &str) -> bool {
    let parts = tree.registry.parts();
    let same = |part: &Part, other: &Part| part.name == other.name && part.kind == other.kind;
    let wanted = parts.module(name);
    lines(tree)
        .filter_map(|line| parts.module(line.split_whitespace().next().unwrap_or_default()))
        .any(|loaded| wanted.is_some_and(|wanted| same(wanted, loaded)))
}

/// The modules that are needed and not loaded, without repetition.
fn missing(tree: &Tree) -> Vec<&'static str> {
    let mut needed = Vec::new();
    for node in tree
        .root
        .children
        .iter()
        .filter(|node| node.kind() == Some(OlcKind::Database))
    {
        needed.extend(
            DATABASES
                .iter()
                .find(|(kind, _)| *kind == node.index().1)
                .map(|(_, module)| *module),
        );
        needed.extend(
            node.children
                .iter()
                .filter_map(|overlay| of_overlay(&tree.registry, overlay)),
        );
        for value in node.texts("olcDbIndex").chain(node.texts("olcAccess")) {
            needed.extend(of_attributes(value));
        }
        needed.extend(node.texts("olcPasswordHash").filter_map(of_scheme));
    }
    let mut missing = Vec::new();
    for name in needed {
        if !missing.contains(&name) && !is_loaded(tree, name) {
            missing.push(name);
        }
    }
    missing
}

fn of_overlay(registry: &Registry, overlay: &OlcNode) -> Option<&'static str> {
    let part = registry.parts().overlay(overlay.index().1)?;
    OVERLAYS.iter().find(|name| **name == part.name).copied()
}

/// The modules that define attributes which a value names.
fn of_attributes(value: &str) -> impl Iterator<Item = &'static str> {
    let words = value.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.filter_map(|word| {
        let is_it = |(names, _): &&(&[&str], _)| names.iter().any(|name| name.eq_ignore_ascii_case(word));
        ATTRIBUTES.iter().find(is_it).map(|(_, module)| *module)
    })
}

fn of_scheme(schemes: &str) -> Option<&'static str> {
    let is_it = |(begin, _): &&(&str, _)| {
        schemes.split_whitespace().any(|one| {
            one.get(..begin.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(begin))
        })
    };
    SCHEMES.iter().find(is_it).map(|(_, module)| *module)
}

/// The types of databases that packages of slapd have in modules.
const DATABASES: &[(&str, &str)] = &[("mdb", "back_mdb"), ("null", "back_null"), ("sock", "back_sock")];

/// The overlays of OpenLDAP and its contrib folder, whose modules have their names.
const OVERLAYS: &[&str] = &[
    "accesslog",
    "addpartial",
    "allop",
    "allowed",
    "auditlog",
    "authzid",
    "autoca",
    "autogroup",
    "cloak",
    "collect",
    "constraint",
    "dds",
    "denyop",
    "deref",
    "dyngroup",
    "dynlist",
    "emptyds",
    "homedir",
    "lastbind",
    "memberof",
    "nestgroup",
    "noopsrch",
    "nops",
    "otp",
    "ppolicy",
    "refint",
    "retcode",
    "seqmod",
    "smbk5pwd",
    "sssvlv",
    "syncprov",
    "unique",
    "valsort",
];

/// Attributes that slapd knows when a module is loaded.
const ATTRIBUTES: &[(&[&str], &str)] = &[
    (&["memberOf"], "memberof"),
    (&["entryExpireTimestamp", "dynamicSubtrees"], "dds"),
    (
        &[
            "pwdChangedTime",
            "pwdAccountLockedTime",
            "pwdFailureTime",
            "pwdHistory",
            "pwdGraceUseTime",
            "pwdReset",
            "pwdPolicySubentry",
            "pwdStartTime",
            "pwdEndTime",
            "pwdAttribute",
            "pwdAccountTmpLockoutEnd",
        ],
        "ppolicy",
    ),
    (&["authTimestamp"], "lastbind"),
];

/// Schemes of `password-hash`, by how they begin.
const SCHEMES: &[(&str, &str)] = &[
    ("{ARGON2", "argon2"),
    ("{PBKDF2", "pw-pbkdf2"),
    ("{SSHA256}", "pw-sha2"),
    ("{SSHA384}", "pw-sha2"),
    ("{SSHA512}", "pw-sha2"),
    ("{SHA256}", "pw-sha2"),
    ("{SHA384}", "pw-sha2"),
    ("{SHA512}", "pw-sha2"),
    ("{APR1}", "pw-apr1"),
    ("{BSDMD5}", "pw-apr1"),
];
