//! The server that waits for a copy: its listener, and the file that comes.

use std::{
    fs::File,
    io::{self, Write},
    net::{IpAddr, SocketAddr, UdpSocket},
    time::Duration,
};

use ironbark_config::cluster::ClusterConfig;
use ironbark_store::Staging;
use tokio::{
    io::{AsyncRead, AsyncWrite},
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
    error::CopyError,
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
/// How much a small database may grow between its announcement and the end of its copy.
const GROWTH: u64 = 64 << 20;

/// A connection that has presented the secret, and about how many octets it has.
struct Offer {
    stream: TlsStream<TcpStream>,
    /// The length of the copy in octets, as announced.
    length: u64,
}

/// Waits until `file`, which is that of `staging`, has a whole copy.
pub(super) async fn receive_copy(
    member: &Membership,
    key: &str,
    staging: &Staging,
    file: &File,
) -> Result<(), CopyError> {
    let config = &member.config;
    let mut secret = [0; SECRET];
    getrandom::fill(&mut secret).map_err(CopyError::Random)?;
    let identity = Identity::new()?;
    let listener = listen(config).await?;
    let at = listener.local_addr()?;
    let host = config
        .copy
        .as_ref()
        .map_or_else(|| at.ip().to_string(), |(host, _)| host.clone());
    let request = Request::new(&own_name(), &host, at.port(), &identity.certificate, &secret);
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
            Some(offer) = offered.recv() => match take_offered(offer, &member.shared, staging, file).await {
                Ok(()) => {
                    // It goes by itself, too.
                    let _ = etcd.txn(&Txn { success: vec![Operation::delete(key)], ..Txn::default() }).await;
                    return Ok(());
                }
                Err(error) if is_of_the_disk(&error) => return Err(error.into()),
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
async fn listen(config: &ClusterConfig) -> Result<TcpListener, CopyError> {
    let (host, port) = if let Some(named) = &config.copy {
        named.clone()
    } else {
        let own = own_address(config).await.ok_or(CopyError::NoAddress)?;
        (own.to_string(), 0)
    };
    let listener = TcpListener::bind((&*host, port)).await;
    listener.map_err(|error| CopyError::Listen { host, port, error })
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
        Ok(Offer { stream, length })
    };
    match within(GREETING, greeting).await {
        // If there is an offer already, it is dropped, which tells the other side.
        Ok(offer) => drop(offers.try_send(offer)),
        Err(error) => tracing::debug!(target: "any", "cluster: who wanted to send a copy: {error}"),
    }
}

/// Takes a copy, if there is room for it.
async fn take_offered(offer: Offer, shared: &Shared, staging: &Staging, file: &File) -> io::Result<()> {
    let Offer { stream, length } = offer;
    file.set_len(0).map_err(of_the_disk)?;
    let room = staging.room().map_err(|error| of_the_disk(io::Error::other(error)))?;
    if length > room {
        let (length, room) = (length / 1_000_000, room / 1_000_000);
        let why = format!("it has {length} MB, and there is room for {room} MB");
        return Err(of_the_disk(io::Error::other(why)));
    }
    // The database may grow meanwhile.
    let most = length.saturating_add(length / 4).saturating_add(GROWTH);
    take(stream, length, most, shared, file).await
}

/// Takes a copy of about `length` octets, and at most of `most`.
async fn take(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    length: u64,
    most: u64,
    shared: &Shared,
    mut file: &File,
) -> io::Result<()> {
    io::Seek::rewind(&mut file).map_err(of_the_disk)?;
    within(GREETING, want(&mut stream)).await?;
    let (mut chunk, mut octets, mut flushed) = (Vec::new(), 0, 0);
    shared.set_copied(Some((0, length)));
    while within(SILENCE, receive(&mut stream, &mut chunk)).await? {
        if octets + chunk.len() as u64 > most {
            return Err(io::Error::other(format!(
                "{length} octets were announced, and more than {most} come"
            )));
        }
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use ironbark_store::ClusterLogPlace;
    use tokio::io::AsyncReadExt;

    use super::{
        super::wire::{CHUNK, send},
        *,
    };

    #[tokio::test]
    async fn a_copy_without_end_is_given_up_where_it_should_have_ended() {
        let staging = Staging::new(&std::env::temp_dir()).unwrap();
        let file = File::create(staging.file()).unwrap();
        let shared = Shared::new([1; 8], SOON, ClusterLogPlace::default(), false);
        let (mut sender, receiver) = tokio::io::duplex(CHUNK);
        let endless = async {
            assert_eq!(sender.read_u8().await.unwrap(), 1);
            while send(&mut sender, &vec![7; CHUNK]).await.is_ok() {}
        };
        let most = 1 << 20;
        let (taken, ()) = tokio::join!(take(receiver, most / 2, most, &shared, &file), endless);
        assert!(taken.unwrap_err().to_string().contains("more than 1048576 come"));
        assert_eq!(file.metadata().unwrap().len(), most);
    }
}
