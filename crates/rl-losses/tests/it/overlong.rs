//! Treatment of responses that are too long.

use rl_losses::OverlongPenalty;

#[test]
fn the_punishment_grows_over_the_buffer_and_no_further() {
    let shaping = OverlongPenalty::new(100, 20, 0.5).unwrap();
    let penalties = |shaping: OverlongPenalty, lengths: &[usize]| -> Vec<f64> {
        lengths.iter().map(|&tokens| shaping.penalty(tokens)).collect()
    };
    assert_eq!(penalties(shaping, &[0, 80, 90, 100, 500]), [0.0, 0.0, -0.25, -0.5, -0.5]);
    let hard = OverlongPenalty::new(100, 0, 1.0).unwrap();
    assert_eq!(penalties(hard, &[100, 101]), [0.0, -1.0]);
}

#[test]
fn a_buffer_longer_than_the_response_is_refused() {
    let error = OverlongPenalty::new(10, 20, 1.0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`buffer_tokens` is 20, expected less than `max_tokens`, which is 10"
    );
}
