//! The client against Debian's real slapd, over a unix socket and TCP.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "test code: clippy.toml exempts test functions, not their helpers"
)]

use std::{
    borrow::Cow,
    net::TcpListener,
    path::{Path, PathBuf},
    time::Duration,
};

use ironbark_client::{
    Change, Client, ClientError, Options, Search, SearchEntry, SearchItem,
    proto::{
        Assertion, Filter, List, ModifyDnRequest, ModifyOperation, RawControls, Request, ResultCode, Scope,
        controls::{
            AssertionControl, Control, ManageDsaIt, MatchedValues, PagedResults, PostRead, PreRead, SortKey, SortKeys,
            SortResponse, find,
        },
        extended::{cancel, password_modify::PasswordModifyRequest},
    },
};
use tempfile::TempDir;
use tokio::process::{Child, Command};

const MANAGER: &str = "cn=manager,dc=example,dc=com";

/// A slapd with an empty database. It ends when this value is dropped.
struct Slapd {
    /// Killed on drop.
    child: Child,
    socket: PathBuf,
    port: u16,
    _folder: TempDir,
}

impl Slapd {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("db");
        std::fs::create_dir(&database).unwrap();
        let configuration = folder.path().join("slapd.conf");
        std::fs::write(&configuration, configuration_text(&database)).unwrap();
        let socket = folder.path().join("ldapi");
        // The port was free a moment ago. Other programs take a port of this range only through the system.
        let port = TcpListener::bind(("127.0.0.1", 0))
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let urls = format!(
            "ldapi://{}/ ldap://127.0.0.1:{port}/",
            socket.display().to_string().replace('/', "%2F")
        );
        let child = Command::new("/usr/sbin/slapd")
            .args(["-d", "0", "-h", &urls, "-f"])
            .arg(&configuration)
            .kill_on_drop(true)
            .spawn()
            .expect("Debian's slapd is needed: make deps");
        let mut slapd = Self {
            child,
            socket,
            port,
            _folder: folder,
        };
        slapd.wait().await;
        slapd
    }

    async fn wait(&mut self) {
        let mut polls = tokio::time::interval(Duration::from_millis(3));
        for _ in 0..5000 {
            polls.tick().await;
            if let Ok(client) = Client::connect_unix(&self.socket, Options::default()).await
                && client.simple_bind("", b"", &[]).await.is_ok()
            {
                return;
            }
            assert_eq!(self.child.try_wait().unwrap(), None, "slapd has ended");
        }
        panic!("slapd does not answer");
    }

    async fn client(&self) -> Client {
        Client::connect_unix(&self.socket, Options::default()).await.unwrap()
    }

    /// A client of the manager, and a database with a suffix entry and three people.
    async fn manager(&self) -> Client {
        let client = self.client().await;
        client
            .simple_bind(MANAGER, b"secret", &[])
            .await
            .unwrap()
            .success()
            .unwrap();
        client
            .add(
                "dc=example,dc=com",
                &[
                    ("objectClass", &[b"dcObject", b"organization"]),
                    ("o", &[b"Example"]),
                    ("dc", &[b"example"]),
                ],
                &[],
            )
            .await
            .unwrap()
            .success()
            .unwrap();
        // Pipelined: all three are sent before the first answer. slapd may execute them in any order.
        let people: Vec<_> = ["Ann", "Bob", "Cid"]
            .into_iter()
            .map(|name| {
                client.add(
                    &dn(name),
                    &[
                        ("objectClass", &[b"person"]),
                        ("cn", &[name.as_bytes()]),
                        ("sn", &[name.to_uppercase().as_bytes(), b"second"]),
                        ("userPassword", &[b"pw"]),
                    ],
                    &[],
                )
            })
            .collect();
        for person in people {
            person.await.unwrap().success().unwrap();
        }
        client
    }
}

fn configuration_text(database: &Path) -> String {
    format!(
        "include /etc/ldap/schema/core.schema\n\
         modulepath /usr/lib/ldap\n\
         moduleload back_mdb\n\
         moduleload sssvlv\n\
         database mdb\n\
         suffix dc=example,dc=com\n\
         rootdn {MANAGER}\n\
         rootpw secret\n\
         directory {}\n\
         overlay sssvlv\n",
        database.display()
    )
}

fn dn(name: &str) -> String {
    format!("cn={name},dc=example,dc=com")
}

fn equality(attribute: &'static str, value: &'static str) -> Filter<'static> {
    Filter::Equality(Assertion {
        attribute: Cow::Borrowed(attribute.as_bytes()),
        value: Cow::Borrowed(value.as_bytes()),
    })
}

