//! The pages of the documentation, in the program, so that they are those of this version.
//!
//! The pages of `docs/internals/` are left out: they are for those who have the sources, and a quarter of the octets.

/// A page, with the name by which it is asked for: that of its file.
pub(super) struct Topic {
    pub(super) name: &'static str,
    pub(super) markdown: &'static str,
}

macro_rules! topics {
    ($($name:literal)*) => {
        /// All pages of `docs/`.
        pub(super) const TOPICS: &[Topic] = &[$(Topic {
            name: $name,
            markdown: include_str!(concat!("../../../../../docs/", $name, ".md")),
        }),*];
    };
}

topics! {
    "accounts" "benchmarks" "changes" "cluster" "conformance" "container" "explain" "invariants" "load" "migration"
    "observability" "packages" "paper" "replication" "security" "settings" "sock" "virtual"
}

/// The page of this name. `docs/cluster` and `cluster.md` name a page too, where a command has the same name.
pub(super) fn find(name: &str) -> Option<&'static Topic> {
    let name = name.strip_prefix("docs/").unwrap_or(name);
    let name = name.strip_suffix(".md").unwrap_or(name);
    TOPICS.iter().find(|topic| topic.name.eq_ignore_ascii_case(name))
}

/// The name of the page that a link in a page leads to.
pub(super) fn of_address(address: &str) -> Option<&'static str> {
    let file = address.split('#').next().unwrap_or_default().strip_suffix(".md")?;
    let name = file.trim_start_matches("../").trim_start_matches("docs/");
    TOPICS.iter().find(|topic| topic.name == name).map(|topic| topic.name)
}

/// What the page is called: its first heading.
pub(super) fn title(topic: &Topic) -> &'static str {
    let heading = topic.markdown.lines().find_map(|line| line.strip_prefix("# "));
    heading.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    #[test]
    fn each_page_is_a_topic_with_a_title() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let names = fs::read_dir(docs).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut pages: Vec<String> = names
            .filter_map(|name| name.strip_suffix(".md").map(str::to_owned))
            .collect();
        pages.sort();
        let mut topics: Vec<&str> = TOPICS.iter().map(|topic| topic.name).collect();
        topics.sort_unstable();
        assert_eq!(topics, pages);
        for topic in TOPICS {
            assert!(!title(topic).is_empty(), "{}", topic.name);
        }
    }

    #[test]
    fn a_page_has_the_names_of_its_file() {
        for name in ["cluster", "Cluster", "docs/cluster", "cluster.md", "docs/cluster.md"] {
            assert_eq!(find(name).map(|topic| topic.name), Some("cluster"), "{name}");
        }
        assert!(find("clutser").is_none() && find("internals/cluster").is_none());
        assert_eq!(of_address("../replication.md#a-consumer"), Some("replication"));
        assert_eq!(of_address("internals/cluster.md"), None);
    }
}
