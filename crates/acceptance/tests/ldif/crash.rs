//! Changes of many files, and kill -9 in the middle of them.

use ironbark_client::{Client, Options, proto::ModifyDnRequest};
use ironbark_testkit::{Flavor, Server};

use super::{config, files};

const CHILDREN: usize = 40;
const ROUNDS: usize = 6;

async fn connect(server: &Server) -> Client {
    let address = format!("127.0.0.1:{}", server.port());
    let client = Client::connect_tcp(&address, Options::default()).await.unwrap();
    let bound = client
        .simple_bind("cn=Manager,dc=example,dc=com", b"secret", &[])
        .await
        .unwrap();
    bound.success().unwrap();
    client
}

/// Renames an organizational unit repeatedly, with everything below it and all references to that, until the connection
/// is gone. Returns the number of renames.
async fn rename(client: Client, mut at: usize) -> usize {
    loop {
        let (old, new) = (format!("ou=o{at},dc=example,dc=com"), format!("ou=o{}", at + 1));
        let request = ModifyDnRequest {
            entry: old.as_bytes(),
            new_rdn: new.as_bytes(),
            delete_old_rdn: true,
            new_superior: None,
        };
        match client.modify_dn(&request, &[]).await {
            Ok(renamed) => renamed.success().unwrap(),
            Err(_) => return at,
        };
        at += 1;
    }
}

#[tokio::test]
async fn a_moved_subtree_and_what_refers_to_it_is_whole_after_kill_9() {
    let text = config("overlay refint\nrefint_attributes member\nlimits * size=unlimited");
    let mut server = Server::prepare(Flavor::Ironbark, &text).unwrap();
    let mut ldif = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n\
        dn: ou=o0,dc=example,dc=com\nobjectClass: organizationalUnit\nou: o0\n"
        .to_owned();
    for number in 0..CHILDREN {
        let person = format!("cn=p{number},ou=o0,dc=example,dc=com");
        let entries = format!(
            "\ndn: {person}\nobjectClass: person\ncn: p{number}\nsn: x\n\n\
             dn: cn=g{number},dc=example,dc=com\nobjectClass: groupOfNames\ncn: g{number}\nmember: {person}\n"
        );
        ldif.push_str(&entries);
    }
    server.slapadd(&ldif).unwrap();
    server.launch().unwrap();
    let mut at = 0;
    for round in 0..ROUNDS {
        let client = connect(&server).await;
        let renaming = tokio::spawn(rename(client, at));
        // At this moment some files have changed.
        let goal = format!("dc=example,dc=com/ou=o{}", at + 2 + round);
        while !server.layout().join("db").join(&goal).exists() {
            assert!(!renaming.is_finished(), "{}", server.log());
            tokio::task::yield_now().await;
        }
        server.kill().unwrap();
        let acknowledged = renaming.await.unwrap();
        server.launch().unwrap();
        let names: Vec<String> = files(&server).into_keys().collect();
        let unit = |at: usize| names.contains(&format!("dc=example,dc=com/ou=o{at}.ldif"));
        at = if unit(acknowledged) {
            acknowledged
        } else {
            acknowledged + 1
        };
        assert!(unit(at), "{names:?}");
        assert_eq!(names.len(), 2 + 2 * CHILDREN, "{names:?}");
        for (name, content) in files(&server) {
            assert!(
                !name.contains("/ou=o") || name.contains(&format!("/ou=o{at}")),
                "{name}"
            );
            let is_group = name.contains("/cn=g");
            assert!(
                !is_group || content.contains(&format!(",ou=o{at},dc=example,dc=com\n")),
                "{name}: {content}"
            );
        }
        let found = server
            .search(&["-b", "dc=example,dc=com", "(sn=x)", "1.1"])
            .unwrap()
            .success()
            .unwrap();
        assert_eq!(found.stdout.matches(&format!(",ou=o{at},")).count(), CHILDREN);
    }
}
