//! `reverse-lookup`: the names of clients, as the system resolves their addresses.

use std::{net::IpAddr, time::Duration};

use ironbark_runtime::spawn_named;
use tokio::{
    sync::{Semaphore, oneshot},
    time::timeout,
};

/// The name of an address, in lower case; `None`: it has none, or none was found in time.
pub(crate) async fn of(address: IpAddr) -> Option<Box<str>> {
    let name = timeout(PATIENCE, look_up(address)).await.ok()??;
    Some(name.to_ascii_lowercase().into_boxed_str())
}

async fn look_up(address: IpAddr) -> Option<String> {
    let place = PLACES.acquire().await.ok()?;
    let (reply, answer) = oneshot::channel();
    // The system's resolver blocks. If its servers do not answer, it blocks longer than a client may wait. The server
    // does not wait for it when it ends.
    spawn_named("lookup", move || {
        let _place = place;
        let _ = reply.send(dns_lookup::lookup_addr(&address));
    })
    .ok()?;
    let name = answer.await.ok()?.ok()?;
    // For an address without a name, the resolver returns the address as text.
    name.parse::<IpAddr>().is_err().then_some(name)
}

/// Maximum time that a client waits for its own name.
const PATIENCE: Duration = Duration::from_secs(5);
/// Look-ups at the same time.
static PLACES: Semaphore = Semaphore::const_new(32);
