//! Responses in owned form, as operations wait for them.

use ironbark_ldap_proto::{Response, ResponseMessage};

use crate::{
    BindReply, ExtendedReply, ReceivedResult, SearchEntry, SearchItem,
    reply::{owned_controls, text},
};

/// A message for one request.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// Part of the answer to a search.
    Item(SearchItem),
    /// The result of a search, add, delete, modify, modify DN or compare.
    Done(ReceivedResult),
    Bind(BindReply),
    Extended(ExtendedReply),
}

/// The response in owned form, and whether it is the last one to its request.
pub(crate) fn incoming(message: &ResponseMessage<'_>) -> (Incoming, bool) {
    let controls = &message.controls;
    let item = match &message.operation {
        Response::Bind(response) => {
            let reply = BindReply {
                result: ReceivedResult::new(&response.result, controls),
                server_sasl_credentials: response.server_sasl_credentials.map(<[u8]>::to_vec),
            };
            return (Incoming::Bind(reply), true);
        }
        Response::Extended(response) => {
            let reply = ExtendedReply {
                result: ReceivedResult::new(&response.result, controls),
                name: response.name.map(text),
                value: response.value.map(<[u8]>::to_vec),
            };
            return (Incoming::Extended(reply), true);
        }
        Response::Done(_, result) => return (Incoming::Done(ReceivedResult::new(result, controls)), true),
        Response::SearchEntry(entry) => SearchItem::Entry(SearchEntry::new(entry, controls)),
        Response::SearchReference(uris) => SearchItem::Reference {
            uris: uris.iter().map(text).collect(),
            controls: owned_controls(controls),
        },
        Response::Intermediate(response) => SearchItem::Intermediate {
            name: response.name.map(text),
            value: response.value.map(<[u8]>::to_vec),
            controls: owned_controls(controls),
        },
    };
    (Incoming::Item(item), false)
}
