//! What a test does at the points that its own thread comes to.

use std::cell::RefCell;

use crate::points::Point;

type Hook = Box<dyn FnMut(Point)>;

thread_local! {
    static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
}

/// A thread has come to a point. What the hook itself does has no points.
pub(crate) fn reach(point: Point) {
    if let Some(mut hook) = HOOK.take() {
        hook(point);
        HOOK.set(Some(hook));
    }
}

/// Calls `hook` at each point of `act`.
pub(super) fn looking_on<T>(hook: impl FnMut(Point) + 'static, act: impl FnOnce() -> T) -> T {
    HOOK.set(Some(Box::new(hook)));
    let result = act();
    HOOK.set(None);
    result
}
