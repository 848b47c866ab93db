//! docs/sock.md: programs beside the server.

use ironbark_testkit::{Credentials, Flavor, Server, wait};

use super::{
    page::{Block, Section, text},
    sandbox::{Running, Sandbox},
    whole::assert_taken,
};

const PAGE: &str = "docs/sock.md";
const ADA: Credentials<'static> = Credentials::Simple {
    dn: "uid=ada,ou=phones,dc=example,dc=com",
    password: "engine",
};

/// The settings of the page, with a socket in the sandbox.
fn here(sandbox: &Sandbox, settings: &Block) -> String {
    settings.with(&[("/run", sandbox.folder())]).text
}

/// The program of the page, which listens.
fn start(sandbox: &Sandbox, name: &str, program: &Block) -> Running {
    sandbox.write(&format!("{name}.py"), &program.text);
    let command = format!("python3 {name}.py /run/{name}.sock");
    assert!(text(PAGE).contains(&command), "the page starts it otherwise");
    let running = sandbox.start(
        &command
            .replace("python3", "/usr/bin/python3 -B")
            .replace("/run", &sandbox.folder()),
    );
    let socket = sandbox.layout.join(&format!("{name}.sock"));
    assert!(
        wait::until(|| socket.exists().then_some(())).is_some(),
        "{name} does not listen"
    );
    running
}

/// A program that does this with each conversation.
fn program_that(place: &Block, does: &str) -> Block {
    let lines = [
        "import socketserver, sys",
        "class Conversation(socketserver.StreamRequestHandler):",
        "    def handle(self):",
        &format!("        {does}"),
        "socketserver.ThreadingUnixStreamServer(sys.argv[1], Conversation).serve_forever()",
        "",
    ];
    Block {
        text: lines.join("\n"),
        place: place.place.clone(),
    }
}

/// The configuration with the page's first database before one of the store.
fn phones(sandbox: &Sandbox, settings: &Block) -> String {
    let settings = here(sandbox, settings);
    Server::PEOPLE_CONFIG.replace("database mdb", &format!("{settings}\ndatabase mdb"))
}

pub(crate) fn settings(section: &Section) {
    let [settings] = section.blocks();
    assert_taken(&phones(&Sandbox::new(), &settings));
}

/// The server obeys an answer of this form.
pub(crate) fn protocol(section: &Section) {
    let [answer] = section.blocks();
    let [settings] = Section::read(PAGE, "A program of your own as a database, or before one").blocks();
    let sandbox = Sandbox::new();
    let refusal = answer.with(&[("code: 0", "code: 53")]);
    let says = format!(
        "while self.rfile.readline().strip(): pass\n        self.wfile.write({:?}.encode())",
        refusal.text
    );
    let _program = start(&sandbox, "phones", &program_that(&answer, &says));
    let server = Server::start(Flavor::Ironbark, &phones(&sandbox, &settings)).unwrap();
    let found = server.search(&["-b", "ou=phones,dc=example,dc=com"]).unwrap();
    assert_eq!(found.code(), Some(53), "{found:?}");
    assert!(
        found.stderr.contains("some text") && found.stderr.contains("dc=example,dc=com"),
        "{found:?}"
    );
}

