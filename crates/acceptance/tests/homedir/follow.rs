//! What the directories are after changes of entries.

use std::{fs, path::Path, process::Command};

use ironbark_testkit::{Flavor, Server, assert_same, wait};
use nix::unistd::{getgid, getuid};

use crate::homedir::site::{BASE, Site, configuration};

/// Waits for a directory, or until it is gone.
fn wait_for(path: &Path, is_there: bool) {
    let seen = wait::until(|| (path.exists() == is_there).then_some(()));
    assert!(seen.is_some(), "{} there: {}", path.display(), !is_there);
}

/// Names and kinds in the only archive, as tar(1) shows them below the server's directory.
fn archived(site: &Site) -> String {
    let archives: Vec<_> = fs::read_dir(site.path("archive")).unwrap().collect();
    assert_eq!(archives.len(), 1);
    let path = archives[0].as_ref().unwrap().path();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.starts_with("moved-") && name.ends_with("-0.tar"), "{name}");
    let listed = Command::new("tar")
        .arg("--list")
        .arg("--verbose")
        .arg("--file")
        .arg(&path)
        .output();
    let listed = listed.unwrap();
    assert!(listed.status.success(), "{listed:?}");
    let folder = site.path("");
    let folder = folder.to_string_lossy().trim_matches('/').to_owned();
    let text = String::from_utf8(listed.stdout).unwrap();
    let line = |line: &str| {
        let (mode, rest) = line.split_once(' ').unwrap();
        format!("{mode} {}", rest.split_once(&folder).unwrap().1)
    };
    let mut lines: Vec<String> = text.lines().map(line).collect();
    lines.sort();
    lines.join("\n")
}

#[test]
fn directories_follow_entries_as_in_slapd() {
    assert_same(|flavor| {
        let site = Site::start(flavor, &configuration("homedir-delete-style ARCHIVE"))?;
        let mut seen = Vec::new();
        site.add("ann", "/homes/ann").success()?;
        wait_for(&site.path("homes/ann"), true);
        // In slapd it is not complete when it appears.
        wait_for(&site.path("homes/ann/public/www/index.html"), true);
        site.settle();
        seen.push(site.listing("homes"));
        site.add("elsewhere", "/var/elsewhere").success()?;
        site.modify("ann", "replace: homeDirectory\nhomeDirectory: /homes/moved")
            .success()?;
        wait_for(&site.path("homes/moved"), true);
        site.modify("ann", "replace: description\ndescription: still there")
            .success()?;
        site.settle();
        seen.push(site.listing("homes"));
        site.delete("ann").success()?;
        wait_for(&site.path("homes/moved"), false);
        site.settle();
        seen.push(site.listing("homes"));
        seen.push(archived(&site));
        Ok(seen.join("\n\n"))
    });
}

#[test]
fn ids_change_and_what_belongs_to_others_stays_theirs() {
    let site = Site::start(Flavor::Ironbark, &configuration("homedir-delete-style DELETE")).unwrap();
    if !getuid().is_root() {
        // Only root gives files away: the failure is told, and the directory stays whose it was.
        site.add("ann", "/homes/ann");
        site.settle();
        site.modify(
            "ann",
            &format!("replace: uidNumber\nuidNumber: {}", getuid().as_raw() + 1),
        );
        site.server.wait_for_log("belongs to").unwrap();
        assert!(!site.listing("homes/ann").contains(" of "));
        return;
    }
    site.add_with("ann", "/homes/ann", 70_001, 70_002);
    site.settle();
    assert_eq!(
        site.listing("homes/ann").matches(" of 70001:70002").count(),
        8,
        "{}",
        site.listing("homes/ann")
    );
    fs::write(site.path("homes/ann/foreign"), "x").unwrap();
    site.modify(
        "ann",
        "replace: uidNumber\nuidNumber: 70003\n-\nreplace: gidNumber\ngidNumber: 70004",
    );
    site.settle();
    let listing = site.listing("homes/ann");
    assert_eq!(listing.matches(" of 70003:70004").count(), 8, "{listing}");
    assert!(listing.contains("homes/ann/foreign 644 \"x\""), "{listing}");
    site.delete("ann");
    site.settle();
    let listing = site.listing("homes/ann");
    assert_eq!(listing.lines().count(), 2, "{listing}");
    site.server
        .wait_for_log("1 files and directories in it belong to others")
        .unwrap();
}

