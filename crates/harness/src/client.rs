//! A connection: the operations of a client.

use std::sync::Arc;

use ironbark_directory::{HeldUntil, Identity, Peer, Progress, Service, Session, Started, Worker};
use ironbark_ldap_proto::{
    AddRequest, DerefAliases, EncodeControl, MessageId, ModifyChange, ModifyDnRequest, ModifyOperation, ModifyRequest,
    PartialAttribute, Request, Scope, SearchRequest, controls, message::encode_request,
};
use ironbark_model::{Dn, Filter};

use crate::{DecodedAnswer, read_answer};

/// A client without a socket: its connection has a reactor of its own.
pub struct TestClient {
    /// The server.
    pub directory: Arc<Service>,
    pub(crate) worker: Option<Worker>,
    /// Who is bound, and what the connection keeps.
    pub session: Session,
    next_id: i32,
}

impl TestClient {
    /// A connection that is bound as the rootdn.
    pub fn new(directory: &Arc<Service>) -> Self {
        Self::from(directory, 7, None)
    }

    /// A connection with a number, of a user of this machine if one is given.
    pub fn from(directory: &Arc<Service>, number: u64, user: Option<u32>) -> Self {
        let peer = Peer {
            name: "IP=192.0.2.1:4711".into(),
            socket_name: "IP=192.0.2.2:389".into(),
            listener_url: "ldap://".into(),
            domain: None,
            address: None,
            credentials: user.map(|user| (user, user)),
        };
        let mut client = Self {
            directory: Arc::clone(directory),
            worker: Some(directory.worker()),
            session: Session::new(number, Arc::new(peer)),
            next_id: 0,
        };
        client.become_("cn=root,dc=ex");
        client
    }

    /// Adds the suffix, `ou=p` and a few people.
    pub fn populate(&mut self) {
        self.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
        self.must_add("ou=p,dc=ex", "objectClass: organizationalUnit");
        for name in ["a", "b", "c"] {
            self.must_add(&format!("cn={name},ou=p,dc=ex"), "objectClass: person\nsn: s");
        }
    }

    /// Binds as somebody; the empty name is anonymous.
    pub fn become_(&mut self, dn: &str) {
        let schema = &self.directory.configuration().schema;
        let dn = Dn::parse(schema, dn.as_bytes()).expect("a DN");
        self.session.identity = Arc::new(Identity {
            dn,
            ..Identity::default()
        });
    }

    /// The worker and the session, for requests that are already encoded.
    pub fn parts(&mut self) -> (&mut Worker, &mut Session) {
        (self.worker.as_mut().expect("open"), &mut self.session)
    }

    /// Acts like a reactor that is about to wait.
    pub fn rest(&mut self) {
        self.worker.as_mut().expect("open").rest();
    }

    /// Message ID of the last request.
    pub fn last_message_id(&self) -> i32 {
        self.next_id
    }

    /// Sends a request with controls, and reads the answer.
    pub fn send(&mut self, request: &Request<'_>, controls: &[&dyn EncodeControl]) -> DecodedAnswer {
        read_answer(&self.send_for_octets(request, controls))
    }

    /// All octets of the answer, as they would go to the client.
    pub fn send_for_octets(&mut self, request: &Request<'_>, controls: &[&dyn EncodeControl]) -> Vec<u8> {
        self.next_id += 1;
        let mut pdu = Vec::new();
        encode_request(
            &mut pdu,
            MessageId::new(self.next_id).expect("in range"),
            request,
            controls,
        );
        let mut out = Vec::new();
        let worker = self.worker.as_mut().expect("open");
        let mut started = worker.start(&mut self.session, &pdu, &mut out);
        // Time stands still here.
        while let Started::Held(request) = started {
            let (held, until) = *request;
            let decision = match until {
                HeldUntil::Time(_, decision) => Some(decision),
                HeldUntil::Decided(receiver) => receiver.blocking_recv().ok(),
            };
            started = worker.resume(&mut self.session, held, decision, &mut out);
        }
        match started {
            Started::Answered => {}
            Started::Search(mut run) => while worker.step(&mut self.session, &mut run, &mut out) == Progress::More {},
            Started::Submitted(submitted) => {
                let completion = submitted.receiver.blocking_recv().expect("completes");
                worker.finish(&mut self.session, completion, &mut out);
            }
            Started::Disconnect(reason) => panic!("disconnected: {reason}"),
            Started::StartTls => panic!("there is no connection to secure"),
            Started::Held(..) => panic!("it has gone on"),
        }
        out
    }

    /// `text` has a line `name: value` for each value.
    pub fn add(&mut self, dn: &str, text: &str) -> DecodedAnswer {
        self.add_with(dn, text, &[])
    }

    /// Adds an entry; `text` has a line `name: value` for each value.
    pub fn add_with(&mut self, dn: &str, text: &str, controls: &[&dyn EncodeControl]) -> DecodedAnswer {
        let mut grouped: Vec<(&str, Vec<&[u8]>)> = Vec::new();
        for (name, value) in text.lines().map(split_line) {
            match grouped.last_mut() {
                Some((last, values)) if *last == name => values.push(value.as_bytes()),
                _ => grouped.push((name, vec![value.as_bytes()])),
            }
        }
        let attributes: Vec<PartialAttribute<'_>> = grouped
            .iter()
            .map(|(name, values)| PartialAttribute {
                description: name.as_bytes(),
                values: values.as_slice().into(),
            })
            .collect();
        let request = AddRequest {
            entry: dn.as_bytes(),
            attributes: attributes.as_slice().into(),
        };
        self.send(&Request::Add(request), controls)
    }

