//! Word overlap of the responses to one problem.

use run_report::evaluation::diversity::{distinct_ngrams, self_bleu};

#[test]
fn distinct_sequences_are_counted_over_all_responses() {
    let texts = ["a b a b", "a b c"];
    assert!((distinct_ngrams(&texts, 1) - 3.0 / 7.0).abs() < 1e-15);
    // ab ba ab | ab bc
    assert!((distinct_ngrams(&texts, 2) - 3.0 / 5.0).abs() < 1e-15);
    assert!(distinct_ngrams(&texts, 5).abs() < 1e-15);
    assert!(distinct_ngrams(&["", " "], 1).abs() < 1e-15);
}

#[test]
fn the_same_text_again_has_self_bleu_1_and_other_words_0() {
    let same = ["one two three four five"; 3];
    assert!((self_bleu(&same).unwrap() - 1.0).abs() < 1e-15);
    assert!(self_bleu(&["a b c d", "e f g h"]).unwrap().abs() < 1e-15);
    assert_eq!(self_bleu(&["alone"]), None);
    assert!(self_bleu(&["", "a"]).unwrap().abs() < 1e-15);
}
