//! Searches that are written as LDAP URLs.

use ironbark_model::{
    Budget, CompiledFilter, Dn, Filter, Schema,
    ldap_url::{LdapUrl, UrlScope},
};
use ironbark_store::DitScope;

/// A search of this server.
#[derive(Debug)]
pub struct UrlSearch {
    /// Base object.
    pub base: Dn,
    /// Scope.
    pub scope: DitScope,
    /// Filter.
    pub filter: CompiledFilter,
    /// Whether the URL has a filter: without one, all entries match.
    pub is_filtered: bool,
    /// The attributes that the URL names; none: all.
    pub attributes: Vec<String>,
}

/// Nesting of filters in URLs.
const FILTER_DEPTH: usize = 100;

impl UrlSearch {
    /// Reads `ldap:///<base>?<attributes>?<scope>?<filter>`. `also` must match too. `None`: it is no URL of this server
    /// (it has a host or extensions), or it is malformed.
    pub fn parse(schema: &Schema, text: &str, also: Option<Filter<'_>>, budget: Option<&Budget>) -> Option<Self> {
        let url = LdapUrl::parse(text).ok()?;
        if !url.host.is_empty() || !url.extensions.is_empty() {
            return None;
        }
        let own = url.filter.as_deref().filter(|text| !text.is_empty());
        let is_filtered = own.is_some();
        let own = own.unwrap_or("(objectClass=*)");
        let own = Filter::parse(own.as_bytes(), FILTER_DEPTH).ok()?;
        let filter = match also {
            Some(also) => Filter::And(vec![also, own]),
            None => own,
        };
        let mut compiled = CompiledFilter::default();
        compiled.compile_within(schema, &filter, budget);
        Some(Self {
            base: Dn::parse(schema, url.dn.as_bytes()).ok()?,
            scope: match url.scope {
                None | Some(UrlScope::Base) => DitScope::Base,
                Some(UrlScope::OneLevel) => DitScope::OneLevel,
                Some(UrlScope::Subtree) => DitScope::Subtree,
                Some(UrlScope::Children) => DitScope::Children,
            },
            filter: compiled,
            is_filtered,
            attributes: url.attributes,
        })
    }

    /// Whether an entry with this name is in the scope.
    pub fn is_in_scope(&self, dn: &Dn) -> bool {
        match self.scope {
            DitScope::Base => *dn == self.base,
            DitScope::OneLevel => dn.is_child_of(&self.base),
            DitScope::Subtree => dn.is_within(&self.base),
            DitScope::Children => dn.is_within(&self.base) && *dn != self.base,
        }
    }
}
