//! Searches that last, and consumers that are slow.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use ironbark_client::{
    Client, ClientError, Options, SearchItem,
    proto::{
        EncodeControl,
        controls::{Control, ManageDsaIt},
    },
};
use ironbark_testkit::{Flavor, Server};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::connect::{connect, everything};

/// A server with this many entries below its suffix entry, each of some 10,000 octets.
fn filled(entries: usize) -> Server {
    let template = Server::people_config("sizelimit unlimited", "maxsize 268435456");
    let mut server = Server::prepare(Flavor::OpenLdap, &template).unwrap();
    let mut data =
        "dn: dc=example,dc=com\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: x\n".to_owned();
    let text = "x".repeat(10_000);
    for number in 0..entries {
        let name = format!("\ndn: cn=e{number},dc=example,dc=com\nobjectClass: person\ncn: e{number}\nsn: e\n");
        data.extend([&*name, "description: ", &text, "\n"]);
    }
    server.slapadd(&data).unwrap();
    server.launch().unwrap();
    server
}

#[tokio::test]
async fn a_search_that_nobody_reads_does_not_hold_up_other_operations() {
    const ENTRIES: usize = 3_000;
    let server = filled(ENTRIES);
    let client = connect(&server, &[("uri", "{ldap}")]).await.unwrap();
    let mut stream = client.search(&everything(), &[]).unwrap();
    let mut found = 0;
    // 30 MB, and another operation for each of the first entries, as some consumers do it.
    while let Some(item) = stream.next().await.unwrap() {
        assert!(matches!(item, SearchItem::Entry(_)));
        found += 1;
        if found <= 10 {
            assert_eq!(client.who_am_i().await.unwrap(), "");
        }
    }
    assert_eq!(found, ENTRIES + 1);
    assert!(stream.result().unwrap().is_success());
}

/// An element with a length of four octets.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap().to_be_bytes();
    [&[tag, 0x84][..], &length, content].concat()
}

/// A message for the first request.
fn message(operation: &[u8]) -> Vec<u8> {
    element(0x30, &[&[2, 1, 1], operation].concat())
}

/// An entry whose name is `size` letters.
fn entry(size: usize) -> Vec<u8> {
    let name = element(4, &vec![b'a'; size]);
    message(&element(0x64, &[name, element(0x30, &[])].concat()))
}

/// A client, and its peer.
async fn pair() -> (Client, TcpStream) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (client, accepted) = tokio::join!(Client::connect_tcp(&address, Options::default()), listener.accept());
    (client.unwrap(), accepted.unwrap().0)
}

/// Waits until a number has stayed the same for long.
async fn settled(number: &AtomicUsize) -> usize {
    let mut polls = tokio::time::interval(Duration::from_millis(5));
    let (mut last, mut same) = (usize::MAX, 0);
    while same < 60 {
        polls.tick().await;
        let now = number.load(Ordering::Relaxed);
        same = if now == last { same + 1 } else { 0 };
        last = now;
    }
    last
}

#[tokio::test]
async fn the_reader_stops_when_nobody_takes_entries_and_nothing_is_lost() {
    // By number, and by size. The system's buffers hold the rest of what the peer can send.
    for (size, count) in [(64, 1_000_000), (64 << 10, 4_096)] {
        let (client, mut peer) = pair().await;
        let mut stream = client.search(&everything(), &[]).unwrap();
        let sent = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&sent);
        let peer = tokio::spawn(async move {
            let entry = entry(size);
            for _ in 0..count {
                peer.write_all(&entry).await.unwrap();
                counter.fetch_add(1, Ordering::Relaxed);
            }
            let done = message(&element(0x65, &[10, 1, 0, 4, 0, 4, 0]));
            peer.write_all(&done).await.unwrap();
            peer
        });
        let stalled = settled(&sent).await;
        assert!(
            (1..count).contains(&stalled),
            "{stalled} of {count} entries of {size} octets were sent"
        );
        let mut found = 0;
        while stream.next().await.unwrap().is_some() {
            found += 1;
        }
        assert_eq!(found, count);
        drop(peer.await.unwrap());
    }
}

