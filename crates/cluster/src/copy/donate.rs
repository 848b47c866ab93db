//! The server that has a database, and sends copies of it to servers that ask, one at a time.

use std::{fs::File, io, os::fd::OwnedFd, sync::Arc, thread::JoinHandle};

use ironbark_directory::NamingContext;
use ironbark_runtime::spawn_named;
use ironbark_store::{Database, StoreError};
use tokio::{
    io::AsyncReadExt,
    net::{TcpStream, unix::pipe},
    runtime::Builder,
    sync::oneshot,
    time::{Duration, sleep},
};

use super::{
    request::Request,
    secure,
    wire::{CHUNK, GREETING, SILENCE, greet, send, within},
};
use crate::{
    error::CopyError,
    etcd::{Etcd, Failure, json::RangeRequest},
    membership::Membership,
};

/// How often it looks whether a server asks.
const INTERVAL: Duration = Duration::from_secs(1);

/// The part of a session that sends copies.
pub(crate) struct Donor {
    pub(crate) member: Arc<Membership>,
    pub(crate) context: Arc<NamingContext>,
}

impl Donor {
    /// Sends copies for ever.
    pub(crate) async fn serve(self) {
        let mut etcd = self.member.etcd();
        // Requests that were answered, or could not be, by key and revision.
        let mut seen = Vec::new();
        loop {
            sleep(INTERVAL).await;
            if self.member.shared.is_complete()
                && let Err(failure) = self.look(&mut etcd, &mut seen).await
            {
                tracing::debug!(target: "any", "cluster: {}: copies: {failure}", self.member.suffix);
            }
        }
    }

    async fn look(&self, etcd: &mut Etcd, seen: &mut Vec<(Vec<u8>, i64)>) -> Result<(), Failure> {
        let found = etcd
            .range(&RangeRequest::from(&self.member.keys.copy, &self.member.keys.copy, 0))
            .await?;
        let of = |pair: &crate::etcd::json::KeyValue| (pair.key.0.clone(), pair.mod_revision.0);
        seen.retain(|one| found.kvs.iter().any(|pair| of(pair) == *one));
        for pair in &found.kvs {
            if seen.contains(&of(pair)) {
                continue;
            }
            seen.push(of(pair));
            let (Some(request), Some(database)) = (Request::read(&pair.value.0), self.context.database()) else {
                continue;
            };
            let name = request.name.clone();
            match self.give(Arc::clone(database), request).await {
                Ok(octets) => tracing::info!(
                    target: "any", "cluster: {}: {name} has got a copy of {} MB", self.member.suffix, octets / 1_000_000
                ),
                // Another server was faster, or the one that asked has gone.
                Err(why) => tracing::info!(target: "any", "cluster: {}: no copy to {name}: {why}", self.member.suffix),
            }
        }
        Ok(())
    }

    /// Sends a copy, on a thread of its own, which ends when this is dropped.
    async fn give(&self, database: Arc<Database>, request: Request) -> Result<u64, CopyError> {
        let (done, end) = oneshot::channel();
        let (_wanted, unwanted) = oneshot::channel::<()>();
        let work = move || {
            let runtime = Builder::new_current_thread().enable_io().enable_time().build();
            let sent = runtime.map_err(CopyError::from).and_then(|runtime| {
                runtime.block_on(async {
                    tokio::select! {
                        sent = send_copy(&database, &request) => sent,
                        _ = unwanted => Err(CopyError::NotWanted),
                    }
                })
            });
            // Nobody may be there to hear it.
            let _ = done.send(sent);
        };
        spawn_named("copy", work)?;
        end.await.unwrap_or_else(|_| Err(CopyError::ThreadEnded))
    }
}

/// Sends the file of a database. Returns its number of octets.
async fn send_copy(database: &Arc<Database>, request: &Request) -> Result<u64, CopyError> {
    let secret = request.secret().ok_or(CopyError::NoSecret)?;
    let (connector, name) = secure::connector(request.certificate())?;
    let stat = database.stat()?;
    let greeting = async {
        let stream = TcpStream::connect((&*request.host, request.port)).await?;
        let mut stream = connector.connect(name, stream).await?;
        greet(&mut stream, &secret, stat.pages_used * stat.page_size).await?;
        Ok(stream)
    };
    let mut stream = within(GREETING, greeting).await?;
    let (mut pages, copying) = copy_of(Arc::clone(database))?;
    let (mut chunk, mut octets) = (vec![0; CHUNK], 0);
    loop {
        // LMDB takes the time that the disk takes.
        let count = pages.read(&mut chunk).await?;
        let Some(read) = chunk.get(..count).filter(|read| !read.is_empty()) else {
            break;
        };
        within(SILENCE, send(&mut stream, read)).await?;
        octets += count as u64;
    }
    let copied = copying
        .join()
        .unwrap_or_else(|_| Err(StoreError::Format("a panic".to_owned())));
    copied?;
    within(SILENCE, send(&mut stream, &[])).await?;
    Ok(octets)
}

/// A consistent state of the database, page by page, and the thread that writes it. It ends when nobody reads.
fn copy_of(database: Arc<Database>) -> io::Result<(pipe::Receiver, JoinHandle<Result<(), StoreError>>)> {
    let (reader, writer) = io::pipe()?;
    let reader = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
    let mut file = File::from(OwnedFd::from(writer));
    let thread = spawn_named("copy-pages", move || database.copy_into(&mut file))?;
    Ok((reader, thread))
}
