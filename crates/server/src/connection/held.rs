//! Requests that wait for an overlay's decision.

use std::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll},
};

use ironbark_directory::{Held, HeldUntil, overlay::Decision};
use ironbark_ldap_proto::Operation;
use tokio::{
    sync::oneshot,
    time::{Sleep, sleep},
};

/// A request, with the event that it waits for.
pub(super) struct HeldRequest {
    held: Held,
    until: Until,
}

enum Until {
    /// After this time the decision applies.
    Time(Pin<Box<Sleep>>, Option<Decision>),
    Decided(oneshot::Receiver<Decision>),
}

impl HeldRequest {
    pub(super) fn new(held: Held, until: HeldUntil) -> Self {
        let until = match until {
            HeldUntil::Time(time, decision) => Until::Time(Box::pin(sleep(time)), Some(decision)),
            HeldUntil::Decided(receiver) => Until::Decided(receiver),
        };
        Self { held, until }
    }

    pub(super) fn operation(&self) -> Operation {
        self.held.operation()
    }

    /// Octets of memory that it keeps.
    pub(super) fn octets(&self) -> usize {
        self.held.octets()
    }

    pub(super) fn into_held(self) -> Held {
        self.held
    }

    /// The decision. `None`: it will never come, or the request was abandoned or canceled.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Decision>> {
        if self.held.is_stopped() {
            return Poll::Ready(None);
        }
        match &mut self.until {
            Until::Time(timer, decision) => timer.as_mut().poll(cx).map(|()| decision.take()),
            Until::Decided(receiver) => Pin::new(receiver).poll(cx).map(Result::ok),
        }
    }
}
