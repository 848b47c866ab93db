//! Messages to a server, and its answers.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::{first, read, write};
use crate::TestkitError;

/// No answer takes longer.
const DEADLINE: Duration = Duration::from_secs(30);

/// Sends messages on a connection of their own, each when the one before is answered. Returns the answers as text, and
/// at the end `= open` or `= closed`: whether the server has closed the connection.
///
/// # Errors
/// Messages that cannot be read; a server that does not answer.
pub(crate) fn converse(port: u16, messages: &str) -> Result<String, TestkitError> {
    let failed = || TestkitError::io(format!("pdu at port {port}"));
    let messages = read::messages(messages)
        .map_err(std::io::Error::other)
        .map_err(failed())?;
    let mut stream = TcpStream::connect(("127.0.0.1", port)).map_err(failed())?;
    stream.set_read_timeout(Some(DEADLINE)).map_err(failed())?;
    let mut answers = String::new();
    let mut received = Vec::new();
    for message in messages {
        // A server that has closed the connection may refuse what comes after it; its answers say why.
        let _ = stream.write_all(&message);
        let mut wait = Wait::of(&message);
        while wait != Wait::Nothing {
            let Some(answer) = next(&mut stream, &mut received).map_err(failed())? else {
                return Ok(answers + "= closed\n");
            };
            answers.push_str(&write::text(&answer));
            wait = wait.after(&answer);
        }
    }
    Ok(answers + "= open\n")
}

/// The next message of the server; `None` at the end of the connection.
fn next(stream: &mut TcpStream, received: &mut Vec<u8>) -> std::io::Result<Option<Vec<u8>>> {
    loop {
        if let Some(length) = first(received).map(|(element, _)| element.whole.len()) {
            let rest = received.split_off(length);
            return Ok(Some(std::mem::replace(received, rest)));
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk) {
            Ok(0) => return Ok(None),
            Ok(count) => received.extend(chunk.iter().take(count)),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}

/// What is awaited after a message.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wait {
    Nothing,
    /// The last response with this message ID, in its encoding.
    Response(Vec<u8>),
    /// The end of the connection.
    End,
}

impl Wait {
    fn of(message: &[u8]) -> Self {
        match id_and_operation(message) {
            Some((_, UNBIND)) | None => Self::End,
            Some((_, ABANDON)) => Self::Nothing,
            Some((id, _)) => Self::Response(id.to_vec()),
        }
    }

    fn after(self, answer: &[u8]) -> Self {
        match (&self, id_and_operation(answer)) {
            (_, Some((&[], EXTENDED_RESPONSE))) => Self::End,
            (Self::Response(id), Some((its, operation))) if its == id && !PARTS.contains(&operation) => Self::Nothing,
            _ => self,
        }
    }
}

/// The octets of the message ID without zeros in front, and the tag of the operation.
fn id_and_operation(message: &[u8]) -> Option<(&[u8], u8)> {
    let (message, _) = first(message).filter(|(element, _)| element.tag.octet() == SEQUENCE)?;
    let (id, operation) = first(message.content).filter(|(element, _)| element.tag.octet() == INTEGER)?;
    let zeros = id.content.iter().take_while(|octet| **octet == 0).count();
    Some((id.content.get(zeros..)?, *operation.first()?))
}

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const UNBIND: u8 = 0x42;
const ABANDON: u8 = 0x50;
/// With the message ID 0 it is the notice of disconnection.
const EXTENDED_RESPONSE: u8 = 0x78;
/// Entries, references and intermediate responses: others follow.
const PARTS: &[u8] = &[0x64, 0x73, 0x79];

#[cfg(test)]
mod tests {
    use super::*;

    fn octets(text: &str) -> Vec<u8> {
        read::messages(text).unwrap().remove(0)
    }

    #[test]
    fn the_last_response_is_awaited() {
        let search = octets("SEQUENCE { INTEGER { 7 } [APPLICATION 3] {} }");
        let wait = Wait::of(&search);
        let wait = wait.after(&octets("SEQUENCE { INTEGER { 7 } [APPLICATION 4] {} }"));
        let wait = wait.after(&octets("SEQUENCE { INTEGER { 8 } [APPLICATION 5] {} }"));
        assert_eq!(wait, Wait::Response(vec![7]));
        assert_eq!(
            wait.clone()
                .after(&octets("SEQUENCE { INTEGER { 7 } [APPLICATION 5] {} }")),
            Wait::Nothing
        );
        assert_eq!(
            wait.after(&octets("SEQUENCE { INTEGER { 0 } [APPLICATION 24] {} }")),
            Wait::End
        );
    }

    #[test]
    fn unbind_abandon_and_what_is_no_message_have_no_response() {
        assert_eq!(
            Wait::of(&octets("SEQUENCE { INTEGER { 1 } [APPLICATION 2 PRIMITIVE] {} }")),
            Wait::End
        );
        assert_eq!(
            Wait::of(&octets("SEQUENCE { INTEGER { 1 } [APPLICATION 16 PRIMITIVE] { 1 } }")),
            Wait::Nothing
        );
        assert_eq!(Wait::of(&octets("`3000`")), Wait::End);
    }
}
