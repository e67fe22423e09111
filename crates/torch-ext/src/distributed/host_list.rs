//! Parses Slurm's shorthand for lists of hosts and of counts.

/// First host of a list such as `node[003-007,9],gpu1`; `None` if the list is malformed.
///
/// Every bracket stands for the first number of its first range: `rack[2-3]n[01-04]` begins with `rack2n01`.
pub(super) fn first_host(list: &str) -> Option<String> {
    let mut host = String::new();
    let mut rest = list.trim();
    while let Some(open) = rest.find(['[', ',', ']']) {
        host.push_str(&rest[..open]);
        if rest[open..].starts_with(',') {
            return checked(host);
        }
        let inside = rest[open..].strip_prefix('[')?;
        let close = inside.find(']')?;
        let first = inside[..close].split(['-', ',']).next()?;
        if first.is_empty() || !first.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        host.push_str(first);
        rest = &inside[close + 1..];
    }
    host.push_str(rest);
    checked(host)
}

fn checked(host: String) -> Option<String> {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    (!host.is_empty() && host.chars().all(plain)).then_some(host)
}

/// Entry `index` of a list of counts such as `4(x2),3`, which stands for 4, 4, 3.
pub(super) fn count_at(list: &str, index: usize) -> Option<usize> {
    let mut first = 0;
    for part in list.trim().split(',') {
        let (count, times) = match part.split_once("(x") {
            Some((count, times)) => (count, times.strip_suffix(')')?.parse().ok()?),
            None => (part, 1_usize),
        };
        let count = count.parse().ok()?;
        if index - first < times {
            return Some(count);
        }
        first = first.checked_add(times)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_host_keeps_the_leading_zeros_of_its_number() {
        for (list, expected) in [
            ("node[003-007,9]", "node003"),
            ("node[9,003-007]", "node9"),
            ("node12", "node12"),
            ("login-1.cluster.example,node[1-2]", "login-1.cluster.example"),
            ("gpu[2-4]-ib", "gpu2-ib"),
            ("rack[2-3]n[01-04],x", "rack2n01"),
            ("a,b[1-2]", "a"),
            ("[10-12]", "10"),
        ] {
            assert_eq!(first_host(list).as_deref(), Some(expected), "{list}");
        }
        for wrong in
            ["", " ", ",node1", "node[1-2", "node]1", "node[]", "node[a-b]", "no de", "a[[1]]"]
        {
            assert_eq!(first_host(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_repeated_count_stands_for_as_many_nodes() {
        let all = |list: &str, nodes: usize| -> Vec<_> {
            (0..nodes).map(|node| count_at(list, node)).collect()
        };
        assert_eq!(all("4(x2),3", 4), [Some(4), Some(4), Some(3), None]);
        assert_eq!(all("8", 2), [Some(8), None]);
        assert_eq!(all("1,2(x1),5", 3), [Some(1), Some(2), Some(5)]);
        for list in ["", "x", "4(x", "4(x2", "4(2)", "-1"] {
            assert_eq!(count_at(list, 0), None, "{list}");
        }
    }
}
