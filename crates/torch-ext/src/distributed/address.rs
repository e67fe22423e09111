//! The address of this host that the others reach it at.
//!
//! Gloo, left alone, listens where the host's name leads, which on many hosts is loopback: ranks of other hosts then find
//! nobody. The address from which this host reaches the store is one that the store's host can answer to. On the store's own
//! host that may be loopback again, where its name leads there: then it is the address from which it reaches another.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};

use super::error::GroupError;
use super::placement::Placement;
use super::store::Store;

/// Any port will do, as nothing is sent.
const NO_PORT: u16 = 9;

/// Puts into the store what other hosts may reach this one at, if that can be told; all ranks of the run do so before they
/// meet. The answer is what [`after_meeting`] wants.
pub(super) fn publish(store: &Store, placement: &Placement) -> Result<Option<IpAddr>, GroupError> {
    let coordinator = placement.coordinator.as_ref();
    let own = coordinator.and_then(|to| towards((to.host.as_str(), to.port)));
    if let Some(address) = own.filter(|address| !address.is_loopback()) {
        store.set(&key(placement.rank), address.to_string().as_bytes())?;
    }
    Ok(own)
}

/// The address to listen at, once all ranks have [`publish`]ed theirs; `None` leaves it to Gloo.
pub(super) fn after_meeting(
    store: &Store,
    placement: &Placement,
    own: Option<IpAddr>,
) -> Result<Option<IpAddr>, GroupError> {
    let is_on_one_host = placement.local_world_size == placement.world_size;
    if is_on_one_host || own.is_some_and(|address| !address.is_loopback()) {
        return Ok(own);
    }
    for rank in 0..placement.world_size {
        let Some(text) = store.get_if_set(&key(rank))? else { continue };
        let peer = std::str::from_utf8(&text).ok().and_then(|text| text.parse::<IpAddr>().ok());
        let found = peer.and_then(|peer| towards((peer, NO_PORT)));
        if let Some(address) = found.filter(|address| !address.is_loopback()) {
            return Ok(Some(address));
        }
    }
    Ok(None)
}

fn key(rank: usize) -> String {
    format!("address/{rank}")
}

/// The address that this host would send from; `None` where there is no such host, or no way to it.
fn towards(target: impl ToSocketAddrs) -> Option<IpAddr> {
    let from = |target: SocketAddr| {
        let any: IpAddr = match target {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        // Connecting a datagram socket looks the way up and sends nothing.
        let socket = UdpSocket::bind((any, 0)).ok()?;
        socket.connect(target).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    target.to_socket_addrs().ok()?.find_map(from)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::distributed::placement::Coordinator;

    fn placement(rank: usize, local_world_size: usize) -> Placement {
        let (host, port) = ("127.0.0.1".to_owned(), NO_PORT);
        let coordinator = Coordinator { host, port, served_by_launcher: true, attempt: 0 };
        let coordinator = Some(coordinator);
        Placement { rank, world_size: 2, local_rank: 0, local_world_size, coordinator }
    }

    #[test]
    fn this_host_is_reached_from_itself() {
        assert_eq!(towards(("127.0.0.1", NO_PORT)), Some(Ipv4Addr::LOCALHOST.into()));
        assert_eq!(towards(("no-such-host.invalid", NO_PORT)), None);
    }

    #[test]
    fn ranks_of_one_host_meet_where_the_store_is() {
        let store = Store::in_memory(Duration::from_secs(1));
        let own = publish(&store, &placement(0, 2)).unwrap();
        let loopback = Some(Ipv4Addr::LOCALHOST.into());
        assert_eq!(after_meeting(&store, &placement(0, 2), own).unwrap(), loopback);
    }

    /// Loopback is no address for another host; what a peer says it is reached at may be no address at all.
    #[test]
    fn loopback_is_not_told_to_other_hosts() {
        let store = Store::in_memory(Duration::from_secs(1));
        let own = publish(&store, &placement(0, 1)).unwrap();
        assert!(!store.is_set(&key(0)).unwrap());
        for peer in ["127.0.0.1", "?"] {
            store.set(&key(1), peer.as_bytes()).unwrap();
            assert_eq!(after_meeting(&store, &placement(0, 1), own).unwrap(), None, "{peer}");
        }
    }
}
