//! Aliases (RFC 4511 §4.5.1.3, RFC 4512 §2.6), in the name of the base object and below it.

use ironbark_model::Filter;
use ironbark_model::filter::Assertion;
use std::{collections::VecDeque, ops::ControlFlow, sync::Arc};

use ironbark_model::{CompiledFilter, Dn, budget::cost};
use ironbark_store::{DitScope, EntryId, Location, View};

use super::target::Target;
use crate::{Configuration, NamingContext, OperationError, access::disclosure::Disclosure, refusal::SearchRefusal};

/// Aliases that one search may follow below its base, whatever `maxderefdepth` says of the way to it. Beyond that the
/// result is adminLimitExceeded, or aliasProblem on the way to the base.
const ALIAS_LIMIT: usize = 10_000;

/// Steps for following an alias, and octets for comparing one subtree with another.
const LINK_STEPS: u64 = 50;
const COMPARED_OCTETS: usize = 8;

/// A subtree that an alias has added to the search.
#[derive(Clone, Debug)]
pub(crate) struct AliasBase {
    pub(crate) dn: Dn,
    pub(crate) scope: DitScope,
}

/// The name after the aliases in it have been followed.
#[derive(Clone, Debug)]
pub(super) struct Followed {
    pub(super) dn: Dn,
    /// Number of RDNs of the last alias's target. The RDNs below it are carried over from the former name.
    pub(super) target_depth: usize,
}

/// A base object, and the way to it.
#[derive(Clone, Copy)]
pub(super) struct FoundBase<'a> {
    /// Its name in the request.
    pub(super) asked: &'a Dn,
    /// Its name after aliases, if there were any.
    pub(super) followed: Option<&'a Followed>,
    pub(super) id: EntryId,
    pub(super) scope: DitScope,
}

impl<'a> FoundBase<'a> {
    /// The name of the entry.
    pub(super) fn dn(&self) -> &'a Dn {
        self.followed.map_or(self.asked, |followed| &followed.dn)
    }
}

/// Follows aliases in `dn`: the named entry and each of its superiors. An alias that the subject may not know of is
/// treated as an ordinary entry; slapd follows it.
///
/// # Errors
/// `aliasProblem` for a loop, more than `maxderefdepth` aliases, or an alias that leads nowhere.
pub(super) fn find_base(disclosure: Disclosure<'_>, dn: &Dn) -> Result<Option<Followed>, OperationError> {
    let Disclosure { requester, view } = disclosure;
    let (context, configuration) = (requester.context, requester.configuration);
    let mut current: Option<Followed> = None;
    // As in slapd, a negative number is no limit of its own.
    let depth = usize::try_from(context.settings.max_dereference_depth).unwrap_or(usize::MAX);
    for _ in 0..=depth.min(ALIAS_LIMIT) {
        let name = current.as_ref().map_or(dn, |followed| &followed.dn);
        let (id, depth) = match view.locate(name)? {
            Location::Entry(id) => (id, name.depth()),
            Location::Missing { ancestor: Some(found) } => found,
            Location::Missing { ancestor: None } => return Ok(current),
        };
        let found = look_at(configuration, view, id)?;
        if !matches!(found, Found::Entry) && !disclosure.discloses_entry(id)? {
            return Ok(current);
        }
        let target = match found {
            Found::Entry => return Ok(current),
            Found::Alias(target) => target,
            Found::BrokenAlias => return Err(problem(view, id, SearchRefusal::InvalidAlias)),
        };
        if name.is_within(&target) && name.depth() == depth && *name == target {
            return Err(problem(view, id, SearchRefusal::CircularAlias));
        }
        if leads_nowhere(configuration, view, &target)? {
            return Err(problem(view, id, SearchRefusal::AliasToNothing));
        }
        // The RDNs below the alias are carried over to its target.
        let target_depth = target.depth();
        let mut followed = target;
        for level in (0..name.depth().saturating_sub(depth)).rev() {
            if let Some(rdn) = name
                .rdn(level)
                .and_then(|(pretty, _)| Dn::parse(&configuration.schema, pretty).ok())
            {
                followed = followed.child(&rdn);
            }
        }
        current = Some(Followed {
            dn: followed,
            target_depth,
        });
    }
    Err(SearchRefusal::AliasesTooDeep.into())
}

/// The kind of an entry on the way to another.
enum Found {
    Entry,
    Alias(Dn),
    /// The alias has no valid name of a target.
    BrokenAlias,
}

/// Whether a name is missing, and no alias in it could lead to an entry.
fn leads_nowhere(configuration: &Configuration, view: View<'_>, name: &Dn) -> Result<bool, OperationError> {
    Ok(match view.locate(name)? {
        Location::Entry(_) => false,
        Location::Missing { ancestor: None } => true,
        Location::Missing {
            ancestor: Some((id, _)),
        } => matches!(look_at(configuration, view, id)?, Found::Entry),
    })
}

