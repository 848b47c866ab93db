//! Which connections of the metrics listener stay open when more come than it serves at once.
//!
//! Connections from this machine have seats of their own, so that no stranger can fail a probe from inside a container.
//! Where all seats are taken, a new connection takes the seat of the oldest one of the address with the most. A client
//! that asks at once is answered within milliseconds, and is never the oldest of many.

use std::net::IpAddr;

use ironbark_directory::SourceAddress;
use tokio::task::AbortHandle;

/// The open connections.
#[derive(Default)]
pub(super) struct Seats {
    local: Vec<Seat>,
    others: Vec<Seat>,
}

struct Seat {
    source: SourceAddress,
    task: AbortHandle,
}

impl Seats {
    /// Takes a seat for a connection that `task` serves. Ends the one that had it, if all were taken.
    pub(super) fn take(&mut self, address: IpAddr, task: AbortHandle) {
        let is_local = address.to_canonical().is_loopback();
        let seats = if is_local { &mut self.local } else { &mut self.others };
        seats.retain(|seat| !seat.task.is_finished());
        if seats.len() >= SEATS
            && let Some(index) = most_taken(seats)
        {
            seats.remove(index).task.abort();
        }
        seats.push(Seat {
            source: address.into(),
            task,
        });
    }
}

/// The oldest seat of the source that has most of them.
fn most_taken(seats: &[Seat]) -> Option<usize> {
    let taken_by = |source| seats.iter().filter(|other| other.source == source).count();
    // Of equal ones, `max_by_key` gives the last.
    let oldest_last = seats.iter().enumerate().rev();
    let found = oldest_last.max_by_key(|(_, seat)| taken_by(seat.source));
    found.map(|(index, _)| index)
}

/// Connections from this machine, and as many from elsewhere.
const SEATS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the connections that are still open, of clients that ask nothing.
    fn open_of(addresses: &[String]) -> Vec<usize> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut seats = Seats::default();
            let mut tasks = Vec::new();
            for address in addresses {
                let task = tokio::spawn(std::future::pending::<()>());
                seats.take(address.parse().unwrap(), task.abort_handle());
                tasks.push(task);
            }
            // The ends of many tasks take several rounds.
            for _ in addresses {
                tokio::task::yield_now().await;
            }
            let open = tasks.iter().enumerate().filter(|(_, task)| !task.is_finished());
            open.map(|(number, _)| number).collect()
        })
    }

    fn of(address: &str, times: usize) -> Vec<String> {
        vec![address.to_owned(); times]
    }

    #[test]
    fn a_stranger_with_many_connections_takes_no_seat_of_another_address() {
        let probe = of("192.0.2.1", 1);
        let stranger = of("198.51.100.7", 137);
        let open = open_of(&[probe.clone(), stranger.clone(), probe].concat());
        assert!(open.contains(&0) && open.contains(&138), "{open:?}");
        assert_eq!(open.len(), SEATS);
        // A customer has a whole network of IPv6.
        let network = (1..=137).map(|host| format!("2001:db8::{host:x}")).collect();
        let open = open_of(&[of("192.0.2.1", 1), network].concat());
        assert!(open.contains(&0), "{open:?}");
    }

    #[test]
    fn this_machine_has_seats_that_no_stranger_takes() {
        let strangers = (0..=255).map(|host| format!("198.51.100.{host}")).collect();
        let local = [of("127.0.0.1", 1), of("::1", 1), of("::ffff:127.0.0.1", 1)].concat();
        let open = open_of(&[local, strangers].concat());
        assert_eq!(open.get(..3).unwrap(), [0, 1, 2]);
        assert_eq!(open.len(), SEATS + 3);
    }

    #[test]
    fn among_equals_the_newest_connection_takes_the_seat_of_the_oldest() {
        let open = open_of(&of("127.0.0.1", SEATS + 2));
        assert_eq!(open, (2..SEATS + 2).collect::<Vec<_>>());
    }
}
