//! `TFRecord` framing: a length, bytes, and checksums of both.

use run_report::tensorboard::{frame, read_records};

#[test]
fn a_torn_end_leaves_the_whole_records() {
    let mut bytes = frame(b"one");
    let first_end = bytes.len();
    bytes.extend(frame(b"three"));
    for end in first_end + 1..bytes.len() {
        let (contents, error) = read_records(&bytes[..end]);
        assert_eq!(contents, [b"one"]);
        assert_eq!(error.map(|error| error.offset), Some(first_end));
    }
    assert_eq!(read_records(&bytes), (vec![&b"one"[..], b"three"], None));
}

#[test]
fn every_flipped_bit_is_found() {
    let record = frame(b"entropy");
    for bit in 0..8 * record.len() {
        let mut spoilt = record.clone();
        spoilt[bit / 8] ^= 1 << (bit % 8);
        assert!(read_records(&spoilt).1.is_some(), "bit {bit}");
    }
}
