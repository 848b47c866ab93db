//! `retry`: how long a consumer waits after an error.

/// The waits of one consumer: pairs of seconds and how often, as in `retry="60 10 300 +"`. It begins anew after each
/// refresh that was completed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Retries {
    /// Seconds, and how often; `None`: without end.
    pairs: Vec<(u32, Option<u32>)>,
    /// The pair that is used, and how often it was.
    at: (usize, u32),
}

impl Retries {
    /// Pairs of seconds and how often; `None`: without end.
    pub fn new(pairs: Vec<(u32, Option<u32>)>) -> Self {
        Self { pairs, at: (0, 0) }
    }

    /// Seconds to wait after one more error; `None`: there were too many.
    pub fn next_wait_s(&mut self) -> Option<u32> {
        loop {
            let (seconds, count) = *self.pairs.get(self.at.0)?;
            if count.is_none_or(|count| self.at.1 < count) {
                self.at.1 = self.at.1.saturating_add(1);
                return Some(seconds);
            }
            self.at = (self.at.0 + 1, 0);
        }
    }

    /// A refresh was completed.
    pub fn succeeded(&mut self) {
        self.at = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_come_in_order_and_begin_anew_after_a_refresh() {
        let mut retries = Retries::new(vec![(1, Some(2)), (5, Some(0)), (10, None)]);
        let waits: Vec<_> = (0..5).map(|_| retries.next_wait_s()).collect();
        assert_eq!(waits, [Some(1), Some(1), Some(10), Some(10), Some(10)]);
        retries.succeeded();
        assert_eq!(retries.next_wait_s(), Some(1));
        let mut few = Retries::new(vec![(1, Some(1))]);
        assert_eq!(
            [few.next_wait_s(), few.next_wait_s(), few.next_wait_s()],
            [Some(1), None, None]
        );
    }
}
