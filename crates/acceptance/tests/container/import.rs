//! A database that slapcat wrote.

use super::running::Container;

#[test]
fn an_export_comes_back_with_its_operational_attributes() {
    let mut container = Container::bitnami(&[]);
    let uuid = "3ad38a53-ae05-4ae5-a9ee-31ff1b1d0c5d";
    let export = format!(
        "dn: dc=example,dc=org\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: x\n\
         structuralObjectClass: organization\nentryUUID: {uuid}\ncreatorsName: cn=old\n\
         createTimestamp: 20200102030405Z\nentryCSN: 20200102030405.000000Z#000000#000#000000\n\
         modifiersName: cn=old\nmodifyTimestamp: 20200102030405Z\n"
    );
    let path = container.layout.write("export.ldif", export).unwrap();
    container.set("IRONBARK_IMPORT", path.to_str().unwrap());
    container.start();
    let text = container.search(&["-b", "dc=example,dc=org", "+"]);
    assert!(text.contains(uuid) && text.contains("creatorsName: cn=old"), "{text}");
    assert_eq!(text.matches("dn: ").count(), 1, "{text}");
    container.stop();
    // The file need not stay.
    std::fs::remove_file(path).unwrap();
    container.start();
    assert!(
        container
            .search(&["-b", "dc=example,dc=org", "entryUUID"])
            .contains(uuid)
    );
}
