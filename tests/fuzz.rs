//! Inputs that attack a parser: samples with a few edits.
//!
//! Tests of them are named `fuzz`. `scripts/fuzz.sh MINUTES` runs them for longer, by `PROPTEST_CASES`.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Longest processor time for one small input, in a build that is not optimised.
const LONGEST: Duration = Duration::from_secs(20);

/// Pieces that parsers treat in their own way.
const PIECES: [&[u8]; 16] = [
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b"{{",
    b"%}",
    b"\n",
    b"\0",
    b"\xff",
    b"-1",
    b"1e999",
    b"NaN",
    b"18446744073709551616",
    b"\xff\xff\xff\xff\xff\xff\xff\x7f",
];

#[derive(Debug, Clone)]
enum Edit {
    Replace(Index, u8),
    Insert(Index, &'static [u8]),
    Remove(Index, usize),
    /// Copies a range to another place, some times over.
    Copy(Index, Index, usize, usize),
    Cut(Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    let index = any::<Index>;
    prop_oneof![
        4 => (index(), any::<u8>()).prop_map(|(place, byte)| Edit::Replace(place, byte)),
        4 => (index(), select(&PIECES[..])).prop_map(|(place, piece)| Edit::Insert(place, piece)),
        2 => (index(), 1_usize..40).prop_map(|(place, count)| Edit::Remove(place, count)),
        2 => (index(), index(), 1_usize..200, 1_usize..40)
            .prop_map(|(from, to, length, times)| Edit::Copy(from, to, length, times)),
        1 => index().prop_map(Edit::Cut),
    ]
}

impl Edit {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let place = |index: &Index| index.index(bytes.len() + 1);
        match self {
            Self::Replace(index, byte) => {
                let place = place(index);
                if let Some(slot) = bytes.get_mut(place) {
                    *slot = *byte;
                }
            }
            Self::Insert(index, piece) => {
                let place = place(index);
                bytes.splice(place..place, piece.iter().copied());
            }
            Self::Remove(index, count) => {
                let first = place(index);
                let end = (first + count).min(bytes.len());
                bytes.drain(first..end);
            }
            Self::Copy(from, to, length, times) => {
                let (first, to) = (place(from), place(to));
                let copied = bytes[first..(first + length).min(bytes.len())].repeat(*times);
                bytes.splice(to..to, copied);
            }
            Self::Cut(index) => bytes.truncate(place(index)),
        }
    }
}

/// Samples with up to eight edits.
pub fn edited(samples: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    (select(samples), vec(edit(), 0..8)).prop_map(|(mut bytes, edits)| {
        for edit in &edits {
            edit.apply(&mut bytes);
        }
        bytes
    })
}

/// Calls a parser, which may take an input or refuse it, but neither panics nor takes long.
///
/// # Panics
///
/// If the parser takes longer than a small input warrants.
pub fn in_time<T>(parse: impl FnOnce() -> T) -> T {
    let start = processor_time();
    let parsed = parse();
    let spent = processor_time().saturating_sub(start);
    assert!(spent < LONGEST, "{spent:?}");
    parsed
}

/// Processor time of this thread, which other work on the machine does not change.
fn processor_time() -> Duration {
    thread_local! {
        // Open, as to open it takes longer than many a parser.
        static TIMES: File = File::open("/proc/thread-self/schedstat").expect("Linux");
    }
    let mut text = [0; 64];
    let length = TIMES.with(|file| file.read_at(&mut text, 0)).expect("it is there");
    let text = std::str::from_utf8(&text[..length]).expect("digits");
    let nanoseconds = text.split(' ').next().and_then(|number| number.parse().ok());
    Duration::from_nanos(nanoseconds.expect("nanoseconds come first"))
}
