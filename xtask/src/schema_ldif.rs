//! `cargo xtask schema-ldif [--check]`: makes `schema/*.ldif` (the form of cn=schema,cn=config) from `schema/*.schema`.
//!
//! Invariants: a definition is written only in a `.schema` file; the order of definitions is kept, so `{n}` means the
//! same in both forms; the output depends only on the input.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes the `.ldif` of every `.schema` below `root/schema`. With `check`, it only compares them.
///
/// # Errors
/// A sentence for the first file that cannot be read, parsed or written, and for all files that are stale.
pub(crate) fn run(root: &Path, check: bool) -> Result<(), String> {
    let folder = root.join("schema");
    let mut stale = Vec::new();
    for source in schema_files(&folder)? {
        let text = fs::read_to_string(&source).map_err(|error| format!("{}: {error}", source.display()))?;
        let name = source.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let ldif = to_ldif(name, &text).map_err(|error| format!("{}: {error}", source.display()))?;
        let target = source.with_extension("ldif");
        if fs::read_to_string(&target).is_ok_and(|current| current == ldif) {
            continue;
        }
        if check {
            stale.push(target.display().to_string());
        } else {
            fs::write(&target, ldif).map_err(|error| format!("{}: {error}", target.display()))?;
        }
    }
    if stale.is_empty() {
        Ok(())
    } else {
        Err(format!("stale, run `cargo xtask schema-ldif`: {}", stale.join(", ")))
    }
}

/// The entry of one schema file in LDIF.
///
/// # Errors
/// A sentence with the first line number of an invalid definition.
fn to_ldif(name: &str, text: &str) -> Result<String, String> {
    let mut values: [Vec<String>; 4] = Default::default();
    let [identifiers, syntaxes, attributes, classes] = &mut values;
    for (line, definition) in logical_lines(text)? {
        let (keyword, rest) = definition
            .split_once(' ')
            .ok_or_else(|| format!("line {line}: a keyword alone"))?;
        let list = match keyword {
            "objectidentifier" => &mut *identifiers,
            "ldapsyntax" => &mut *syntaxes,
            "attributetype" => &mut *attributes,
            "objectclass" => &mut *classes,
            _ => return Err(format!("line {line}: unknown keyword `{keyword}`")),
        };
        if keyword != "objectidentifier" && !(rest.starts_with("( ") && rest.ends_with(" )")) {
            return Err(format!("line {line}: the definition is not in parentheses"));
        }
        if !rest.is_ascii() {
            return Err(format!("line {line}: the definition is not ASCII"));
        }
        list.push(rest.to_owned());
    }
    let mut ldif = format!("# Made from {name}.schema by `cargo xtask schema-ldif`.\n");
    fold(&mut ldif, &format!("dn: cn={name},cn=schema,cn=config"));
    fold(&mut ldif, "objectClass: olcSchemaConfig");
    fold(&mut ldif, &format!("cn: {name}"));
    let types = [
        "olcObjectIdentifier",
        "olcLdapSyntaxes",
        "olcAttributeTypes",
        "olcObjectClasses",
    ];
    for (attribute, list) in types.iter().zip(&values) {
        for (number, value) in list.iter().enumerate() {
            fold(&mut ldif, &format!("{attribute}: {{{number}}}{value}"));
        }
    }
    Ok(ldif)
}

/// Joins continuation lines, drops comments and reduces space outside of quotes; with the number of the first line.
fn logical_lines(text: &str) -> Result<Vec<(usize, String)>, String> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        if line.starts_with([' ', '\t']) {
            let (_, last) = lines
                .last_mut()
                .ok_or_else(|| format!("line {}: continues nothing", index.saturating_add(1)))?;
            last.push(' ');
            last.push_str(line.trim());
        } else {
            lines.push((index.saturating_add(1), line.trim_end().to_owned()));
        }
    }
    for (number, line) in &mut lines {
        *line = single_spaces(line).ok_or_else(|| format!("line {number}: a quote is not closed"))?;
    }
    Ok(lines)
}

