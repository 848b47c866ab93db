//! The errand in the database of the log: its suffix entry, and entries for operations.
//!
//! Invariants: the number of the last change that was taken of a source is written in the transaction of its entries.
//! So an operation is in the log once, whatever is delivered again. `reqStart` rises from entry to entry.

use ironbark_directory::{
    LOGGED_UNORDERED_ATTRIBUTE, OperationError, log_first_note,
    overlay::{Errand, Execution},
    stamp::generalized_time,
};
use ironbark_model::{Dn, ResultCode};
use ironbark_store::{
    ChangeRecord, ContextVector, Csn, Effect, Location, ValueChange,
    change::{Position, TextAttribute},
};

use super::{announced, render::LoggedOperation};

/// An operation on the source; or a change of it, or the last part of one, of which the log says nothing.
///
/// A change may have several operations. Each becomes an entry with a record of its own: consumers of the log are told
/// a cookie with each of them, and go on from there.
#[derive(Clone, Debug)]
pub(super) struct LogChange {
    /// The place of the change in the log of changes of the source; `None`: it is no change.
    pub(super) position: Option<Position>,
    /// Whether the change has no further operation.
    pub(super) is_last: bool,
    /// CSN of the operation, and the server that sent it.
    pub(super) csn: Option<(Csn, u16)>,
    /// CSNs that the context vector takes in with it.
    pub(super) cookie: Vec<Csn>,
    /// What the log says of it.
    pub(super) operation: Option<LoggedOperation>,
}

impl LogChange {
    /// The operations of a change, in their order.
    pub(super) fn of(record: &ChangeRecord, operations: Vec<LoggedOperation>) -> Vec<Self> {
        // Of cn=config each change is told once.
        let position = Some(record.position).filter(|position| position.sequence != 0);
        let vector: ContextVector = record.context_csns().collect();
        let part = |mut operation: Option<LoggedOperation>| {
            let csn = operation.as_ref().and_then(|operation| operation.csn);
            // A refresh brings changes in no order, and its end says that they are complete.
            if let Some(operation) = operation
                .as_mut()
                .filter(|_| csn.is_some_and(|csn| !vector.covers(csn)))
            {
                operation.details.push(text(LOGGED_UNORDERED_ATTRIBUTE, "TRUE"));
            }
            Self {
                position,
                is_last: false,
                csn: Some((csn.unwrap_or(record.csn), record.via)),
                cookie: Vec::new(),
                operation,
            }
        };
        let mut parts: Vec<Self> = operations.into_iter().map(|operation| part(Some(operation))).collect();
        if parts.is_empty() {
            parts.push(part(None));
        }
        if let Some(last) = parts.last_mut() {
            last.is_last = true;
            last.cookie.clone_from(&record.cookie);
        }
        parts
    }
}

/// What the log lacks of its source and will not get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lost {
    /// Nothing.
    Nothing,
    /// Changes before these: they could not be written, or there is no record of them.
    Before,
    /// All that these leave out: cn=config, which has no lasting log of changes, was changed while it was not followed.
    Beside,
}

/// The errand: first the suffix entry, then the changes.
pub(super) struct Append {
    /// Suffix of the log.
    pub(super) suffix: Dn,
    /// The context vector of the source, for a new suffix entry.
    pub(super) vector: ContextVector,
    /// Whether the source is cn=config.
    pub(super) is_of_tree: bool,
    /// What the log lacks of that vector and will not get.
    pub(super) lost: Lost,
    pub(super) changes: Vec<LogChange>,
}

impl Errand for Append {
    fn steps(&self) -> usize {
        self.changes.len() + 2
    }

    fn step(&self, number: usize, execution: &mut Execution<'_, '_>) -> Result<(), OperationError> {
        let Some(number) = number.checked_sub(1) else {
            self.make_container(execution)?;
            return match self.lost {
                Lost::Before => self.begin_anew(execution),
                Lost::Nothing | Lost::Beside => Ok(()),
            };
        };
        match self.changes.get(number) {
            Some(change) => self.append(execution, change),
            None if self.lost == Lost::Beside => self.begin_anew(execution),
            None => Ok(()),
        }
    }
}

