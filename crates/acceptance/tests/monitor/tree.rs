//! The tree of cn=Monitor equals that of Debian's slapd.

use ironbark_testkit::{Flavor, Server, TestkitError, assert_same};

/// With an overlay, because it gives entries of its own.
fn config(flavor: Flavor) -> String {
    let modules = match flavor {
        Flavor::OpenLdap => "moduleload back_monitor\nmoduleload memberof\n",
        Flavor::Ironbark => "",
    };
    let people = Server::PEOPLE_CONFIG;
    format!("{people}restrict add\noverlay memberof\ndatabase monitor\n").replacen(
        "database mdb",
        &format!("{modules}database mdb"),
        1,
    )
}

fn start(flavor: Flavor) -> Result<Server, TestkitError> {
    Server::start(flavor, &config(flavor))
}

/// The result of a search of cn=Monitor, without our own part.
fn search(server: &Server, base: &str, filter: &str, attributes: &[&str]) -> Result<String, TestkitError> {
    let mut arguments = vec!["-LLL", "-b", base, filter];
    arguments.extend(attributes);
    let text = server.search(&arguments)?.success()?.stdout;
    let ours =
        |record: &&str| !record.trim_start().starts_with("dn: cn=Ironbark,") && !record.contains(",cn=Ironbark,");
    Ok(text.split("\n\n").filter(ours).collect::<Vec<_>>().join("\n\n"))
}

/// Entry names and attribute names, each once, in order. The built-in backends and overlays differ.
fn outline(text: &str) -> String {
    let mut outline = String::new();
    for record in text.split("\n\n").map(str::trim).filter(|record| !record.is_empty()) {
        let name = record.lines().next().unwrap_or_default();
        if name.starts_with("dn: cn=Backend ") || name.ends_with(",cn=Overlays,cn=Monitor") {
            continue;
        }
        // The servers number connections differently.
        let name = if name.starts_with("dn: cn=Connection ") {
            "dn: cn=Connection"
        } else {
            name
        };
        outline.push_str(name);
        let mut last = "";
        for line in record.lines().skip(1) {
            let attribute = line.split(':').next().unwrap_or_default();
            // slapd shows the levels of -d, this server those of loglevel.
            if attribute != last && attribute != "managedInfo" {
                outline.push(' ');
                outline.push_str(attribute);
            }
            last = attribute;
        }
        outline.push('\n');
    }
    outline
}

#[test]
fn entries_and_attributes_are_slapds_in_its_order() {
    assert_same(|flavor| {
        let server = start(flavor)?;
        let text = search(&server, "cn=Monitor", "(objectClass=*)", &["*", "+"])?;
        // Each kind of container, connection, database, overlay of a database and counter.
        assert!(text.split("\n\n").count() > 50, "{text}");
        Ok(outline(&text))
    });
}

#[test]
fn databases_are_shown_as_slapd_shows_them() {
    assert_same(|flavor| {
        let server = start(flavor)?;
        let names = [
            "objectClass",
            "monitoredInfo",
            "monitorIsShadow",
            "namingContexts",
            "monitorContext",
            "readOnly",
            "restrictedOperation",
            "monitorOverlay",
            "olmMDBEntries",
            "olmMDBReadersMax",
        ];
        let text = search(&server, "cn=Databases,cn=Monitor", "(objectClass=*)", &names)?;
        // The directory's name is one of the values of `monitoredInfo`.
        Ok(text.replace(&server.layout().path().display().to_string(), "DIRECTORY"))
    });
}

#[test]
fn containers_and_back_ends_have_slapds_texts() {
    assert_same(|flavor| {
        let server = start(flavor)?;
        let containers = search(
            &server,
            "cn=Monitor",
            "(objectClass=monitorContainer)",
            &["description"],
        )?;
        let filter = "(|(monitoredInfo=mdb)(monitoredInfo=monitor))";
        let backends = search(
            &server,
            "cn=Backends,cn=Monitor",
            filter,
            &["supportedControl", "monitorRuntimeConfig"],
        )?;
        let is_numbered =
            |line: &&str| !line.starts_with("dn: cn=Backend ") && *line != "supportedControl: 1.3.6.1.1.21.2";
        let backends: Vec<_> = backends.lines().filter(is_numbered).collect();
        Ok(format!("{containers}\n{}", backends.join("\n")))
    });
}

#[test]
fn counters_are_exact_in_the_middle_of_the_search_that_shows_them() {
    assert_same(|flavor| {
        let server = start(flavor)?;
        let mut text = String::new();
        let add = ["-s", "base", "-b", "dc=nowhere", "(objectClass=*)"];
        server.search(&add)?.expect_code(32)?;
        server
            .ldapadd("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n")?
            .expect_code(53)?;
        let arguments = [
            "-LLL",
            "-b",
            "cn=Operations,cn=Monitor",
            "(objectClass=*)",
            "monitorOpInitiated",
            "monitorOpCompleted",
        ];
        text.push_str(&server.search(&arguments)?.success()?.stdout);
        let arguments = [
            "-LLL",
            "-b",
            "cn=Statistics,cn=Monitor",
            "(!(cn=Bytes))",
            "monitorCounter",
        ];
        for _ in 0..2 {
            text.push_str(&server.search(&arguments)?.success()?.stdout);
        }
        let counters = [
            "monitorConnectionProtocol",
            "monitorConnectionOpsReceived",
            "monitorConnectionOpsExecuting",
            "monitorConnectionOpsPending",
            "monitorConnectionOpsCompleted",
            "monitorConnectionGet",
            "monitorConnectionRead",
            "monitorConnectionWrite",
            "monitorConnectionMask",
        ];
        let mut arguments = vec![
            "-LLL",
            "-b",
            "cn=Connections,cn=Monitor",
            "(objectClass=monitorConnection)",
        ];
        arguments.extend(counters);
        let found = server.search(&arguments)?.success()?.stdout;
        text.extend(
            found
                .lines()
                .filter(|line| !line.starts_with("dn: "))
                .map(|line| format!("{line}\n")),
        );
        Ok(text)
    });
}
