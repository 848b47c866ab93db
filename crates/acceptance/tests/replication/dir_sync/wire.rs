//! A connection to a provider on which answers are altered.

use std::{
    io::{Read, Write, copy},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use ironbark_runtime::spawn_named;

/// Octets of an answer, and those that are put in their place. They have the same length.
pub(super) type Alteration = (&'static [u8], &'static [u8]);

/// Listens on a loopback port, and passes everything on to a provider. Answers can be altered.
pub(super) struct Wire {
    port: u16,
    alteration: Arc<Mutex<Option<Alteration>>>,
}

impl Wire {
    /// A wire to the provider at this address.
    pub(super) fn to(provider: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let alteration = Arc::default();
        let shared = Arc::clone(&alteration);
        let listen = move || {
            for consumer in listener.incoming() {
                // Without a provider the consumer is turned away.
                if let (Ok(consumer), Ok(provider)) = (consumer, TcpStream::connect(&provider)) {
                    join(&consumer, &provider, Arc::clone(&shared));
                }
            }
        };
        spawn_named("wire", listen).unwrap();
        Self { port, alteration }
    }

    pub(super) fn url(&self) -> String {
        format!("ldap://127.0.0.1:{}", self.port)
    }

    /// From now on, answers are altered so.
    pub(super) fn alter(&self, alteration: Option<Alteration>) {
        *self.alteration.lock().unwrap() = alteration;
    }
}

fn join(consumer: &TcpStream, provider: &TcpStream, alteration: Arc<Mutex<Option<Alteration>>>) {
    let (mut from, mut to) = (consumer.try_clone().unwrap(), provider.try_clone().unwrap());
    let forth = move || {
        // The end of one direction is that of the other one.
        let _ = copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    };
    spawn_named("wire forth", forth).unwrap();
    let (mut from, mut to) = (provider.try_clone().unwrap(), consumer.try_clone().unwrap());
    let back = move || {
        while let Some(mut message) = message(&mut from) {
            if let Some((old, new)) = *alteration.lock().unwrap() {
                replace(&mut message, old, new);
            }
            if to.write_all(&message).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    };
    spawn_named("wire back", back).unwrap();
}

fn replace(message: &mut [u8], old: &[u8], new: &[u8]) {
    assert_eq!(old.len(), new.len());
    for start in 0..=message.len().saturating_sub(old.len()) {
        if message[start..].starts_with(old) {
            message[start..start + old.len()].copy_from_slice(new);
        }
    }
}

/// The next LDAP message. `None`: the connection has ended.
fn message(from: &mut TcpStream) -> Option<Vec<u8>> {
    let mut message = vec![0; 2];
    from.read_exact(&mut message).ok()?;
    let mut length = usize::from(message[1]);
    if length >= 0x80 {
        let mut octets = vec![0; length - 0x80];
        from.read_exact(&mut octets).ok()?;
        length = octets.iter().fold(0, |length, octet| length << 8 | usize::from(*octet));
        message.extend(octets);
    }
    let start = message.len();
    message.resize(start + length, 0);
    from.read_exact(&mut message[start..]).ok()?;
    Some(message)
}