    /// Adds an entry, and panics if that fails.
    pub fn must_add(&mut self, dn: &str, text: &str) {
        let answer = self.add(dn, text);
        assert_eq!(answer.brief(), (0, ""), "adding {dn}");
    }

    /// `text` has changes as LDIF has them: `add: name`, lines of values, `-`.
    pub fn modify(&mut self, dn: &str, text: &str) -> DecodedAnswer {
        self.modify_with(dn, text, &[])
    }

    /// Modifies an entry; `text` is in the form of LDIF changes.
    pub fn modify_with(&mut self, dn: &str, text: &str, controls: &[&dyn EncodeControl]) -> DecodedAnswer {
        let mut parts: Vec<(ModifyOperation, &str, Vec<&[u8]>)> = Vec::new();
        let mut open = false;
        for line in text.lines() {
            if line == "-" {
                open = false;
                continue;
            }
            let (name, value) = split_line(line);
            if open {
                parts.last_mut().expect("open").2.push(value.as_bytes());
                continue;
            }
            let operation = match name {
                "add" => ModifyOperation::Add,
                "delete" => ModifyOperation::Delete,
                "replace" => ModifyOperation::Replace,
                "increment" => ModifyOperation::Increment,
                other => panic!("no change: {other}"),
            };
            parts.push((operation, value, Vec::new()));
            open = true;
        }
        let changes: Vec<ModifyChange<'_>> = parts
            .iter()
            .map(|(operation, name, values)| ModifyChange {
                operation: *operation,
                attribute: name.as_bytes(),
                values: values.as_slice().into(),
            })
            .collect();
        let request = ModifyRequest {
            object: dn.as_bytes(),
            changes: changes.as_slice().into(),
        };
        self.send(&Request::Modify(request), controls)
    }

    /// Deletes an entry.
    pub fn delete(&mut self, dn: &str) -> DecodedAnswer {
        self.delete_with(dn, &[])
    }

    /// Deletes an entry, with controls.
    pub fn delete_with(&mut self, dn: &str, controls: &[&dyn EncodeControl]) -> DecodedAnswer {
        self.send(&Request::Delete(dn.as_bytes()), controls)
    }

    /// Renames, deleting the old RDN.
    pub fn rename(&mut self, dn: &str, new_rdn: &str, new_superior: Option<&str>) -> DecodedAnswer {
        self.rename_with(dn, new_rdn, true, new_superior, &[])
    }

    /// Renames an entry, with controls.
    pub fn rename_with(
        &mut self,
        dn: &str,
        new_rdn: &str,
        delete_old_rdn: bool,
        new_superior: Option<&str>,
        controls: &[&dyn EncodeControl],
    ) -> DecodedAnswer {
        let request = ModifyDnRequest {
            entry: dn.as_bytes(),
            new_rdn: new_rdn.as_bytes(),
            delete_old_rdn,
            new_superior: new_superior.map(str::as_bytes),
        };
        self.send(&Request::ModifyDn(request), controls)
    }

    /// The values of some attributes of an entry, a line each, as the rootdn sees them; `None` if there is no such
    /// entry.
    pub fn read(&mut self, dn: &str, names: &[&str]) -> Option<String> {
        let mut found = self.search(dn, Scope::BaseObject, "(objectClass=*)", names);
        found.pop().map(|entry| {
            entry
                .split_once('\n')
                .map(|(_, rest)| rest.to_owned())
                .unwrap_or_default()
        })
    }

    /// All stored attributes, without those that differ from run to run.
    pub fn stored(&mut self, dn: &str) -> Option<String> {
        let all = self.read(dn, &["*", "+"])?;
        let volatile = ["entryUUID", "entryDN", "subschemaSubentry", "hasSubordinates"];
        Some(
            all.lines()
                .filter(|line| !volatile.contains(&split_line(line).0))
                .fold(String::new(), |text, line| text + line + "\n"),
        )
    }

    /// The entries that a search finds.
    pub fn search(&mut self, base: &str, scope: Scope, filter: &str, names: &[&str]) -> Vec<String> {
        let identity = Arc::clone(&self.session.identity);
        self.become_("cn=root,dc=ex");
        let answer = self.search_as_self(base, scope, filter, names);
        self.session.identity = identity;
        answer.entries
    }

    /// With the identity of the session.
    pub fn search_as_self(&mut self, base: &str, scope: Scope, filter: &str, names: &[&str]) -> DecodedAnswer {
        let manage = controls::Control::critical(controls::ManageDsaIt);
        self.search_with(base, scope, filter, names, &[&manage])
    }

    /// Searches with controls.
    pub fn search_with(
        &mut self,
        base: &str,
        scope: Scope,
        filter: &str,
        names: &[&str],
        controls: &[&dyn EncodeControl],
    ) -> DecodedAnswer {
        let names: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
        let request = search_request(base, scope, filter, &names);
        self.send(&Request::Search(request), controls)
    }
}

/// A search without limits.
pub fn search_request<'a>(base: &'a str, scope: Scope, filter: &'a str, names: &'a [&'a [u8]]) -> SearchRequest<'a> {
    SearchRequest {
        base: base.as_bytes(),
        scope,
        deref_aliases: DerefAliases::Never,
        size_limit: 0,
        time_limit: 0,
        types_only: false,
        filter: Filter::parse(filter.as_bytes(), 10).expect("a filter"),
        attributes: names.into(),
    }
}

/// A request as a client sends it.
pub fn encoded(request: &Request<'_>, controls: &[&dyn EncodeControl]) -> Vec<u8> {
    let mut pdu = Vec::new();
    encode_request(&mut pdu, MessageId::new(1).expect("in range"), request, controls);
    pdu
}

fn split_line(line: &str) -> (&str, &str) {
    let (name, value) = line.split_once(':').expect("a line `name: value`");
    (name, value.trim_start())
}
