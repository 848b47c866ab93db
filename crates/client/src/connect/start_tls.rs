//! StartTLS (RFC 4511 §4.14) on a connection that nothing else uses yet.

use ironbark_ldap_proto::{
    DecodeLimits, MessageId, Request, Response, ResponseMessage, extended::start_tls, frame::needed,
    message::encode_request,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::socket::{Address, Stream};
use crate::{ClientError, ConnectSettings, Options, ReceivedResult, StartTls};

/// Asks the server. Returns whether the TLS handshake follows; `false` only if the settings allow that.
///
/// # Errors
/// [`ClientError::StartTlsRefused`], [`ClientError::Timeout`], [`ClientError::Closed`], [`ClientError::Protocol`].
pub(super) async fn ask(
    stream: &mut Box<dyn Stream>,
    address: &Address,
    settings: &ConnectSettings,
) -> Result<bool, ClientError> {
    let limit = Options::of(settings).operation_timeout;
    let answer = tokio::time::timeout(limit, answer(stream)).await;
    let result = answer.map_err(|_| ClientError::Timeout(limit))??;
    match settings.start_tls {
        _ if result.is_success() => Ok(true),
        StartTls::Critical => Err(ClientError::StartTlsRefused {
            address: address.to_string(),
            result: Box::new(result),
        }),
        StartTls::No | StartTls::Yes => Ok(false),
    }
}

async fn answer(stream: &mut Box<dyn Stream>) -> Result<ReceivedResult, ClientError> {
    let id = MessageId::new(1).unwrap_or_default();
    let mut request = Vec::new();
    encode_request(&mut request, id, &Request::Extended(start_tls::request()), &[]);
    stream
        .write_all(&request)
        .await
        .map_err(|error| ClientError::closed(&error))?;
    stream.flush().await.map_err(|error| ClientError::closed(&error))?;
    let message = read(stream).await?;
    let message = ResponseMessage::decode(&message, &DecodeLimits::default())
        .map_err(|fault| ClientError::Protocol(fault.diagnostic.to_owned()))?;
    match &message.operation {
        Response::Extended(response) if message.id == id => {
            Ok(ReceivedResult::new(&response.result, &message.controls))
        }
        Response::Extended(response) if message.id == MessageId::UNSOLICITED => Err(ClientError::Closed {
            reason: ReceivedResult::new(&response.result, &message.controls).to_string(),
        }),
        _ => Err(ClientError::Protocol("StartTLS was not answered".to_owned())),
    }
}

/// Reads one message, and nothing behind it: what is sent before the handshake is not protected, so nothing may be
/// taken from it.
async fn read(stream: &mut Box<dyn Stream>) -> Result<Vec<u8>, ClientError> {
    let mut message = Vec::new();
    loop {
        let wanted = match needed(&message, MAX_ANSWER) {
            Ok(Some(length)) if length <= message.len() => return Ok(message),
            Ok(Some(length)) => length,
            Ok(None) => message.len() + 1,
            Err(error) => return Err(ClientError::Protocol(error.to_string())),
        };
        let start = message.len();
        message.resize(wanted, 0);
        let rest = message.get_mut(start..).unwrap_or_default();
        stream
            .read_exact(rest)
            .await
            .map_err(|error| ClientError::closed(&error))?;
    }
}

/// The longest answer, in octets.
const MAX_ANSWER: usize = 65_536;
