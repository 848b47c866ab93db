//! The server, connections to it, and what they show.

use std::process::Command;

use ironbark_client::{
    Client, Options, Search,
    proto::{Assertion, EncodeControl, Filter, Scope},
};
use ironbark_testkit::{Flavor, Server, Tool};

use crate::turns::{
    change::Change,
    model::{BASE, Model, text_of},
};

const READER: &str = "cn=reader,dc=example,dc=com";
const ENTRIES: &str = "\
dn: dc=example,dc=com
objectClass: domain
dc: example

dn: cn=reader,dc=example,dc=com
objectClass: person
cn: reader
sn: x
userPassword: secret
";

/// A server and its database.
pub(crate) struct Site {
    pub(crate) server: Server,
    /// While it runs: a connection that may write, and one that may not.
    clients: Option<(Client, Client)>,
}

impl Site {
    /// A server that does not run.
    pub(crate) fn new() -> Self {
        let rules = "index description eq\naccess to attrs=userPassword by anonymous auth\naccess to * by * read";
        let server = Server::prepare(Flavor::Ironbark, &Server::people_config("", rules)).unwrap();
        server.slapadd(ENTRIES).unwrap();
        Self { server, clients: None }
    }

    pub(crate) async fn start(&mut self) {
        self.server.launch().unwrap();
        let root = connect(&self.server, "cn=Manager,dc=example,dc=com").await;
        self.clients = Some((root, connect(&self.server, READER).await));
    }

    pub(crate) fn stop(&mut self) {
        self.clients = None;
        self.server.stop().unwrap();
    }

    pub(crate) fn kill(&mut self) {
        self.clients = None;
        self.server.kill().unwrap();
    }

    pub(crate) fn is_running(&self) -> bool {
        self.clients.is_some()
    }

    pub(crate) fn client(&self) -> &Client {
        &self.clients.as_ref().unwrap().0
    }

    /// A change by a subject that may only read.
    pub(crate) async fn try_without_right(&self, change: &Change) -> u32 {
        let (_, reader) = self.clients.as_ref().unwrap();
        change.send(reader, &[]).await.unwrap().code.0
    }

    /// Sends all changes, then reads their results.
    pub(crate) async fn make(&self, changes: &[Change], controls: &[&dyn EncodeControl]) -> Vec<u32> {
        let sent: Vec<_> = changes
            .iter()
            .map(|change| change.send(self.client(), controls))
            .collect();
        let mut codes = Vec::new();
        for result in sent {
            codes.push(result.await.unwrap().code.0);
        }
        codes
    }

    /// What a search shows.
    pub(crate) async fn shown(&self) -> Model {
        self.found(Filter::Present(b"objectClass".into())).await
    }

    /// What a search for a description shows.
    pub(crate) async fn with_value(&self, value: u8) -> Model {
        let text = text_of(value);
        let filter = Filter::Equality(Assertion {
            attribute: b"description".into(),
            value: text.as_bytes().into(),
        });
        self.found(filter).await
    }

    async fn found(&self, filter: Filter<'_>) -> Model {
        let search = Search::new(BASE, Scope::SingleLevel, filter);
        let answer = self.client().search(&search, &[]).unwrap().collect().await.unwrap();
        answer.result.success().unwrap();
        let mut model = Model::default();
        for entry in &answer.entries {
            model.found(&entry.dn, entry.values("description"));
        }
        model
    }

    /// Every page, entry and index row is sound.
    pub(crate) fn check_deeply(&self) {
        let mut command = Command::new(Flavor::Ironbark.program().unwrap());
        let checked = command.args(["health", "--deep", "-f"]).arg(self.server.config_path());
        let output = checked.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// What slapcat shows.
    pub(crate) fn dumped(&self) -> Model {
        let outcome = self.server.tool(Tool::Cat, &[], "").unwrap().success().unwrap();
        Model::of_ldif(&outcome.stdout)
    }
}

async fn connect(server: &Server, name: &str) -> Client {
    let address = format!("127.0.0.1:{}", server.port());
    let client = Client::connect_tcp(&address, Options::default()).await.unwrap();
    let bound = client.simple_bind(name, b"secret", &[]).await.unwrap();
    bound.success().unwrap();
    client
}
