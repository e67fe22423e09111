//! Returns of a policy in evaluation episodes, which are never trained on.

use softmax_sim::cart_pole::{Choice, Learner, mean_return};

#[test]
fn an_untrained_policy_falls_soon() {
    let learner = Learner::new(0);
    let sampled = mean_return(&learner, Choice::Sampled, 0, 200).unwrap();
    // A fair coin stands 22 steps on average, with a deviation of 12 an episode.
    assert!((sampled - 22.2).abs() < 6.0 * 12.0 / 200f64.sqrt(), "{sampled}");
    let greedy = mean_return(&learner, Choice::Greedy, 0, 50).unwrap();
    assert!((8.0..200.0).contains(&greedy), "{greedy}");
}
