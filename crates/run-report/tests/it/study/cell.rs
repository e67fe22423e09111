//! The runs of a method on a model, and what the findings read of each.

use run_report::study::cell::Scores;

#[test]
fn scores_are_shares_of_responses_and_questions() {
    let scores = Scores { samples: 4, right: vec![4, 1, 0] };
    assert!((scores.accuracy(|_| true) - 5.0 / 12.0).abs() < 1e-15);
    assert!((scores.accuracy(|place| scores.is_rare(place, 0.3)) - 1.0 / 8.0).abs() < 1e-15);
    // One right of four: of two drawn, one is right with chance 1/2.
    assert!((scores.pass_at(2) - (1.0 + 0.5) / 3.0).abs() < 1e-15);
    assert!(Scores::default().accuracy(|_| true).is_nan());
}
