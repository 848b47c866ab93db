//! Readers: by number, by time, beside the writer and beside who removes old segments.

use super::*;
use crate::{Csn, segments::LogFolder};

fn filled(disk: &Disk, count: u64) -> (LogWriter, LogEnd) {
    let mut writer = create(disk).unwrap();
    let begin = writer.end();
    let mut numbers = Numbers::of(3);
    for number in 1..=count {
        // Three changes in each frame.
        append(&mut writer, 3 * number, &content(&mut numbers)).unwrap();
        writer.flush().unwrap();
    }
    (writer, begin)
}

#[test]
fn reading_begins_with_the_frame_of_a_change_or_a_time() {
    let disk = Disk::default();
    let (writer, _) = filled(&disk, 200);
    let again = reopen(&disk, None).unwrap().unwrap().writer;
    for writer in [&writer, &again] {
        let (log, until) = (writer.log(), writer.end().place);
        for first in (1..=600).step_by(7) {
            let frames = log.frames(first, until).unwrap();
            let lasts: Vec<u64> = frames.map(|frame| frame.unwrap().last).collect();
            let expected: Vec<u64> = (1..=200)
                .map(|number| 3 * number)
                .filter(|last| *last >= first)
                .collect();
            assert_eq!(lasts, expected);
        }
        assert_eq!(log.frames(601, until).unwrap().count(), 0);
        for (micros, first) in [(0, 3), (3_000, 3), (3_001, 6), (300_000, 300), (600_001, 0)] {
            let frame = log.frames_since(micros, until).unwrap().next();
            assert_eq!(frame.map_or(0, |frame| frame.unwrap().last), first, "{micros}");
        }
    }
}

#[test]
fn a_reader_sees_what_is_committed_and_no_more() {
    let disk = Disk::default();
    let (mut writer, begin) = filled(&disk, 20);
    let until = writer.end().place;
    for last in 61..70 {
        append(&mut writer, last, &[1; 3_000]).unwrap();
    }
    let frames: Vec<_> = writer.log().frames_behind(begin, until).unwrap().collect();
    assert_eq!(frames.len(), 20);
}

#[test]
fn segments_go_from_the_first_on_but_not_from_under_a_reader() {
    let disk = Disk::default();
    let (writer, begin) = filled(&disk, 200);
    let (log, until) = (Arc::clone(writer.log()), writer.end().place);
    let mut reader = log.frames_behind(begin, until).unwrap();
    assert_eq!(reader.next().unwrap().unwrap().last, 3);
    assert_eq!(
        log.remove_first(|_, _| true).unwrap(),
        0,
        "somebody reads the first one"
    );
    let half = reader
        .by_ref()
        .find(|frame| frame.as_ref().unwrap().last >= 300)
        .unwrap()
        .unwrap();
    let gone = log.remove_first(|_, _| true).unwrap();
    assert_eq!(gone, half.place.segment as usize - 1);
    assert_eq!(
        reader.map(Result::unwrap).last().unwrap().last,
        600,
        "and the reader goes on"
    );
    assert!(log.frames(1, until).is_none());
    let kept = log.start().unwrap().last;
    assert!(kept < half.last);
    let first = log.frames(kept + 1, until).unwrap().next().unwrap().unwrap();
    assert_eq!((first.place, first.last), (log.begin().unwrap().place, kept + 3));
    // All that may go: the last one stays.
    log.remove_first(|_, _| true).unwrap();
    assert_eq!(log.octets(), disk.octets(until.segment).len() as u64);
    let again = reopen(&disk, Some(writer.end())).unwrap().unwrap();
    assert_eq!(again.writer.end(), writer.end());
}

#[test]
fn what_is_removed_is_bounded_by_size_and_by_what_is_needed() {
    let disk = Disk::default();
    let (writer, _) = filled(&disk, 200);
    let log = writer.log();
    log.remove_first(|next, octets| octets > 100_000 && next.last < 400)
        .unwrap();
    let start = log.start().unwrap();
    assert!(start.last > 0 && start.last < 400, "{start:?}");
    assert!(log.octets() <= 100_000 || log.last_start(|start| start.last < 400).unwrap().1 == start);
}

#[test]
fn a_header_holds_any_vector() {
    let csn = |server: u32| {
        let text = format!("20260101000000.{server:06}Z#000000#{server:03x}#000000");
        Csn::parse(text.as_bytes()).unwrap()
    };
    for servers in [1, 250, 251, 4_096] {
        let vector: ContextVector = (0..servers).map(csn).collect();
        let disk = Disk::default();
        let mut writer = create(&disk).unwrap();
        for last in 1..=2 {
            let new = NewFrame {
                kind: FrameKind::Changes,
                last,
                micros: 5,
                covers_all: false,
                content: &vec![9; disk::SEGMENT as usize],
            };
            writer.append(&new, || (vector.clone(), false)).unwrap();
        }
        writer.flush().unwrap();
        let log = Arc::clone(reopen(&disk, None).unwrap().unwrap().writer.log());
        let (begin, start) = log.last_start(|_| true).unwrap();
        assert_eq!(
            (begin.place.segment, start.vector, start.covers_all),
            (3, vector, false),
            "{servers}"
        );
        assert_eq!((start.last, start.micros), (1, 5));
    }
}

#[test]
fn a_folder_of_the_system_keeps_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let files: Arc<dyn LogFiles> = Arc::new(LogFolder::open(&path, 0o600).unwrap());
    assert!(matches!(LogFolder::open(&path, 0o600), Err(StoreError::InUse(_))));
    let mut writer = LogWriter::create(&files, IDENTITY, start()).unwrap();
    let begin = writer.end();
    writer.log().make_ready().unwrap();
    for last in 1..=100 {
        append(&mut writer, last, &vec![last as u8; 100_000]).unwrap();
        writer.flush().unwrap();
    }
    assert_eq!(writer.log().missing_spares(), 2, "the first one and the third");
    drop((writer, files));
    let files: Arc<dyn LogFiles> = Arc::new(LogFolder::open(&path, 0o600).unwrap());
    let opened = open(&files, IDENTITY, Some(begin)).unwrap().unwrap();
    let read = frames(&opened.writer, begin);
    let is_right = |(at, frame): (usize, &Frame)| frame.content == vec![at as u8 + 1; 100_000];
    assert!(read.len() == 100 && read.iter().enumerate().all(is_right));
}