pub(crate) fn example(section: &Section) {
    let [code] = section.blocks();
    let [settings] = Section::read(PAGE, "A program of your own as a database, or before one").blocks();
    let sandbox = Sandbox::new();
    let _program = start(&sandbox, "phones", &code);
    let server = Server::start(Flavor::Ironbark, &phones(&sandbox, &settings)).unwrap();
    let base = "ou=phones,dc=example,dc=com";
    let found = server
        .search(&["-b", base, "(sn=Hop*)", "cn", "telephoneNumber"])
        .unwrap();
    let expected = "dn: uid=grace,ou=phones,dc=example,dc=com\ncn: Grace Hopper\ntelephoneNumber: +1 2";
    assert_eq!(found.stdout.trim(), expected, "{found:?}");
    assert_eq!(server.search(&["-b", base]).unwrap().stdout.matches("dn: ").count(), 2);
    let who = server.client("ldapwhoami", &ADA, &[], "").unwrap();
    assert_eq!(who.stdout.trim(), "dn:uid=ada,ou=phones,dc=example,dc=com", "{who:?}");
    let wrong = Credentials::Simple {
        dn: "uid=ada,ou=phones,dc=example,dc=com",
        password: "cobol",
    };
    assert_eq!(server.client("ldapwhoami", &wrong, &[], "").unwrap().code(), Some(49));
    let compare = |assertion: &str| {
        let arguments = ["uid=ada,ou=phones,dc=example,dc=com", assertion];
        server.client("ldapcompare", &ADA, &arguments, "").unwrap().code()
    };
    assert_eq!((compare("sn:lovelace"), compare("sn:hopper")), (Some(6), Some(5)));
    let deleted = server
        .client("ldapdelete", &ADA, &[&format!("uid=ada,{base}")], "")
        .unwrap();
    assert_eq!(deleted.code(), Some(53));
    assert!(
        deleted.stderr.contains("the list cannot be changed here"),
        "{deleted:?}"
    );
}

/// Entries for the overlay's example, and a user of them.
const ENTRIES: &str = "\
dn: dc=example,dc=com
objectClass: domain
dc: example
userPassword: x

dn: ou=people,dc=example,dc=com
objectClass: organizationalUnit
ou: people

dn: ou=a,ou=people,dc=example,dc=com
objectClass: organizationalUnit
ou: a

dn: ou=b,dc=example,dc=com
objectClass: organizationalUnit
ou: b
";
const USER: Credentials<'static> = Credentials::Simple {
    dn: "dc=example,dc=com",
    password: "x",
};
/// The manager whom the page's program lets do everything.
const MANAGER: Credentials<'static> = Credentials::ROOT;

pub(crate) fn overlay(section: &Section) {
    let [settings, messages, code] = section.blocks();
    let sandbox = Sandbox::new();
    let settings = settings.with(&[("/var/lib/ldap", "{dir}/db")]);
    let text = format!(
        "include {{schema}}/core.schema\ninclude {{schema}}/cosine.schema\ninclude {{schema}}/inetorgperson.schema\n\
         {}rootdn cn=Manager,dc=example,dc=com\nrootpw secret\naccess to * by * write\n",
        here(&sandbox, &settings)
    );
    assert_taken(&text);
    let mut server = Server::prepare(Flavor::Ironbark, &text).unwrap();
    server.slapadd(ENTRIES).unwrap();
    server.launch().unwrap();
    let program = start(&sandbox, "guard", &code);
    let delete = |who: &Credentials<'_>, dn: &str| server.client("ldapdelete", who, &[dn], "").unwrap();
    let refused = delete(&USER, "ou=a,ou=people,dc=example,dc=com");
    assert!(
        refused.code() == Some(50) && refused.stderr.contains("ask the manager"),
        "{refused:?}"
    );
    assert_eq!(delete(&MANAGER, "ou=a,ou=people,dc=example,dc=com").code(), Some(0));
    assert_eq!(delete(&USER, "ou=b,dc=example,dc=com").code(), Some(0));
    program.wait_for("dc=example,dc=com got 0\n");
    drop(program);

    // What the program is told of: the lines of the page begin with the same names.
    std::fs::remove_file(sandbox.layout.join("guard.sock")).unwrap();
    let listener = program_that(&messages, "print(self.rfile.read().decode(), flush=True)");
    let program = start(&sandbox, "guard", &listener);
    server.search(&["-b", "ou=nosuch,dc=example,dc=com"]).unwrap();
    let told = program.wait_for("code: 32\n");
    for line in messages.text.lines() {
        let name = line
            .split(':')
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .next()
            .unwrap_or_default();
        assert!(name == "info" || told.contains(name), "no {name}: {told}");
    }
}
