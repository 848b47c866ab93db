//! Calls that fail: what is refused is never there, what is acknowledged always is, and nothing is written after a
//! failure that may have left something.

use super::*;
use disk::Fault;

/// Appends twenty frames while one call fails. Returns what was refused, acknowledged, and left open.
fn story(disk: &Disk, numbers: &mut Numbers) -> [Vec<u64>; 3] {
    let mut told = [const { Vec::new() }; 3];
    let Ok(mut writer) = create(disk) else {
        return told;
    };
    for number in 1..=20_u64 {
        let octets = numbers.below(3_000);
        // Frames are told apart by their content.
        let content = [&number.to_le_bytes()[..], &numbers.octets(octets)].concat();
        let last = writer.end().last + 1;
        let outcome = append(&mut writer, last, &content).and_then(|_| writer.flush());
        match outcome {
            Ok(()) => told[1].push(number),
            Err(AppendError::Refused(_)) => told[0].push(number),
            Err(AppendError::Unknown(_)) => told[2].push(number),
            Err(AppendError::Closed) => {
                assert!(
                    !told[2].is_empty() && writer.is_closed(),
                    "closed after an unknown outcome only"
                );
                told[0].push(number);
            }
        }
        if number % 2 == 0 {
            // A spare that cannot be made is made by the writer.
            let _ = writer.log().make_ready();
        }
    }
    told
}

#[test]
fn each_call_fails_once_in_turn() {
    let mut calls = 0;
    for fault in [Fault::Device, Fault::Full, Fault::Short, Fault::Late] {
        for call in 1.. {
            let seed = call as u64;
            let mut numbers = Numbers::of(seed);
            let disk = Disk::default();
            disk.fail(call, fault);
            let [refused, acknowledged, open] = story(&disk, &mut numbers);
            if disk.calls() < call {
                break;
            }
            calls += 1;
            assert!(open.len() <= 1);
            for after in [disk.go_on(), disk.cut(&mut numbers)] {
                let found = match reopen(&after, None) {
                    Ok(None) => Vec::new(),
                    Ok(Some(Opened { writer, .. })) => {
                        let log = writer.log();
                        let frames = log.frames(1, writer.end().place).unwrap();
                        let number = |frame: Frame| u64::from_le_bytes(*frame.content.first_chunk().unwrap());
                        frames.map(|frame| number(frame.unwrap())).collect()
                    }
                    Err(error) => panic!("{fault:?} in call {call}: {error}"),
                };
                let said = format!("{fault:?} in call {call}: found {found:?}, refused {refused:?}, open {open:?}");
                assert!(found.iter().all(|number| !refused.contains(number)), "{said}");
                assert!(acknowledged.iter().all(|number| found.contains(number)), "{said}");
                assert!(found.is_sorted(), "{said}");
            }
        }
    }
    assert!(calls > 100, "{calls}");
}

#[test]
fn a_full_disk_is_no_end() {
    let disk = Disk::default();
    let mut writer = create(&disk).unwrap();
    append(&mut writer, 1, b"one").unwrap();
    disk.fail(disk.calls() + 1, Fault::Full);
    let refused = append(&mut writer, 2, b"two").unwrap_err();
    assert!(matches!(refused, AppendError::Refused(_)), "{refused}");
    append(&mut writer, 2, b"another").unwrap();
    writer.flush().unwrap();
    let begin = writer.log().begin().unwrap();
    let contents: Vec<_> = frames(&writer, begin).into_iter().map(|frame| frame.content).collect();
    assert_eq!(contents, [b"one".to_vec(), b"another".to_vec()]);
}

#[test]
fn a_frame_that_is_too_long_is_refused() {
    let disk = Disk::default();
    let mut writer = create(&disk).unwrap();
    let long = vec![0; crate::segments::MOST as usize];
    let refused = append(&mut writer, 1, &long).unwrap_err();
    assert!(matches!(refused, AppendError::Refused(_)), "{refused}");
    append(&mut writer, 1, b"short").unwrap();
}