fn present(attribute: &'static str) -> Filter<'static> {
    Filter::Present(Cow::Borrowed(attribute.as_bytes()))
}

fn people() -> Search<'static> {
    Search::new("dc=example,dc=com", Scope::SingleLevel, present("cn"))
}

fn names(entries: &[SearchEntry]) -> Vec<String> {
    entries.iter().filter_map(|entry| entry.text("cn")).collect()
}

#[tokio::test]
async fn binds_and_who_am_i() {
    let slapd = Slapd::start().await;
    let client = slapd.client().await;
    assert_eq!(client.who_am_i().await.unwrap(), "");
    let refused = client.simple_bind(MANAGER, b"wrong", &[]).await.unwrap();
    assert_eq!(refused.code, ResultCode::INVALID_CREDENTIALS);
    assert!(matches!(refused.success(), Err(ClientError::Refused(_))));
    client
        .simple_bind(MANAGER, b"secret", &[])
        .await
        .unwrap()
        .success()
        .unwrap();
    assert_eq!(client.who_am_i().await.unwrap(), format!("dn:{MANAGER}"));
    client.external_bind("").await.unwrap().success().unwrap();
    let identity = client.who_am_i().await.unwrap();
    assert!(identity.ends_with(",cn=peercred,cn=external,cn=auth"), "{identity}");
    let unknown = client.sasl_bind("NO-SUCH-MECHANISM", None, &[]).await.unwrap();
    assert_eq!(unknown.result.code, ResultCode::AUTH_METHOD_NOT_SUPPORTED);
}

#[tokio::test]
async fn updates_and_compare() {
    let slapd = Slapd::start().await;
    let client = slapd.manager().await;
    let again = client
        .add(&dn("Ann"), &[("objectClass", &[b"person"])], &[])
        .await
        .unwrap();
    assert!(!again.is_success());
    let change = |operation, values| Change {
        operation,
        attribute: "description",
        values,
    };
    client
        .modify(
            &dn("Ann"),
            &[
                change(ModifyOperation::Add, &[b"one", b"two"]),
                change(ModifyOperation::Delete, &[b"one"]),
            ],
            &[],
        )
        .await
        .unwrap()
        .success()
        .unwrap();
    let code = |value: &'static [u8]| {
        let result = client.compare(&dn("Ann"), "description", value, &[]);
        async { result.await.unwrap().code }
    };
    assert_eq!(code(b"two").await, ResultCode::COMPARE_TRUE);
    assert_eq!(code(b"one").await, ResultCode::COMPARE_FALSE);
    let ann = dn("Ann");
    let request = ModifyDnRequest {
        entry: ann.as_bytes(),
        new_rdn: b"cn=Eve",
        delete_old_rdn: true,
        new_superior: Some(b"dc=example,dc=com"),
    };
    let renamed = client.modify_dn(&request, &[]).await.unwrap();
    renamed.success().unwrap();
    let deleted = client.delete(&dn("Ann"), &[]).await.unwrap();
    assert_eq!(
        (deleted.code, deleted.matched_dn.as_str()),
        (ResultCode::NO_SUCH_OBJECT, "dc=example,dc=com")
    );
    client.delete(&dn("Eve"), &[]).await.unwrap().success().unwrap();
}

#[tokio::test]
async fn searches_stream_entries_and_references() {
    let slapd = Slapd::start().await;
    let client = slapd.manager().await;
    let uri: &[u8] = b"ldap://127.0.0.2/ou=elsewhere,dc=example,dc=com";
    client
        .add(
            "ou=elsewhere,dc=example,dc=com",
            &[
                ("objectClass", &[b"referral", b"extensibleObject"]),
                ("ou", &[b"elsewhere"]),
                ("ref", &[uri]),
            ],
            &[&Control::critical(ManageDsaIt)],
        )
        .await
        .unwrap()
        .success()
        .unwrap();
    let search = people().with_attributes(&["cn", "SN"]);
    let mut stream = client.search(&search, &[]).unwrap();
    let (mut entries, mut references) = (Vec::new(), Vec::new());
    while let Some(item) = stream.next().await.unwrap() {
        match item {
            SearchItem::Entry(entry) => entries.push(entry),
            SearchItem::Reference { uris, .. } => references.push(uris),
            SearchItem::Intermediate { .. } => panic!("{item:?}"),
        }
    }
    assert_eq!(stream.result().unwrap().code, ResultCode::SUCCESS);
    entries.sort_by(|left, right| left.dn.cmp(&right.dn));
    assert_eq!(names(&entries), ["Ann", "Bob", "Cid"]);
    assert_eq!(entries[0].dn, dn("Ann"));
    assert_eq!(entries[0].values("sn"), [b"ANN".to_vec(), b"second".to_vec()]);
    assert_eq!(references.len(), 1);
    assert!(references[0][0].starts_with("ldap://127.0.0.2/"), "{references:?}");

    let limited = Search {
        size_limit: 1,
        types_only: true,
        ..people()
    };
    let outcome = client.search(&limited, &[]).unwrap().collect().await.unwrap();
    assert_eq!(outcome.result.code, ResultCode::SIZE_LIMIT_EXCEEDED);
    assert!(
        outcome.entries[0]
            .attributes
            .iter()
            .all(|(_, values)| values.is_empty())
    );
    let moved = client.delete("ou=x,ou=elsewhere,dc=example,dc=com", &[]).await.unwrap();
    assert_eq!((moved.code, moved.referrals.len()), (ResultCode::REFERRAL, 1));
}

