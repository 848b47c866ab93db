//! A consumer, its provider, and the network between them: a queue of messages that can be cut anywhere.

use std::{collections::VecDeque, sync::Arc, task::Waker};

use ironbark_client::{ReceivedResult, SearchItem};
use ironbark_directory::{
    AttributeChoice, Incoming, PLACE_ATTRIBUTE, Progress, RECENT_ATTRIBUTE, ReplicaMapping, ReplicaSession, Replicated,
    SearchRun, Started, replicate,
};
use ironbark_ldap_proto::{
    DecodeLimits, DerefAliases, EncodeControl, Filter, MessageId, Request, ResponseMessage, Scope, SearchRequest,
    controls::{Control, ManageDsaIt, SyncRequest},
    frame,
    message::encode_request,
};
use ironbark_model::Dn;
use ironbark_replication::{Begin, Consumer, Machine, SyncMessage};
use tokio::runtime::Runtime;

use crate::node::{Node, Replicator};
use ironbark_harness::TestClient;

/// What a consumer asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content {
    pub(crate) base: &'static str,
    pub(crate) scope: Scope,
    pub(crate) filter: &'static str,
    /// Empty: all.
    pub(crate) attributes: &'static [&'static str],
}

/// A consumer and its provider, by their numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) consumer: usize,
    pub(crate) provider: usize,
    /// Which of the consumer's providers it is, from 1 on.
    pub(crate) rid: u16,
}

/// A consumer that follows its provider.
pub(crate) struct Link {
    pub(crate) ends: Ends,
    pub(crate) content: Content,
    consumer: Consumer,
    /// The connection's end at the provider.
    client: TestClient,
    run: Option<Box<SearchRun>>,
    queue: VecDeque<SyncMessage>,
    number: i32,
    /// Whether there is a search.
    is_up: bool,
    /// Why the last search was given up.
    pub(crate) failure: Option<String>,
}

impl Link {
    pub(crate) fn new(nodes: &[Node], ends: Ends, content: Content, is_shared: bool) -> Self {
        let Node { site, id, kind, .. } = &nodes[ends.consumer];
        let dn = |text: &str| Dn::parse(&site.directory.configuration().schema, text.as_bytes()).expect("a DN");
        let whole = content.filter == "(objectClass=*)";
        let mapping = ReplicaMapping {
            line: ends.rid,
            remote_base: dn(content.base),
            local_base: dn(content.base),
            scope: match content.scope {
                Scope::BaseObject => ironbark_store::DitScope::Base,
                Scope::SingleLevel => ironbark_store::DitScope::OneLevel,
                Scope::WholeSubtree => ironbark_store::DitScope::Subtree,
                Scope::SubordinateSubtree => ironbark_store::DitScope::Children,
            },
            filter: if whole { "" } else { content.filter }.into(),
            attributes: AttributeChoice {
                attributes: content.attributes.iter().map(|name| (*name).into()).collect(),
                excluded: Vec::new(),
            },
            schema_checking: false,
            needs_csn: is_shared,
            multi_provider: is_shared,
            is_sole: !is_shared,
            merges_values: kind.by_log,
            own_csns: false,
            author: dn("cn=root,dc=ex"),
        };
        let provider = &nodes[ends.provider];
        let mut client = provider.site.connect();
        client.become_(Replicator::NAME);
        let machine = Machine::new(ends.rid, is_shared.then_some(*id), true);
        let machine = if kind.by_log { machine.with_log() } else { machine };
        Self {
            ends,
            content,
            consumer: Consumer::new(Arc::clone(&site.directory), Arc::new(mapping), machine),
            client,
            run: None,
            queue: VecDeque::new(),
            number: 0,
            is_up: false,
            failure: None,
        }
    }

    /// Whether the refresh is completed and changes are followed.
    pub(crate) fn follows(&self) -> bool {
        self.is_up && self.consumer.follows()
    }

    /// Breaks the connection.
    pub(crate) fn cut(&mut self, runtime: &Runtime, settles: bool) {
        self.run = None;
        self.queue.clear();
        self.is_up = false;
        if settles {
            // A refusal ends the search anyway.
            let _ = runtime.block_on(self.consumer.settle());
        }
        self.consumer.stop();
    }

    /// Lets the provider work, and delivers up to so many messages. Returns how many were delivered.
    pub(crate) fn deliver(&mut self, runtime: &Runtime, most: usize) -> usize {
        if !self.is_up {
            // As the session does.
            if let Err(stop) = runtime.block_on(self.consumer.settle_vector()) {
                self.failure = Some(stop.to_string());
                return 0;
            }
            self.begin();
        }
        self.pump();
        for delivered in 0..most {
            let Some(message) = self.queue.pop_front() else {
                return delivered;
            };
            if crate::is_traced() {
                eprintln!(
                    "{} -> {}: {message}{}",
                    self.ends.provider,
                    self.ends.consumer,
                    logged(&message)
                );
            }
            match runtime.block_on(self.consumer.take(message)) {
                Ok(None) => {}
                Ok(Some(_)) => {
                    self.cut(runtime, true);
                    return delivered + 1;
                }
                Err(stop) => {
                    self.failure = Some(stop.to_string());
                    self.cut(runtime, true);
                    return delivered + 1;
                }
            }
        }
        most
    }

