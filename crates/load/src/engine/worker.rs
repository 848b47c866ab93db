//! One thread of the load generator: its connections, its poll, its measures.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use ironbark_runtime::Clock;
use mio::{Events, Interest, Poll, Registry, Token, unix::SourceFd};

use super::{
    Arrival, EngineError, Measurement, Outcome, Shared,
    alarm::Alarm,
    client::{Client, Lost, Received, Sent},
    connection::Connection,
    measures::Measures,
    schedule::Schedule,
    session::Sessions,
    system,
};
use crate::{
    process::{Process, ProcessorTime},
    target::{Connected, Target},
    workload::{RequestClass, Requests},
};

/// The token of the timer's events. Connections are numbered from 0.
const ALARM: Token = Token(usize::MAX >> 1);
/// One thread's share of a measurement.
pub(super) struct Worker {
    plan: Measurement,
    kinds: Vec<RequestClass>,
    clock: Clock,
    shared: Arc<Shared>,
    poll: Poll,
    registry: Arc<Registry>,
    connections: Vec<Option<Box<dyn Client>>>,
    measures: Measures,
    /// The read buffer of all connections.
    buffer: Vec<u8>,
    /// Number of this thread, and number of threads.
    place: (u32, u32),
    phase: Phase,
    schedule: Option<Schedule>,
    /// Only in an open loop.
    alarm: Option<Alarm>,
    /// The connection that an open loop tries next.
    turn: usize,
    under_way: usize,
    /// When data was last received, or sent while nothing was under way.
    last_sign_ns: u64,
    before: Option<(ProcessorTime, Option<ProcessorTime>)>,
    after: Option<(ProcessorTime, Option<ProcessorTime>)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Until the given time.
    WarmUp(u64),
    /// Until the given time.
    Measuring(u64),
    /// No requests are sent. Answers are awaited until the given time.
    Draining(u64),
}

impl Worker {
    pub(super) fn new(
        plan: &Measurement,
        kinds: &[RequestClass],
        index: u32,
        threads: u32,
        clock: Clock,
        shared: Arc<Shared>,
    ) -> Result<Self, EngineError> {
        let poll = Poll::new().map_err(system("a poll"))?;
        let registry = poll.registry().try_clone().map_err(system("a poll"))?;
        Ok(Self {
            plan: plan.clone(),
            kinds: kinds.to_vec(),
            clock,
            shared,
            poll,
            registry: Arc::new(registry),
            connections: Vec::new(),
            measures: Measures::new(plan, kinds)?,
            buffer: vec![0; BUFFER],
            place: (index, threads),
            phase: Phase::WarmUp(0),
            schedule: None,
            alarm: None,
            turn: 0,
            under_way: 0,
            last_sign_ns: 0,
            before: None,
            after: None,
        })
    }

    pub(super) fn connect(&mut self, target: &Target, requests: Box<dyn Requests>) -> Result<(), EngineError> {
        let token = Token(self.connections.len());
        let client: Box<dyn Client> = match target.connect()? {
            Connected::Sessions(way) => Box::new(Sessions::new(way, requests, Arc::clone(&self.registry), token)),
            Connected::Stream(stream) => {
                let interest = Interest::READABLE | Interest::WRITABLE;
                let registered = self
                    .registry
                    .register(&mut SourceFd(&stream.as_raw_fd()), token, interest);
                registered.map_err(system("a poll of a connection"))?;
                Box::new(Connection::new(stream, requests, self.plan.in_flight))
            }
        };
        self.connections.push(Some(client));
        Ok(())
    }

    /// Carries out the measurement.
    pub(super) fn run(mut self) -> Result<Outcome, EngineError> {
        let start = self.now();
        self.phase = Phase::WarmUp(start + nanos(self.plan.warm_up));
        if let Arrival::Open { rate } = self.plan.arrival {
            let (index, threads) = (f64::from(self.place.0), f64::from(self.place.1));
            self.schedule = Some(Schedule::new(start, rate / threads, index / threads));
            let alarm = Alarm::new(self.poll.registry(), ALARM);
            self.alarm = Some(alarm.map_err(system("a timer"))?);
        }
        self.advance(start)?;
        if self.schedule.is_none() {
            for index in 0..self.connections.len() {
                self.refill(index, start);
                self.flush(index);
            }
        }
        let mut events = Events::with_capacity(1024);
        loop {
            // It may find out that the workload has no more requests.
            self.dispatch();
            if !self.goes_on() {
                return self.finish();
            }
            let mut patience = Some(self.patience());
            if let Some(alarm) = &self.alarm
                && let Some(wait) = patience.take()
            {
                alarm.set(wait).map_err(system("a timer"))?;
            }
            match self.poll.poll(&mut events, patience) {
                Err(error) if error.kind() != std::io::ErrorKind::Interrupted => {
                    return Err(system("a poll")(error));
                }
                _ => {}
            }
            for event in events.iter().filter(|event| event.token() != ALARM) {
                self.serve(event.token().0, event.is_read_closed() || event.is_error());
            }
            let now = self.now();
            self.advance(now)?;
        }
    }

