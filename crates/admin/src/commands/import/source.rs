//! The servers whose exports are read, and how an export is recognized.

use clap::ValueEnum;

/// The program that has written the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Source {
    /// OpenLDAP's slapcat
    Slapcat,
    /// 389 Directory Server's db2ldif
    #[value(name = "389")]
    Ds389,
    /// OpenDJ's export-ldif
    Opendj,
}

impl Source {
    /// The name of the server.
    pub(super) fn server(self) -> &'static str {
        match self {
            Self::Slapcat => "OpenLDAP",
            Self::Ds389 => "389 Directory Server",
            Self::Opendj => "OpenDJ",
        }
    }
}

/// The marks of each source that an export has shown.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Marks {
    unique_id: bool,
    of_opendj: bool,
    /// structuralObjectClass, entryCSN.
    of_slapcat: [bool; 2],
}

impl Marks {
    /// Notes an attribute type; `name` in small letters.
    pub(super) fn see(&mut self, name: &str) {
        self.unique_id |= name == "nsuniqueid";
        self.of_opendj |= name.starts_with("ds-sync-") || name.starts_with("ds-pwp-") || name.starts_with("ds-cfg-");
        let [class, csn] = &mut self.of_slapcat;
        *class |= name == "structuralobjectclass";
        *csn |= name == "entrycsn";
    }

    /// The source, if the marks tell it.
    pub(super) fn source(self) -> Option<Source> {
        if self.unique_id {
            Some(Source::Ds389)
        } else if self.of_slapcat == [true, true] {
            Some(Source::Slapcat)
        } else if self.of_opendj {
            Some(Source::Opendj)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_is_recognized_by_its_operational_attributes() {
        let source = |names: &[&str]| {
            let mut marks = Marks::default();
            for name in names {
                marks.see(name);
            }
            marks.source()
        };
        assert_eq!(source(&["cn", "nsuniqueid", "entryuuid"]), Some(Source::Ds389));
        assert_eq!(source(&["structuralobjectclass", "entrycsn"]), Some(Source::Slapcat));
        assert_eq!(source(&["entryuuid", "ds-sync-hist"]), Some(Source::Opendj));
        assert_eq!(source(&["cn", "entryuuid"]), None);
    }
}
