//! Cuts of power at any call: what was acknowledged is there, nothing else is but what may be, and nothing is called
//! damaged.

use super::*;

/// What was appended, in order.
#[derive(Default)]
struct Story {
    contents: Vec<Vec<u8>>,
    /// So many of them are on the disk for sure.
    acknowledged: usize,
    /// Ends that are on the disk for sure, with the number of frames before each.
    ends: Vec<(usize, LogEnd)>,
}

impl Story {
    /// Appends for a while. `is_strict`: each frame is flushed before the next one.
    fn go_on(&mut self, writer: &mut LogWriter, numbers: &mut Numbers, is_strict: bool) {
        for _ in 0..numbers.below(30) {
            let content = content(numbers);
            append(writer, self.contents.len() as u64 + 1, &content).unwrap();
            self.contents.push(content);
            if numbers.below(3) == 0 {
                writer.log().make_ready().unwrap();
            }
            // The last one may be cut before its flush.
            if (is_strict && numbers.below(20) > 0) || numbers.below(6) == 0 {
                writer.flush().unwrap();
                self.acknowledged = self.contents.len();
                self.ends.push((self.contents.len(), writer.end()));
            } else if is_strict {
                break;
            }
        }
    }

    /// The log after a cut has what it must have, and goes on from there.
    fn check(&mut self, disk: &Disk, numbers: &mut Numbers, seed: u64) -> LogWriter {
        let known = self.ends[numbers.below(self.ends.len())];
        let opened = reopen(disk, Some(known.1));
        let opened = opened.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let Opened { writer, begin, .. } = opened.unwrap();
        assert_eq!(begin, known.1, "seed {seed}");
        let found: Vec<_> = frames(&writer, begin).into_iter().map(|frame| frame.content).collect();
        let all = &self.contents[known.0..];
        assert!(
            found.len() + known.0 >= self.acknowledged,
            "seed {seed}: an acknowledged frame is lost"
        );
        assert!(all.starts_with(&found), "seed {seed}: a frame that was never appended");
        let there = known.0 + found.len();
        assert_eq!(writer.end().last, there as u64, "seed {seed}");
        self.contents.truncate(there);
        self.acknowledged = there;
        self.ends.retain(|(count, _)| *count <= there);
        self.ends.push((there, writer.end()));
        writer
    }
}

#[test]
fn no_cut_loses_what_was_acknowledged_or_looks_like_damage() {
    for seed in 0..cases(400) {
        let mut numbers = Numbers::of(seed);
        let is_strict = seed % 3 > 0;
        let mut disk = Disk::default();
        let mut writer = create(&disk).unwrap();
        let mut story = Story::default();
        story.ends.push((0, writer.end()));
        for _ in 0..4 {
            story.go_on(&mut writer, &mut numbers, is_strict);
            drop(writer);
            // The process alone ends, or the machine.
            disk = if numbers.below(4) == 0 {
                disk.go_on()
            } else {
                disk.cut(&mut numbers)
            };
            writer = story.check(&disk, &mut numbers, seed);
        }
    }
}

#[test]
fn what_was_found_after_the_end_of_the_process_outlives_a_cut() {
    for seed in 0..300 {
        let mut numbers = Numbers::of(seed);
        let disk = Disk::default();
        let mut writer = create(&disk).unwrap();
        let begin = writer.end();
        for last in 1..9 {
            append(&mut writer, last, &content(&mut numbers)).unwrap();
        }
        drop(writer);
        let disk = disk.go_on();
        let found = frames(&reopen(&disk, Some(begin)).unwrap().unwrap().writer, begin);
        assert_eq!(found.len(), 8);
        let disk = disk.cut(&mut numbers);
        let again = frames(&reopen(&disk, Some(begin)).unwrap().unwrap().writer, begin);
        assert_eq!(again, found);
    }
}

#[test]
fn a_cut_while_a_log_is_made_leaves_none_or_an_empty_one() {
    for seed in 0..500 {
        let mut numbers = Numbers::of(seed);
        let disk = Disk::default();
        disk.fail(1 + numbers.below(8), disk::Fault::Device);
        let created = create(&disk).is_ok();
        let disk = disk.cut(&mut numbers);
        let opened = reopen(&disk, None).unwrap();
        assert!(opened.is_some() || !created, "seed {seed}");
        let mut writer = match opened {
            Some(opened) => opened.writer,
            None => create(&disk).unwrap(),
        };
        append(&mut writer, 1, b"first").unwrap();
        writer.flush().unwrap();
    }
}