    fn now(&self) -> u64 {
        self.clock.monotonic().nanos()
    }

    /// Enters the next phase when it is time.
    fn advance(&mut self, now: u64) -> Result<(), EngineError> {
        if let Phase::WarmUp(end) = self.phase
            && now >= end
        {
            self.before = Some(self.usage()?);
            let now = self.now();
            self.measures.begin(now);
            self.phase = Phase::Measuring(now + nanos(self.plan.duration));
        }
        if let Phase::Measuring(end) = self.phase
            && now >= end
        {
            self.close_window(end)?;
            if let Some(schedule) = &self.schedule {
                self.measures.unsent(schedule.overdue(end));
            }
            self.phase = Phase::Draining(now + nanos(DRAIN));
        }
        Ok(())
    }

    fn close_window(&mut self, end: u64) -> Result<(), EngineError> {
        if self.after.is_none() {
            self.after = Some(self.usage()?);
            // The processor time is that of the window, even if this thread reads the clock late.
            self.measures.end(self.now().max(end));
        }
        Ok(())
    }

    /// Processor time of this process and, in the first thread, of the server.
    fn usage(&self) -> Result<(ProcessorTime, Option<ProcessorTime>), EngineError> {
        let own = Process::own().usage().map_err(system("our processor time"))?;
        let watched = self.plan.server.filter(|_| self.place.0 == 0);
        let server = watched.map(|pid| Process::new(pid).usage()).transpose();
        Ok((own, server.map_err(system("the server's processor time"))?))
    }

    /// Whether answers or requests are still to come.
    fn goes_on(&self) -> bool {
        match self.phase {
            Phase::Draining(end) => self.under_way > 0 && self.now() < end.min(self.silence_ends()),
            Phase::WarmUp(_) | Phase::Measuring(_) if self.under_way > 0 => self.now() < self.silence_ends(),
            Phase::WarmUp(_) | Phase::Measuring(_) => self.may_send(),
        }
    }

    /// When answers are given up, if none comes until then.
    fn silence_ends(&self) -> u64 {
        self.last_sign_ns.saturating_add(nanos(self.plan.patience))
    }

    /// Counts a sent request.
    fn count_sent(&mut self, now: u64) {
        if self.under_way == 0 {
            self.last_sign_ns = now;
        }
        self.under_way += 1;
    }

    /// Whether requests may still be sent, now or later by the schedule.
    fn may_send(&self) -> bool {
        self.schedule.is_some()
            && self.within_budget()
            && self
                .connections
                .iter()
                .flatten()
                .any(|connection| !connection.has_ended())
    }

    fn within_budget(&self) -> bool {
        self.plan
            .requests
            .is_none_or(|most| self.shared.sent.load(Ordering::Relaxed) < most)
    }

    /// Takes one request from the allowed number.
    fn spend(&self) -> bool {
        self.plan
            .requests
            .is_none_or(|most| self.shared.sent.fetch_add(1, Ordering::Relaxed) < most)
    }

