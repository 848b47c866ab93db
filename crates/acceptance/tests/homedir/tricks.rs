//! Values and directories by which somebody reaches for what is not his.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use ironbark_testkit::Flavor;
use nix::unistd::getuid;

use crate::site::{Site, configuration};

/// A directory outside with content, and a server that deletes.
fn site() -> Site {
    let site = Site::start(Flavor::Ironbark, &configuration("homedir-delete-style DELETE")).unwrap();
    fs::create_dir(site.path("outside")).unwrap();
    fs::write(site.path("outside/treasure"), "gold").unwrap();
    site
}

const OUTSIDE: &str = "outside 755/\noutside/treasure 644 \"gold\"";

#[test]
fn no_value_leads_out_of_the_fixed_directory() {
    let site = site();
    let before = site.listing("home");
    let long = format!("/home/{}", "a".repeat(300));
    let deep = format!("/home{}", "/ab".repeat(500));
    for (number, home) in [
        "/home/../outside",
        "/home/x/../../outside",
        "/home/./x",
        "/home/..",
        "/home//",
        "/home/.ironbark-x",
        "/home/missing/x",
        &long,
        &deep,
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("u{number}");
        site.add(&name, home).success().unwrap();
        site.modify(&name, "replace: homeDirectory\nhomeDirectory: /home/../outside")
            .success()
            .unwrap();
        site.delete(&name).success().unwrap();
    }
    site.settle();
    fs::remove_dir_all(site.path("home/last0")).unwrap();
    assert_eq!(site.listing("home"), before);
    assert_eq!(site.listing("outside"), OUTSIDE);
}

#[test]
fn no_link_is_followed() {
    let site = site();
    // A link at the place of a home, on the way to it, and in it.
    symlink(site.path("outside"), site.path("home/link")).unwrap();
    site.add("a", "/home/link").success().unwrap();
    site.add("b", "/home/link/b").success().unwrap();
    site.modify("b", "replace: homeDirectory\nhomeDirectory: /home/b")
        .success()
        .unwrap();
    site.add("c", "/home/c").success().unwrap();
    site.settle();
    symlink(site.path("outside"), site.path("home/c/link")).unwrap();
    site.modify("c", "replace: homeDirectory\nhomeDirectory: /home/link/c")
        .success()
        .unwrap();
    site.settle();
    assert!(site.path("home/c/link").is_symlink(), "it did not move");
    site.modify("c", "replace: homeDirectory\nhomeDirectory: /home/c")
        .success()
        .unwrap();
    for name in ["a", "b", "c"] {
        site.delete(name).success().unwrap();
    }
    site.settle();
    assert!(!site.path("home/c").exists());
    assert!(site.path("home/link").is_symlink());
    assert_eq!(site.listing("outside"), OUTSIDE);
}

#[test]
fn nothing_of_another_user_is_taken_or_deleted() {
    let site = site();
    let other = getuid().as_raw() + 1;
    // A directory that does not belong to the account: neither moved nor deleted.
    fs::create_dir(site.path("home/victim")).unwrap();
    fs::write(site.path("home/victim/letter"), "dear").unwrap();
    site.add_with("thief", "/home/victim", other, other).success().unwrap();
    site.modify("thief", "replace: homeDirectory\nhomeDirectory: /home/thief")
        .success()
        .unwrap();
    site.settle();
    assert!(!site.path("home/thief").exists());
    site.modify("thief", "replace: homeDirectory\nhomeDirectory: /home/victim")
        .success()
        .unwrap();
    site.delete("thief").success().unwrap();
    site.settle();
    assert_eq!(fs::read_to_string(site.path("home/victim/letter")).unwrap(), "dear");
    // An existing place is not replaced, also if it is empty.
    site.add("mover", "/home/mover").success().unwrap();
    fs::create_dir(site.path("home/empty")).unwrap();
    site.modify("mover", "replace: homeDirectory\nhomeDirectory: /home/empty")
        .success()
        .unwrap();
    site.settle();
    assert!(site.path("home/mover/.profile").exists());
    assert_eq!(fs::read_dir(site.path("home/empty")).unwrap().count(), 0);
}

#[test]
fn a_directory_that_everybody_may_change_is_no_way_to_a_home() {
    let site = site();
    fs::create_dir(site.path("home/open")).unwrap();
    fs::set_permissions(site.path("home/open"), fs::Permissions::from_mode(0o1777)).unwrap();
    site.add("a", "/home/open/a").success().unwrap();
    fs::create_dir(site.path("home/open/b")).unwrap();
    site.add("b", "/home/open/b").success().unwrap();
    site.delete("b").success().unwrap();
    site.settle();
    assert!(!site.path("home/open/a").exists());
    assert!(site.path("home/open/b").exists());
    site.server.wait_for_log("everybody may change it").unwrap();
}

#[test]
fn directories_without_end_and_files_that_never_end_hold_up_nobody() {
    let lines = "homedir-delete-style ARCHIVE";
    let site = Site::start(Flavor::Ironbark, &configuration(lines)).unwrap();
    site.add("deep", "/home/deep").success().unwrap();
    site.add("big", "/home/big").success().unwrap();
    site.settle();
    let deep = format!("home/deep{}", "/d".repeat(300));
    fs::create_dir_all(site.path(&deep)).unwrap();
    let file = fs::File::create(site.path("home/big/hole")).unwrap();
    file.set_len(1 << 42).unwrap();
    site.delete("deep").success().unwrap();
    site.delete("big").success().unwrap();
    site.settle();
    // What is too deep stays, and what has no room in the archive.
    assert!(site.path(&deep).exists());
    assert!(site.path("home/big/hole").exists());
    let archives: Vec<_> = fs::read_dir(site.path("archive"))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(archives.len(), 1, "{archives:?}");
    assert!(archives[0].file_name().to_string_lossy().starts_with("deep-"));
}
