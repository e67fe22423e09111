//! Environment variables that the launcher sets for its ranks, named as torchrun names them.

use super::hosts::Host;

/// The variables of process `index` out of `processes` on this host; all ranks meet at `port` of the first host.
pub(super) fn variables(
    index: usize,
    processes: usize,
    host: &Host,
    port: u16,
) -> Vec<(&'static str, String)> {
    let number = |value: usize| value.to_string();
    let (rank, ranks) = (host.index * processes + index, host.count * processes);
    vec![
        ("RANK", number(rank)),
        ("WORLD_SIZE", number(ranks)),
        ("LOCAL_RANK", number(index)),
        ("LOCAL_WORLD_SIZE", number(processes)),
        ("GROUP_RANK", number(host.index)),
        ("GROUP_WORLD_SIZE", number(host.count)),
        ("ROLE_RANK", number(rank)),
        ("ROLE_WORLD_SIZE", number(ranks)),
        ("MASTER_ADDR", host.first.clone()),
        ("MASTER_PORT", port.to_string()),
        // Rank 0 connects to the store as a client too.
        ("TORCHELASTIC_USE_AGENT_STORE", "True".to_owned()),
        ("TORCHELASTIC_RESTART_COUNT", number(0)),
        ("TORCHELASTIC_MAX_RESTARTS", number(0)),
    ]
}

/// Default threads per rank: its share of the processors, at least one.
pub(super) fn threads(processors: usize, ranks: usize) -> usize {
    (processors / ranks.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use torch_ext::Placement;

    use super::*;

    fn placement(index: usize, processes: usize, host: &Host) -> Placement {
        let written = variables(index, processes, host, 4567);
        Placement::from_lookup(|name| {
            written.iter().find(|(variable, _)| *variable == name).map(|(_, value)| value.clone())
        })
        .unwrap()
    }

    #[test]
    fn the_ranks_read_what_the_launcher_writes() {
        let placement = placement(2, 3, &Host::alone());
        assert_eq!((placement.rank, placement.world_size), (2, 3));
        assert_eq!((placement.local_rank, placement.local_world_size), (2, 3));
        let coordinator = placement.coordinator.unwrap();
        assert_eq!((coordinator.host.as_str(), coordinator.port), ("127.0.0.1", 4567));
        assert!(coordinator.served_by_launcher);
    }

    #[test]
    fn hosts_count_their_ranks_one_after_the_other() {
        let host = Host { index: 2, count: 4, first: "node1".to_owned(), ..Host::alone() };
        let placement = placement(1, 8, &host);
        assert_eq!((placement.rank, placement.world_size), (17, 32));
        assert_eq!((placement.local_rank, placement.local_world_size), (1, 8));
        assert_eq!(placement.coordinator.unwrap().host, "node1");
    }

    #[test]
    fn processors_are_shared() {
        assert_eq!(threads(16, 4), 4);
        assert_eq!(threads(2, 4), 1);
        assert_eq!(threads(7, 2), 3);
    }
}
