//! Selects the entries for slapcat and slapschema: `-a`, `-s`, `-H`.

use ironbark_config::LoadedConfiguration;
use ironbark_model::{
    Attribute, AttributeDescription, CompiledFilter, Dn, Entry, Filter, Schema, Truth,
    entry::EntrySource,
    ldap_url::{LdapUrl, UrlScope},
};
use ironbark_store::{DitScope, Location, Record, StoreError, View};

use super::options::Options;

/// A selection of entries.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    base: Option<(Dn, DitScope)>,
    filter: Option<CompiledFilter>,
    /// entryDN, if the filter asks for it. It is not stored.
    entry_dn: Option<AttributeDescription>,
}

/// The selected part of one database.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    /// No entry.
    Nothing,
    /// All entries.
    All,
    /// The entries in the scope of that entry.
    Below(u64, DitScope),
}

impl Selection {
    /// Reads `-a`, `-s` and `-H`. Sets `-b` from the base if neither `-b` nor `-n` was given.
    ///
    /// # Errors
    /// The message for the user.
    pub(crate) fn base_of(options: &mut Options) -> Result<(), String> {
        let mut base = None;
        for opt in &options.own {
            let text = opt.text().map_err(|error| error.to_string())?;
            match opt.letter {
                's' => base = Some(text.to_owned()),
                'H' => base = Some(url(text)?.dn).filter(|dn| !dn.is_empty()).or(base),
                _ => {}
            }
        }
        if options.number.is_none() && options.suffix.is_none() {
            options.suffix = base;
        }
        Ok(())
    }

    /// Reads `-a`, `-s` and `-H` with the schema of a configuration.
    ///
    /// # Errors
    /// The message for the user.
    pub(crate) fn new(options: &Options, configuration: &LoadedConfiguration) -> Result<Self, String> {
        let mut selection = Self::default();
        for opt in &options.own {
            let text = opt.text().map_err(|error| error.to_string())?;
            match opt.letter {
                'a' => selection.set_filter(text, configuration)?,
                's' => selection.set_base(text, DitScope::Subtree, configuration)?,
                'H' => {
                    let url = url(text)?;
                    let scope = match url.scope {
                        None | Some(UrlScope::Subtree) => DitScope::Subtree,
                        Some(UrlScope::Base) => DitScope::Base,
                        Some(UrlScope::OneLevel) => DitScope::OneLevel,
                        Some(UrlScope::Children) => DitScope::Children,
                    };
                    if !url.dn.is_empty() || scope != DitScope::Subtree {
                        selection.set_base(&url.dn, scope, configuration)?;
                    }
                    if let Some(filter) = &url.filter {
                        selection.set_filter(filter, configuration)?;
                    }
                }
                _ => {}
            }
        }
        Ok(selection)
    }

    fn set_base(&mut self, text: &str, scope: DitScope, configuration: &LoadedConfiguration) -> Result<(), String> {
        let dn =
            Dn::parse(&configuration.schema, text.as_bytes()).map_err(|_| format!("Invalid subtree DN '{text}'"))?;
        self.base = Some((dn, scope));
        Ok(())
    }

    fn set_filter(&mut self, text: &str, configuration: &LoadedConfiguration) -> Result<(), String> {
        let schema = &configuration.schema;
        let depth = usize::try_from(configuration.global.max_filter_depth).unwrap_or(usize::MAX);
        let filter = Filter::parse(text.as_bytes(), depth).map_err(|_| format!("Invalid filter '{text}'"))?;
        let mut compiled = CompiledFilter::default();
        compiled.compile(schema, &filter);
        let entry_dn = schema.attribute_description(b"entryDN").ok();
        self.entry_dn = entry_dn.filter(|name| compiled.slots.contains(name));
        self.filter = Some(compiled);
        Ok(())
    }

    /// The selected part of a database. `suffixes` are the database's own.
    pub(crate) fn part(&self, view: &View<'_>, suffixes: &[Dn]) -> Result<Part, StoreError> {
        let Some((base, scope)) = &self.base else {
            return Ok(Part::All);
        };
        if suffixes.iter().any(|suffix| base.is_within(suffix)) {
            return Ok(match view.locate(base)? {
                Location::Entry(id) => Part::Below(id, *scope),
                // The root above the topmost entries of a database with the empty suffix.
                Location::Missing { .. } if base.is_root() && *scope != DitScope::Base => Part::All,
                Location::Missing { .. } => Part::Nothing,
            });
        }
        // The base lies above a glued database: all entries of the database are below it.
        let below = suffixes.iter().any(|suffix| suffix.is_within(base));
        Ok(if below && matches!(scope, DitScope::Subtree | DitScope::Children) {
            Part::All
        } else {
            Part::Nothing
        })
    }

    /// Whether an entry is selected.
    pub(crate) fn holds(
        &self,
        view: &View<'_>,
        part: Part,
        record: &Record<'_>,
        scratch: &mut Vec<u8>,
    ) -> Result<bool, StoreError> {
        let in_part = match part {
            Part::Nothing => false,
            Part::All => true,
            Part::Below(base, scope) => view.in_scope(record.id, base, scope)?,
        };
        let Some(filter) = self.filter.as_ref().filter(|_| in_part) else {
            return Ok(in_part);
        };
        scratch.clear();
        let Some(description) = &self.entry_dn else {
            return Ok(record.evaluate(filter, scratch) == Truth::True);
        };
        let entry: Entry = record.to_entry(view.dn(record.id)?)?;
        Ok(matches(view.schema(), filter, Some(description), entry, scratch))
    }

    /// Whether an entry in memory is selected.
    pub(crate) fn holds_entry(&self, schema: &Schema, entry: &Entry) -> bool {
        let in_scope = self.base.as_ref().is_none_or(|(base, scope)| match scope {
            DitScope::Base => entry.dn == *base,
            DitScope::OneLevel => entry.dn.depth() == base.depth() + 1 && entry.dn.is_within(base),
            DitScope::Subtree => entry.dn.is_within(base),
            DitScope::Children => entry.dn.depth() > base.depth() && entry.dn.is_within(base),
        });
        let filter = self.filter.as_ref().filter(|_| in_scope);
        filter.map_or(in_scope, |filter| {
            matches(schema, filter, self.entry_dn.as_ref(), entry.clone(), &mut Vec::new())
        })
    }
}

fn matches(
    schema: &Schema,
    filter: &CompiledFilter,
    entry_dn: Option<&AttributeDescription>,
    mut entry: Entry,
    scratch: &mut Vec<u8>,
) -> bool {
    if let Some(description) = entry_dn {
        let values = vec![entry.dn.pretty().as_bytes().to_vec()];
        entry.attributes.push(Attribute {
            description: description.clone(),
            values,
        });
    }
    let source = EntrySource::new(schema, filter, &entry);
    filter.evaluate(schema, &source, scratch) == Truth::True
}

fn url(text: &str) -> Result<LdapUrl, String> {
    LdapUrl::parse(text).map_err(|error| format!("Invalid URL '{text}': {error}"))
}
