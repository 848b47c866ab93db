//! `reverse-lookup` and rules with `domain`, compared with Debian's slapd.

use std::process::Command;

use ironbark_testkit::{Flavor, Server};

use crate::sources::{BASE, DATA};

const RULES: &str = "\
access to dn.base=\"dc=example,dc=com\" attrs=dc by domain.regex=^localhost read by domain=local search by * none
access to dn.base=\"dc=example,dc=com\" attrs=objectClass
  by domain.subtree=localhost read by domain.regex=^unk read by domain=* search
access to dn.base=\"dc=example,dc=com\" attrs=entry by * read
access to dn.base=\"cn=ann,dc=example,dc=com\" attrs=cn by domain.subtree=ocalhost read by domain=LOCAL read
access to dn.base=\"cn=ann,dc=example,dc=com\" attrs=sn by domain=unknown read by * none
access to dn.base=\"cn=ann,dc=example,dc=com\" attrs=entry,objectClass by * read
";

fn started(flavor: Flavor, global: &str) -> Server {
    let mut server = Server::prepare(flavor, &format!("{global}\n{}{RULES}", Server::PEOPLE_CONFIG)).unwrap();
    server.slapadd(DATA).unwrap();
    server.launch().unwrap();
    server
}

/// The view of anonymous clients on both entries, over TCP and over the local socket.
fn seen(server: &Server) -> [String; 2] {
    [server.url(), server.ldapi_url()].map(|url| {
        let names = [BASE.to_owned(), format!("cn=ann,{BASE}")];
        let entry = |name: &String| {
            let arguments = [
                "-x",
                "-LLL",
                "-H",
                &url,
                "-b",
                name,
                "-s",
                "base",
                "dc",
                "objectClass",
                "cn",
                "sn",
            ];
            server.client_with("ldapsearch", &[], &arguments, "").unwrap().stdout
        };
        names.iter().map(entry).collect()
    })
}

/// The system's name for 127.0.0.1, usually `localhost`.
fn name_of_loopback() -> Option<String> {
    let output = Command::new("getent").args(["hosts", "127.0.0.1"]).output().unwrap();
    let line = String::from_utf8(output.stdout).unwrap();
    line.split_whitespace().nth(1).map(str::to_owned)
}

#[test]
fn rules_see_the_names_of_clients_where_they_are_looked_up() {
    let name = name_of_loopback();
    for global in ["", "reverse-lookup off", "reverse-lookup on"] {
        let (theirs, ours) = (started(Flavor::OpenLdap, global), started(Flavor::Ironbark, global));
        let [by_address, by_socket] = seen(&ours);
        assert_eq!([&by_address, &by_socket], seen(&theirs).each_ref(), "{global}");
        let name = name.as_deref().filter(|_| global.ends_with("on"));
        let is_localhost = name.is_some_and(|name| name.starts_with("localhost"));
        assert_eq!(
            by_address.contains("dc: example"),
            is_localhost,
            "{global}: {by_address}"
        );
        assert_eq!(by_address.contains("sn: ann"), name.is_none(), "{global}: {by_address}");
        assert!(
            by_socket.contains("cn: ann") && !by_address.contains("cn: ann"),
            "{by_socket}"
        );
    }
}
