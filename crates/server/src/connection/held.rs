//! Requests that an overlay has yet to decide about.

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

/// A request, and what it waits for.
pub(super) struct HeldRequest {
    held: Box<Held>,
    until: Until,
}

enum Until {
    /// Then what was decided is done.
    Time(Pin<Box<Sleep>>, Option<Decision>),
    Decided(oneshot::Receiver<Decision>),
}

impl HeldRequest {
    pub(super) fn new(held: Box<Held>, until: HeldUntil) -> Self {
        let until = match until {
            HeldUntil::Time(time, decision) => Until::Time(Box::pin(sleep(time)), Some(decision)),
            HeldUntil::Decided(receiver) => Until::Decided(receiver),
        };
        Self { held, until }
    }

    pub(super) fn operation(&self) -> Operation {
        self.held.operation()
    }

    /// Memory that it keeps, in octets.
    pub(super) fn octets(&self) -> usize {
        self.held.octets()
    }

    pub(super) fn into_held(self) -> Held {
        *self.held
    }

    /// What was decided; nothing if nobody decides any more, or if it was given up.
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
