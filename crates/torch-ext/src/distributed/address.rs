//! The address of this host that other hosts can reach.
//!
//! By default, Gloo listens on the address of the host's name. On many hosts that is loopback, where other hosts find nothing.
//! The address from which this host reaches the store is one that the store's host can answer to. On the store's own host that
//! may again be loopback, if its name resolves to it. It then takes the address from which it reaches another host.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};

use super::error::GroupError;
use super::placement::Placement;
use super::store::Store;

/// Any port will do, as nothing is sent.
const NO_PORT: u16 = 9;

/// Publishes in the store the address at which other hosts may reach this one, if it is known. All ranks of the run call it
/// before they meet. Returns the address for [`after_meeting`].
pub(super) fn publish(store: &Store, placement: &Placement) -> Result<Option<IpAddr>, GroupError> {
    let coordinator = placement.coordinator.as_ref();
    let local = coordinator.and_then(|to| towards((to.host.as_str(), to.port)));
    if let Some(address) = local.filter(|address| !address.is_loopback()) {
        store.set(&key(placement.rank), address.to_string().as_bytes())?;
    }
    Ok(local)
}

/// The address to listen at, once all ranks have [`publish`]ed theirs; `None` leaves it to Gloo.
pub(super) fn after_meeting(
    store: &Store,
    placement: &Placement,
    local: Option<IpAddr>,
) -> Result<Option<IpAddr>, GroupError> {
    let is_on_one_host = placement.local_world_size == placement.world_size;
    if is_on_one_host || local.is_some_and(|address| !address.is_loopback()) {
        return Ok(local);
    }
    for rank in 0..placement.world_size {
        let Some(text) = store.get_if_set(&key(rank))? else { continue };
        let peer = std::str::from_utf8(&text).ok().and_then(|text| text.parse::<IpAddr>().ok());
        let candidate = peer.and_then(|peer| towards((peer, NO_PORT)));
        if let Some(address) = candidate.filter(|address| !address.is_loopback()) {
            return Ok(Some(address));
        }
    }
    Ok(None)
}

fn key(rank: usize) -> String {
    format!("address/{rank}")
}

/// The address from which this host would send; `None` if there is no such host, or no route to it.
fn towards(target: impl ToSocketAddrs) -> Option<IpAddr> {
    let from = |target: SocketAddr| {
        let any: IpAddr = match target {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        // Connecting a datagram socket looks up the route and sends nothing.
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
        let local = publish(&store, &placement(0, 2)).unwrap();
        let loopback = Some(Ipv4Addr::LOCALHOST.into());
        assert_eq!(after_meeting(&store, &placement(0, 2), local).unwrap(), loopback);
    }

    /// Loopback is no address for another host; an address that a peer publishes may be invalid.
    #[test]
    fn loopback_is_not_told_to_other_hosts() {
        let store = Store::in_memory(Duration::from_secs(1));
        let local = publish(&store, &placement(0, 1)).unwrap();
        assert!(!store.is_set(&key(0)).unwrap());
        for peer in ["127.0.0.1", "?"] {
            store.set(&key(1), peer.as_bytes()).unwrap();
            assert_eq!(after_meeting(&store, &placement(0, 1), local).unwrap(), None, "{peer}");
        }
    }
}
