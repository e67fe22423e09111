//! Inputs of the commands with edits: read or refused, without a panic and in time.

use proptest::prelude::*;
use softmax_sim::entropy_change::stream;
use softmax_sim::fit_law::Points;
use softmax_sim::micro_batch::{MiniBatch, compare};
use softmax_sim::sweep::Plan;
use workspace_tests::fuzz::{edited, in_time};

const REQUESTS: &str = r#"{"id": 1, "logits": [0.5, -1], "advantages": [1, 0], "eta": 0.1, "rule": "pg"}
{"id": "b", "logits": [1e3, -1e3, 0], "advantages": [1, 0, -1], "eta": 1e-3, "rule": "npg"}
"#;

const GROUPS: &str = r#"{"format":1}
{"rewards":[1.0,0.0],"responses":{"samples":[{"rollout_log_prob":[-0.5,-1.0]},{"rollout_log_prob":[-2.0]}]}}
"#;

const ROWS: &str = "step,entropy,reward\n0,1.2,0.3\n1,1.0,0.4\n2,0.5,0.5\n3,0.2,0.6\n4,0.1,0.7\n";

const METRICS: &str =
    "{\"step\":1,\"entropy\":0.9,\"reward\":0.1}\n{\"step\":2,\"entropy\":0.5,\"reward\":0.4}\n";

fn samples(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

proptest! {
    #[test]
    fn fuzz_requests(bytes in edited(samples(&[REQUESTS]))) {
        let _answered = in_time(|| stream(&bytes[..], &mut Vec::new(), &mut Vec::new()));
    }

    #[test]
    fn fuzz_saved_groups(bytes in edited(samples(&[GROUPS]))) {
        in_time(|| compare(&MiniBatch::read(&bytes[..]).ok()?, &[1]).ok());
    }

    #[test]
    fn fuzz_points(bytes in edited(samples(&[ROWS, METRICS]))) {
        let _read = in_time(|| Points::read(&bytes[..], "entropy", "reward"));
    }

    #[test]
    fn fuzz_plan(bytes in edited(samples(&[include_str!("../../../../configs/sweep-entropy-control.toml")]))) {
        let text = String::from_utf8_lossy(&bytes);
        let _read = in_time(|| Plan::read(&text));
    }
}

/// Unedited samples are read without a fault.
#[test]
fn samples_of_the_fuzz_tests_are_read() {
    let mut problems = Vec::new();
    stream(REQUESTS.as_bytes(), &mut Vec::new(), &mut problems).unwrap();
    assert_eq!(String::from_utf8(problems).unwrap(), "");
    let batch = MiniBatch::read(GROUPS.as_bytes()).unwrap();
    compare(&batch, &[1]).unwrap();
    for text in [ROWS, METRICS] {
        let (points, problems) = Points::read(text.as_bytes(), "entropy", "reward").unwrap();
        assert!(points.entropy.len() >= 2 && problems.is_empty(), "{problems:?}");
    }
}
