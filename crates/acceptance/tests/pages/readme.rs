//! README.md: the first minutes.

use std::os::unix::fs::symlink;

use ironbark_testkit::{Flavor, Server, Tool, free_port, repository_root, wait};

use super::{
    elsewhere::elsewhere,
    page::{self, Block, Section},
    sandbox::Sandbox,
    whole::{TOP, person},
};

pub(crate) fn install(section: &Section) {
    let [packages] = section.blocks();
    elsewhere(
        &packages,
        "it needs root and changes the machine: scripts/packages does it",
        &["apt-get"],
    );
}

pub(crate) fn two_commands(section: &Section) {
    let [make, answer] = section.blocks();
    elsewhere(&make, "they install packages, build, and run all tests", &[]);
    first_answer(&answer);
}

pub(crate) fn tour(section: &Section) {
    let [init, explain, links, folder] = section.blocks();
    let sandbox = Sandbox::new();
    let release = sandbox.layout.make_dir("target/release").unwrap();
    symlink(Flavor::Ironbark.program().unwrap(), release.join("ironbark")).unwrap();
    let port = free_port().unwrap();

    // The program of the test is built already.
    let said = sandbox.succeed(&init.with(&[("make build\n", "")])).stdout;
    follow_advice(&sandbox, &said, port);
    let plan = sandbox.succeed(&explain).stdout;
    assert!(plan.contains("entries found: "), "{plan}");

    let (configuration, data) = from_slapd();
    sandbox.write("slapd.conf", &configuration);
    sandbox.write("data.ldif", &data);
    let url = format!("ldap://127.0.0.1:{port}/");
    {
        let _server = sandbox.detached("slapd.pid");
        let found = sandbox.succeed(&links.with(&[("ldap://127.0.0.1:3389/", &url)])).stdout;
        assert!(found.contains("dn: uid=ann,ou=people,dc=example,dc=com\n"), "{found}");
    }

    let change = "dn: cn=config\nchangetype: modify\nreplace: olcSizeLimit\nolcSizeLimit: 77\n";
    sandbox.write("change.ldif", change);
    let folder = folder.with(&[("ldap://127.0.0.1:3389/", &url[..]), (" -W ", " -w config ")]);
    {
        let _server = sandbox.detached("slapd.pid");
        let shown = sandbox.succeed(&folder).stdout;
        assert!(shown.contains("dn: olcDatabase={1}mdb,cn=config\n"), "{shown}");
    }
    let kept = sandbox.shell("target/release/slapcat -F slapd.d -n 0").stdout;
    assert!(kept.contains("olcSizeLimit: 77\n"), "{kept}");
}

/// The directory of `make demo` gives the answer that the page shows.
fn first_answer(answer: &Block) {
    let demo = page::text("scripts/demo.sh");
    for part in ["generate university", "PEOPLE=10000", "sed -n 5000p"] {
        assert!(demo.contains(part), "{part} is not in scripts/demo.sh any more");
    }
    let sandbox = Sandbox::new();
    let schema = repository_root().join("schema");
    let includes = ["core", "cosine", "inetorgperson", "nis", "eduperson"]
        .map(|name| format!("include {}/{name}.schema\n", schema.display()));
    let configuration = format!(
        "{}pidfile {{dir}}/slapd.pid\ndatabase mdb\nsuffix dc=example,dc=com\ndirectory {{dir}}/db\nindex uid eq\n",
        includes.concat()
    );
    sandbox.write("slapd.conf", &configuration);
    let port = free_port().unwrap();
    let made = sandbox.shell(&format!(
        "ironbark generate university --count 10000 --suffix dc=example,dc=com --output people.ldif && \
         slapadd -q -f slapd.conf -l people.ldif && slapd -f slapd.conf -h ldap://127.0.0.1:{port}/"
    ));
    assert_eq!(made.code, Some(0), "{made:?}");
    let _server = sandbox.detached("slapd.pid");
    let (command, shown) = answer.text.split_once('\n').unwrap();
    let command = command.strip_prefix("$ ").unwrap();
    let found = sandbox.shell(&command.replace(":3890", &format!(":{port}")));
    assert_eq!(found.stdout.trim(), shown.trim(), "{found:?}");
}

/// The password that `ironbark init` shows.
pub(crate) fn password_in(said: &str) -> &str {
    let password = said.lines().find_map(|line| line.trim().strip_prefix("password "));
    password.unwrap_or_else(|| panic!("no password:\n{said}")).trim()
}

/// Runs the commands that `ironbark init` prints, as they are but for the port and the password that is typed.
fn follow_advice(sandbox: &Sandbox, said: &str, port: u16) {
    let password = password_in(said);
    let commands: Vec<String> = said
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| line.contains("ironbark ") || line.contains("ldapsearch "))
        .map(|line| line.replace(":3890", &format!(":{port}")))
        .collect();
    let [serve, health, search, review] = &commands[..] else {
        panic!("four commands expected:\n{said}");
    };
    let _server = sandbox.start(serve);
    let answered = wait::until(|| (sandbox.shell(health).code == Some(0)).then_some(()));
    assert!(answered.is_some(), "{:?}", sandbox.shell(health));
    let search = search.replace(" -W ", &format!(" -w '{password}' "));
    let found = sandbox.shell(&search);
    assert!(
        found.code == Some(0) && found.stdout.contains("dn: dc=example,dc=com\n"),
        "{search}\n{found:?}"
    );
    let advice = sandbox.shell(&review.replace(" -W", &format!(" -w '{password}'")));
    assert_eq!(advice.code, Some(0), "{review}\n{advice:?}");
}

/// A configuration of Debian's slapd, and what its slapcat has written. cn=config has an administrator.
fn from_slapd() -> (String, String) {
    let configuration = "\
        include /etc/ldap/schema/core.schema\ninclude /etc/ldap/schema/cosine.schema\n\
        include /etc/ldap/schema/inetorgperson.schema\npidfile {dir}/slapd.pid\ndatabase config\nrootpw config\n\
        database mdb\nsuffix dc=example,dc=com\nrootdn cn=admin,dc=example,dc=com\nrootpw secret\n\
        directory {dir}/db\nindex objectClass,uid eq\n";
    let slapd = Server::prepare(Flavor::OpenLdap, configuration).unwrap();
    slapd.slapadd(&format!("{TOP}\n{}", person("ann", ""))).unwrap();
    let data = slapd
        .tool(Tool::Cat, &["-b", "dc=example,dc=com"], "")
        .unwrap()
        .success()
        .unwrap();
    let modules = "modulepath /usr/lib/ldap\nmoduleload back_mdb\n";
    (format!("{modules}{configuration}"), data.stdout)
}
