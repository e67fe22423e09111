//! What the launcher tells its ranks, in torchrun's words.

/// The variables of `rank` of `ranks`, which meet at `port` of this host.
pub(super) fn variables(rank: usize, ranks: usize, port: u16) -> Vec<(&'static str, String)> {
    let number = |value: usize| value.to_string();
    vec![
        ("RANK", number(rank)),
        ("WORLD_SIZE", number(ranks)),
        ("LOCAL_RANK", number(rank)),
        ("LOCAL_WORLD_SIZE", number(ranks)),
        ("GROUP_RANK", number(0)),
        ("GROUP_WORLD_SIZE", number(1)),
        ("ROLE_RANK", number(rank)),
        ("ROLE_WORLD_SIZE", number(ranks)),
        ("MASTER_ADDR", "127.0.0.1".to_owned()),
        ("MASTER_PORT", port.to_string()),
        // Rank 0 is a client of the store as well.
        ("TORCHELASTIC_USE_AGENT_STORE", "True".to_owned()),
        ("TORCHELASTIC_RESTART_COUNT", number(0)),
        ("TORCHELASTIC_MAX_RESTARTS", number(0)),
    ]
}

/// Threads of one rank where nobody has said how many: its share of the processors, at least one.
pub(super) fn threads(processors: usize, ranks: usize) -> usize {
    (processors / ranks.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use torch_ext::Placement;

    use super::*;

    #[test]
    fn the_ranks_read_what_the_launcher_writes() {
        let written = variables(2, 3, 4567);
        let placement = Placement::from_lookup(|name| {
            written.iter().find(|(variable, _)| *variable == name).map(|(_, value)| value.clone())
        })
        .unwrap();
        assert_eq!((placement.rank, placement.world_size), (2, 3));
        assert_eq!((placement.local_rank, placement.local_world_size), (2, 3));
        let coordinator = placement.coordinator.unwrap();
        assert_eq!((coordinator.host.as_str(), coordinator.port), ("127.0.0.1", 4567));
        assert!(coordinator.served_by_launcher);
    }

    #[test]
    fn processors_are_shared() {
        assert_eq!(threads(16, 4), 4);
        assert_eq!(threads(2, 4), 1);
        assert_eq!(threads(7, 2), 3);
    }
}
