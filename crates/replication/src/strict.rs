//! `strictrefresh`: while a consumer that lost the provider's log refreshes its content, the server takes no clients,
//! so that none of them sees half of it.

use tokio::sync::watch;

/// How many such refreshes are under way.
#[derive(Clone, Debug, Default)]
pub struct StrictRefreshes(watch::Sender<usize>);

/// A refresh that is under way. Dropping this ends it.
#[derive(Debug)]
pub(crate) struct StrictRefresh(watch::Sender<usize>);

impl StrictRefreshes {
    /// Tells of the number, also when it changes.
    pub fn watch(&self) -> watch::Receiver<usize> {
        self.0.subscribe()
    }

    pub(crate) fn begin(&self) -> StrictRefresh {
        self.0.send_modify(|number| *number += 1);
        StrictRefresh(self.0.clone())
    }
}

impl Drop for StrictRefresh {
    fn drop(&mut self) {
        self.0.send_modify(|number| *number -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_wait_for_the_last_refresh() {
        let all = StrictRefreshes::default();
        let told = all.watch();
        let (first, second) = (all.begin(), all.begin());
        drop(first);
        assert_eq!(*told.borrow(), 1);
        drop(second);
        assert_eq!(*told.borrow(), 0);
    }
}
