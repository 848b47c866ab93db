//! `ironbark explain`: the plan of a search, its cost, and its result.

mod advice;

use std::{fmt::Write as _, sync::Arc};

use clap::{Args, ValueEnum};
use ironbark_config::{DatabaseConfig, overlay::OverlayConfig};
use ironbark_directory::{
    Appraisal, GivenByOverlays,
    overlay::{Given, Overlay},
};
use ironbark_model::{CompiledFilter, Dn, Schema, Truth};
use ironbark_runtime::Clock;
use ironbark_store::{Database, DitScope, Location, View};

use crate::shared::{open::open_to_read, target::Target, wanted};

/// Options of `ironbark explain`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Explain {
    #[command(flatten)]
    target: Target,
    /// The search scope
    #[arg(short, long, value_enum, default_value_t = ScopeName::Sub)]
    scope: ScopeName,
    /// The search filter
    filter: String,
}

const EXAMPLES: &str = "Examples:
  ironbark explain -f directory/slapd.conf '(&(objectClass=person)(sn=Ma*))'
  ironbark explain -b ou=people,dc=example,dc=com -s one '(uid=ann)'";

/// A scope as ldapsearch names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum ScopeName {
    Base,
    One,
    Sub,
    Children,
}

/// Entries whose computed values are shown.
const MOST_SHOWN: usize = 5;
/// Values of an attribute that are shown.
const MOST_VALUES: usize = 10;

impl Explain {
    pub(super) fn run(&self) -> Result<(), String> {
        let chosen = self.target.choose()?;
        let (position, settings) = chosen.databases().next().ok_or("no database")?;
        let Some(database) = open_to_read(settings, &chosen)? else {
            return Err("the database is empty".to_owned());
        };
        let depth = usize::try_from(chosen.configuration.global.max_filter_depth).unwrap_or(usize::MAX);
        let filter = wanted::filter(&self.filter, depth)?;
        let mut compiled = CompiledFilter::default();
        compiled.compile(chosen.schema(), &filter);
        let base = match &self.target.base {
            Some(text) => wanted::dn(chosen.schema(), text)?,
            None => settings.suffixes.first().cloned().unwrap_or_default(),
        };
        let mut databases: Vec<Option<Database>> = (0..position).map(|_| None).collect();
        databases.push(Some(database));
        let overlays = |config: &OverlayConfig, schema: &Arc<Schema>| {
            let mut made = ironbark_overlays::make(config, schema)?;
            let derivation = made.derivation.take();
            Ok(derivation.map(|derivation| Overlay {
                derivation: Some(derivation),
                ..Overlay::new(made.name)
            }))
        };
        let appraisal = Appraisal::with_overlays(&chosen.configuration, databases, overlays);
        let appraisal = appraisal.map_err(|error| error.to_string())?;
        // cn=config is the first.
        let number = position + 1;
        let database = appraisal.database(number).ok_or("no database")?;
        let snapshot = database.snapshot().map_err(|error| error.to_string())?;
        let explained = appraisal.deriving(number, snapshot.view(), |view, given| {
            self.explain(&view, given, &base, &compiled, settings)
        });
        let text = explained.map_err(|error| error.to_string())??;
        print!("{}{text}", advice::unknown(chosen.schema(), &filter));
        Ok(())
    }

    fn explain(
        &self,
        view: &View<'_>,
        given: &GivenByOverlays<'_>,
        base: &Dn,
        filter: &CompiledFilter,
        settings: &DatabaseConfig,
    ) -> Result<String, String> {
        let failed = |error: ironbark_store::StoreError| error.to_string();
        let scope = match self.scope {
            ScopeName::Base => DitScope::Base,
            ScopeName::One => DitScope::OneLevel,
            ScopeName::Sub => DitScope::Subtree,
            ScopeName::Children => DitScope::Children,
        };
        let base_id = match view.locate(base).map_err(failed)? {
            Location::Entry(id) => id,
            Location::Missing { .. } if base.is_root() => 0,
            Location::Missing { .. } => return Err(format!("{}: no such object", base.pretty())),
        };
        let clock = Clock::system();
        let start = clock.monotonic().nanos();
        let plan = view.plan(base_id, scope, filter).map_err(failed)?;
        let planned = clock.monotonic().nanos();
        let mut candidates = view.candidates(&plan, 0).map_err(failed)?;
        let (mut examined, mut matched, mut scratch) = (0u64, 0u64, Vec::new());
        let mut first = Vec::new();
        while let Some(id) = candidates.next_id().map_err(failed)? {
            examined += 1;
            let Some(record) = view.record(id).map_err(failed)? else {
                continue;
            };
            scratch.clear();
            let in_scope = base_id == 0 || view.in_scope(id, base_id, scope).map_err(failed)?;
            if in_scope && record.evaluate_planned(&plan, filter, &mut scratch) == Truth::True {
                matched += 1;
                if first.len() < MOST_SHOWN {
                    first.push(record);
                }
            }
        }
        let ended = clock.monotonic().nanos();
        let micros = |from: u64, to: u64| to.saturating_sub(from) / 1000;
        let mut text = format!(
            "{plan}\ncandidates examined: {examined}\nentries found: {matched}\nplanned in {} us, answered in {} us\n",
            micros(start, planned),
            micros(planned, ended)
        );
        text.push_str(&advice::indexes(view, settings, &plan, filter, examined, matched));
        for record in &first {
            let all = given.to(record).map_err(failed)?;
            if !all.is_empty() {
                let dn = view.dn(record.id).map_err(failed)?;
                let _ = writeln!(text, "computed values of {}:", dn.pretty());
                for one in &all {
                    show(view.schema(), one, &mut text);
                }
            }
        }
        Ok(text)
    }
}

/// Appends the values that an overlay gives to an entry, and where they are from.
fn show(schema: &Schema, given: &Given, text: &mut String) {
    let name = schema.description_text(&given.attribute);
    for value in given.values.iter().take(MOST_VALUES) {
        let _ = writeln!(text, "  {name}: {}", value.escape_ascii());
    }
    if given.values.len() > MOST_VALUES {
        let _ = writeln!(text, "  {name}: {} more", given.values.len() - MOST_VALUES);
    }
    let hides = if given.replaces {
        ", in place of what the entry holds"
    } else {
        ""
    };
    let _ = writeln!(text, "    by overlay {}{hides}", given.overlay);
    for origin in &given.origins {
        let holder = origin.holder.iter().map(|holder| format!(", values of {holder}"));
        let _ = writeln!(
            text,
            "    definition {}{}",
            origin.definition,
            holder.collect::<String>()
        );
    }
}