#[tokio::test]
async fn many_requests_share_one_connection() {
    let slapd = Slapd::start().await;
    let client = slapd.manager().await;
    let streams: Vec<_> = (0..300)
        .map(|number| {
            let name = ["Ann", "Bob", "Cid"][number % 3];
            let search = Search::new("dc=example,dc=com", Scope::WholeSubtree, equality("cn", name));
            (name, client.search(&search, &[]).unwrap())
        })
        .collect();
    // The answers are read in the opposite order: each finds its request.
    for (name, stream) in streams.into_iter().rev() {
        let outcome = stream.collect().await.unwrap();
        assert_eq!(names(&outcome.entries), [name]);
    }
}

#[tokio::test]
async fn pages_follow_each_other() {
    let slapd = Slapd::start().await;
    let client = slapd.manager().await;
    let mut cookie = Vec::new();
    let mut pages = Vec::new();
    loop {
        let page = Control::critical(PagedResults {
            size: 2,
            cookie: &cookie,
        });
        let outcome = client.search(&people(), &[&page]).unwrap().collect().await.unwrap();
        let value = outcome.result.control("1.2.840.113556.1.4.319").unwrap();
        cookie = PagedResults::decode_value(value).unwrap().cookie.to_vec();
        pages.push(outcome.entries.len());
        if cookie.is_empty() {
            break;
        }
    }
    assert_eq!(pages, [2, 1]);
}

// Not combined with paging: slapd 2.5 sends a page before it has stored its sort state, and answers `busy` to a quick
// client.
#[tokio::test]
async fn the_server_sorts() {
    let slapd = Slapd::start().await;
    let client = slapd.manager().await;
    let keys = [SortKey {
        attribute: b"cn",
        // `name` has no ordering rule of its own.
        ordering_rule: Some(b"caseIgnoreOrderingMatch"),
        reverse: true,
    }];
    let sort = Control::critical(SortKeys(List::new(&keys)));
    let outcome = client.search(&people(), &[&sort]).unwrap().collect().await.unwrap();
    let sorted = outcome.result.control("1.2.840.113556.1.4.474").unwrap();
    assert_eq!(SortResponse::decode_value(sorted).unwrap().code, ResultCode::SUCCESS);
    assert_eq!(names(&outcome.entries), ["Cid", "Bob", "Ann"]);
}

#[tokio::test]
async fn controls_of_requests_and_responses() {
    let slapd = Slapd::start().await;
    let client = slapd.manager().await;
    let matched = Control::critical(MatchedValues(vec![equality("sn", "second")]));
    let outcome = client.search(&people(), &[&matched]).unwrap().collect().await.unwrap();
    assert!(
        outcome
            .entries
            .iter()
            .all(|entry| entry.values("sn") == [b"second".to_vec()])
    );

    let replace = [Change {
        operation: ModifyOperation::Replace,
        attribute: "sn",
        values: &[b"new"],
    }];
    let wanted: [&[u8]; 1] = [b"sn"];
    let before = Control::critical(PreRead(List::new(&wanted)));
    let after = Control::critical(PostRead(List::new(&wanted)));
    let assertion = Control::critical(AssertionControl(equality("sn", "ann")));
    let result = client
        .modify(&dn("Ann"), &replace, &[&before, &after, &assertion])
        .await
        .unwrap();
    let read = |oid| SearchEntry::from_read_entry(result.control(oid).unwrap()).unwrap();
    assert_eq!(read("1.3.6.1.1.13.1").values("sn").len(), 2);
    assert_eq!(read("1.3.6.1.1.13.2").values("sn"), [b"new".to_vec()]);
    let failed = client.modify(&dn("Ann"), &replace, &[&assertion]).await.unwrap();
    assert_eq!(failed.code, ResultCode::ASSERTION_FAILED);
    assert!(find(&RawControls::default(), "1.2").is_none());
}

