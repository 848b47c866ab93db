//! The table of variables: a row for each name that this image, bitnami/openldap or osixia/openldap reads. Help and
//! docs/container.md are made from it.

mod bitnami;
mod osixia;
mod own;

/// Whose variable it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Image {
    /// bitnami/openldap.
    Bitnami,
    /// osixia/openldap.
    Osixia,
    /// Both, or every container.
    Both,
    /// Ours.
    Own,
}

/// What becomes of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    /// Obeyed at every start: a new value changes cn=config.
    Obeyed,
    /// Obeyed when the directory is made. A later start names a new value in a warning.
    First,
    /// Fixed when the directory is made. A later start with another value is refused.
    Fixed,
    /// Without meaning here. It is named in a warning.
    Ignored,
    /// Refused: the container does not start.
    Refused,
}

/// One row.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) name: &'static str,
    pub(super) image: Image,
    pub(super) fate: Fate,
    /// Whether its value must not be shown or stored. `NAME_FILE` names a file with the value.
    pub(super) is_secret: bool,
    /// The value that holds without it, for the reader.
    pub(super) default: &'static str,
    /// What it does, or what serves instead.
    pub(super) text: &'static str,
}

impl Variable {
    const fn new(name: &'static str, image: Image, fate: Fate, default: &'static str, text: &'static str) -> Self {
        Self {
            name,
            image,
            fate,
            is_secret: false,
            default,
            text,
        }
    }

    const fn secret(mut self) -> Self {
        self.is_secret = true;
        self
    }
}

/// All rows, in the order of the documentation.
pub(super) fn all() -> impl Iterator<Item = &'static Variable> {
    own::ROWS.iter().chain(bitnami::ROWS).chain(osixia::ROWS)
}

/// The row of a name.
pub(super) fn find(name: &str) -> Option<&'static Variable> {
    all().find(|row| row.name == name)
}

impl Image {
    /// Its name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Bitnami => "bitnami",
            Self::Osixia => "osixia",
            Self::Both => "both",
            Self::Own => "ironbark",
        }
    }
}

impl Fate {
    /// In words.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Obeyed => "obeyed",
            Self::First => "first start",
            Self::Fixed => "fixed",
            Self::Ignored => "ignored",
            Self::Refused => "refused",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_there_once_and_every_row_says_something() {
        let names: std::collections::BTreeSet<_> = all().map(|row| row.name).collect();
        assert_eq!(names.len(), all().count());
        for row in all() {
            assert!(!row.text.is_empty() && row.text.ends_with('.'), "{}", row.name);
            assert!(
                !row.is_secret || find(&format!("{}_FILE", row.name)).is_none(),
                "{}",
                row.name
            );
            let is_given_up = matches!(row.fate, Fate::Ignored | Fate::Refused);
            assert!(!is_given_up || row.default.is_empty(), "{}", row.name);
        }
    }
}
