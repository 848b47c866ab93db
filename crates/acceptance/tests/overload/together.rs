//! Many connections that ask at the same moment: their requests are started together, and each gets its own answer.

use std::{
    fmt::Write as _,
    io::Write as _,
    net::{Shutdown, TcpStream},
};

use ironbark_testkit::{Flavor, Server};

use super::wire::{
    BASE, MODIFY_RESPONSE, SEARCH_DONE, SEARCH_ENTRY, bind, connect, describe, element, read_message, result_code,
    search,
};

const CLIENTS: usize = 48;
const ROUNDS: usize = 30;

fn equality(attribute: &str, value: &str) -> Vec<u8> {
    element(
        0xa3,
        &[element(0x04, attribute.as_bytes()), element(0x04, value.as_bytes())].concat(),
    )
}

fn name(client: usize) -> String {
    format!("cn=n{client},{BASE}")
}

fn server() -> Server {
    // One reactor, so that all ask in the same rounds.
    let template = format!(
        "threads 1\n{}index description eq\nlimits * size=unlimited\n",
        Server::PEOPLE_CONFIG
    );
    let mut server = Server::prepare(Flavor::Ironbark, &template).unwrap();
    let mut ldif = format!("dn: {BASE}\nobjectClass: domain\ndc: example\n");
    for client in 0..CLIENTS {
        let name = name(client);
        write!(
            ldif,
            "\ndn: {name}\nobjectClass: person\ncn: n{client}\nsn: x\ndescription: d{client}-0\n"
        )
        .unwrap();
    }
    server.slapadd(&ldif).unwrap();
    server.launch().unwrap();
    server
}

/// Reads the answer to a search, which must be this one entry or none.
fn expect(stream: &mut TcpStream, id: u32, entry: Option<&str>) {
    if let Some(entry) = entry {
        let (number, tag, content) = read_message(stream).unwrap();
        assert_eq!((number, tag), (id, SEARCH_ENTRY));
        assert!(
            content.windows(entry.len()).any(|octets| octets == entry.as_bytes()),
            "{entry}"
        );
    }
    let (number, tag, content) = read_message(stream).unwrap();
    assert_eq!((number, tag, result_code(&content)), (id, SEARCH_DONE, 0));
}

#[test]
fn each_of_many_connections_gets_its_own_answer_and_sees_its_own_writes() {
    let server = server();
    let mut streams: Vec<TcpStream> = (0..CLIENTS).map(|_| connect(&server)).collect();
    streams.iter_mut().for_each(bind);
    for round in 1..=ROUNDS {
        let id = 2 + u32::try_from(round).unwrap();
        let said = |client: usize| format!("d{client}-{round}");
        // A third has just written, and asks for what it wrote; another asks for what nobody has.
        for (client, stream) in streams
            .iter_mut()
            .enumerate()
            .filter(|(client, _)| client.is_multiple_of(3))
        {
            let change = describe(id, &name(client), said(client).as_bytes());
            stream.write_all(&change).unwrap();
        }
        for stream in streams.iter_mut().step_by(3) {
            let (_, tag, content) = read_message(stream).unwrap();
            assert_eq!((tag, result_code(&content)), (MODIFY_RESPONSE, 0));
        }
        let request = |client: usize| match client % 3 {
            0 => search(id, BASE, 2, &equality("description", &said(client))),
            1 => search(
                id,
                BASE,
                2,
                &equality("CN", &format!("N{}", (client + round) % CLIENTS)),
            ),
            _ => search(id, BASE, 2, &equality("cn", &format!("nobody{client}"))),
        };
        // Some requests come in two pieces, and some clients are gone before they are answered.
        for (client, stream) in streams.iter_mut().enumerate() {
            let request = request(client);
            let cut = if (client + round).is_multiple_of(7) {
                request.len() / 2
            } else {
                request.len()
            };
            stream.write_all(&request[..cut]).unwrap();
        }
        for (client, stream) in streams
            .iter_mut()
            .enumerate()
            .filter(|(client, _)| (client + round).is_multiple_of(7))
        {
            let request = request(client);
            stream.write_all(&request[request.len() / 2..]).unwrap();
        }
        for (client, stream) in streams.iter_mut().enumerate() {
            if (client + round).is_multiple_of(11) {
                let _ = stream.shutdown(Shutdown::Both);
                *stream = connect(&server);
                bind(stream);
                continue;
            }
            let entry = match client % 3 {
                0 => Some(name(client)),
                1 => Some(name((client + round) % CLIENTS)),
                _ => None,
            };
            expect(stream, id, entry.as_deref());
        }
    }
}
