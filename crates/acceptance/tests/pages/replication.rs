//! docs/replication.md: providers and consumers, with slapd and 389 Directory Server on the other side.

use ironbark_testkit::{CertificateAuthority, Credentials, Ds389, Flavor, NormalizedLdif, Server, Tool, wait};

use super::{
    page::{Block, Section},
    whole::{ADMIN, TOP, add, admin, assert_taken, configure, person, serving, whole, with_database},
};

const PAGE: &str = "docs/replication.md";
/// Where the page has the provider.
const PROVIDER: &str = "ldap://provider.example.com";

/// The page's entry of the replicator, with a password that slappasswd has made.
fn replicator() -> String {
    let [_, _, _, entry] = Section::read(PAGE, "A provider").blocks();
    entry.with(&[("{SSHA}...", hash())]).text
}

fn hash() -> String {
    let made = Tool::Passwd
        .run(Flavor::Ironbark, &["-h", "{SSHA}", "-s", "secret"], "")
        .unwrap();
    made.success().unwrap().stdout.trim().to_owned()
}

/// The page's provider, with the rules for its consumers.
fn providing() -> Server {
    let [settings, _, rules, _] = Section::read(PAGE, "A provider").blocks();
    let text = format!("{}{}", settings.text, rules.text);
    let block = Block { text, ..settings };
    serving(&whole(&block), &format!("{TOP}\n{}", replicator()))
}

/// Users' entries, and the CSNs that servers have, as the administrator sees them.
fn content(server: &Server) -> Option<String> {
    let arguments = [
        "-b",
        "dc=example,dc=com",
        "(objectClass=*)",
        "*",
        "entryUUID",
        "entryCSN",
        "contextCSN",
    ];
    let found = server.client("ldapsearch", &ADMIN, &arguments, "").unwrap();
    let text = NormalizedLdif::new(&found.stdout).sorted().to_string();
    Some(text).filter(|text| text.contains("contextCSN: "))
}

/// Waits until both have the same.
#[track_caller]
pub(super) fn assert_equal(one: &Server, other: &Server) {
    let same = wait::until(|| content(one).filter(|text| content(other).as_ref() == Some(text)));
    assert!(
        same.is_some(),
        "{:?}\n{:?}\n{}\n{}",
        content(one),
        content(other),
        one.log(),
        other.log()
    );
}

pub(crate) fn provider(section: &Section) {
    let [_, line, _, _] = section.blocks();
    let provider = providing();
    add(&provider, &person("ann", "userPassword: pencil"));
    let ann = Credentials::Simple {
        dn: "uid=ann,ou=people,dc=example,dc=com",
        password: "pencil",
    };
    provider.client("ldapwhoami", &ann, &[], "").unwrap().success().unwrap();
    let hidden = provider
        .search(&["-b", "dc=example,dc=com", "(uid=ann)", "userPassword"])
        .unwrap();
    assert!(!hidden.stdout.contains("userPassword"), "{hidden:?}");

    let line = line.with(&[(PROVIDER, provider.url().trim_end_matches('/'))]);
    let slapd = "database mdb\nsuffix dc=example,dc=com\nrootdn cn=admin,dc=example,dc=com\nrootpw secret\n\
        directory {dir}/db\n";
    let slapd = format!(
        "include {{schema}}/core.schema\ninclude {{schema}}/cosine.schema\ninclude {{schema}}/inetorgperson.schema\n\
         {slapd}{}",
        line.text
    );
    let consumer = Server::start(Flavor::OpenLdap, &slapd).unwrap();
    assert_equal(&provider, &consumer);
    add(&provider, &person("ben", ""));
    assert_equal(&provider, &consumer);
}

/// The configuration of one of the page's two servers, whose ports are known.
fn one_of_two(block: &Block, other: &Server) -> String {
    let block = block.with(&[
        ("/etc/ldap/schema/", "{schema}/"),
        ("/etc/ldap/tls/", "{dir}/"),
        ("/var/lib/ldap", "{dir}/db"),
        ("{SSHA}...", &hash()[..]),
        ("ldap://b.example.com", other.url().trim_end_matches('/')),
    ]);
    format!("pidfile {{dir}}/slapd.pid\n{}", block.text)
}

