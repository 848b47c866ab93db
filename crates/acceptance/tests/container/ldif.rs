//! Folders with LDIF and schemas.

use super::running::Container;

const ROOT: &str = "dn: dc=example,dc=org\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: x\n\n";

fn container() -> Container {
    let mut container = Container::bitnami(&[]);
    let folder = container.layout.make_dir("ldifs").unwrap();
    container.set("LDAP_CUSTOM_LDIF_DIR", folder.to_str().unwrap());
    container.layout.write("ldifs/00-root.ldif", ROOT).unwrap();
    container
}

#[test]
fn a_broken_file_is_named_with_its_line_and_a_right_one_begins_anew() {
    for (broken, said) in [
        (
            "\n\ndn: cn=x,dc=example,dc=org\nobjectClass: nosuch\ncn: x\n",
            "(line=3)",
        ),
        ("\n\ndn: cn=x,dc=example,dc=org\nobjectClass device\n", "line"),
        (
            "\n\n\ndn: cn=config\nchangetype: modify\nadd: olcNoSuch\nolcNoSuch: x\n",
            "(line=4)",
        ),
    ] {
        let mut container = container();
        let path = container.layout.write("ldifs/10-broken.ldif", broken).unwrap();
        let log = container.fails();
        assert!(log.contains(path.to_str().unwrap()) && log.contains(said), "{log}");
        container
            .layout
            .write(
                "ldifs/10-broken.ldif",
                "dn: cn=x,dc=example,dc=org\nobjectClass: device\ncn: x\n",
            )
            .unwrap();
        container.start();
        assert!(
            container
                .search(&["-b", "dc=example,dc=org", "1.1"])
                .contains("dn: cn=x,")
        );
    }
}

#[test]
fn files_are_loaded_in_order_and_schemas_before_them() {
    let mut container = container();
    let schemas = container.layout.make_dir("schemas").unwrap();
    container.set("LDAP_CUSTOM_SCHEMA_DIR", schemas.to_str().unwrap());
    let schema = "dn: cn=own,cn=schema,cn=config\nobjectClass: olcSchemaConfig\ncn: own\n\
        olcAttributeTypes: ( 1.3.6.1.4.1.99999.1 NAME 'ownName' SUP name )\n\
        olcObjectClasses: ( 1.3.6.1.4.1.99999.2 NAME 'ownThing' SUP device STRUCTURAL MAY ownName )\n";
    container.layout.write("schemas/own.ldif", schema).unwrap();
    // Kubernetes mounts a map as links into a hidden folder.
    container.layout.make_dir("ldifs/..data").unwrap();
    container
        .layout
        .write(
            "ldifs/..data/20.ldif",
            "dn: cn=one,ou=u,dc=example,dc=org\nobjectClass: ownThing\ncn: one\nownName: x\n",
        )
        .unwrap();
    std::os::unix::fs::symlink("..data/20.ldif", container.layout.join("ldifs/20.ldif")).unwrap();
    container
        .layout
        .write(
            "ldifs/10.ldif",
            "dn: ou=u,dc=example,dc=org\nobjectClass: organizationalUnit\nou: u\n",
        )
        .unwrap();
    container.start();
    assert!(
        container
            .search(&["-b", "ou=u,dc=example,dc=org", "(ownName=x)"])
            .contains("ownName: x")
    );
    let names = container.search(&["-b", "dc=example,dc=org", "1.1"]);
    assert_eq!(
        names.matches("dn: ").count(),
        3,
        "no default tree beside files: {names}"
    );
}

#[test]
fn a_folder_that_does_not_exist_is_named() {
    let mut container = Container::bitnami(&[("LDAP_CUSTOM_LDIF_DIR", "/none/ldifs")]);
    container.start();
    let log = container.log();
    assert!(
        log.contains("warning: LDAP_CUSTOM_LDIF_DIR=/none/ldifs does not exist"),
        "{log}"
    );
}
