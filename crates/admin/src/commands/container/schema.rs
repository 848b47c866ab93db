//! The schemas that are part of the program, by name.

/// The path of a schema of the program, or of a file that the other image has at this place.
pub(super) fn path(name: &str) -> String {
    format!("schema/{name}.schema")
}

/// The text of a schema of the program.
pub(super) fn text(path: &str) -> Option<&'static str> {
    let name = path.strip_prefix("schema/")?.strip_suffix(".schema")?;
    ALL.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Whether the program has a schema.
pub(super) fn is_known(name: &str) -> bool {
    text(&path(name)).is_some()
}

/// All names.
pub(super) fn names() -> Vec<&'static str> {
    ALL.iter().map(|(name, _)| *name).collect()
}

macro_rules! schemas {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../../../../schema/", $name, ".schema")))),*]
    };
}

const ALL: &[(&str, &str)] = schemas![
    "collective"
    "corba"
    "core"
    "cosine"
    "dsee"
    "duaconf"
    "dyngroup"
    "eduperson"
    "inetorgperson"
    "java"
    "misc"
    "namedobject"
    "nis"
    "openldap"
    "openssh-lpk"
    "pmi"
    "postfix"
    "ppolicy"
    "rfc2307bis"
    "samba"
    "sudo"
    "telco"
    "zimbra"
];