    /// Returns the request that [`Worker::spend`] took.
    fn unspend(&self) {
        if self.plan.requests.is_some() {
            self.shared.sent.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// How long the poll may wait.
    fn patience(&self) -> Duration {
        let now = self.now();
        let (Phase::WarmUp(end) | Phase::Measuring(end) | Phase::Draining(end)) = self.phase;
        let mut until = if self.under_way > 0 {
            end.min(self.silence_ends())
        } else {
            end
        };
        if let Some(schedule) = &self.schedule
            && !matches!(self.phase, Phase::Draining(_))
        {
            let next = schedule.next_ns();
            // If no slot is free for a due request, only an answer helps.
            if next > now || self.connections.iter().flatten().any(|client| client.has_room()) {
                until = until.min(next);
            }
        }
        Duration::from_nanos(until.saturating_sub(now))
    }

    /// Sends the requests that are due in an open loop.
    fn dispatch(&mut self) {
        let Some(mut schedule) = self.schedule.take() else {
            return;
        };
        let now = self.now();
        let mut touched = Vec::new();
        while schedule.next_ns() <= now && !matches!(self.phase, Phase::Draining(_)) {
            let Some(index) = self.next_with_room() else { break };
            if !self.spend() {
                break;
            }
            let sent = self
                .connections
                .get_mut(index)
                .and_then(Option::as_mut)
                .map(|connection| {
                    let due = schedule.next_ns();
                    connection.send(due)
                });
            if sent == Some(Sent::Yes) {
                schedule.take(now);
                self.count_sent(now);
                touched.push(index);
                continue;
            }
            self.unspend();
            if sent == Some(Sent::NotNow) {
                break;
            }
        }
        self.schedule = Some(schedule);
        touched.sort_unstable();
        touched.dedup();
        for index in touched {
            self.flush(index);
        }
    }

    /// The next connection in turn with a free slot.
    fn next_with_room(&mut self) -> Option<usize> {
        let count = self.connections.len();
        let found = (0..count).map(|step| (self.turn + step) % count).find(|index| {
            let connection = self.connections.get(*index).and_then(Option::as_ref);
            connection.is_some_and(|client| client.has_room())
        })?;
        self.turn = (found + 1) % count;
        Some(found)
    }

    /// Reads what has arrived, and sends the requests that follow.
    fn serve(&mut self, index: usize, until_closed: bool) {
        loop {
            let mut buffer = std::mem::take(&mut self.buffer);
            let read = self.read(index, &mut buffer);
            let is_full = read.as_ref().is_ok_and(|count| *count == Some(buffer.len()));
            self.buffer = buffer;
            match read {
                Err(lost) => return self.lose(index, lost),
                Ok(None) => break,
                // The poll reports later data, so a read that leaves room has emptied the socket.
                Ok(Some(_)) if !is_full && !until_closed => break,
                Ok(Some(_)) => {}
            }
        }
        if self.schedule.is_none() {
            let now = self.now();
            self.refill(index, now);
        }
        self.flush(index);
    }

    fn read(&mut self, index: usize, buffer: &mut [u8]) -> Result<Option<usize>, Lost> {
        let Some(connection) = self.connections.get_mut(index).and_then(Option::as_mut) else {
            return Ok(None);
        };
        let Some(count) = connection.read(buffer)? else {
            return Ok(None);
        };
        let now = self.clock.monotonic().nanos();
        self.last_sign_ns = now;
        let octets = buffer.get(..count).unwrap_or_default();
        let Received { answers, entries } = connection.take(octets, now, &self.kinds, &mut self.measures)?;
        self.under_way = self.under_way.saturating_sub(usize::try_from(answers).unwrap_or(0));
        self.shared.answered.fetch_add(answers, Ordering::Relaxed);
        if entries > 0 {
            self.shared.entries.fetch_add(entries, Ordering::Relaxed);
        }
        Ok(Some(count))
    }

    /// Keeps a connection of a closed loop full.
    fn refill(&mut self, index: usize, now: u64) {
        if matches!(self.phase, Phase::Draining(_)) {
            return;
        }
        loop {
            let Some(connection) = self.connections.get(index).and_then(Option::as_ref) else {
                return;
            };
            if !connection.has_room() || !self.spend() {
                return;
            }
            let connection = self.connections.get_mut(index).and_then(Option::as_mut);
            if connection.map(|connection| connection.send(now)) != Some(Sent::Yes) {
                self.unspend();
                return;
            }
            self.count_sent(now);
        }
    }

    fn flush(&mut self, index: usize) {
        let connection = self.connections.get_mut(index).and_then(Option::as_mut);
        if let Some(Err(lost)) = connection.map(|client| client.flush()) {
            self.lose(index, lost);
        }
    }

    fn lose(&mut self, index: usize, Lost(reason): Lost) {
        if let Some(connection) = self.connections.get_mut(index).and_then(Option::take) {
            let lost = u64::try_from(connection.under_way()).unwrap_or(0);
            self.measures.lost(reason, lost);
            // The read that ended the connection may have answered some of its requests.
            self.under_way = self.connections.iter().flatten().map(|client| client.under_way()).sum();
        }
    }

    fn finish(mut self) -> Result<Outcome, EngineError> {
        let now = self.now();
        if self.before.is_none() {
            // Everything was answered during the warm-up, so the window is empty.
            self.before = Some(self.usage()?);
            self.measures.begin(now);
        }
        self.close_window(now)?;
        self.measures.unanswered(u64::try_from(self.under_way).unwrap_or(0));
        let ((own_before, server_before), (own_after, server_after)) =
            (self.before.unwrap_or_default(), self.after.unwrap_or_default());
        Ok(Outcome {
            measures: self.measures,
            server: server_before.zip(server_after),
            own: (own_before, own_after),
        })
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

const BUFFER: usize = 256 << 10;
/// How long the answers to the last requests are awaited.
const DRAIN: Duration = Duration::from_secs(30);
