//! `TFRecord` framing: a length, bytes, and checksums of both.

use run_report::tensorboard::{frame, read_records};

#[test]
fn a_torn_end_leaves_the_whole_records() {
    let mut bytes = frame(b"one");
    let first_end = bytes.len();
    bytes.extend(frame(b"three"));
    for end in first_end + 1..bytes.len() {
        assert_eq!(read_records(&bytes[..end]), (vec![&b"one"[..]], false));
    }
    assert_eq!(read_records(&bytes), (vec![&b"one"[..], b"three"], true));
}

#[test]
fn every_flipped_bit_is_found() {
    let record = frame(b"entropy");
    for bit in 0..8 * record.len() {
        let mut spoilt = record.clone();
        spoilt[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(read_records(&spoilt), (vec![], false), "bit {bit}");
    }
}