pub(crate) fn two_servers(section: &Section) {
    let [file] = section.blocks();
    let mut authority = CertificateAuthority::new("Test CA").unwrap();
    // Servers that hold the ports.
    let [mut first, mut second] = [(); 2].map(|()| Server::prepare(Flavor::Ironbark, "").unwrap());
    let texts = [
        one_of_two(&file, &second),
        one_of_two(&file, &first).replacen("serverID 1", "serverID 2", 1),
    ];
    for (server, text) in [&mut first, &mut second].into_iter().zip(texts) {
        configure(server, &text);
        server.layout().write("servers.pem", authority.certificate()).unwrap();
        authority.server().unwrap().write(server.layout(), "server").unwrap();
        server.tool(Tool::Test, &["-u"], "").unwrap().success().unwrap();
    }
    first.slapadd(&format!("{TOP}\n{}", replicator())).unwrap();
    first.launch().unwrap();
    second.launch().unwrap();
    assert_equal(&first, &second);
    add(&first, &person("ann", "userPassword: pencil"));
    add(&second, &person("ben", ""));
    assert_equal(&first, &second);
    let found = content(&first).unwrap();
    assert!(
        found.contains("uid=ann,") && found.contains("uid=ben,") && found.contains("userPassword"),
        "{found}"
    );
    assert!(found.contains("#001#") && found.contains("#002#"), "{found}");
}

pub(crate) fn consumer(section: &Section) {
    let [settings] = section.blocks();
    let mut authority = CertificateAuthority::new("Test CA").unwrap();
    let provider = {
        let [plain, _, rules, _] = Section::read(PAGE, "A provider").blocks();
        let tls = "TLSCertificateFile {dir}/server.crt\nTLSCertificateKeyFile {dir}/server.key\n";
        let text = format!("{tls}{}{}", plain.text, rules.text);
        let mut server = Server::prepare(Flavor::Ironbark, &whole(&Block { text, ..plain })).unwrap();
        authority.server().unwrap().write(server.layout(), "server").unwrap();
        server.slapadd(&format!("{TOP}\n{}", replicator())).unwrap();
        server.launch().unwrap();
        server
    };
    let mut settings = settings.with(&[(
        "provider=ldap://provider.example.com",
        &format!("provider={}", provider.url().trim_end_matches('/'))[..],
    )]);
    settings.text = format!("TLSCACertificateFile {{dir}}/ca.crt\n{}", settings.text);
    let mut copy = Server::prepare(Flavor::Ironbark, &whole(&settings)).unwrap();
    copy.layout().write("ca.crt", authority.certificate()).unwrap();
    copy.tool(Tool::Test, &["-u"], "").unwrap().success().unwrap();
    copy.launch().unwrap();
    assert_equal(&provider, &copy);
    add(&provider, &person("ann", ""));
    assert_equal(&provider, &copy);
    let referred = copy.client("ldapadd", &ADMIN, &[], &person("ben", "")).unwrap();
    assert_eq!(referred.code(), Some(10), "{referred:?}");
    assert!(referred.stderr.contains(PROVIDER), "{referred:?}");
}

pub(crate) fn delta(section: &Section) {
    let [log, line] = section.blocks();
    // The page has the lines of the provider's database and, behind them, the database of the log.
    let (of_database, of_log) = log.text.split_once("\n\n").unwrap();
    let of_log = of_log.replace("...", "rootdn cn=admin,dc=example,dc=com\ndirectory {dir}/log");
    let [plain, _, rules, _] = Section::read(PAGE, "A provider").blocks();
    let text = format!("{}{}{of_database}\n", plain.text, rules.text);
    let configuration = format!("{}{of_log}{}", whole(&Block { text, ..plain }), of_log_rules(&rules));
    let mut provider = Server::prepare(Flavor::Ironbark, &configuration).unwrap();
    provider.layout().make_dir("log").unwrap();
    provider.slapadd(&format!("{TOP}\n{}", replicator())).unwrap();
    provider.launch().unwrap();

    let bind = "bindmethod=simple binddn=cn=replicator,dc=example,dc=com credentials=secret";
    let line = line.with(&[
        (PROVIDER, provider.url().trim_end_matches('/')),
        (" ... ", &format!(" {bind} ")[..]),
    ]);
    let copy = serving(&with_database("", &line.text), "");
    assert_equal(&provider, &copy);
    add(&provider, &person("ann", ""));
    assert_equal(&provider, &copy);
    let logged = admin(
        &provider,
        "ldapsearch",
        &["-b", "cn=accesslog", "(reqType=add)", "reqDN"],
        "",
    )
    .stdout;
    assert!(
        logged.contains("reqDN: uid=ann,ou=people,dc=example,dc=com\n"),
        "{logged}"
    );
}

