//! cn=config changes during other work: searches of 64 clients, and kill -9.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy knows test functions, but not what they call"
)]

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use ironbark_client::proto::{Filter, ModifyOperation, Scope};
use ironbark_client::{Change, Client, Options, Search};
use ironbark_testkit::{Flavor, Server, Tool};

const BASE: &str = "dc=example,dc=com";
const DATABASE: &str = "olcDatabase={1}mdb,cn=config";
const CLIENTS: usize = 64;
const CHANGES: u32 = 120;
const ROUNDS: u32 = 8;

async fn connect(server: &Server, who: Option<&str>) -> Client {
    let address = format!("127.0.0.1:{}", server.port());
    let client = Client::connect_tcp(&address, Options::default()).await.unwrap();
    if let Some(dn) = who {
        let bound = client.simple_bind(dn, b"secret", &[]).await.unwrap();
        bound.success().unwrap();
    }
    client
}

async fn replace(admin: &Client, dn: &str, attribute: &str, value: &str) -> bool {
    let change = Change {
        operation: ModifyOperation::Replace,
        attribute,
        values: &[value.as_bytes()],
    };
    match admin.modify(dn, &[change], &[]).await {
        Ok(result) => {
            result.success().unwrap();
            true
        }
        Err(_) => false,
    }
}

fn configuration() -> String {
    Server::PEOPLE_CONFIG.replace("database mdb", "database config\nrootpw secret\ndatabase mdb")
}

#[tokio::test]
async fn clients_that_search_notice_nothing_of_changes() {
    let mut server = Server::prepare(Flavor::Ironbark, &configuration()).unwrap();
    server
        .slapadd(&format!("dn: {BASE}\nobjectClass: domain\ndc: example\n"))
        .unwrap();
    server.launch().unwrap();
    let (goes_on, searches) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let mut tasks = Vec::new();
    for _ in 0..CLIENTS {
        let client = connect(&server, None).await;
        let (goes_on, searches) = (Arc::clone(&goes_on), Arc::clone(&searches));
        tasks.push(tokio::spawn(async move {
            while goes_on.load(Ordering::Relaxed) {
                let search = Search::new(BASE, Scope::BaseObject, Filter::Present(b"objectClass"[..].into()));
                let answer = client.search(&search, &[]).unwrap().collect().await.unwrap();
                answer.result.success().unwrap();
                assert_eq!(answer.entries.len(), 1);
                searches.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }
    let admin = connect(&server, Some("cn=config")).await;
    for number in 1..=CHANGES {
        let text = number.to_string();
        let (dn, attribute) = if number % 2 == 0 {
            (DATABASE, "olcTimeLimit")
        } else {
            ("cn=config", "olcIdleTimeout")
        };
        assert!(replace(&admin, dn, attribute, &text).await);
    }
    goes_on.store(false, Ordering::Relaxed);
    for task in tasks {
        task.await.unwrap();
    }
    assert!(searches.load(Ordering::Relaxed) > CLIENTS);
    server.stop().unwrap();
}

/// Changes the server's settings, changes those of the database equally often, and adds and deletes an overlay, until
/// the server is gone. Returns the number of the last acknowledged change.
async fn change_until_the_end(admin: Client, first: u32, acknowledged: Arc<AtomicUsize>) -> u32 {
    let overlay = format!("olcOverlay=memberof,{DATABASE}");
    let attributes: [(&str, &[&[u8]]); 2] = [
        ("objectClass", &[b"olcOverlayConfig", b"olcMemberOfConfig"]),
        ("olcOverlay", &[b"memberof"]),
    ];
    let mut last = first;
    for number in first + 1.. {
        let text = number.to_string();
        if !replace(&admin, "cn=config", "olcIdleTimeout", &text).await
            || !replace(&admin, DATABASE, "olcTimeLimit", &text).await
        {
            return last;
        }
        last = number;
        acknowledged.fetch_add(1, Ordering::Relaxed);
        // Whether it exists depends on where the last round ended.
        let Ok(added) = admin.add(&overlay, &attributes, &[]).await else {
            return last;
        };
        let there = format!("olcOverlay={{0}}memberof,{DATABASE}");
        if !added.is_success() && admin.delete(&there, &[]).await.is_err() {
            return last;
        }
    }
    last
}

async fn number(admin: &Client, dn: &str, attribute: &str) -> u32 {
    let names = [attribute];
    let search = Search::new(dn, Scope::BaseObject, Filter::Present(b"objectClass"[..].into())).with_attributes(&names);
    let answer = admin.search(&search, &[]).unwrap().collect().await.unwrap();
    let entry = answer.entries.first().unwrap();
    entry.text(attribute).map_or(0, |text| text.parse().unwrap())
}

#[tokio::test]
async fn what_was_acknowledged_of_cn_config_survives_kill_9_and_slapd_reads_it() {
    let mut server = Server::prepare(Flavor::Ironbark, &configuration()).unwrap();
    let folder = server.layout().make_dir("slapd.d").unwrap();
    // After the conversion, it reports that there is no database yet.
    server.tool(Tool::Test, &["-F", folder.to_str().unwrap()], "").unwrap();
    server = server.from_directory(&folder);
    server.launch().unwrap();
    let mut last = 0;
    for round in 0..ROUNDS {
        let admin = connect(&server, Some("cn=config")).await;
        let acknowledged = Arc::new(AtomicUsize::new(0));
        let task = tokio::spawn(change_until_the_end(admin, last, Arc::clone(&acknowledged)));
        // The moment is a number of acknowledged changes, and a little more.
        let goal = 3 + usize::try_from(round * 7 % 11).unwrap();
        while acknowledged.load(Ordering::Relaxed) < goal {
            tokio::task::yield_now().await;
        }
        for _ in 0..round * 40 {
            tokio::task::yield_now().await;
        }
        server.kill().unwrap();
        last = task.await.unwrap();
        server.launch().unwrap();
        let admin = connect(&server, Some("cn=config")).await;
        let global = number(&admin, "cn=config", "olcIdleTimeout").await;
        let database = number(&admin, DATABASE, "olcTimeLimit").await;
        assert!(database >= last && global >= database, "{global} {database} {last}");
        assert!(global - last <= 1, "{global} {database} {last}");
        last = global;
        let told = server.log();
        assert!(!told.contains("CRC"), "{told}");
    }
    server.stop().unwrap();
    let read = Tool::Test.run(Flavor::OpenLdap, &["-u", "-F", folder.to_str().unwrap()], "");
    let read = read.unwrap();
    // Debian's slapd has its store in a module, which nothing here has to name.
    assert!(
        !read.stderr.contains("checksum") && !read.stderr.contains("CRC"),
        "{}",
        read.stderr
    );
}
