//! Whether etcd has known a naming context whose log, or tree, it does not have.
//!
//! A server without changes of a log may let one begin only where there never was one: otherwise it would serve its
//! empty database as that of the cluster, while those with the data refuse to write. Its own database remembers
//! nothing, so the traces of others in etcd decide:
//!
//! - `/lost`: a server that has changes of a log has found none;
//! - `/node/`: a server that says that it has changes of a log, running or gone for less than a day;
//! - `/cut`, `/format`, `/log/`, `/part/`: they are written with a log, and are never deleted without it.
//!
//! An etcd that has none of these never had the naming context, as far as anybody can tell.

use ironbark_directory::Closed;
use ironbark_store::ClusterLogPlace;

use crate::{
    announce::Announced,
    deliver::Stop,
    etcd::{
        Etcd, Failure,
        json::{Compare, Operation, RangeRequest, Txn, TxnResponse},
    },
    keys::Keys,
    place,
};

/// Refuses to begin where there are traces.
///
/// # Errors
/// There are; etcd does not answer.
pub(crate) async fn refuse_if_known(keys: &Keys, etcd: &mut Etcd) -> Result<(), Stop> {
    let one = |key: &str| Operation::Range(RangeRequest::one(key));
    let first = |prefix: &str| Operation::Range(RangeRequest::from(prefix, prefix, 1));
    let txn = Txn {
        success: vec![
            Operation::Range(RangeRequest::from(&keys.node, &keys.node, 0)),
            one(&keys.lost),
            one(&keys.cut),
            one(&keys.format),
            first(&keys.log),
            first(&keys.part),
            one(&keys.tail),
        ],
        ..Txn::default()
    };
    let Some(trace) = trace(&etcd.txn(&txn).await?) else {
        return Ok(());
    };
    let why = format!(
        "etcd has nothing of this cluster but {trace}: it has lost its data; `ironbark cluster begin` on the server that \
         has the most changes begins anew, and this server has none"
    );
    Err(Stop::Closed(Closed::NotJoined, why))
}

/// What tells of a former log. A log that has begun meanwhile is none.
fn trace(found: &TxnResponse) -> Option<String> {
    if !found.range(6).is_empty() {
        return None;
    }
    let servers = found.range(0).iter();
    let mut servers = servers.filter_map(|pair| serde_json::from_slice::<Announced>(&pair.value.0).ok());
    if let Some(server) = servers.find(Announced::has_changes) {
        return Some(format!("the word of {} that it has changes", server.name));
    }
    let pair = (1..6).find_map(|range| found.range(range).first())?;
    Some(String::from_utf8_lossy(&pair.key.0).into_owned())
}

/// Leaves a trace: this server has changes of a log, and there is none.
///
/// # Errors
/// etcd does not answer.
pub(crate) async fn mark_lost(keys: &Keys, etcd: &mut Etcd, place: &ClusterLogPlace) -> Result<(), Failure> {
    let txn = Txn {
        compare: vec![Compare::absent(&keys.tail), Compare::absent(&keys.lost)],
        success: vec![Operation::put(&keys.lost, &place::text(place))],
        failure: Vec::new(),
    };
    etcd.txn(&txn).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use base64::{Engine, prelude::BASE64_STANDARD};

    use super::*;

    /// The answer of an etcd that has these keys in its ranges; the last one, of `/tail`, is empty.
    fn answer(ranges: [&[(&str, &str)]; 6]) -> TxnResponse {
        let responses: Vec<_> = ranges
            .iter()
            .map(|pairs| {
                let octets = |text: &str| BASE64_STANDARD.encode(text);
                let kvs: Vec<_> = pairs
                    .iter()
                    .map(|(key, value)| serde_json::json!({"key": octets(key), "value": octets(value)}))
                    .collect();
                serde_json::json!({"response_range": {"kvs": kvs}})
            })
            .collect();
        serde_json::from_value(serde_json::json!({"header": {"revision": "9"}, "responses": responses})).unwrap()
    }

    #[test]
    fn an_etcd_that_never_had_the_name_has_no_trace_of_it() {
        let empty = r#"{"name":"a[1]","position":0,"is_of_log":false}"#;
        // One that was filled apart has a position of its own.
        let filled = r#"{"name":"b[1]","position":7,"is_of_log":false}"#;
        let nodes = [("/p/x/node/1", empty), ("/p/x/node/2", filled)];
        assert_eq!(trace(&answer([&nodes, &[], &[], &[], &[], &[]])), None);
    }

    #[test]
    fn each_trace_of_a_former_log_is_found() {
        let member = r#"{"name":"c[1]","position":7,"is_of_log":true}"#;
        let found = trace(&answer([&[("/p/x/node/3", member)], &[], &[], &[], &[], &[]]));
        assert_eq!(found.as_deref(), Some("the word of c[1] that it has changes"));
        let former = r#"{"name":"d[1]","position":7}"#;
        let found = trace(&answer([&[("/p/x/node/4", former)], &[], &[], &[], &[], &[]]));
        assert!(found.is_some(), "a former version does not say");
        for at in 1..6 {
            let mut ranges: [&[(&str, &str)]; 6] = [&[]; 6];
            if let Some(range) = ranges.get_mut(at) {
                *range = &[("/p/x/key", "1")];
            }
            assert_eq!(trace(&answer(ranges)).as_deref(), Some("/p/x/key"));
        }
    }
}