/// The page's rule and limits of the replicator, for the database of the log too.
fn of_log_rules(rules: &Block) -> String {
    let lines = rules.text.lines();
    let wanted = lines.filter(|line| line.starts_with("access to * by dn") || line.starts_with("limits"));
    wanted.fold(String::new(), |all, line| format!("{all}{line}\n"))
}

/// The administrator of cn=config.
const CONFIG: Credentials<'static> = Credentials::Simple {
    dn: "cn=config",
    password: "config",
};

pub(crate) fn configuration(section: &Section) {
    let [consumers, logged] = section.blocks();
    let consumers = consumers.with(&[(
        "...",
        "rootdn cn=config,cn=consumer\nrootpw secret\ndirectory {dir}/consumers",
    )]);
    let server = Server::prepare(Flavor::Ironbark, &consumers.text).unwrap();
    server.layout().make_dir("consumers").unwrap();
    server.tool(Tool::Test, &["-u"], "").unwrap().success().unwrap();
    drop(server);

    let logged = logged.with(&[("...", "rootpw config")]);
    let [log, _] = Section::read(PAGE, "Delta synchronization").blocks();
    let (_, of_log) = log.text.split_once("\n\n").unwrap();
    let of_log = of_log.replace("...", "rootdn cn=config\ndirectory {dir}/log");
    let text = format!("{}{of_log}", logged.text);
    let server = Server::prepare(Flavor::Ironbark, &text).unwrap();
    server.layout().make_dir("log").unwrap();
    let folder = server.layout().make_dir("slapd.d").unwrap();
    // The conversion comes before it says that there is no database of the log yet.
    server
        .tool(Tool::Test, &["-F", &folder.display().to_string()], "")
        .unwrap();
    let mut server = server.from_directory(folder);
    server.launch().unwrap();
    let change = "dn: cn=config\nchangetype: modify\nreplace: olcSizeLimit\nolcSizeLimit: 77\n";
    server
        .client("ldapmodify", &CONFIG, &[], change)
        .unwrap()
        .success()
        .unwrap();
    let found = server.client(
        "ldapsearch",
        &CONFIG,
        &["-b", "cn=accesslog", "(reqType=modify)", "reqMod"],
        "",
    );
    let found = found.unwrap().success().unwrap().stdout;
    assert!(found.contains("reqMod: olcSizeLimit:= 77\n"), "{found}");
}

pub(crate) fn from_389(section: &Section) {
    let [plugin, settings] = section.blocks();
    let mut other = Ds389::start().unwrap();
    other
        .client("ldapmodify", &[], &plugin.text)
        .unwrap()
        .success()
        .unwrap();
    other.restart().unwrap();
    let top = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n\
        dn: ou=people,dc=example,dc=com\nobjectClass: organizationalUnit\nou: people\n\n";
    other
        .client("ldapadd", &[], &format!("{top}{}", person("ann", "")))
        .unwrap()
        .success()
        .unwrap();
    let settings = settings.with(&[
        ("ldaps://389ds.example.com", &other.url()[..]),
        ("\"cn=replicator,cn=config\"", &format!("\"{}\"", Ds389::ROOT)),
    ]);
    let copy = serving(&whole(&settings), "");
    let there = |uid: &str| {
        let filter = format!("(uid={uid})");
        let arguments = ["-b", "dc=example,dc=com", &filter, "1.1"];
        let found = || copy.client("ldapsearch", &ADMIN, &arguments, "").unwrap().stdout;
        wait::until(|| found().contains(uid).then_some(())).is_some()
    };
    assert!(there("ann"), "{}", copy.log());
    other
        .client("ldapadd", &[], &person("ben", ""))
        .unwrap()
        .success()
        .unwrap();
    assert!(there("ben"), "{}", copy.log());
}

/// There is a test of the session with Samba; the page's lines are read here.
pub(crate) fn active_directory(section: &Section) {
    let [settings] = section.blocks();
    // OpenLDAP has this schema file; Debian's slapd brings it.
    assert!(
        settings.text.starts_with("include /etc/ldap/schema/msuser.schema\n"),
        "{settings:?}"
    );
    assert_taken(&whole(&settings));
}
