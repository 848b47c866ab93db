//! Damaged data files.

use std::{
    fs::{self, OpenOptions},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Command, Output},
};

use ironbark_testkit::{Flavor, Server, Tool};

use crate::attacks::site::{ANN, DATA, NOBODY, run, site};

fn loaded() -> Server {
    let server = Server::prepare(Flavor::Ironbark, Server::PEOPLE_CONFIG).unwrap();
    server.slapadd(DATA).unwrap();
    server
}

fn ironbark(arguments: &[&str]) -> Output {
    let mut command = Command::new(Flavor::Ironbark.program().unwrap());
    command.args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn cut(file: &Path, length: u64) {
    let open = OpenOptions::new().write(true).open(file).unwrap();
    open.set_len(length).unwrap();
}

/// Changes one bit wherever these bytes occur: some places are old and not in use.
fn flip(file: &Path, bytes: &[u8]) {
    let mut content = fs::read(file).unwrap();
    let windows = content.windows(bytes.len()).enumerate();
    let places: Vec<usize> = windows
        .filter(|(_, found)| *found == bytes)
        .map(|(place, _)| place)
        .collect();
    assert!(!places.is_empty());
    for place in places {
        content[place] ^= 1;
    }
    fs::write(file, content).unwrap();
}

#[test]
fn what_was_cut_off_is_refused_with_a_word() {
    let mut server = loaded();
    let (data, backup) = (server.layout().join("db/data.mdb"), server.layout().join("copy.mdb"));
    let config = server.config_path().to_str().unwrap().to_owned();
    let backup_path = backup.to_str().unwrap().to_owned();
    assert!(ironbark(&["backup", "-f", &config, &backup_path]).status.success());
    let length = fs::metadata(&data).unwrap().len();
    cut(&data, length / 2);
    let told = format!("{}: the file is truncated", data.display());
    for tool in [Tool::Cat, Tool::Index] {
        let outcome = server.tool(tool, &[], "").unwrap();
        assert_eq!(outcome.code(), Some(1), "{outcome:?}");
        assert!(outcome.stderr.contains(&told), "{outcome:?}");
    }
    let refused = server.launch().unwrap_err().to_string();
    assert!(
        refused.contains(&told) && refused.contains("ironbark restore"),
        "{refused}"
    );
    for arguments in [&["health", "--deep"][..], &["backup"]] {
        let copy = server.layout().join("other.mdb");
        let mut arguments = [arguments, &["-f", &config]].concat();
        if arguments[0] == "backup" {
            arguments.push(copy.to_str().unwrap());
        }
        let output = ironbark(&arguments);
        assert!(
            output.status.code() == Some(1) && said(&output).contains(&told),
            "{output:?}"
        );
    }
    // An incomplete backup leaves the place unchanged; a complete one repairs it.
    let whole = fs::read(&backup).unwrap();
    fs::remove_file(&data).unwrap();
    for length in [whole.len() / 2, 5000, 100] {
        cut(&backup, length as u64);
        let output = ironbark(&["restore", "-f", &config, &backup_path]);
        assert_eq!(output.status.code(), Some(1), "{length}: {output:?}");
        assert!(!data.exists(), "{length}");
    }
    fs::write(&backup, whole).unwrap();
    let output = ironbark(&["restore", "-f", &config, &backup_path]);
    assert!(output.status.success(), "{output:?}");
    server.launch().unwrap();
    let found = server.search(&["-b", ANN, "-s", "base"]).unwrap();
    assert!(found.stdout.contains("uid: ann"), "{found:?}");
}

#[test]
fn changed_bits_are_found_by_every_tool_that_copies() {
    let server = loaded();
    let config = server.config_path().to_str().unwrap().to_owned();
    let data = server.layout().join("db/data.mdb");
    let sound = fs::read(&data).unwrap();
    let backup = server.layout().join("copy.mdb").to_str().unwrap().to_owned();
    // A value of an entry; the head of a page, by the name of the table `names`.
    for (place, by_slapcat) in [(&b"annspass"[..], true), (b"names", false)] {
        fs::write(&data, &sound).unwrap();
        flip(&data, place);
        let health = ironbark(&["health", "--deep", "-f", &config]);
        assert_eq!(health.status.code(), Some(1), "{health:?}");
        assert!(said(&health).contains("data.mdb: "), "{health:?}");
        let copied = ironbark(&["backup", "-f", &config, &backup]);
        assert_eq!(copied.status.code(), Some(1), "{copied:?}");
        assert!(!Path::new(&backup).exists());
        let copy = server.layout().write("changed.mdb", fs::read(&data).unwrap()).unwrap();
        fs::remove_file(&data).unwrap();
        let restored = ironbark(&["restore", "-f", &config, copy.to_str().unwrap()]);
        assert!(restored.status.code() == Some(1) && !data.exists(), "{restored:?}");
        fs::copy(&copy, &data).unwrap();
        if by_slapcat {
            let dump = server.tool(Tool::Cat, &[], "").unwrap();
            assert!(
                dump.code() == Some(1) && dump.stderr.contains("the checksum of"),
                "{dump:?}"
            );
            let rest = server.tool(Tool::Cat, &["-c"], "").unwrap();
            assert!(
                rest.stdout.contains("uid: bob") && !rest.stdout.contains("uid: ann"),
                "{rest:?}"
            );
        }
    }
}

#[test]
fn a_file_that_shrinks_while_it_is_served_is_named() {
    let mut server = site();
    let data = server.layout().join("db/data.mdb");
    cut(&data, 8192);
    let _ = run(&server, &NOBODY, "ldapsearch", &["-b", "dc=example,dc=com"], "");
    let ended = server.wait_for_end().unwrap();
    assert_eq!(ended.signal(), Some(7), "{}", server.log());
    let told = format!("{}: the file is truncated", data.display());
    assert!(server.log().contains(&told), "{}", server.log());
}
