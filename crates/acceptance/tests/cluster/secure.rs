//! An etcd with TLS and users.

use ironbark_testkit::{CertificateAuthority, Etcd, Flavor, Server, wait};

use crate::cluster::{TOP, assert_equal, person};

const ADMINISTER: [&[&str]; 7] = [
    &["user", "add", "root:secret"],
    &["user", "grant-role", "root", "root"],
    &["role", "add", "directory"],
    &[
        "role",
        "grant-permission",
        "directory",
        "--prefix=true",
        "readwrite",
        "/here/",
    ],
    &["user", "add", "ironbark:geheim"],
    &["user", "grant-role", "ironbark", "directory"],
    &["auth", "enable"],
];

fn configuration(etcd: &Etcd, words: &str) -> String {
    let cluster = format!("cluster {} {words}\n", etcd.urls());
    Server::people_config("", &cluster)
}

#[test]
fn a_cluster_uses_tls_and_a_user_with_rights_for_its_prefix_alone() {
    let etcd = Etcd::start_secure(&mut CertificateAuthority::new("Etcd").unwrap()).unwrap();
    for arguments in ADMINISTER {
        etcd.etcdctl(arguments).unwrap().success().unwrap();
    }
    let authority = format!("tls_cacert={}", etcd.authority().display());
    let words = format!("prefix=/here user=ironbark password=geheim {authority}");
    let config = configuration(&etcd, &format!("timeout=30 {words}"));
    let all = [(); 2].map(|()| Server::start(Flavor::Ironbark, &config).unwrap());
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    all[1].ldapadd(&person("ann")).unwrap().success().unwrap();
    assert_equal(&all);
    for (words, why) in [
        (
            format!("prefix=/here user=ironbark password=wrong {authority}"),
            "authentication failed",
        ),
        (
            format!("prefix=/else user=ironbark password=geheim {authority}"),
            "permission denied",
        ),
        (format!("prefix=/here {authority}"), "user name is empty"),
        ("prefix=/here user=ironbark password=geheim".to_owned(), "certificate"),
    ] {
        let server = Server::start(Flavor::Ironbark, &configuration(&etcd, &format!("timeout=1 {words}"))).unwrap();
        let said = wait::until(|| server.log().contains(why).then_some(()));
        assert!(said.is_some(), "{why}: {}", server.log());
        let refused = server.ldapadd(TOP).unwrap();
        assert_eq!(refused.code(), Some(51), "{}", refused.stderr);
        assert!(!server.log().contains("geheim"), "no password in a log");
    }
}
