//! Binds, and verifications of credentials, that must wait because others from the same address failed
//! (`bind-failure-limit`).

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use ironbark_directory::Patience;
use ironbark_ldap_proto::{Operation, extended::verify_credentials, operation_of};
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

/// Whether a complete message is a bind request. It is read as the message itself will be, so that no other encoding of
/// a bind gets around the pause.
fn is_bind(message: &[u8]) -> bool {
    let tag = operation_of(message).and_then(<[u8]>::first);
    tag.and_then(|tag| Operation::from_request_tag(*tag)) == Some(Operation::Bind)
}

#[cfg(test)]
mod tests {
    use ironbark_ldap_proto::{DecodeLimits, Request, RequestMessage};

    use super::*;

    /// Every length that BER allows for a short content (X.690 §8.1.3), and a message ID with octets that say nothing.
    #[test]
    fn a_bind_is_told_however_it_is_encoded() {
        let lengths = |length: u8| {
            (0..5).map(move |zeros| match zeros {
                0 => vec![length],
                more => [&[0x80 | more], &vec![0; usize::from(more) - 1][..], &[length]].concat(),
            })
        };
        let element = |tag: u8, length: &[u8], content: &[u8]| [&[tag], length, content].concat();
        let ids = [vec![1], vec![0, 1], vec![0; 9], vec![0x7f, 0xff, 0xff, 0xff]];
        let mut count = 0;
        for id in ids {
            for of_id in lengths(u8::try_from(id.len()).unwrap()) {
                for tag in [0x60, 0x42, 0x63] {
                    let operation = element(tag, &[7], &[2, 1, 3, 4, 0, 0x80, 0]);
                    let content = [element(2, &of_id, &id), operation].concat();
                    for of_message in lengths(u8::try_from(content.len()).unwrap()) {
                        let message = element(0x30, &of_message, &content);
                        let decoded = RequestMessage::decode(&message, &DecodeLimits::default());
                        let is_one = decoded.is_ok_and(|message| matches!(message.operation, Request::Bind(_)));
                        assert_eq!(is_one, tag == 0x60 && is_bind(&message), "{message:x?}");
                        count += usize::from(is_one);
                    }
                }
            }
        }
        assert!(count > 60, "{count}");
        assert!(!is_bind(&[0x30]) && !is_bind(&[]) && !is_bind(&[0x30, 0xff]));
    }
}