#[tokio::test]
async fn extended_operations() {
    let slapd = Slapd::start().await;
    let client = slapd.manager().await;
    let ann = dn("Ann");
    let generated = client
        .password_modify(&PasswordModifyRequest {
            user_identity: Some(ann.as_bytes()),
            ..PasswordModifyRequest::default()
        })
        .await
        .unwrap()
        .unwrap();
    let other = slapd.client().await;
    other
        .simple_bind(&ann, &generated, &[])
        .await
        .unwrap()
        .success()
        .unwrap();
    let mut value = Vec::new();
    cancel::encode_request(&mut value, ironbark_client::proto::MessageId::new(4711).unwrap());
    let reply = client.extended(cancel::OID, Some(&value), &[]).await.unwrap();
    assert_eq!(reply.result.code, ResultCode::NO_SUCH_OPERATION);
    let unknown = client.extended("1.2.3", None, &[]).await.unwrap();
    assert_eq!(unknown.result.code, ResultCode::PROTOCOL_ERROR);
}

#[tokio::test]
async fn abandoned_operations_leave_the_connection_usable() {
    let slapd = Slapd::start().await;
    let client = slapd.manager().await;
    for _ in 0..50 {
        let stream = client.search(&people(), &[]).unwrap();
        drop(stream);
        client
            .send(&Request::Delete(b"cn=nobody,dc=example,dc=com"), &[])
            .unwrap()
            .abandon();
    }
    let outcome = client.search(&people(), &[]).unwrap().collect().await.unwrap();
    assert_eq!(outcome.entries.len(), 3);
}

#[tokio::test]
async fn connections_end_with_a_reason() {
    let slapd = Slapd::start().await;
    let address = format!("127.0.0.1:{}", slapd.port);
    let client = Client::connect_tcp(&address, Options::default()).await.unwrap();
    client.simple_bind("", b"", &[]).await.unwrap().success().unwrap();
    // slapd answers what it cannot decode with a notice of disconnection.
    let broken = Request::Bind(ironbark_client::proto::BindRequest {
        version: 3,
        name: b"",
        authentication: ironbark_client::proto::Authentication::Other { identifier: 0xa3 },
    });
    let error = client.send(&broken, &[]).unwrap().bind_reply().await.unwrap_err();
    let ClientError::Closed { reason } = &error else {
        panic!("{error}")
    };
    assert!(reason.contains("decoding error"), "{reason}");
    let notice = client.notification().await.unwrap();
    assert_eq!(notice.name.as_deref(), Some("1.3.6.1.4.1.1466.20036"));
    assert!(client.notification().await.is_none());
    assert!(matches!(client.who_am_i().await, Err(ClientError::Closed { .. })));

    let client = slapd.client().await;
    let other = client.clone();
    client.unbind().await.unwrap();
    assert!(matches!(other.who_am_i().await, Err(ClientError::Closed { .. })));
    let nowhere = Client::connect_unix(Path::new("/nonexistent/ldapi"), Options::default()).await;
    assert!(matches!(nowhere, Err(ClientError::Connect { .. })));
}

#[tokio::test]
async fn silence_is_a_timeout() {
    let (ours, _theirs) = tokio::io::duplex(1024);
    let options = Options {
        operation_timeout: Duration::from_millis(5),
        ..Options::default()
    };
    let client = Client::from_stream(ours, options);
    assert!(matches!(client.who_am_i().await, Err(ClientError::Timeout(_))));
}

#[tokio::test]
async fn nonsense_from_the_server_ends_the_connection() {
    use tokio::io::AsyncWriteExt;

    for (octets, text) in [
        (&b"HTTP/1.1 400"[..], "not a SEQUENCE"),
        (&b"\x30\x84\x7f\xff\xff\xff"[..], "exceeds the limit"),
        (&b"\x30\x05\x02\x01\x01\x7f\x00"[..], "decoding error"),
        (
            &b"\x30\x0c\x02\x01\x00\x65\x07\x0a\x01\x00\x04\x00\x04\x00"[..],
            "message ID 0",
        ),
    ] {
        let (ours, mut theirs) = tokio::io::duplex(1024);
        let client = Client::from_stream(ours, Options::default());
        theirs.write_all(octets).await.unwrap();
        let error = client.who_am_i().await.unwrap_err();
        assert!(
            matches!(&error, ClientError::Protocol(reason) if reason.contains(text)),
            "{error}"
        );
    }
}