impl Append {
    fn make_container(&self, execution: &mut Execution<'_, '_>) -> Result<(), OperationError> {
        if let Location::Entry(_) = execution.view().locate(&self.suffix)? {
            return Ok(());
        }
        execution.keep_silent();
        let mut attributes: Vec<TextAttribute> = vec![text("objectClass", "auditContainer")];
        for (description, value) in self.suffix.leaf_assertions(execution.schema()) {
            attributes.push((execution.name_of(&description).into(), vec![value]));
        }
        attributes.push(text("structuralObjectClass", "auditContainer"));
        let csns: Vec<Csn> = self.vector.iter().collect();
        if !csns.is_empty() {
            let values = csns.iter().map(|csn| csn.text().into_bytes());
            attributes.push(("minCSN".into(), values.collect()));
        }
        let csn = execution.stamp.csn.clone();
        self.add_operational(execution, &csn, &mut attributes)?;
        let dn = self.suffix.pretty().into();
        execution.apply_further(Effect::Add { dn, attributes })?;
        execution.take_cookie(csns);
        Ok(())
    }

    /// Lets the log begin behind what it lacks: `minCSN` is raised, so that consumers that lack the same do not take
    /// the rest for everything.
    fn begin_anew(&self, execution: &mut Execution<'_, '_>) -> Result<(), OperationError> {
        execution.keep_silent();
        let held = execution.vector()?;
        let lost = |csn: &Csn| held.of_server(csn.server_id()) < Some(*csn);
        let csns: Vec<Csn> = self.vector.iter().filter(lost).collect();
        if csns.is_empty() {
            return Ok(());
        }
        let name = self.suffix.pretty();
        tracing::warn!(
            target: "any",
            "accesslog: {name} lacks changes of its database, and begins anew: consumers need a refresh of the content"
        );
        let mut min = min_csn(execution, &self.suffix)?;
        for csn in &csns {
            min.merge(*csn);
        }
        let change = ValueChange::Replace {
            attribute: "minCSN".into(),
            values: min.iter().map(|csn| csn.text().into_bytes()).collect(),
        };
        execution.apply_further(Effect::Modify {
            dn: name.into(),
            changes: vec![change],
        })?;
        execution.take_cookie(csns);
        Ok(())
    }

    fn append(&self, execution: &mut Execution<'_, '_>, change: &LogChange) -> Result<(), OperationError> {
        if let Some(position) = change.position {
            let name = format!("{:016x}", position.generation);
            let known = execution.view().source(&name)?;
            if number(known.as_deref()) >= Some(position.sequence) {
                return Ok(());
            }
            if change.is_last {
                execution.put_source(&name, &position.sequence.to_be_bytes())?;
            }
        }
        match change.csn {
            Some((csn, via)) => {
                execution.attribute_to(csn, via);
                self.note_server(execution, csn)?;
            }
            None => execution.keep_silent(),
        }
        if self.is_of_tree {
            announced::forget(execution)?;
        }
        if let Some(operation) = &change.operation {
            self.add(execution, change, operation)?;
        }
        execution.take_cookie(change.cookie.clone());
        Ok(())
    }