/// The text with runs of white space outside of quotes made one space; `None` when a quote is open at the end.
fn single_spaces(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut quoted = false;
    for character in text.chars() {
        quoted ^= character == '\'';
        if !quoted && character.is_whitespace() {
            if !out.ends_with(' ') {
                out.push(' ');
            }
        } else {
            out.push(character);
        }
    }
    (!quoted).then_some(out)
}

/// Appends one LDIF line, folded at 78 columns (RFC 2849 note 2).
fn fold(out: &mut String, line: &str) {
    let mut column = 0;
    for character in line.chars() {
        if column == WIDTH {
            let _ = write!(out, "\n ");
            column = 1;
        }
        out.push(character);
        column += 1;
    }
    out.push('\n');
}

/// The `.schema` files of a folder in the order of their names.
fn schema_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let listing = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files = Vec::new();
    for item in listing {
        let path = item.map_err(|error| format!("{}: {error}", folder.display()))?.path();
        if path.extension().is_some_and(|extension| extension == "schema") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Columns of an LDIF line before it is folded.
const WIDTH: usize = 78;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_ldif_is_current() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert_eq!(run(root, true), Ok(()));
    }

    #[test]
    fn core_is_numbered_as_clients_expect() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("schema");
        let core = to_ldif("core", &fs::read_to_string(folder.join("core.schema")).unwrap())
            .unwrap()
            .replace("\n ", "");
        for value in [
            "olcAttributeTypes: {0}( 2.5.4.2 NAME 'knowledgeInformation'",
            "olcAttributeTypes: {27}( 2.5.4.31 NAME 'member'",
            "olcAttributeTypes: {51}( 1.2.840.113549.1.9.1 NAME ( 'email'",
            "olcObjectClasses: {0}( 2.5.6.2 NAME 'country'",
            "olcObjectClasses: {7}( 2.5.6.9 NAME 'groupOfNames'",
            "olcObjectClasses: {26}( 1.3.6.1.1.3.1 NAME 'uidObject'",
        ] {
            assert!(core.contains(value), "{value}");
        }
        assert!(!core.contains("{52}( 1.2.840"));
    }

    #[test]
    fn order_numbers_and_quoted_space_are_kept() {
        let text = "# c\nobjectidentifier A 1.2\nattributetype ( A:1 NAME 'x'\n\tDESC 'two  spaces' )\n\nobjectclass ( A:2  NAME 'y' )\nattributetype ( A:3 NAME 'z' )\n";
        let ldif = to_ldif("t", text).unwrap();
        assert_eq!(
            ldif,
            "# Made from t.schema by `cargo xtask schema-ldif`.\ndn: cn=t,cn=schema,cn=config\nobjectClass: olcSchemaConfig\ncn: t\n\
             olcObjectIdentifier: {0}A 1.2\nolcAttributeTypes: {0}( A:1 NAME 'x' DESC 'two  spaces' )\n\
             olcAttributeTypes: {1}( A:3 NAME 'z' )\nolcObjectClasses: {0}( A:2 NAME 'y' )\n"
        );
    }

    #[test]
    fn folded_lines_join_to_the_value() {
        let mut out = String::new();
        let line = "a: ".to_owned() + &"x y ".repeat(60);
        fold(&mut out, &line);
        assert!(out.lines().all(|part| part.len() <= WIDTH));
        assert_eq!(out.replace("\n ", ""), line + "\n");
    }

    #[test]
    fn faults_name_the_line() {
        assert_eq!(to_ldif("t", " x\n"), Err("line 1: continues nothing".to_owned()));
        assert_eq!(
            to_ldif("t", "\nfoo ( 1 )\n"),
            Err("line 2: unknown keyword `foo`".to_owned())
        );
        assert_eq!(
            to_ldif("t", "objectclass ( 1 NAME 'x )\n"),
            Err("line 1: a quote is not closed".to_owned())
        );
        assert_eq!(
            to_ldif("t", "objectclass ( 1\n"),
            Err("line 1: the definition is not in parentheses".to_owned())
        );
    }
}
