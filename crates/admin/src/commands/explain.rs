//! `ironbark explain`: the plan of a search, its cost, and its result.

use clap::{Args, ValueEnum};
use ironbark_model::{CompiledFilter, Dn, Filter, Truth};
use ironbark_runtime::Clock;
use ironbark_store::{Location, Scope, View};

use crate::shared::{open::open_to_read, target::Target};

/// Options of `ironbark explain`.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    #[command(flatten)]
    target: Target,
    /// The search scope
    #[arg(short, long, value_enum, default_value_t = ScopeName::Sub)]
    scope: ScopeName,
    /// The search filter
    filter: String,
}

/// A scope as ldapsearch names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum ScopeName {
    Base,
    One,
    Sub,
    Children,
}

impl Explain {
    pub(super) fn run(&self) -> Result<(), String> {
        let chosen = self.target.choose()?;
        let (_, settings) = chosen.databases().next().ok_or("no database")?;
        let Some(database) = open_to_read(settings, &chosen, "ironbark")? else {
            return Err("the database is empty".to_owned());
        };
        let depth = usize::try_from(chosen.configuration.global.max_filter_depth).unwrap_or(usize::MAX);
        let filter = Filter::parse(self.filter.as_bytes(), depth).map_err(|error| format!("filter: {error}"))?;
        let mut compiled = CompiledFilter::default();
        compiled.compile(chosen.schema(), &filter);
        let base = match &self.target.base {
            Some(text) => Dn::parse(chosen.schema(), text.as_bytes()).map_err(|_| format!("{text}: no DN"))?,
            None => settings.suffixes.first().cloned().unwrap_or_default(),
        };
        let snapshot = database.snapshot().map_err(|error| error.to_string())?;
        self.explain(&snapshot.view(), &base, &compiled)
            .map(|text| print!("{text}"))
    }

    fn explain(&self, view: &View<'_>, base: &Dn, filter: &CompiledFilter) -> Result<String, String> {
        let failed = |error: ironbark_store::StoreError| error.to_string();
        let scope = match self.scope {
            ScopeName::Base => Scope::Base,
            ScopeName::One => Scope::OneLevel,
            ScopeName::Sub => Scope::Subtree,
            ScopeName::Children => Scope::Children,
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
        while let Some(id) = candidates.next_id().map_err(failed)? {
            examined += 1;
            let Some(record) = view.record(id).map_err(failed)? else {
                continue;
            };
            scratch.clear();
            let in_scope = base_id == 0 || view.in_scope(id, base_id, scope).map_err(failed)?;
            if in_scope && record.evaluate_planned(&plan, filter, &mut scratch) == Truth::True {
                matched += 1;
            }
        }
        let ended = clock.monotonic().nanos();
        let micros = |from: u64, to: u64| to.saturating_sub(from) / 1000;
        Ok(format!(
            "{plan}\ncandidates examined: {examined}\nentries found: {matched}\nplanned in {} us, answered in {} us\n",
            micros(start, planned),
            micros(planned, ended)
        ))
    }
}
