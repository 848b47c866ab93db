//! Sessions of people, as of web applications that do not keep connections: a simple bind as the person, one search of
//! the person. Each connects anew; the engine adds StartTLS and unbind.

use std::sync::Arc;

use super::{
    Next, Population, RequestClass, Requests, Workload, WorkloadError,
    operations::{bind, login_attribute},
    sample::{equality, place, search},
};
use crate::{
    generate::random::Random,
    target::SessionProtection,
    wire::{Pool, RequestSlot},
};

/// What becomes of the TLS sessions of earlier connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TlsReuse {
    /// Every handshake is a full one, or there is no TLS.
    None,
    /// They are resumed where the server allows that.
    Resumed,
}

/// The workload. One request of it is a whole session.
#[derive(Debug)]
pub struct SessionWorkload {
    population: Population,
    name: String,
    kinds: Vec<RequestClass>,
    /// A bind and a search for each person, in the same order.
    pools: Arc<[Pool; 2]>,
}

impl SessionWorkload {
    /// Encodes a bind and a search for each person of the sample. The entries must have passwords.
    ///
    /// # Errors
    /// TLS sessions are to be resumed, and there is no TLS.
    pub fn new(population: Population, protection: SessionProtection, reuse: TlsReuse) -> Result<Self, WorkloadError> {
        if protection == SessionProtection::None && reuse == TlsReuse::Resumed {
            return Err(WorkloadError(
                "without TLS there is no session of it to resume".to_owned(),
            ));
        }
        let attribute = login_attribute(population.set().kind());
        let mut people = [Pool::default(), Pool::default()];
        let [binds, searches] = &mut people;
        for name in population.names() {
            binds.push(&bind(&name.dn, name.login.as_bytes()));
            let filter = equality(attribute, name.login.as_bytes());
            searches.push(&search(population.set().suffix(), filter, 0));
        }
        let mut name = "session".to_owned();
        name.push_str(match protection {
            SessionProtection::None => "",
            SessionProtection::StartTls => ", StartTLS",
            SessionProtection::Ldaps => ", ldaps",
        });
        let mut kinds = vec![RequestClass::new("session").least_entries(1)];
        if reuse == TlsReuse::Resumed {
            name.push_str(", resumed");
            kinds.push(RequestClass::new("session with resumed TLS").least_entries(1));
        }
        Ok(Self {
            population,
            name,
            kinds,
            pools: Arc::new(people),
        })
    }
}

impl Workload for SessionWorkload {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn kinds(&self) -> &[RequestClass] {
        &self.kinds
    }

    /// The requests of session after session: [`Next::End`] is the end of a session, not of all.
    fn requests(&self, number: u32, _connections: u32) -> Box<dyn Requests> {
        Box::new(People {
            pools: Arc::clone(&self.pools),
            random: self.population.random(number),
            step: Step::Bind,
        })
    }
}

struct People {
    pools: Arc<[Pool; 2]>,
    random: Random,
    step: Step,
}

/// The next request of a session.
#[derive(Clone, Copy)]
enum Step {
    Bind,
    /// For this person.
    Search(usize),
    End,
}

impl Requests for People {
    fn next(&mut self, slot: RequestSlot, out: &mut Vec<u8>) -> Next {
        let [binds, searches] = &*self.pools;
        match self.step {
            Step::Bind => {
                let person = place(&mut self.random, binds.len());
                binds.copy(person, slot, out);
                self.step = Step::Search(person);
            }
            Step::Search(person) => {
                searches.copy(person, slot, out);
                self.step = Step::End;
            }
            Step::End => {
                self.step = Step::Bind;
                return Next::End;
            }
        }
        Next::Sent(0)
    }

    fn answered(&mut self, _slot: RequestSlot, _kind: u8, code: u32) {
        // A refusal ends the session.
        if code != 0 {
            self.step = Step::Bind;
        }
    }
}
