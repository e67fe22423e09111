//! Numbers of rows, in a line.

/// Rows that hold the same.
pub(super) fn equal(rows: &[usize]) -> String {
    let rows: Vec<String> = rows.iter().map(usize::to_string).collect();
    rows.join(" = ")
}

/// The first `most` of the rows.
pub(super) fn some(rows: &[usize], most: usize) -> String {
    let shown: Vec<String> = rows.iter().take(most).map(usize::to_string).collect();
    shown.join(", ") + if rows.len() > most { ", …" } else { "" }
}
