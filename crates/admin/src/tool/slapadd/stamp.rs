//! CSNs and times of entries that bring none. They rise in the order of the file, whichever thread makes them.

use ironbark_runtime::{Clock, WallTime};

/// What the entries of one block are stamped with.
#[derive(Clone, Debug)]
pub(super) struct BlockStamp {
    seconds: String,
    micros: u32,
    server_id: u16,
}

/// What one entry is stamped with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp<'b> {
    block: &'b BlockStamp,
    /// `YYYYmmddHHMMSSZ`.
    pub(super) time: &'b str,
    count: u32,
    /// Number within what a record includes.
    inner: u32,
}

/// Gives out block stamps, each later than the one before.
#[derive(Debug)]
pub(super) struct BlockStamps {
    clock: Clock,
    last: i64,
    server_id: u16,
}

impl BlockStamps {
    /// `server_id` is that of `-S`.
    pub(super) fn new(clock: Clock, server_id: u16) -> Self {
        Self {
            clock,
            last: i64::MIN,
            server_id,
        }
    }

    pub(super) fn next(&mut self) -> BlockStamp {
        self.last = self.clock.now().unix_micros().max(self.last.saturating_add(1));
        let utc = WallTime::from_unix_micros(self.last).utc();
        let seconds = format!(
            "{:04}{:02}{:02}{:02}{:02}{:02}Z",
            utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second
        );
        BlockStamp {
            seconds,
            micros: utc.microsecond,
            server_id: self.server_id,
        }
    }
}

impl BlockStamp {
    /// The stamp of the entry of that number in the block; `inner` counts within a file that it includes.
    pub(super) fn of(&self, count: u32, inner: u32) -> Stamp<'_> {
        Stamp {
            block: self,
            time: &self.seconds,
            count,
            inner,
        }
    }
}

impl Stamp<'_> {
    /// `entryCSN`: time, count, server, modification number.
    pub(super) fn csn(&self) -> String {
        let BlockStamp {
            seconds,
            micros,
            server_id,
        } = self.block;
        let seconds = seconds.trim_end_matches('Z');
        format!(
            "{seconds}.{micros:06}Z#{:06x}#{server_id:03x}#{:06x}",
            self.count, self.inner
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ironbark_runtime::ManualClock;

    #[test]
    fn stamps_rise_though_the_clock_stands() {
        let hand = ManualClock::new(WallTime::from_unix_micros(1_709_251_199_000_001));
        let mut stamps = BlockStamps::new(hand.clock(), 10);
        let first = stamps.next();
        assert_eq!(first.of(0, 0).csn(), "20240229235959.000001Z#000000#00a#000000");
        assert_eq!(first.of(0, 0).time, "20240229235959Z");
        let in_order = [
            first.of(0, 0).csn(),
            first.of(0, 1).csn(),
            first.of(1, 0).csn(),
            stamps.next().of(0, 0).csn(),
        ];
        assert!(in_order.is_sorted());
        assert_eq!(crate::tool::context_csn::sid_of(in_order[0].as_bytes()), Some(10));
    }
}
