//! The entry point of the fuzz target in `/fuzz`; the smoke test calls the same function.

use crate::{Item, LdifReader, LdifRecord, LdifWriter, NoFiles, Records, Start};

/// Reads `data` by both readers; what the streaming one reads is written and read again.
///
/// # Panics
/// When a written record does not read back as the same record: that is the property under test.
pub fn ldif(data: &[u8]) {
    for record in LdifReader::new(data, NoFiles).flatten() {
        let mut out = Vec::new();
        LdifWriter::default().record(&mut out, &record);
        let again: Vec<LdifRecord> = LdifReader::new(out.as_slice(), NoFiles).flatten().collect();
        assert!(again.len() == 1, "one record came back as {}", again.len());
        for again in again {
            let mut second = Vec::new();
            LdifWriter::default().record(&mut second, &again);
            assert_eq!(second, out, "a record came back changed");
        }
    }
    let mut bytes = data.to_vec();
    for mut lines in Records::new(&mut bytes, 1, 0) {
        if let Ok(Start::Dn(_)) = lines.start() {
            while let Ok(Some(Item::Line(_) | Item::Separator)) = lines.next_item() {}
        }
    }
}
