//! Any data file of some histories beside any record of them: what is opened is a state that was on the disk for sure,
//! or the file itself if nothing of it is missing. Otherwise the file is refused, and no byte of it is changed.
//!
//! `IRONBARK_CASES` sets the number of cases.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::{
    super::{file::UNDO, record::FileId},
    *,
};

/// A database at one moment.
struct Moment {
    /// As the kernel has it.
    file: Vec<u8>,
    /// What was on the disk for sure: the file as it was at the last checkpoint.
    on_disk: Vec<u8>,
    record: Vec<u8>,
    content: Content,
    /// The last two checkpoints, the later one first.
    checkpoints: [Content; 2],
    serving: usize,
    /// How many checkpoints of this serving have a record.
    noted: u64,
}

/// Which bytes of a data file are there.
#[derive(Clone, Copy, Debug)]
enum Disk {
    /// All. The machine runs, or was started anew in order.
    Whole { is_restarted: bool },
    /// The machine has crashed.
    Torn(u64),
    /// All, without a mark: a backup.
    Backup,
}

/// What becomes of a record.
#[derive(Clone, Copy, Debug)]
enum Harm {
    None,
    Flipped(usize),
    Cut(usize),
    /// The first bytes are those of another record.
    Torn(usize, usize),
    Zeros,
    FormerVersion,
    Missing,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    moment: usize,
    disk: Disk,
    /// The moment of the record. `None`: that of the file.
    record: Option<usize>,
    harm: Harm,
    /// The moment of a record with the name that a record has after it was used.
    undo: Option<usize>,
    is_same_inode: bool,
}

/// Moments of three histories: of one database, of a copy of it that has gone another way, and of another database.
static MOMENTS: LazyLock<Vec<Moment>> = LazyLock::new(|| {
    let mut moments = Vec::new();
    let [first, copied, other] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let database = begun(first.path());
    fill(&database, 0..10);
    drop(database);
    fs::copy(data(first.path()), data(copied.path())).unwrap();
    drop(begun(other.path()));
    for (history, folder) in (0..).zip([&first, &copied, &other]) {
        for serving in 0..3 {
            let serving = history * 3 + serving;
            serve(folder.path(), serving, &mut moments);
        }
    }
    moments
});

fn serve(directory: &Path, serving: usize, moments: &mut Vec<Moment>) {
    let database = open(directory);
    database.defer_flushes().unwrap();
    let file = || fs::read(data(directory)).unwrap();
    let mut on_disk = file();
    let mut checkpoints = [content(&database); 2];
    let mut next = 100 + serving as u64 * 100;
    for noted in 0..5 {
        let mut note = |on_disk: &Vec<u8>, checkpoints, record| {
            moments.push(Moment {
                file: file(),
                on_disk: on_disk.clone(),
                record,
                content: content(&database),
                checkpoints,
                serving,
                noted,
            });
        };
        let record = || fs::read(record_file(directory)).unwrap();
        // Pages of a checkpoint may be used again by few commits, so that only some are.
        for count in [0, 1, 1 + (noted + serving as u64) % 4] {
            fill(&database, next..next + count);
            next += count;
            note(&on_disk, checkpoints, record());
        }
        // A crash between the flush of the data file and the record.
        let before = record();
        checkpoint(&database);
        note(&on_disk, checkpoints, before);
        on_disk = file();
        checkpoints = [content(&database), checkpoints[0]];
    }
    drop(database);
    drop(open(directory));
}

fn moment(index: usize) -> &'static Moment {
    &MOMENTS[index % MOMENTS.len()]
}