    fn add(
        &self,
        execution: &mut Execution<'_, '_>,
        change: &LogChange,
        operation: &LoggedOperation,
    ) -> Result<(), OperationError> {
        let last = number(execution.view().source(CLOCK)?.as_deref()).and_then(|last| i64::try_from(last).ok());
        let start = last.map_or(operation.begun_micros, |last| operation.begun_micros.max(last + 1));
        execution.put_source(CLOCK, &start.to_be_bytes())?;
        let start_text = generalized_time::text_with_micros(start);
        let end_text = generalized_time::text_with_micros(operation.ended_micros.max(start));
        let mut attributes = vec![
            text("objectClass", operation.class),
            text("structuralObjectClass", operation.class),
            text("reqStart", &start_text),
            text("reqEnd", &end_text),
            text("reqType", &operation.kind),
            text("reqSession", &operation.session.to_string()),
            text("reqAuthzID", &operation.author),
        ];
        if !operation.controls.is_empty() {
            attributes.push(("reqControls".into(), operation.controls.clone()));
        }
        if let Some(dn) = &operation.dn {
            attributes.push(text("reqDN", dn));
        }
        if !operation.message.is_empty() {
            attributes.push(text("reqMessage", &operation.message));
        }
        if let Some(code) = operation.result {
            attributes.push(text("reqResult", &code.to_string()));
        }
        attributes.extend(operation.details.iter().cloned());
        let csn = match change.csn {
            Some((csn, _)) => csn.text(),
            None => execution.stamp.csn.clone(),
        };
        self.add_operational(execution, &csn, &mut attributes)?;
        let dn = format!("reqStart={start_text},{}", self.suffix.pretty()).into();
        execution.apply_further(Effect::Add { dn, attributes })?;
        Ok(())
    }

    /// `minCSN` gets the first CSN of each server. A consumer that has nothing of that server is not behind it.
    fn note_server(&self, execution: &mut Execution<'_, '_>, csn: Csn) -> Result<(), OperationError> {
        let min = min_csn(execution, &self.suffix)?;
        if min.of_server(csn.server_id()).is_some() {
            return Ok(());
        }
        let change = ValueChange::Add {
            attribute: "minCSN".into(),
            values: vec![csn.text().into_bytes()],
        };
        let dn = self.suffix.pretty().into();
        execution.apply_further(Effect::Modify {
            dn,
            changes: vec![change],
        })?;
        execution.put_source(&log_first_note(csn.server_id()), csn.text().as_bytes())
    }

    fn add_operational(
        &self,
        execution: &Execution<'_, '_>,
        csn: &str,
        attributes: &mut Vec<TextAttribute>,
    ) -> Result<(), OperationError> {
        let uuid = execution.directory.randomness().uuid_v4().map_err(|error| {
            tracing::error!(target: "any", "accesslog: {error}");
            OperationError::code(ResultCode::OTHER)
        })?;
        let root = &execution.origin.identity.dn;
        let author = if root.is_root() { &self.suffix } else { root };
        let time = execution.stamp.time.clone();
        attributes.extend([
            text("entryUUID", &uuid.to_string()),
            text("creatorsName", author.pretty()),
            text("createTimestamp", &time),
            text("entryCSN", csn),
            text("modifiersName", author.pretty()),
            text("modifyTimestamp", &time),
        ]);
        Ok(())
    }
}

/// `minCSN` of the suffix entry.
pub(super) fn min_csn(execution: &Execution<'_, '_>, suffix: &Dn) -> Result<ContextVector, OperationError> {
    let mut vector = ContextVector::default();
    let view = execution.view();
    let Location::Entry(id) = view.locate(suffix)? else {
        return Ok(vector);
    };
    let Ok(description) = execution.schema().attribute_description(b"minCSN") else {
        return Ok(vector);
    };
    let record = view.record(id)?;
    if let Some(held) = record.as_ref().and_then(|record| record.values(&description)) {
        for csn in held.to_attribute()?.values.iter().filter_map(|value| Csn::parse(value)) {
            vector.merge(csn);
        }
    }
    Ok(vector)
}

fn text(name: &str, value: &str) -> TextAttribute {
    (name.into(), vec![value.as_bytes().to_vec()])
}

fn number(octets: Option<&[u8]>) -> Option<u64> {
    Some(u64::from_be_bytes(octets?.try_into().ok()?))
}

/// The name of the notes with the last `reqStart`, in microseconds since 1970.
const CLOCK: &str = "clock";
