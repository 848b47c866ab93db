//! The server that has a database open. Only one process writes to a database, so a tool sends it what it wants to have
//! changed.

use std::io::{ErrorKind, Read, Write};

use ironbark_config::DatabaseConfig;
use ironbark_ldap_proto::{
    DecodeLimits, ExtendedRequest, MessageId, Request, Response, ResponseMessage, frame, message::encode_request, tool,
};
use ironbark_model::ResultCode;
use ironbark_runtime::{ToolStream, connect_as_tool};

/// Octets of a response.
const MOST_OCTETS: usize = 16 << 20;

/// The connection to the server.
pub(crate) struct RunningServer {
    stream: ToolStream,
    /// What has come and was not taken.
    received: Vec<u8>,
}

impl RunningServer {
    /// Connects to the server that has a database open. `None`: no server has, or none that can be reached.
    ///
    /// # Errors
    /// The message for the user.
    pub(crate) fn of(settings: &DatabaseConfig, program: &str, stops: bool) -> Result<Option<Self>, String> {
        if !settings.kind.is_stored() {
            return Ok(None);
        }
        let connected = connect_as_tool(&settings.directory).map_err(|error| format!("{program}: {error}"))?;
        let Some(stream) = connected else { return Ok(None) };
        let mut server = Self {
            stream,
            received: Vec::new(),
        };
        let words: &[&[u8]] = if stops {
            &[program.as_bytes(), b"stop"]
        } else {
            &[program.as_bytes()]
        };
        match server.ask(tool::BEGIN, words) {
            Ok(()) => Ok(Some(server)),
            Err(text) => Err(format!("{program}: the running server does not serve tools: {text}")),
        }
    }

    /// Sends a request that is already encoded. Takes what comes meanwhile: the server, which has room for some answers
    /// only, would not read on.
    ///
    /// # Errors
    /// The server has ended.
    pub(crate) fn send(&mut self, mut request: &[u8]) -> Result<(), String> {
        while !request.is_empty() {
            match self.stream.write(request) {
                Ok(written) => request = request.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.stream.wait(true).map_err(|error| gone(&error))?;
                    self.take()?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(gone(&error)),
            }
        }
        Ok(())
    }

    /// Takes what has come.
    fn take(&mut self) -> Result<(), String> {
        let mut chunk = [0; 1 << 14];
        match self.stream.read(&mut chunk) {
            Ok(0) => Err(gone(&"the connection was closed")),
            Ok(read) => {
                self.received.extend_from_slice(chunk.get(..read).unwrap_or_default());
                Ok(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
            Err(error) => Err(gone(&error)),
        }
    }

    /// Appends the next response to `response`.
    ///
    /// # Errors
    /// The server has ended.
    pub(crate) fn receive(&mut self, response: &mut Vec<u8>) -> Result<(), String> {
        loop {
            let length = frame(&self.received, MOST_OCTETS).map_err(|error| gone(&error))?;
            if let Some(length) = length {
                response.extend(self.received.drain(..length));
                return Ok(());
            }
            self.stream.wait(false).map_err(|error| gone(&error))?;
            self.take()?;
        }
    }

    /// Sends a request of tools, and waits for its end.
    ///
    /// # Errors
    /// The server's message.
    pub(crate) fn ask(&mut self, name: &str, words: &[&[u8]]) -> Result<(), String> {
        let (mut value, mut request, mut response) = (Vec::new(), Vec::new(), Vec::new());
        tool::encode_words(words, &mut value);
        let extended = ExtendedRequest {
            name: name.as_bytes(),
            value: Some(&value),
        };
        let id = MessageId::new(1).unwrap_or_default();
        encode_request(&mut request, id, &Request::Extended(extended), &[]);
        self.send(&request)?;
        self.receive(&mut response)?;
        match result_of(&response)? {
            (ResultCode::SUCCESS, _) => Ok(()),
            (code, text) => Err(format!("({}) {text}", code.0)),
        }
    }
}

/// Code and text of a response; the code's name where there is no text.
pub(crate) fn result_of(response: &[u8]) -> Result<(ResultCode, String), String> {
    let limits = DecodeLimits::default();
    let message = ResponseMessage::decode(response, &limits).map_err(|_| "no answer".to_owned())?;
    let result = match message.operation {
        Response::Done(_, result) => result,
        Response::Extended(extended) => extended.result,
        _ => return Err("no answer".to_owned()),
    };
    let text = String::from_utf8_lossy(result.diagnostic_message).into_owned();
    let name = || result.code.name().unwrap_or_default().to_owned();
    Ok((result.code, if text.is_empty() { name() } else { text }))
}

fn gone(error: &dyn std::fmt::Display) -> String {
    format!("the server has ended: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_sent_though_the_other_side_waits_until_its_answers_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        let listener = ironbark_runtime::listen_for_tools(folder.path()).unwrap();
        let (answer, count) = ([0x30, 3, 1, 1, 0], 1 << 18);
        let request = vec![0; 1 << 20];
        let expected = request.len();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                stream.write_all(&answer.repeat(count)).unwrap();
                stream.read_exact(&mut vec![0; expected]).unwrap();
            });
            let mut server = RunningServer {
                stream: connect_as_tool(folder.path()).unwrap().unwrap(),
                received: Vec::new(),
            };
            server.send(&request).unwrap();
            let mut response = Vec::new();
            server.receive(&mut response).unwrap();
            assert_eq!(response, answer);
        });
    }
}
