//! `rootDSE`: LDIF files whose attributes are added to the root DSE.

use std::{fs::File, io::BufReader, path::Path};

use ironbark_config::SettingError;
use ironbark_ldif::{LdifReader, NoFiles, RecordKind};

/// Attribute descriptions and values, in the order of the files.
pub(crate) type Attributes = Vec<(String, Vec<Vec<u8>>)>;

/// Reads the files. All their records have the empty name.
///
/// # Errors
/// Names the file, and the line if there is one.
pub(crate) fn read<P: AsRef<Path>>(files: &[P]) -> Result<Attributes, SettingError> {
    let mut attributes = Attributes::new();
    for path in files {
        let path = path.as_ref();
        let wrong =
            |reason: &dyn std::fmt::Display| SettingError::Unavailable(format!("rootDSE {}: {reason}", path.display()));
        let file = File::open(path).map_err(|error| wrong(&error))?;
        let mut records = LdifReader::new(BufReader::new(file), NoFiles);
        while let Some(record) = records.read().map_err(|error| wrong(&error))? {
            let at_line = |reason: &str| wrong(&format_args!("line {}: {reason}", record.line));
            if !record.dn.is_empty() {
                return Err(at_line("only the empty DN has a place in the root DSE"));
            }
            let RecordKind::Content(content) = record.kind else {
                return Err(at_line("content is expected, not a change"));
            };
            for (name, value) in content {
                let name = String::from_utf8(name).map_err(|_| at_line("an attribute name is not UTF-8"))?;
                match attributes
                    .iter_mut()
                    .find(|(known, _)| known.eq_ignore_ascii_case(&name))
                {
                    Some((_, values)) => values.push(value),
                    None => attributes.push((name, vec![value])),
                }
            }
        }
    }
    Ok(attributes)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::read;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn values_of_all_files_are_collected_by_attribute() {
        let first = file("dn:\nvendorName: A\naltServer: ldap://a/\n");
        let second = file("dn:\naltserver: ldap://b/\n");
        let read = read(&[first.path(), second.path()]).unwrap();
        let values = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>();
        assert_eq!(
            read,
            [
                ("vendorName".to_owned(), values(&["A"])),
                ("altServer".to_owned(), values(&["ldap://a/", "ldap://b/"]))
            ]
        );
    }

    #[test]
    fn a_record_of_another_name_is_refused_by_line() {
        let file = file("dn:\nvendorName: A\n\ndn: dc=x\ndc: x\n");
        assert!(
            read(&[file.path()])
                .unwrap_err()
                .to_string()
                .ends_with("line 4: only the empty DN has a place in the root DSE")
        );
    }
}