#[test]
fn a_new_rdn_and_attributes_that_come_late_count() {
    let site = Site::start(Flavor::Ironbark, &configuration("homedir-delete-style DELETE")).unwrap();
    let (uid, gid) = (getuid(), getgid());
    let dn = format!("uid=eve,ou=People,{BASE}");
    let add = format!("dn: {dn}\nobjectClass: account\nobjectClass: extensibleObject\nhost: h\nuid: other\n");
    site.server.ldapadd(&add).unwrap().success().unwrap();
    site.settle();
    assert!(!site.path("homes/eve").exists());
    let ids = format!("add: uidNumber\nuidNumber: {uid}\n-\nadd: gidNumber\ngidNumber: {gid}");
    site.modify(
        "eve",
        &format!("{ids}\n-\nadd: homeDirectory\nhomeDirectory: /homes/eve"),
    )
    .success()
    .unwrap();
    site.settle();
    assert!(site.path("homes/eve/.profile").exists());
    // The RDN takes a value away with it.
    let rename = format!("dn: {dn}\nchangetype: modrdn\nnewrdn: gidNumber={gid}\ndeleteoldrdn: 1\n");
    site.server.ldapmodify(&rename).unwrap().success().unwrap();
    site.settle();
    assert!(site.path("homes/eve/.profile").exists());
    let all = format!(
        "dn: gidNumber={gid},ou=People,{BASE}\nchangetype: modrdn\nnewrdn: host=h\ndeleteoldrdn: 1\n\n\
         dn: host=h,ou=People,{BASE}\nchangetype: modify\ndelete: homeDirectory\n"
    );
    site.server.ldapmodify(&all).unwrap().success().unwrap();
    site.settle();
    assert!(site.path("homes/eve/.profile").exists(), "uidNumber is still there");
    // As in slapd, what is not whole any more is not removed.
    let rest = format!("dn: host=h,ou=People,{BASE}\nchangetype: modify\ndelete: uidNumber\n");
    site.server.ldapmodify(&rest).unwrap().success().unwrap();
    site.settle();
    assert!(site.path("homes/eve/.profile").exists());
    site.add("bob", "/homes/bob").success().unwrap();
    site.modify(
        "bob",
        "delete: objectClass\nobjectClass: posixAccount\n-\ndelete: homeDirectory\n-\ndelete: uidNumber\n-\n\
         delete: gidNumber\n-\ndelete: cn\n-\ndelete: userPassword",
    )
    .success()
    .unwrap();
    site.settle();
    assert!(!site.path("homes/bob").exists(), "all three are gone");
}

#[test]
fn every_account_has_its_directory_whatever_kill_9_comes_between() {
    let mut site = Site::start(Flavor::Ironbark, &configuration("homedir-delete-style DELETE")).unwrap();
    for round in 0..3 {
        for number in 0..20 {
            let name = format!("n{round}x{number}");
            site.add(&name, &format!("/homes/{name}")).success().unwrap();
            if number >= 15 {
                site.delete(&name).success().unwrap();
            }
        }
        site.server.kill().unwrap();
        site.server.launch().unwrap();
    }
    site.settle();
    let mut expected: Vec<String> = (0..3)
        .flat_map(|round| (0..15).map(move |number| format!("n{round}x{number}")))
        .collect();
    expected.push("last0".to_owned());
    expected.sort();
    let mut found: Vec<String> = fs::read_dir(site.path("homes"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    found.sort();
    assert_eq!(found, expected);
    for name in &found {
        assert!(
            site.path(&format!("homes/{name}/public/www/link")).is_symlink(),
            "{name}"
        );
    }
}

#[test]
fn a_replica_makes_directories_for_what_it_receives() {
    let global = "include {schema}/nis.schema\nserverID 1\nmoduleload syncprov";
    let provider = Server::start(Flavor::Ironbark, &Server::people_config(global, "overlay syncprov")).unwrap();
    let account = |name: &str| {
        format!(
            "dn: uid={name},dc=example,dc=com\nobjectClass: account\nobjectClass: posixAccount\ncn: {name}\n\
             homeDirectory: /homes/{name}\nuidNumber: {}\ngidNumber: {}\n\n",
            getuid(),
            getgid()
        )
    };
    let suffix = "dn: dc=example,dc=com\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example\n\n";
    let entries = format!("{suffix}{}{}", account("ann"), account("bob"));
    provider.ldapadd(&entries).unwrap().success().unwrap();
    let line = format!(
        "homedir-delete-style DELETE\nsyncrepl rid=001 provider={} bindmethod=simple \
         binddn=cn=Manager,dc=example,dc=com credentials=secret searchbase=dc=example,dc=com type=refreshAndPersist \
         retry=\"1 +\"",
        provider.url()
    );
    let site = Site::start_empty(&configuration(&line));
    // What is there at first, and what comes later.
    wait_for(&site.path("homes/ann"), true);
    wait_for(&site.path("homes/bob"), true);
    let change = "dn: uid=ann,dc=example,dc=com\nchangetype: modify\nreplace: homeDirectory\nhomeDirectory: /homes/eve\n\n\
                  dn: uid=bob,dc=example,dc=com\nchangetype: delete\n\n\
                  dn: uid=eve,dc=example,dc=com\nchangetype: modify\nreplace: cn\ncn: e\n";
    let renamed = change.replace("uid=eve,dc", "uid=ann,dc");
    provider.ldapmodify(&renamed).unwrap().success().unwrap();
    wait_for(&site.path("homes/eve"), true);
    wait_for(&site.path("homes/bob"), false);
    assert!(!site.path("homes/ann").exists());
    // Moving an entry touches nothing.
    let moved = format!(
        "dn: ou=new,dc=example,dc=com\nchangetype: add\nobjectClass: organizationalUnit\n\n\
         dn: uid=ann,dc=example,dc=com\nchangetype: modrdn\nnewrdn: uid=ann\ndeleteoldrdn: 1\n\
         newsuperior: ou=new,dc=example,dc=com\n\n{}",
        account("last").replace("objectClass: account\n", "changetype: add\nobjectClass: account\n")
    );
    provider.ldapmodify(&moved).unwrap().success().unwrap();
    wait_for(&site.path("homes/last"), true);
    assert!(site.path("homes/eve/.profile").exists());
}