    /// Waits until what was taken is committed.
    pub(crate) fn settle(&mut self, runtime: &Runtime) {
        if let Err(stop) = runtime.block_on(self.consumer.settle()) {
            self.failure = Some(stop.to_string());
            self.cut(runtime, false);
        }
    }

    /// Waits until what was taken before a cut is committed as well.
    pub(crate) fn drain(&self, consumer: &Node, runtime: &Runtime) {
        let nothing = Replicated {
            incoming: Incoming::Nothing,
            via: 0,
            csn: None,
            in_refresh: false,
            cookie: Vec::new(),
            step: None,
            mapping: Arc::clone(self.consumer.mapping()),
            session: (ReplicaSession::default(), 0),
        };
        let context = consumer.context();
        let queued = replicate(&consumer.site.directory, &context, Arc::new(nothing));
        runtime
            .block_on(queued.expect("room"))
            .expect("an answer")
            .expect("nothing is refused");
    }

    fn begin(&mut self) {
        let Begin {
            persists,
            cookie,
            in_log,
        } = self.consumer.begin().expect("a database");
        let (base, filter) = if in_log {
            ("cn=log", "(&(objectClass=auditWriteObject)(reqResult=0))")
        } else {
            (self.content.base, self.content.filter)
        };
        let names: Vec<&[u8]> = if in_log {
            vec![b"*", b"+"]
        } else if self.content.attributes.is_empty() {
            let mapping = self.consumer.mapping();
            let place = mapping.multi_provider.then_some(PLACE_ATTRIBUTE.as_bytes());
            let recent = mapping.merges_values.then_some(RECENT_ATTRIBUTE.as_bytes());
            [&b"*"[..], b"+"].into_iter().chain(place).chain(recent).collect()
        } else {
            let always = ["objectClass", "structuralObjectClass", "entryUUID", "entryCSN"];
            let all = self.content.attributes.iter().copied().chain(always);
            all.map(str::as_bytes).collect()
        };
        let request = SearchRequest {
            base: base.as_bytes(),
            scope: self.content.scope,
            deref_aliases: DerefAliases::Never,
            size_limit: 0,
            time_limit: 0,
            types_only: false,
            filter: Filter::parse(filter.as_bytes(), 10).unwrap(),
            attributes: names[..].into(),
        };
        let sync = Control::critical(SyncRequest {
            persists,
            cookie: Some(cookie.as_bytes()),
            reload_hint: !in_log,
        });
        let manage = Control::critical(ManageDsaIt);
        let controls: [&dyn EncodeControl; 2] = [&sync, &manage];
        self.number += 1;
        let mut pdu = Vec::new();
        let id = MessageId::new(self.number).unwrap();
        encode_request(&mut pdu, id, &Request::Search(request), &controls);
        let mut out = Vec::new();
        let (worker, session) = self.client.parts();
        match worker.start(session, &pdu, &mut out) {
            Started::Answered => {}
            Started::Search(run) => self.run = Some(run),
            _ => panic!("a search is answered or goes on"),
        }
        self.is_up = true;
        self.send(&out);
    }

    /// The provider goes on until it waits for changes.
    fn pump(&mut self) {
        let Some(mut run) = self.run.take() else { return };
        let mut cx = std::task::Context::from_waker(Waker::noop());
        loop {
            if run.is_waiting() && run.poll_ready(&mut cx).is_pending() {
                self.run = Some(run);
                return;
            }
            let mut out = Vec::new();
            let (worker, session) = self.client.parts();
            let progress = worker.step(session, &mut run, &mut out);
            self.send(&out);
            if progress == Progress::Done {
                return;
            }
        }
    }

    fn send(&mut self, mut out: &[u8]) {
        while let Some(length) = frame(out, 1 << 24).unwrap() {
            let (pdu, rest) = out.split_at(length);
            out = rest;
            let response = ResponseMessage::decode(pdu, &DecodeLimits::default()).unwrap();
            let message = match SearchItem::of(&response) {
                Some(item) => SyncMessage::of_item(item).unwrap().expect("sync info"),
                None => SyncMessage::of_result(&ReceivedResult::of(&response).expect("a result")).unwrap(),
            };
            self.queue.push_back(message);
        }
    }
}

/// What an entry of a log tells.
fn logged(message: &SyncMessage) -> String {
    const TOLD: [&str; 9] = [
        "reqType",
        "reqDN",
        "reqNewDN",
        "reqNewSuperior",
        "reqEntryUUID",
        "reqMod",
        "ironbarkReqPlace",
        "ironbarkReqRevision",
        "ironbarkReqBase",
    ];
    let mut text = String::new();
    if let SyncMessage::Entry { attributes, .. } = message {
        for (name, values) in attributes.iter().filter(|(name, _)| TOLD.contains(&&**name)) {
            for value in values {
                text = format!("{text}\n    {name}: {}", String::from_utf8_lossy(value));
            }
        }
    }
    text
}
