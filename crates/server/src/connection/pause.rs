//! Binds, and verifications of credentials, that must wait because others from the same address failed
//! (`bind-failure-limit`).

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use ironbark_directory::Patience;
use ironbark_ldap_proto::extended::verify_credentials;
use tokio::time::{Sleep, sleep};

use super::Connection;

/// A pause. Nothing is started while it runs.
#[derive(Debug, Default)]
pub(super) struct Pause {
    timer: Option<Pin<Box<Sleep>>>,
    /// The bind that was held back has waited long enough.
    is_over: bool,
}

impl Pause {
    pub(super) fn is_under_way(&self) -> bool {
        self.timer.is_some()
    }

    /// Ends the pause when its time has come. Until then, the task is woken at that time.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) {
        if let Some(timer) = &mut self.timer
            && timer.as_mut().poll(cx) == Poll::Ready(())
        {
            self.timer = None;
            self.is_over = true;
        }
    }
}

impl Connection {
    /// Whether a message checks credentials and must wait. If so, its pause begins.
    pub(super) fn must_wait(&mut self, message: &[u8]) -> bool {
        let limit = self.reactor.limits().bind_failures.zip(self.status.peer.address);
        let Some((limit, address)) = limit.filter(|_| is_bind(message) || verify_credentials::is_request(message))
        else {
            return false;
        };
        if std::mem::take(&mut self.pause.is_over) {
            return false;
        }
        let failures = self.reactor.bind_failures();
        let now_micros = self.reactor.clock().monotonic().nanos() / 1_000;
        let Patience::After(time) = failures.patience(limit, address, now_micros) else {
            return false;
        };
        failures.record_delayed();
        self.pause.timer = Some(Box::pin(sleep(time)));
        true
    }
}

/// Whether a complete message is a bind request: SEQUENCE, INTEGER, `[APPLICATION 0]`.
fn is_bind(message: &[u8]) -> bool {
    let behind_length = |octets: &[u8]| match octets.get(1) {
        Some(long @ 0x80..) => 2 + usize::from(long & 0x7f),
        _ => 2,
    };
    let content = message.get(behind_length(message)..).unwrap_or_default();
    let id_octets = content.get(1).map_or(0, |length| usize::from(*length));
    content.get(2 + id_octets) == Some(&0x60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binds_are_told_by_their_tag() {
        assert!(is_bind(&[0x30, 12, 2, 1, 1, 0x60, 7, 2, 1, 3, 4, 0, 0x80, 0]));
        assert!(is_bind(&[
            0x30, 0x84, 0, 0, 0, 14, 2, 3, 1, 0, 0, 0x60, 7, 2, 1, 3, 4, 0, 0x80, 0
        ]));
        assert!(!is_bind(&[0x30, 5, 2, 1, 0x60, 0x42, 0]));
        assert!(!is_bind(&[0x30]) && !is_bind(&[]) && !is_bind(&[0x30, 0xff]));
    }
}
