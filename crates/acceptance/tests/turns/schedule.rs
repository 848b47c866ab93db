//! One schedule: random steps on a new database.

use ironbark_client::proto::{
    controls::{Control, TransactionSpecification},
    extended::transaction::{END, EndRequest, START},
};

use crate::turns::{Random, change::Change, model::Model, site::Site};

/// Steps of a schedule.
const STEPS: usize = 30;

pub(crate) struct Schedule {
    number: u64,
    random: Random,
    /// Changes of one step at most.
    most: u8,
    site: Site,
    model: Model,
    /// What was done, for the message of a failure.
    steps: Vec<String>,
    operations: u64,
}

/// Long steps bring more operations in the same time, and short ones more turns.
fn has_long_steps(number: u64) -> bool {
    number > 16 && number.is_multiple_of(2)
}

impl Drop for Schedule {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "IRONBARK_TURNS_FROM={}\n{:#?}\n{:?}",
                self.number, self.steps, self.model
            );
        }
    }
}

impl Schedule {
    pub(crate) async fn new(number: u64) -> Self {
        let mut site = Site::new();
        site.start().await;
        Self {
            number,
            random: Random(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            most: if has_long_steps(number) { 250 } else { 8 },
            site,
            model: Model::default(),
            steps: Vec::new(),
            operations: 0,
        }
    }

    /// Returns the number of operations.
    pub(crate) async fn run(mut self) -> u64 {
        for _ in 0..STEPS {
            self.step().await;
            self.compare().await;
        }
        if self.site.is_running() {
            self.site.stop();
        }
        assert_eq!(self.site.dumped(), self.model);
        self.site.check_deeply();
        self.operations
    }

    fn note(&mut self, what: &str, changes: &[Change]) {
        self.operations += 1 + changes.len() as u64;
        self.steps.push(format!("{what}: {changes:?}"));
    }

    /// A few changes.
    fn changes(&mut self, one: fn(&mut Random) -> Change) -> Vec<Change> {
        (0..=self.random.below(self.most))
            .map(|_| one(&mut self.random))
            .collect()
    }

    /// Many changes, all of which are made one after the other.
    fn made_changes(&mut self, count: usize) -> Vec<Change> {
        let mut after = self.model.clone();
        let mut changes = Vec::new();
        for _ in 0..count {
            let change = Change::random_made(&mut self.random, &after);
            after.make(&change).unwrap();
            changes.push(change);
        }
        changes
    }

    async fn step(&mut self) {
        match (self.site.is_running(), self.random.below(16)) {
            (true, 0..7) => self.client_writes().await,
            (true, 7) => self.transaction().await,
            (true, 8) => self.without_right().await,
            (true, 9) => self.server_is_killed().await,
            (true, 10) => {
                self.note("stop", &[]);
                self.site.stop();
            }
            (false, 0..8) => {
                self.note("start", &[]);
                self.site.start().await;
            }
            (_, number) => self.tool(number).await,
        }
    }

    async fn tool(&mut self, number: u8) {
        let goes_on = self.random.below(2) == 0;
        match number {
            11 | 8 => {
                let changes = self.changes(Change::random_record);
                self.note(&format!("slapmodify, goes on: {goes_on}"), &changes);
                self.model = self.site.slapmodify(&changes, goes_on, &self.model);
            }
            12 | 9 => {
                let changes = self.changes(Change::random_record).into_iter();
                let entries: Vec<_> = changes.map(|change| (change.entry(), change.values())).collect();
                let added = entries.iter().map(|(entry, values)| Change::Add {
                    entry: *entry,
                    values: values.clone(),
                });
                let added: Vec<_> = added.collect();
                self.note(&format!("slapadd, goes on: {goes_on}"), &added);
                self.model = self.site.slapadd(&entries, goes_on, &self.model);
            }
            13 => {
                let changes = self.changes(Change::random_record);
                self.note("dry run", &changes);
                self.site.dry_run(&changes);
            }
            14 => {
                self.note("slapindex", &[]);
                self.site.slapindex();
            }
            _ => self.tool_is_killed().await,
        }
    }

    /// Requests one after the other, whose results are read afterwards.
    async fn client_writes(&mut self) {
        let changes = self.changes(Change::random);
        self.note("client", &changes);
        let codes = self.site.make(&changes, &[]).await;
        let expected = changes.iter().map(|change| self.model.make(change).err().unwrap_or(0));
        assert_eq!(codes, expected.collect::<Vec<_>>());
    }

    async fn transaction(&mut self) {
        let changes = self.changes(Change::random);
        let is_committed = self.random.below(4) > 0;
        self.note(&format!("transaction, is committed: {is_committed}"), &changes);
        let client = self.site.client();
        client
            .extended(START, None, &[])
            .await
            .unwrap()
            .result
            .success()
            .unwrap();
        let part = Control::critical(TransactionSpecification(b""));
        let codes = self.site.make(&changes, &[&part]).await;
        // What is malformed is refused at once, and is no part of the transaction.
        let expected = changes.iter().map(|change| if change.is_malformed() { 21 } else { 0 });
        assert_eq!(codes, expected.collect::<Vec<_>>());
        let mut value = Vec::new();
        let end = EndRequest {
            commit: is_committed,
            identifier: b"",
        };
        end.encode(&mut value);
        let ended = client.extended(END, Some(&value), &[]).await.unwrap().result.code.0;
        let mut after = self.model.clone();
        let parts: Vec<_> = changes.iter().filter(|change| !change.is_malformed()).collect();
        // As slapd: there is nothing to commit.
        let made = if parts.is_empty() {
            Err(1)
        } else {
            parts.iter().try_for_each(|change| after.make(change))
        };
        if is_committed {
            assert_eq!(ended, made.err().unwrap_or(0));
        } else {
            assert_eq!(ended, 0);
        }
        if is_committed && made.is_ok() {
            self.model = after;
        }
    }

    async fn without_right(&mut self) {
        let change = Change::random_made(&mut self.random, &self.model);
        self.note("without right", std::slice::from_ref(&change));
        assert_eq!(self.site.try_without_right(&change).await, 50);
    }

    /// The server ends by kill -9 while it makes changes, the first of which are acknowledged.
    async fn server_is_killed(&mut self) {
        let changes = self.made_changes(20);
        let acknowledged = usize::from(self.random.below(20));
        self.steps.push(format!("kill after {acknowledged}: {changes:?}"));
        let client = self.site.client();
        let sent: Vec<_> = changes.iter().map(|change| change.send(client, &[])).collect();
        for result in sent.into_iter().take(acknowledged) {
            result.await.unwrap().success().unwrap();
        }
        self.site.kill();
        let states = self.model.states(&changes);
        self.settle(self.site.dumped(), &states[acknowledged..]);
        if self.random.below(2) == 0 {
            self.site.start().await;
        }
    }

    async fn tool_is_killed(&mut self) {
        let changes = self.made_changes(600);
        self.steps.push("slapmodify is killed".to_owned());
        self.site.killed_slapmodify(&changes);
        if self.site.is_running() {
            self.site.wait_for_tools();
            // Behind all others in the queue of the writer.
            self.site.make(&[Change::Delete { entry: u8::MAX }], &[]).await;
        }
        let states = self.model.states(&changes);
        self.settle(self.site.dumped(), &states);
    }

    /// Takes the state that was found. It must be one of these.
    fn settle(&mut self, found: Model, states: &[Model]) {
        let place = states.iter().position(|state| *state == found);
        let place = place.unwrap_or_else(|| panic!("{found:?} is none of the states"));
        self.steps.push(format!("state {place} of {}", states.len()));
        self.operations += place as u64;
        self.model = found;
    }

    /// What is shown in each way is what the model has.
    async fn compare(&mut self) {
        if self.site.is_running() {
            assert_eq!(self.site.shown().await, self.model);
            let value = self.random.below(6);
            let mut expected = self.model.clone();
            expected.0.retain(|_, values| values.contains(&value));
            assert_eq!(self.site.with_value(value).await, expected, "by the index");
        }
        if !self.site.is_running() || self.random.below(4) == 0 {
            assert_eq!(self.site.dumped(), self.model);
        }
    }
}
