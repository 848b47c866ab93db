//! The writes by which a file is taken back. Between any two of them the machine may end.

/// What has just been written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// The former meta pages, in `checkpoint.mdb`.
    KeptFormer,
    /// The first meta page of the data file.
    FirstPage,
    /// The second.
    SecondPage,
    /// Both are on the disk.
    Flushed,
    /// The data file has no mark. This need not be on the disk.
    Unmarked,
    /// `checkpoint.mdb` has another name.
    Renamed,
}

#[cfg(not(test))]
pub(super) fn reached(_: Step) {}

#[cfg(test)]
pub(super) use hook::reached;

#[cfg(test)]
pub(super) mod hook {
    use std::cell::RefCell;

    use super::Step;

    type Hook = Box<dyn FnMut(Step)>;

    thread_local! {
        static HOOK: RefCell<Option<Hook>> = RefCell::default();
    }

    pub(in super::super) fn reached(step: Step) {
        HOOK.with_borrow_mut(|hook| {
            if let Some(hook) = hook {
                hook(step);
            }
        });
    }

    /// Calls `hook` after each write of `work`. A hook that panics stands for a crash.
    pub(in super::super) fn with<T>(hook: impl FnMut(Step) + 'static, work: impl FnOnce() -> T) -> T {
        struct Reset;
        impl Drop for Reset {
            fn drop(&mut self) {
                HOOK.set(None);
            }
        }
        HOOK.set(Some(Box::new(hook)));
        let _reset = Reset;
        work()
    }
}