#[tokio::test]
async fn a_dropped_search_is_abandoned_and_makes_room() {
    let (client, mut peer) = pair().await;
    let stream = client.search(&everything(), &[]).unwrap();
    let mut request = vec![0; 1_024];
    let length = peer.read(&mut request).await.unwrap();
    assert!(length > 0 && request[length - 2..length] != [1, 1]);
    let entry = entry(1 << 20);
    let (mut reading, mut writing) = peer.into_split();
    let flood = tokio::spawn(async move {
        // More than any buffer holds: the reader must go on after the search was dropped.
        for _ in 0..32 {
            writing.write_all(&entry).await.unwrap();
        }
        writing
    });
    drop(stream);
    let mut abandon = [0; 8];
    reading.read_exact(&mut abandon).await.unwrap();
    assert_eq!(abandon, [0x30, 6, 2, 1, 2, 0x50, 1, 1]);
    flood.await.unwrap();
}

#[tokio::test]
async fn entries_controls_and_intermediate_responses_come_in_order_and_without_a_limit() {
    let (client, mut peer) = pair().await;
    let controls: [&dyn EncodeControl; 1] = [&Control::critical(ManageDsaIt)];
    let mut stream = client.search(&everything(), &controls).unwrap();
    let mut request = vec![0; 1_024];
    let length = peer.read(&mut request).await.unwrap();
    let oid = b"2.16.840.1.113730.3.4.2";
    assert!(request[..length].windows(oid.len()).any(|part| part == oid));
    let sync_state = element(
        0xa0,
        &element(0x30, &[element(4, b"1.2"), element(4, b"state")].concat()),
    );
    let entry = element(0x64, &[element(4, b"dc=a"), element(0x30, &[])].concat());
    let info = element(0x79, &[element(0x80, b"1.3"), element(0x81, b"cookie")].concat());
    let done = element(0x65, &[10, 1, 0, 4, 0, 4, 0]);
    // Silence ends a search that has a limit, and no other one: see below.
    let (other, mut silent) = pair().await;
    let mut lasting = other.search(&everything(), &[]).unwrap().with_timeout(None);
    for operation in [
        [&entry[..], &sync_state].concat(),
        [&info[..], &sync_state].concat(),
        entry.clone(),
        [&done[..], &sync_state].concat(),
    ] {
        peer.write_all(&message(&operation)).await.unwrap();
    }
    let Some(SearchItem::Entry(first)) = stream.next().await.unwrap() else {
        panic!("no entry")
    };
    assert_eq!((&*first.dn, first.control("1.2")), ("dc=a", Some(&b"state"[..])));
    let Some(SearchItem::Intermediate { name, value, controls }) = stream.next().await.unwrap() else {
        panic!("no intermediate response")
    };
    assert_eq!((name.as_deref(), value.as_deref()), (Some("1.3"), Some(&b"cookie"[..])));
    assert_eq!(controls[0].oid, "1.2");
    assert!(matches!(stream.next().await.unwrap(), Some(SearchItem::Entry(entry)) if entry.controls.is_empty()));
    assert!(stream.next().await.unwrap().is_none());
    assert_eq!(stream.result().unwrap().control("1.2"), Some(&b"state"[..]));
    let mut limited = client
        .search(&everything(), &[])
        .unwrap()
        .with_timeout(Some(Duration::from_millis(10)));
    assert!(matches!(limited.next().await, Err(ClientError::Timeout(_))));
    tokio::select! {
        biased;
        found = lasting.next() => panic!("{found:?}"),
        found = limited_again(&client) => assert!(matches!(found, Err(ClientError::Timeout(_)))),
    }
    silent.write_all(&message(&done)).await.unwrap();
    assert!(lasting.next().await.unwrap().is_none());
}

/// A search that nobody answers, for 50 ms.
async fn limited_again(client: &Client) -> Result<Option<SearchItem>, ClientError> {
    let stream = client.search(&everything(), &[])?;
    stream.with_timeout(Some(Duration::from_millis(50))).next().await
}
