//! Numbers of things, in words.

use std::fmt::Display;

/// `1 node`, `2 nodes`: a number and a noun that takes an s.
///
/// ```
/// use messages::counted;
/// assert_eq!(counted(1_usize, "node"), "1 node");
/// assert_eq!(counted(0_usize, "node"), "0 nodes");
/// assert_eq!(counted(32_u64, "node"), "32 nodes");
/// ```
pub fn counted<N: Copy + Display + PartialEq + From<bool>>(count: N, noun: &str) -> String {
    let plural = if count == N::from(true) { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
