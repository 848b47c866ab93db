//! A value that a writer publishes before the commit that needs it, and that readers take without a lock.
//!
//! Invariant: whoever has opened a snapshot gets a value that is good for it. A value is good for a commit if it knows
//! all that the commit holds; it may know more. The primitives are parameters, so that a test can run every order of
//! their steps.

#[cfg(test)]
mod tests;

use std::{
    marker::PhantomData,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use arc_swap::ArcSwap;

use crate::points::{Point, reach};

/// A value that is good up to a commit.
pub(crate) trait GoodTo {
    /// LMDB's number of the last commit that it is known to be good for. It may be good for later ones too.
    fn good_to(&self) -> usize;
}

/// Holds the value in force.
pub(crate) trait Slot<T> {
    fn new(value: Arc<T>) -> Self;
    fn load(&self) -> Arc<T>;
    fn store(&self, value: Arc<T>);
    /// Puts `value` in the place of `former`. `false`: another one is there.
    fn replace(&self, former: &Arc<T>, value: Arc<T>) -> bool;
}

/// Holds a number of a commit.
pub(crate) trait Number {
    fn new(number: usize) -> Self;
    /// Sees what was stored before the number was.
    fn load(&self) -> usize;
    fn store(&self, number: usize);
    fn raise(&self, number: usize);
}

/// The value in force.
pub(crate) struct Publication<T, S = ArcSwap<T>, N = AtomicUsize> {
    current: S,
    /// The last commit that `current` is good for.
    good_to: N,
    of: PhantomData<T>,
}

impl<T: GoodTo, S: Slot<T>, N: Number> Publication<T, S, N> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            good_to: N::new(value.good_to()),
            current: S::new(Arc::new(value)),
            of: PhantomData,
        }
    }

    /// The newest one. It may lack what others have committed.
    pub(crate) fn newest(&self) -> Arc<T> {
        self.current.load()
    }

    /// The value for an open transaction, all of whose commits up to `commit` are visible to it. `load` makes it of a
    /// former one and of the transaction.
    ///
    /// # Errors
    /// Those of `load`.
    #[inline]
    pub(crate) fn of<E>(&self, commit: usize, load: impl FnOnce(&T) -> Result<T, E>) -> Result<Arc<T>, E> {
        // Loaded after the transaction has begun: everything that it can hold was published before its commit.
        if commit <= self.good_to.load() {
            return Ok(self.current.load());
        }
        self.load(commit, load)
    }

    #[cold]
    fn load<E>(&self, commit: usize, load: impl FnOnce(&T) -> Result<T, E>) -> Result<Arc<T>, E> {
        let current = self.current.load();
        if current.good_to() >= commit {
            return Ok(current);
        }
        let loaded = Arc::new(load(&current)?);
        reach(Point::Loaded);
        // Where another thread was quicker, this one is good for this transaction alone.
        if self.current.replace(&current, Arc::clone(&loaded)) {
            self.good_to.raise(commit);
        }
        Ok(loaded)
    }

    /// Publishes the value of a transaction, and then commits it. `None`: the newest one is good for it. The caller
    /// holds the writer's lock.
    ///
    /// # Errors
    /// Those of `act`. No snapshot shows the commit, and the former value is in force again. Readers that have the
    /// other one meanwhile do no harm: it knows all that the former one knows.
    pub(crate) fn commit<R, E>(
        &self,
        value: Option<T>,
        commit: usize,
        act: impl FnOnce() -> Result<R, E>,
    ) -> Result<R, E> {
        let (former, good_to) = (self.current.load(), self.good_to.load());
        if let Some(value) = value {
            self.current.store(Arc::new(value));
        }
        self.good_to.store(commit);
        let result = act();
        if result.is_err() {
            self.good_to.store(good_to);
            self.current.store(former);
        }
        result
    }
}

impl<T> Slot<T> for ArcSwap<T> {
    fn new(value: Arc<T>) -> Self {
        Self::new(value)
    }

    #[inline]
    fn load(&self) -> Arc<T> {
        self.load_full()
    }

    fn store(&self, value: Arc<T>) {
        self.store(value);
    }

    fn replace(&self, former: &Arc<T>, value: Arc<T>) -> bool {
        Arc::ptr_eq(&self.compare_and_swap(former, value), former)
    }
}

impl Number for AtomicUsize {
    fn new(number: usize) -> Self {
        Self::new(number)
    }

    #[inline]
    fn load(&self) -> usize {
        self.load(Ordering::Acquire)
    }

    fn store(&self, number: usize) {
        self.store(number, Ordering::Release);
    }

    fn raise(&self, number: usize) {
        self.fetch_max(number, Ordering::Release);
    }
}
