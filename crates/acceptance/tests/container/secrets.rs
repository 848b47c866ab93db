//! Secrets are read from files, and are in no log, argument, environment or file that others can read.

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::Path,
};

use super::running::{Container, PASSWORD};

/// All files below a folder.
pub(crate) fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        }
        found.push(path);
    }
    found
}

/// What others see of a container that runs.
pub(crate) fn seen(container: &Container) -> Vec<String> {
    let process = format!("/proc/{}", container.pid());
    let mut seen = vec![container.log()];
    for name in ["cmdline", "environ"] {
        seen.push(String::from_utf8_lossy(&fs::read(format!("{process}/{name}")).unwrap()).into_owned());
    }
    seen
}

#[test]
fn no_secret_is_where_others_can_read_it() {
    let mut container = Container::bitnami(&[
        ("LDAP_USERS", "ann"),
        ("LDAP_PASSWORDS", "anns-secret"),
        ("LDAP_CONFIG_ADMIN_ENABLED", "yes"),
        ("LDAP_CONFIG_ADMIN_PASSWORD", "config-secret"),
        ("LDAP_LOGLEVEL", "any"),
    ]);
    container.start();
    assert!(container.binds("cn=ann,ou=users,dc=example,dc=org", "anns-secret"));
    let mut seen = seen(&container);
    for path in files(&container.layout.join("data")) {
        let found = fs::symlink_metadata(&path).unwrap();
        // The socket is in a folder that others cannot enter.
        let is_socket = path.ends_with("run/ldapi");
        assert!(is_socket || found.mode() % 0o10 == 0, "{}", path.display());
        if found.is_file() {
            seen.push(String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned());
        }
    }
    assert!(seen.len() > 10);
    for text in seen {
        for secret in [PASSWORD, "anns-secret", "config-secret"] {
            assert!(!text.contains(secret), "{secret} is in {text}");
        }
    }
}

#[test]
fn a_secret_may_be_the_content_of_a_file() {
    let mut container = Container::bitnami(&[("LDAP_ADMIN_PASSWORD_FILE", "")]);
    let path = container.layout.write("password", "from a file\n").unwrap();
    container.set("LDAP_ADMIN_PASSWORD_FILE", path.to_str().unwrap());
    container.start();
    assert!(container.binds("cn=admin,dc=example,dc=org", "from a file"));
    container.stop();
    container.set("LDAP_ADMIN_PASSWORD", "x");
    assert!(
        container
            .fails()
            .contains("LDAP_ADMIN_PASSWORD and LDAP_ADMIN_PASSWORD_FILE are both set")
    );
}

/// OpenShift gives a container a user of a large number, and the group 0. Only root can test that; any other user tests
/// that no privilege is needed.
#[test]
fn any_user_will_do() {
    let mut container = Container::bitnami(&[]);
    let data = container.layout.make_dir("data").unwrap();
    let is_root = nix::unistd::getuid().is_root();
    if is_root {
        chown(&data, Some(0), Some(0)).unwrap();
        fs::set_permissions(&data, fs::Permissions::from_mode(0o770)).unwrap();
        fs::set_permissions(container.layout.path(), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = container.command();
    if is_root {
        // The program may be in a folder that only root enters, as an image's is not.
        let program = container.layout.join("ironbark");
        // Another process copies it: a child of another test might have the file open for writing meanwhile.
        let copied = std::process::Command::new("cp")
            .args([command.get_program(), program.as_os_str()])
            .status();
        assert!(copied.unwrap().success());
        command = std::process::Command::new(program);
        command
            .arg("container")
            .env_clear()
            .envs(&container.variables)
            .uid(1_000_650_000)
            .gid(0);
        let log = fs::File::create(container.layout.join("log")).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log);
    }
    let child = command.spawn().unwrap();
    container.adopt(child);
    container.wait_until_ready();
    assert!(
        container
            .search(&["-b", "dc=example,dc=org", "1.1"])
            .contains("ou=users")
    );
    assert!(
        !container.log().contains("runs as root") || !is_root,
        "{}",
        container.log()
    );
}
