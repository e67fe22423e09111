//! The recorded best@k of verl: its thousand draws, drawn again, and the mean that they estimate, which is ours.

use run_report::evaluation::repeated_draws::{Moments, best_of_draws};
use serde_json::Value;

const VECTORS: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/rl-losses/tests/data/loss_vectors.json"
));

/// The Mersenne Twister that `numpy.random.seed` sets (Matsumoto and Nishimura 1998).
struct MersenneTwister {
    state: Vec<u32>,
    next: usize,
}

impl MersenneTwister {
    fn seeded(seed: u32) -> Self {
        let mut state = vec![seed];
        for index in 1..624_u32 {
            let last = state[state.len() - 1];
            state.push(1_812_433_253_u32.wrapping_mul(last ^ (last >> 30)).wrapping_add(index));
        }
        Self { state, next: 624 }
    }

    fn draw(&mut self) -> u32 {
        if self.next == 624 {
            for index in 0..624 {
                let joined = (self.state[index] & 0x8000_0000)
                    | (self.state[(index + 1) % 624] & 0x7fff_ffff);
                let twist = if joined & 1 == 1 { 0x9908_b0df } else { 0 };
                self.state[index] = self.state[(index + 397) % 624] ^ (joined >> 1) ^ twist;
            }
            self.next = 0;
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }
}

/// Mean and standard deviation of the population.
fn moments(values: &[f64]) -> Moments {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / values.len() as f64;
    Moments { mean, standard_deviation: variance.sqrt() }
}

#[test]
fn best_of_draws_is_what_the_published_thousand_draws_estimate() {
    let vectors: Value = serde_json::from_str(VECTORS).expect("the file is JSON");
    let case = vectors["cases"]
        .as_array()
        .and_then(|cases| cases.iter().find(|case| case["fn"] == "bootstrap"))
        .expect("the case is recorded");
    let numbers = |value: &Value| -> Vec<f64> {
        let all = value.as_array().expect("a column");
        all.iter().map(|one| one.as_f64().expect("a number")).collect()
    };
    let values = numbers(&case["inputs"]["values"]);
    // A power of two: numpy rejects none of its draws.
    assert_eq!(values.len(), 8);
    let draws = case["params"]["n_bootstrap"].as_u64().expect("a count");
    let statistics = moments(&values);
    let recorded = |name: &str| case["outputs"][name].as_f64().expect("a number");
    assert!((statistics.mean - recorded("mean@8")).abs() < 1e-15);
    assert!((statistics.standard_deviation - recorded("std@8")).abs() < 1e-15);
    for k in [2, 4, 8] {
        let mut generator = MersenneTwister::seeded(42);
        let sets: Vec<Vec<usize>> =
            (0..draws).map(|_| (0..k).map(|_| (generator.draw() & 7) as usize).collect()).collect();
        let first = &case["outputs"][format!("first_idx@{k}")];
        for (set, theirs) in sets.iter().zip(first.as_array().expect("sets")) {
            assert_eq!(Value::from(set.clone()), *theirs, "{k}");
        }
        let best =
            sets.iter().map(|set| set.iter().map(|&index| values[index]).fold(f64::MIN, f64::max));
        let (simulated, exact) = (moments(&best.collect::<Vec<_>>()), best_of_draws(&values, k));
        let theirs = numbers(&case["outputs"][format!("best@{k}")]);
        assert!((simulated.mean - theirs[0]).abs() < 1e-12, "{k}");
        assert!((simulated.standard_deviation - theirs[1]).abs() < 1e-12, "{k}");
        // Five standard errors of a thousand draws; where nothing varies, the same.
        let error = exact.standard_deviation / (draws as f64).sqrt();
        assert!((simulated.mean - exact.mean).abs() <= 5.0 * error + 1e-12, "{k}");
        assert!((exact.mean - recorded(&format!("exact_best@{k}"))).abs() < 1e-14, "{k}");
    }
}
