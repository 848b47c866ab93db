//! Damage of what was on the disk is found, and is not taken for what a crash has torn.

use super::*;
use crate::segments::{SegmentOffset, Tail};

/// A log of some flushed frames, the end before the first, and where each frame begins.
fn written(count: u64, numbers: &mut Numbers) -> (Disk, LogEnd, Vec<SegmentOffset>) {
    let disk = Disk::default();
    let mut writer = create(&disk).unwrap();
    let begin = writer.end();
    for last in 1..=count {
        let octets = 20 + numbers.below(900);
        append(&mut writer, last, &numbers.octets(octets)).unwrap();
        writer.flush().unwrap();
    }
    let places = frames(&writer, begin).into_iter().map(|frame| frame.place).collect();
    (disk, begin, places)
}

#[test]
fn any_flipped_bit_of_a_frame_before_the_last_is_damage() {
    let mut numbers = Numbers::of(7);
    let (disk, begin, places) = written(60, &mut numbers);
    let (last, needed) = places.split_last().unwrap();
    assert!(last.segment > 2, "several segments");
    for (place, next) in needed.iter().zip(&places[1..]) {
        let to = if next.segment == place.segment {
            next.offset
        } else {
            place.offset + 56
        };
        for _ in 0..6 {
            // Padding alone does not count.
            let at = place.offset + numbers.below((to - place.offset - 7) as usize) as u32;
            let damaged = disk.go_on();
            damaged.flip(place.segment, at as usize, numbers.below(8) as u8);
            let error = reopen(&damaged, Some(begin)).unwrap_err().to_string();
            let expected = format!("{:08}.log: the log is damaged at octet {}", place.segment, place.offset);
            assert!(error.ends_with(&expected), "{error}");
        }
    }
}

#[test]
fn a_damaged_header_is_no_torn_one() {
    let mut numbers = Numbers::of(8);
    let (disk, begin, places) = written(60, &mut numbers);
    let last = places.last().unwrap();
    let in_last = places.iter().filter(|place| place.segment == last.segment).count();
    assert!(in_last > 2, "the last segment has acknowledged frames");
    for segment in 1..=last.segment {
        for at in [0, 9, 13, 17, 25, 40, 50, 66, 75, 85, 200] {
            let damaged = disk.go_on();
            damaged.flip(segment, at, 3);
            assert!(reopen(&damaged, Some(begin)).is_err(), "segment {segment}, octet {at}");
        }
    }
}

#[test]
fn the_last_frame_is_taken_for_torn() {
    let mut numbers = Numbers::of(9);
    let (disk, begin, places) = written(20, &mut numbers);
    let last = places.last().unwrap();
    disk.flip(last.segment, last.offset as usize + 60, 0);
    let opened = reopen(&disk, Some(begin)).unwrap().unwrap();
    assert_eq!((opened.writer.end().last, opened.tail), (19, Tail::Torn));
    assert_eq!(opened.writer.end().place, *last);
    let octets = disk.octets(last.segment);
    assert!(
        octets[last.offset as usize..].iter().all(|octet| *octet == 0),
        "nothing of it stays"
    );
    drop(opened);
    assert_eq!(reopen(&disk, Some(begin)).unwrap().unwrap().tail, Tail::Whole);
}

#[test]
fn damage_before_what_the_database_lacks_is_no_obstacle() {
    let mut numbers = Numbers::of(10);
    let (disk, begin, places) = written(60, &mut numbers);
    let end = reopen(&disk, Some(begin)).unwrap().unwrap().writer.end();
    disk.flip(places[5].segment, places[5].offset as usize + 50, 1);
    let opened = reopen(&disk, Some(end)).unwrap().unwrap();
    assert_eq!(opened.writer.end(), end);
    let log = opened.writer.log();
    let read: Vec<_> = log.frames(1, end.place).unwrap().collect();
    assert_eq!(read.len(), 6, "five frames, and the error");
    assert!(read.last().unwrap().is_err());
    assert_eq!(log.frames(50, end.place).unwrap().map(Result::unwrap).count(), 11);
}

#[test]
fn the_log_of_another_history_is_refused() {
    let mut numbers = Numbers::of(11);
    let (disk, begin, _) = written(10, &mut numbers);
    let (other, _, _) = written(12, &mut numbers);
    let known = reopen(&disk, Some(begin)).unwrap().unwrap().writer.end();
    let refused = |disk: &Disk, identity, known| {
        let opened = open(&files(disk), identity, Some(known));
        opened.unwrap_err().to_string()
    };
    assert!(refused(&other, IDENTITY, known).contains("does not have change 10"));
    let renewed = LogIdentity {
        generation: 5,
        ..IDENTITY
    };
    assert!(refused(&disk, renewed, known).contains("another database, or of another history"));
    let beyond = LogEnd {
        place: SegmentOffset {
            segment: 9,
            offset: 4096,
        },
        ..known
    };
    assert!(refused(&disk, IDENTITY, beyond).contains("does not have change 10"));
    assert!(refused(&Disk::default(), IDENTITY, known).contains("does not have change 10"));
}

#[test]
fn a_missing_segment_is_told() {
    let mut numbers = Numbers::of(12);
    let (disk, begin, places) = written(60, &mut numbers);
    assert!(places.last().unwrap().segment > 2);
    disk.remove_file(2);
    let error = reopen(&disk, Some(begin)).unwrap_err().to_string();
    assert!(
        error.ends_with("00000003.log: the segment before it is missing"),
        "{error}"
    );
}

#[test]
fn no_damage_is_a_panic() {
    let mut numbers = Numbers::of(13);
    let (disk, begin, places) = written(60, &mut numbers);
    let last = places.last().unwrap().segment;
    for _ in 0..300 {
        let damaged = disk.go_on();
        for _ in 0..=numbers.below(40) {
            let segment = 1 + numbers.below(last as usize) as u32;
            // Half of them in headers.
            let most = if numbers.below(2) == 0 {
                100
            } else {
                disk::SEGMENT as usize
            };
            damaged.flip(segment, numbers.below(most), numbers.below(8) as u8);
        }
        for known in [None, Some(begin)] {
            let Ok(Some(opened)) = reopen(&damaged, known) else {
                continue;
            };
            let log = opened.writer.log();
            let frames = log.frames(1, opened.writer.end().place).unwrap();
            assert!(frames.count() <= 60);
        }
    }
}
