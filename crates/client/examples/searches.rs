//! A closed-loop load of searches: `searches HOST:PORT BASE FILTERS CONNECTIONS IN_FLIGHT SECONDS`.
//!
//! FILTERS is a file with one filter a line, asked for in random order below BASE with all user attributes. Every connection keeps
//! IN_FLIGHT searches under way: each answer is followed by the next request, answers that came together by requests sent together.
//! Requests are encoded beforehand and answers only framed, so that one core of this program keeps several cores of a server busy.
//! Prints answers, entries and bytes a second. An answer other than success, or without an entry, is an error.

#![expect(
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a measuring program: a panic ends it, figures are rounded"
)]

use std::{env, fs, process::ExitCode, time::Duration};

use ironbark_ldap_proto::{
    DerefAliases, Filter, MessageId, Request, Scope, SearchRequest, frame, message::encode_request,
};
use ironbark_runtime::{Clock, MonotonicTime};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

type Failure = Box<dyn std::error::Error>;

/// What one connection has received.
#[derive(Default)]
struct Received {
    answers: u64,
    entries: u64,
    octets: u64,
}

fn main() -> ExitCode {
    let run = || -> Result<(), Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(measure())
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("searches: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn measure() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, base, filters, connections, in_flight, seconds] = arguments.as_slice() else {
        return Err("usage: searches HOST:PORT BASE FILTERS CONNECTIONS IN_FLIGHT SECONDS".into());
    };
    let requests: &'static [Vec<u8>] = encode(base, &fs::read_to_string(filters)?)?.leak();
    let (connections, in_flight): (u64, usize) = (connections.parse()?, in_flight.parse()?);
    let length = Duration::from_secs_f64(seconds.parse()?);
    let clock = Clock::system();
    let begin = clock.monotonic();
    let mut tasks = Vec::new();
    for seed in 0..connections {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let its_clock = clock.clone();
        tasks.push(tokio::spawn(async move {
            load(stream, requests, in_flight, seed, (its_clock, begin + length))
                .await
                .map_err(|error| error.to_string())
        }));
    }
    let mut total = Received::default();
    for task in tasks {
        let received = task.await??;
        total.answers += received.answers;
        total.entries += received.entries;
        total.octets += received.octets;
    }
    let elapsed = clock.monotonic().saturating_since(begin).as_secs_f64();
    println!(
        "{:.0} searches/s ({} searches, {} entries, {:.1} MB/s)",
        total.answers as f64 / elapsed,
        total.answers,
        total.entries,
        total.octets as f64 / elapsed / 1e6,
    );
    Ok(())
}

/// Encodes a search for each line, with message ID 1.
fn encode(base: &str, filters: &str) -> Result<Vec<Vec<u8>>, Failure> {
    let mut requests = Vec::new();
    for line in filters.lines() {
        let filter = Filter::parse(line.as_bytes(), 10).map_err(|error| format!("{line}: {error}"))?;
        let request = Request::Search(SearchRequest {
            base: base.as_bytes(),
            scope: Scope::WholeSubtree,
            deref_aliases: DerefAliases::Never,
            size_limit: 0,
            time_limit: 0,
            types_only: false,
            filter,
            attributes: (&[][..]).into(),
        });
        let mut pdu = Vec::new();
        encode_request(&mut pdu, MessageId::new(1).ok_or("one")?, &request, &[]);
        requests.push(pdu);
    }
    if requests.is_empty() {
        return Err("no filters".into());
    }
    Ok(requests)
}

/// Keeps one connection busy until `end`. All requests bear one message ID per place in flight: 1 to `in_flight`.
async fn load(
    mut stream: TcpStream,
    requests: &[Vec<u8>],
    in_flight: usize,
    seed: u64,
    (clock, end): (Clock, MonotonicTime),
) -> Result<Received, Failure> {
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut received = Received::default();
    let (mut input, mut output) = (vec![0; 1 << 18], Vec::new());
    let mut filled = 0;
    let mut ids: Vec<u8> = (1..=u8::try_from(in_flight)?).collect();
    let mut waiting = 0;
    loop {
        let is_over = clock.monotonic() >= end;
        if is_over && waiting == 0 {
            return Ok(received);
        }
        if !is_over {
            for id in ids.drain(..) {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let number = ((random >> 32) * requests.len() as u64) >> 32;
                let start = output.len();
                output.extend_from_slice(&requests[usize::try_from(number)?]);
                let at = start + message_id_at(&output[start..]);
                output[at] = id;
                waiting += 1;
            }
            stream.write_all(&output).await?;
            output.clear();
        }
        if waiting == 0 {
            continue;
        }
        let count = stream.read(&mut input[filled..]).await?;
        if count == 0 {
            return Err("the server has closed a connection".into());
        }
        received.octets += count as u64;
        filled += count;
        let mut used = 0;
        while let Some(length) = frame(&input[used..filled], 1 << 30).map_err(|error| error.to_string())? {
            let message = &input[used..used + length];
            let at = message_id_at(message);
            match message[at + 1] {
                // SearchResultEntry.
                0x64 => received.entries += 1,
                // SearchResultDone: `65 len 0A 01 code`.
                0x65 => {
                    let code = message[at + 1..]
                        .windows(3)
                        .find(|window| window.starts_with(&[0x0A, 1]));
                    if code != Some(&[0x0A, 1, 0]) {
                        return Err(format!("a search failed: {message:02x?}").into());
                    }
                    received.answers += 1;
                    waiting -= 1;
                    ids.push(message[at]);
                }
                _ => return Err(format!("an unexpected message: {message:02x?}").into()),
            }
            used += length;
        }
        if input.len() - filled < input.len() / 2 && used == 0 {
            input.resize(input.len() * 2, 0);
        }
        input.copy_within(used..filled, 0);
        filled -= used;
    }
}

/// Where the one content octet of the message ID is: behind `30 length 02 01`.
fn message_id_at(message: &[u8]) -> usize {
    let extra = if message[1] < 0x80 {
        0
    } else {
        usize::from(message[1] & 0x7F)
    };
    2 + extra + 2
}