impl Case {
    fn record(&self) -> &'static Moment {
        moment(self.record.unwrap_or(self.moment))
    }

    /// Whether it can be: a machine that has crashed has written no record since.
    fn is_possible(&self) -> bool {
        let (file, record) = (moment(self.moment), self.record());
        !(matches!(self.disk, Disk::Torn(_)) && file.serving == record.serving && record.noted > file.noted)
    }

    fn lay(&self, directory: &Path) {
        let wanted = moment(self.moment);
        fs::write(data(directory), &wanted.file).unwrap();
        match self.disk {
            Disk::Whole { is_restarted: false } => {}
            Disk::Whole { is_restarted: true } => forget_mark(directory),
            Disk::Torn(seed) => {
                lose_pages(directory, &wanted.on_disk, seed);
                forget_mark(directory);
            }
            Disk::Backup => mark::clear(&data(directory)).unwrap(),
        }
        if let Some(undo) = self.undo {
            fs::write(directory.join(UNDO), &moment(undo).record).unwrap();
        }
        fs::write(record_file(directory), &self.record().record).unwrap();
        let is_running = matches!(self.disk, Disk::Whole { is_restarted: false });
        let inode = FileId::of(&fs::metadata(data(directory)).unwrap());
        change_records(directory, |record| {
            if !is_running {
                record.boot = Boot::UNKNOWN;
            }
            if self.is_same_inode {
                record.file = inode;
            }
        });
        self.harm(directory);
    }

    fn harm(&self, directory: &Path) {
        let path = record_file(directory);
        let mut bytes = fs::read(&path).unwrap();
        match self.harm {
            Harm::None => {}
            Harm::Flipped(bit) => bytes[bit / 8 % (PAGE + 280)] ^= 1 << (bit % 8),
            Harm::Cut(length) => bytes.truncate(length % (PAGE + 280)),
            Harm::Torn(other, length) => {
                let (length, place) = (length % 280, length % 2 * PAGE);
                bytes[place..place + length].copy_from_slice(&moment(other).record[place..place + length]);
            }
            Harm::Zeros => bytes.fill(0),
            Harm::FormerVersion => [0, PAGE].into_iter().for_each(|place| bytes[place + 7] = b'1'),
            Harm::Missing => return fs::remove_file(path).unwrap(),
        }
        fs::write(path, bytes).unwrap();
    }

    /// The states that may be found.
    fn durable(&self) -> Vec<Content> {
        let file = moment(self.moment);
        match self.disk {
            Disk::Backup | Disk::Whole { is_restarted: false } => vec![file.content],
            // The record of the same commit may be a later one.
            Disk::Whole { is_restarted: true } => [&file.checkpoints[..], &[file.content]].concat(),
            Disk::Torn(_) => file.checkpoints.to_vec(),
        }
    }

    /// Whether it must be opened, and not be refused.
    fn must_open(&self) -> bool {
        match self.disk {
            Disk::Backup | Disk::Whole { is_restarted: false } => true,
            Disk::Whole { is_restarted: true } | Disk::Torn(_) => {
                self.record.is_none_or(|record| record == self.moment) && matches!(self.harm, Harm::None)
            }
        }
    }
}

fn index() -> impl Strategy<Value = usize> {
    0..usize::MAX
}

fn case() -> impl Strategy<Value = Case> {
    let disk = prop_oneof![
        2 => any::<bool>().prop_map(|is_restarted| Disk::Whole { is_restarted }),
        4 => any::<u64>().prop_map(Disk::Torn),
        1 => Just(Disk::Backup),
    ];
    let harm = prop_oneof![
        6 => Just(Harm::None),
        2 => index().prop_map(Harm::Flipped),
        1 => index().prop_map(Harm::Cut),
        2 => (index(), index()).prop_map(|(other, length)| Harm::Torn(other, length)),
        1 => Just(Harm::Zeros),
        1 => Just(Harm::FormerVersion),
        1 => Just(Harm::Missing),
    ];
    // Records of the same serving are the ones that could be taken for the right one.
    let record = prop_oneof![
        2 => Just(None),
        4 => (0_usize..24).prop_map(|back| Some((true, back))),
        1 => index().prop_map(|any| Some((false, any))),
    ];
    let undo = prop::option::of(index());
    (index(), disk, record, harm, undo, any::<bool>()).prop_map(|(moment, disk, record, harm, undo, is_same_inode)| {
        let moment = moment % MOMENTS.len();
        let record = record.map(|(is_near, number)| {
            let moments = if is_near {
                moment + MOMENTS.len() + 4 - number
            } else {
                number
            };
            moments % MOMENTS.len()
        });
        Case {
            moment,
            disk,
            record,
            harm,
            undo,
            is_same_inode,
        }
    })
}

#[test]
fn whatever_lies_together_a_durable_state_is_opened_or_nothing_is_changed() {
    let cases = std::env::var("IRONBARK_CASES").map_or(400, |cases| cases.parse().unwrap());
    let config = ProptestConfig {
        cases,
        max_global_rejects: cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(case in case())| {
        prop_assume!(case.is_possible());
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path();
        case.lay(directory);
        let before = fs::read(data(directory)).unwrap();
        match open_with(directory, false) {
            Ok(database) => {
                assert_sound(&database);
                prop_assert!(case.durable().contains(&content(&database)), "another state");
                drop(database);
                prop_assert!(mark(directory).is_none() && !record_file(directory).exists());
            }
            Err(error) => {
                prop_assert!(!case.must_open(), "{}", error);
                prop_assert!(fs::read(data(directory)).unwrap() == before, "written to");
            }
        }
    });
}
