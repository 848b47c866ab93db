//! The server that waits for a copy: its listener, and the file that comes.

use std::{
    fs::File,
    io::{self, Write},
    net::{IpAddr, SocketAddr, UdpSocket},
    time::Duration,
};

use ironbark_config::cluster::ClusterConfig;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::spawn_local,
    time::interval,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::{
    request::{Request, SECRET},
    secure::Identity,
    wire::{GREETING, SILENCE, greeted, receive, want, within},
};
use crate::{
    etcd::{
        Etcd, Failure,
        json::{Octets, Operation, Txn},
    },
    log::Shared,
    membership::{Membership, own_name},
};

/// How often the request is written anew: whoever could not answer the former one tries again.
const AGAIN: Duration = Duration::from_secs(5);
/// The same, if etcd has not taken it.
const SOON: Duration = Duration::from_secs(1);
/// How long a request stays in etcd, in seconds.
const STAYS_S: i64 = 30;
/// Connections that may be greeting.
const MOST: usize = 128;
/// How much is written to the disk at once.
const FLUSHED: u64 = 64 << 20;

/// A connection that has presented the secret, and about how many octets it has.
type Offer = (TlsStream<TcpStream>, u64);

/// Waits until `file` has a whole copy.
pub(super) async fn receive_copy(member: &Membership, key: &str, file: &File) -> Result<(), String> {
    let config = &member.config;
    let mut secret = [0; SECRET];
    getrandom::fill(&mut secret).map_err(|error| error.to_string())?;
    let identity = Identity::new()?;
    let listener = listen(config).await?;
    let at = listener.local_addr().map_err(|error| error.to_string())?;
    let host = config
        .copy
        .as_ref()
        .map_or_else(|| at.ip().to_string(), |(host, _)| host.clone());
    let request = Request::new(&own_name(), (&host, at.port()), &identity.certificate, &secret);
    let mut etcd = member.etcd();
    let (offers, mut offered) = mpsc::channel(1);
    let mut again = interval(AGAIN);
    let port = at.port();
    tracing::info!(target: "any", "cluster: waits at {host} port {port} for a copy of another server's database");
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted && offers.strong_count() <= MOST {
                    spawn_local(greeting(identity.acceptor.clone(), stream, secret, offers.clone()));
                }
            }
            _ = again.tick() => {
                if let Err(failure) = ask(&mut etcd, key, &request).await {
                    tracing::debug!(target: "any", "cluster: {key}: {failure}");
                    again.reset_after(SOON);
                }
            }
            Some(offer) = offered.recv() => match take(offer, &member.shared, file).await {
                Ok(()) => {
                    // It goes by itself, too.
                    let _ = etcd.txn(&Txn { success: vec![Operation::delete(key)], ..Txn::default() }).await;
                    return Ok(());
                }
                Err(error) if is_of_the_disk(&error) => return Err(error.to_string()),
                Err(error) => {
                    tracing::warn!(target: "any", "cluster: a copy was not finished: {error}");
                    again.reset_immediately();
                }
            },
        }
    }
}

/// Writes the request into etcd.
async fn ask(etcd: &mut Etcd, key: &str, request: &Request) -> Result<(), Failure> {
    let lease = etcd.lease(STAYS_S).await?;
    let txn = Txn {
        success: vec![Operation::put_for(key, Octets(request.text()), lease)],
        ..Txn::default()
    };
    etcd.txn(&txn).await.map(|_| ())
}

/// Listens where the settings say, or at the address from which etcd is reached.
async fn listen(config: &ClusterConfig) -> Result<TcpListener, String> {
    let (host, port) = if let Some(named) = &config.copy {
        named.clone()
    } else {
        let own = own_address(config)
            .await
            .ok_or("no address of this server reaches etcd")?;
        (own.to_string(), 0)
    };
    let listener = TcpListener::bind((&*host, port)).await;
    listener.map_err(|error| format!("{host} port {port}: {error}"))
}

/// The address of this server from which a member of etcd is reached; that of the machine itself only if there is no
/// other.
async fn own_address(config: &ClusterConfig) -> Option<IpAddr> {
    let mut loopback = None;
    for endpoint in &config.endpoints {
        let Ok(found) = tokio::net::lookup_host((&*endpoint.host, endpoint.port)).await else {
            continue;
        };
        for address in found {
            match towards(address) {
                Ok(own) if own.is_loopback() => loopback = loopback.or(Some(own)),
                Ok(own) => return Some(own),
                Err(_) => {}
            }
        }
    }
    loopback
}

/// The address from which another is reached. Nothing is sent.
fn towards(address: SocketAddr) -> io::Result<IpAddr> {
    let any: IpAddr = if address.is_ipv4() {
        [0; 4].into()
    } else {
        [0; 16].into()
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(address)?;
    Ok(socket.local_addr()?.ip())
}

/// The beginning of a connection. Who does not present the secret is gone.
async fn greeting(acceptor: TlsAcceptor, stream: TcpStream, secret: [u8; SECRET], offers: mpsc::Sender<Offer>) {
    let greeting = async {
        let mut stream = acceptor.accept(stream).await?;
        let length = greeted(&mut stream, &secret).await?;
        Ok((stream, length))
    };
    match within(GREETING, greeting).await {
        // If there is an offer already, it is dropped, which tells the other side.
        Ok(offer) => drop(offers.try_send(offer)),
        Err(error) => tracing::debug!(target: "any", "cluster: who wanted to send a copy: {error}"),
    }
}

/// Takes a copy.
async fn take((mut stream, length): Offer, shared: &Shared, mut file: &File) -> io::Result<()> {
    file.set_len(0).map_err(of_the_disk)?;
    io::Seek::rewind(&mut file).map_err(of_the_disk)?;
    within(GREETING, want(&mut stream)).await?;
    let (mut chunk, mut octets, mut flushed) = (Vec::new(), 0, 0);
    shared.set_copied(Some((0, length)));
    while within(SILENCE, receive(&mut stream, &mut chunk)).await? {
        file.write_all(&chunk).map_err(of_the_disk)?;
        octets += chunk.len() as u64;
        if octets - flushed > FLUSHED {
            file.sync_data().map_err(of_the_disk)?;
            flushed = octets;
            shared.set_copied(Some((octets, length.max(octets))));
            tracing::info!(
                target: "any", "cluster: a copy comes: {} of {} MB", octets / 1_000_000, length / 1_000_000
            );
        }
    }
    file.sync_all().map_err(of_the_disk)
}

/// A failure of this server's own.
#[derive(Debug)]
struct OfTheDisk(io::Error);

impl std::fmt::Display for OfTheDisk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the copy cannot be written: {}", self.0)
    }
}

impl std::error::Error for OfTheDisk {}

fn of_the_disk(error: io::Error) -> io::Error {
    io::Error::other(OfTheDisk(error))
}

fn is_of_the_disk(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(<dyn std::error::Error + Send + Sync>::is::<OfTheDisk>)
}
