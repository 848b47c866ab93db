//! A conversation with the program about one request, of a database or of an overlay.

use std::{future::Future, pin::pin, sync::Arc, task::Poll, time::Duration};

use ironbark_directory::{Answers, OperationResult};
use ironbark_model::{Entry, ResultCode, Schema};
use tokio::time::timeout;

use super::{answer::AnswerPart, entry, program::Taken};

/// Who waits for the program's answer.
pub trait Audience {
    /// Whether it takes entries.
    fn takes_entries(&self) -> bool;

    /// Takes an entry that came as so many octets; may wait. False: nobody waits for it any more.
    fn entry(&mut self, entry: Entry, octets: usize) -> impl Future<Output = bool> + Send;

    /// Ends when nobody waits any more.
    fn unwanted(&mut self) -> impl Future<Output = ()> + Send;
}

impl Audience for Answers {
    fn takes_entries(&self) -> bool {
        Self::takes_entries(self)
    }

    fn entry(&mut self, entry: Entry, octets: usize) -> impl Future<Output = bool> + Send {
        Self::entry(self, entry, octets)
    }

    fn unwanted(&mut self) -> impl Future<Output = ()> + Send {
        Self::unwanted(self)
    }
}

/// How a conversation ends.
#[derive(PartialEq, Eq, Debug)]
pub enum Ending {
    /// With a result: the program's, or one that says what went wrong.
    Result(OperationResult),
    /// With `CONTINUE`.
    Continue,
}

/// Asks the program, and hands its entries on, until it has said its result, nobody waits for it any more or the time
/// is up. Without a time there is no end to it.
pub async fn lead(
    taken: Taken,
    schema: &Arc<Schema>,
    time: Option<Duration>,
    audience: &mut (impl Audience + Send),
) -> Ending {
    let asked = ask(taken, schema, audience);
    let ended = match time {
        Some(time) => timeout(time, asked).await.unwrap_or_else(|_| {
            let code = ResultCode::TIME_LIMIT_EXCEEDED;
            Err(OperationResult::code(code))
        }),
        None => asked.await,
    };
    ended.unwrap_or_else(Ending::Result)
}

async fn ask(
    taken: Taken,
    schema: &Arc<Schema>,
    audience: &mut (impl Audience + Send),
) -> Result<Ending, OperationResult> {
    let mut conversation = first(taken.begin(), unwanted(audience)).await?;
    loop {
        let paragraph = match first(conversation.part(), unwanted(audience)).await? {
            AnswerPart::Entry(paragraph) => paragraph,
            AnswerPart::Result(result) => return Ok(Ending::Result(result)),
            AnswerPart::Continue => return Ok(Ending::Continue),
        };
        let refused = |text: &'static str| OperationResult::new(ResultCode::OTHER, text);
        let octets = paragraph.len();
        let entry = entry::read(schema, paragraph).map_err(|reason| {
            tracing::warn!(target: "any", "sock: the program has sent an entry that cannot be read: {reason}");
            refused("str2entry failed")
        })?;
        if !audience.takes_entries() {
            return Err(refused("the program has sent an entry that nobody asked for"));
        }
        if !audience.entry(entry, octets).await {
            return Err(given_up());
        }
    }
}

/// Ends when nobody waits for the answers any more.
async fn unwanted<T>(audience: &mut (impl Audience + Send)) -> Result<T, OperationResult> {
    audience.unwanted().await;
    Err(given_up())
}

/// Nobody will see it.
fn given_up() -> OperationResult {
    OperationResult::code(ResultCode::OTHER)
}

/// Whichever of both ends first.
async fn first<T>(one: impl Future<Output = T>, other: impl Future<Output = T>) -> T {
    let (mut one, mut other) = (pin!(one), pin!(other));
    std::future::poll_fn(|cx| match one.as_mut().poll(cx) {
        Poll::Pending => other.as_mut().poll(cx),
        ready @ Poll::Ready(_) => ready,
    })
    .await
}
