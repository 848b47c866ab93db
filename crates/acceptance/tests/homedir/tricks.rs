//! Values and directories by which somebody reaches for what is not his.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use ironbark_testkit::Flavor;
use nix::unistd::getuid;

use crate::homedir::site::{Site, configuration};

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
    let before = site.listing("homes");
    let long = format!("/homes/{}", "a".repeat(300));
    let deep = format!("/homes{}", "/ab".repeat(500));
    for (number, home) in [
        "/homes/../outside",
        "/homes/x/../../outside",
        "/homes/./x",
        "/homes/..",
        "/homes//",
        "/homes/.ironbark-x",
        "/homes/missing/x",
        &long,
        &deep,
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("u{number}");
        site.add(&name, home).success().unwrap();
        site.modify(&name, "replace: homeDirectory\nhomeDirectory: /homes/../outside")
            .success()
            .unwrap();
        site.delete(&name).success().unwrap();
    }
    site.settle();
    fs::remove_dir_all(site.path("homes/last0")).unwrap();
    assert_eq!(site.listing("homes"), before);
    assert_eq!(site.listing("outside"), OUTSIDE);
}

#[test]
fn no_link_is_followed() {
    let site = site();
    // A link at the place of a home, on the way to it, and in it.
    symlink(site.path("outside"), site.path("homes/link")).unwrap();
    site.add("a", "/homes/link").success().unwrap();
    site.add("b", "/homes/link/b").success().unwrap();
    site.modify("b", "replace: homeDirectory\nhomeDirectory: /homes/b")
        .success()
        .unwrap();
    site.add("c", "/homes/c").success().unwrap();
    site.settle();
    symlink(site.path("outside"), site.path("homes/c/link")).unwrap();
    site.modify("c", "replace: homeDirectory\nhomeDirectory: /homes/link/c")
        .success()
        .unwrap();
    site.settle();
    assert!(site.path("homes/c/link").is_symlink(), "it did not move");
    site.modify("c", "replace: homeDirectory\nhomeDirectory: /homes/c")
        .success()
        .unwrap();
    for name in ["a", "b", "c"] {
        site.delete(name).success().unwrap();
    }
    site.settle();
    assert!(!site.path("homes/c").exists());
    assert!(site.path("homes/link").is_symlink());
    assert_eq!(site.listing("outside"), OUTSIDE);
}

#[test]
fn nothing_of_another_user_is_taken_or_deleted() {
    let site = site();
    let other = getuid().as_raw() + 1;
    // A directory that does not belong to the account: neither moved nor deleted.
    fs::create_dir(site.path("homes/victim")).unwrap();
    fs::write(site.path("homes/victim/letter"), "dear").unwrap();
    site.add_with("thief", "/homes/victim", other, other).success().unwrap();
    site.modify("thief", "replace: homeDirectory\nhomeDirectory: /homes/thief")
        .success()
        .unwrap();
    site.settle();
    assert!(!site.path("homes/thief").exists());
    site.modify("thief", "replace: homeDirectory\nhomeDirectory: /homes/victim")
        .success()
        .unwrap();
    site.delete("thief").success().unwrap();
    site.settle();
    assert_eq!(fs::read_to_string(site.path("homes/victim/letter")).unwrap(), "dear");
    // An existing place is not replaced, also if it is empty.
    site.add("mover", "/homes/mover").success().unwrap();
    fs::create_dir(site.path("homes/empty")).unwrap();
    site.modify("mover", "replace: homeDirectory\nhomeDirectory: /homes/empty")
        .success()
        .unwrap();
    site.settle();
    assert!(site.path("homes/mover/.profile").exists());
    assert_eq!(fs::read_dir(site.path("homes/empty")).unwrap().count(), 0);
}

#[test]
fn a_directory_that_everybody_may_change_is_no_way_to_a_home() {
    let site = site();
    fs::create_dir(site.path("homes/open")).unwrap();
    fs::set_permissions(site.path("homes/open"), fs::Permissions::from_mode(0o1777)).unwrap();
    site.add("a", "/homes/open/a").success().unwrap();
    fs::create_dir(site.path("homes/open/b")).unwrap();
    site.add("b", "/homes/open/b").success().unwrap();
    site.delete("b").success().unwrap();
    site.settle();
    assert!(!site.path("homes/open/a").exists());
    assert!(site.path("homes/open/b").exists());
    site.server.wait_for_log("everybody may change it").unwrap();
}

#[test]
fn directories_without_end_and_files_that_never_end_hold_up_nobody() {
    let lines = "homedir-delete-style ARCHIVE";
    let site = Site::start(Flavor::Ironbark, &configuration(lines)).unwrap();
    site.add("deep", "/homes/deep").success().unwrap();
    site.add("big", "/homes/big").success().unwrap();
    site.settle();
    let deep = format!("homes/deep{}", "/d".repeat(300));
    fs::create_dir_all(site.path(&deep)).unwrap();
    let file = fs::File::create(site.path("homes/big/hole")).unwrap();
    file.set_len(1 << 42).unwrap();
    site.delete("deep").success().unwrap();
    site.delete("big").success().unwrap();
    site.settle();
    // What is too deep stays, and what has no room in the archive.
    assert!(site.path(&deep).exists());
    assert!(site.path("homes/big/hole").exists());
    let archives: Vec<_> = fs::read_dir(site.path("archive"))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(archives.len(), 1, "{archives:?}");
    assert!(archives[0].file_name().to_string_lossy().starts_with("deep-"));
}
