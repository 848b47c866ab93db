//! Records and data files of any content.

use proptest::{collection::vec, prelude::*};

use super::{
    super::{
        Settled,
        file::UNDO,
        record::{FORMER_BYTES, FormerPages},
        settle,
    },
    *,
};
use crate::check::{self, file::MetaPage};

#[test]
fn a_record_comes_back_as_it_was_written_and_not_with_any_bit_changed() {
    let directory = tempfile::tempdir().unwrap();
    crashed(directory.path());
    let record = last_record(directory.path());
    let bytes = record.encode();
    assert_eq!(bytes.len(), super::super::record::BYTES);
    assert_eq!(Record::decode(&bytes), Some(record));
    for place in 0..bytes.len() * 8 {
        let mut changed = bytes.clone();
        changed[place / 8] ^= 1 << (place % 8);
        assert_eq!(Record::decode(&changed), None, "{place}");
        assert_eq!(Record::decode(&bytes[..place / 8]), None, "{place}");
    }
    let former = FormerPages {
        number: 7,
        pages: [[1; MetaPage::BYTES], [2; MetaPage::BYTES]],
    };
    let mut bytes = former.encode();
    assert_eq!(bytes.len(), FORMER_BYTES);
    assert_eq!(FormerPages::decode(&bytes), Some(former));
    bytes[20] ^= 1;
    assert_eq!(FormerPages::decode(&bytes), None);
}

/// Bytes of the file that are changed: page, place, what is written there.
type Change = (u64, usize, Vec<u8>);

fn change(file: &mut [u8], changes: &[Change]) {
    let pages = (file.len() / PAGE) as u64;
    for (page, place, bytes) in changes {
        let from = (page % pages) as usize * PAGE + place;
        let to = (from + bytes.len()).min(file.len());
        file[from..to].copy_from_slice(&bytes[..to - from]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn whatever_the_file_holds_it_is_taken_back_whole_or_not_written_to(
        changes in vec((any::<u64>(), 0..PAGE, vec(any::<u8>(), 1..200)), 0..12),
        first in vec((0_u64..2, 0..200_usize, vec(any::<u8>(), 1..40)), 0..3),
        is_former in any::<bool>(), is_current in any::<bool>(), is_copied in any::<bool>(), cut in 0_usize..4,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        crashed(directory);
        if is_former {
            of_former_version(directory);
        }
        if is_current {
            change_records(directory, |record| record.boot = Boot::current());
        }
        let mut file = fs::read(data(directory)).unwrap();
        change(&mut file, &changes);
        change(&mut file, &first);
        if cut == 0 {
            file.truncate(file.len() / 2);
        }
        if is_copied {
            fs::remove_file(data(directory)).unwrap();
        }
        fs::write(data(directory), &file).unwrap();
        let record = fs::read(record_file(directory)).unwrap();
        let settled = settle(&options(directory));
        let left = fs::read(data(directory)).unwrap();
        match settled {
            Err(_) => prop_assert!(bytes(directory) == (file, record)),
            Ok(Settled::TakenBack) => {
                prop_assert!(left[2 * PAGE..] == file[2 * PAGE..]);
                prop_assert!(directory.join(UNDO).exists());
            }
            // But for the mark at the end of the first page.
            Ok(_) => {
                prop_assert!(left[PAGE..] == file[PAGE..] && left[..PAGE - 56] == file[..PAGE - 56]);
                prop_assert!(is_current && !is_copied || check::file(&data(directory)).unwrap().is_empty());
            }
        }
    }
}