fn look_at(configuration: &Configuration, view: View<'_>, id: EntryId) -> Result<Found, OperationError> {
    let Some(record) = view.record(id)?.filter(ironbark_store::Record::is_alias) else {
        return Ok(Found::Entry);
    };
    let mut target = None;
    if let Some(values) = record.values(&configuration.well_known.aliased_object_name) {
        values.for_each(&mut |value| {
            target = Dn::parse(&configuration.schema, value).ok();
            ControlFlow::Break(())
        })?;
    }
    Ok(target.map_or(Found::BrokenAlias, Found::Alias))
}

/// The error for an alias that leads to nothing. The alias is the named entry, or its deepest superior that exists; it
/// is returned with its depth.
pub(super) fn leads_to_nothing(
    view: View<'_>,
    dn: &Dn,
) -> Result<(OperationError, Option<(EntryId, usize)>), OperationError> {
    let alias = match view.locate(dn)? {
        Location::Entry(id) => Some((id, dn.depth())),
        Location::Missing { ancestor } => ancestor,
    };
    let nothing = || SearchRefusal::NoSuchBase.into();
    Ok((
        alias.map_or_else(nothing, |(id, _)| problem(view, id, SearchRefusal::AliasToNothing)),
        alias,
    ))
}

fn problem(view: View<'_>, id: EntryId, refusal: SearchRefusal) -> OperationError {
    OperationError {
        matched_dn: view.dn(id).map(|dn| dn.pretty().to_owned()).unwrap_or_default(),
        ..refusal.into()
    }
}

/// Adds the targets of aliases within the scope of `base` to the search, and the targets of aliases below those. Each
/// subtree is added once.
///
/// Some aliases are passed over: those that lead nowhere or to another naming context (RFC 4511 §4.5.1.3 leaves the
/// choice), and those that the subject may not know of.
pub(super) fn expand(
    disclosure: Disclosure<'_>,
    context: &Arc<NamingContext>,
    base: FoundBase<'_>,
    targets: &mut VecDeque<Target>,
) -> Result<Vec<AliasBase>, OperationError> {
    let Disclosure { requester, view } = disclosure;
    let configuration = requester.configuration;
    let mut bases = vec![AliasBase {
        dn: base.dn().clone(),
        scope: base.scope,
    }];
    let mut open = VecDeque::from([(base.id, base.scope)]);
    let mut followed = 0;
    let mut alias_filter = CompiledFilter::default();
    alias_filter.compile(&configuration.schema, &class_filter(b"alias"));
    while let Some((id, scope)) = open.pop_front() {
        if scope == DitScope::Base {
            continue;
        }
        let plan = view.plan(id, scope, &alias_filter)?;
        let mut aliases = view.candidates(&plan, 0)?;
        while let Some(alias) = aliases.next_id()? {
            // The base itself is not below the base, even if it is an alias.
            if alias == id || !view.in_scope(alias, id, scope)? {
                continue;
            }
            followed += 1;
            // Each target is compared with all known bases.
            if !view.spend(LINK_STEPS + cost(COMPARED_OCTETS * bases.len())) {
                return Ok(bases);
            }
            if followed > ALIAS_LIMIT {
                return Err(SearchRefusal::TooManyAliases.into());
            }
            let Some(target) = resolve(disclosure, alias)? else {
                continue;
            };
            // Below a one-level base an alias stands for its target entry. Below a subtree it stands for its target
            // subtree.
            let scope = if scope == DitScope::OneLevel {
                DitScope::Base
            } else {
                DitScope::Subtree
            };
            if bases.iter().any(|known| covers(known, &target.1, scope)) {
                continue;
            }
            targets.push_back(Target::of_alias(Arc::clone(context), target.0, scope, bases.len()));
            bases.push(AliasBase { dn: target.1, scope });
            open.push_back((target.0, scope));
        }
    }
    Ok(bases)
}

/// The entry that an alias leads to, also through further aliases.
fn resolve(disclosure: Disclosure<'_>, alias: EntryId) -> Result<Option<(EntryId, Dn)>, OperationError> {
    let Disclosure { requester, view } = disclosure;
    let configuration = requester.configuration;
    let Found::Alias(target) = look_at(configuration, view, alias)? else {
        return Ok(None);
    };
    if !disclosure.discloses_entry(alias)? {
        return Ok(None);
    }
    let target = match find_base(disclosure, &target) {
        Ok(further) => further.map_or(target, |followed| followed.dn),
        Err(_) => return Ok(None),
    };
    Ok(match view.locate(&target)? {
        Location::Entry(id) => Some((id, target)),
        Location::Missing { .. } => None,
    })
}

/// Whether a known subtree holds all of another subtree.
pub(super) fn covers(known: &AliasBase, dn: &Dn, scope: DitScope) -> bool {
    match known.scope {
        DitScope::Subtree => dn.is_within(&known.dn),
        DitScope::Children => dn.is_within(&known.dn) && dn.depth() > known.dn.depth(),
        DitScope::Base => scope == DitScope::Base && *dn == known.dn,
        DitScope::OneLevel => scope == DitScope::Base && dn.is_within(&known.dn) && dn.depth() == known.dn.depth() + 1,
    }
}

/// `(objectClass=name)`.
pub(super) fn class_filter(name: &'static [u8]) -> Filter<'static> {
    Filter::Equality(Assertion {
        attribute: b"objectClass".as_slice().into(),
        value: name.into(),
    })
}
