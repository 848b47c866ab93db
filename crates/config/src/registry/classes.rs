//! Look-ups of the object classes of cn=config.

use super::Registry;
use crate::olc_schema::classes::ClassRow;

impl Registry {
    /// The class of cn=config with a name.
    pub(crate) fn class(&self, name: &str) -> Option<&ClassRow> {
        self.classes().iter().find(|row| row.is_named(name))
    }

    /// The superclasses from the top, and the class itself.
    fn lineage<'r>(&'r self, row: &'r ClassRow) -> Vec<&'r ClassRow> {
        let mut rows: Vec<_> = std::iter::successors(Some(row), |row| self.class(row.superclass()?)).collect();
        rows.reverse();
        rows
    }

    /// The attributes of an entry of these classes, in the order in which slapd reads and keeps them when the entry is
    /// added.
    pub(crate) fn order_of<'a>(&self, names: impl DoubleEndedIterator<Item = &'a str>) -> Vec<&'static str> {
        let mut rows: Vec<&ClassRow> = Vec::new();
        for row in names
            .rev()
            .filter_map(|name| self.class(name))
            .flat_map(|row| self.lineage(row))
        {
            if !rows.iter().any(|known| known.oid == row.oid) {
                rows.push(row);
            }
        }
        let mut order: Vec<&'static str> = Vec::new();
        for row in rows.into_iter().rev() {
            let lineage = self.lineage(row);
            let required = lineage.iter().flat_map(|row| row.must.iter());
            for attribute in required.chain(lineage.iter().flat_map(|row| row.may.iter())) {
                if !order.contains(attribute) {
                    order.push(attribute);
                }
            }
        }
        order
    }
}
