//! The page of benchmarks, rendered from the questions.

use super::{Better, Peer, Question, Ratio, Row, Value, machines, questions};

const HEAD: &str = "\
# Benchmarks

`docs/benchmarks/*.json` holds the numbers, one file a question; this page is made from them. To measure ours on your machine:

```sh
make benchmarks
ONLY=losses RUNS=3 make benchmarks
```

`ONLY` picks files, `RUNS` records the range of several calls (`least–most`). Peer programs (`*_peer.py`) are not part of this repository.
`×` says how many times as fast ours is. The commit is the one that recorded ours; an empty cell repeats it.

Machines, with Debian 12, rustc 1.95 and libtorch 2.11.0 unless said, idle unless a line says otherwise:

";

/// The page without the links at its end.
///
/// # Panics
///
/// If a file of `docs/benchmarks/` cannot be read.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for (letter, machine) in machines() {
        page.extend(["- `", letter.as_str(), "`: ", machine.description.as_str(), "\n"]);
    }
    for (_, question) in questions() {
        page.push_str(&section(&question));
    }
    page
}

fn section(question: &Question) -> String {
    let mut parts = vec![format!("## {}", question.question)];
    if !question.method.is_empty() {
        parts.push(question.method.join("\n"));
    }
    if !question.commands.is_empty() {
        let commands: Vec<&str> = question.commands.iter().map(|one| one.run.as_str()).collect();
        parts.push(format!("```sh\n{}\n```", commands.join("\n")));
    }
    if !question.rows.is_empty() {
        parts.push(table(question));
    }
    if !question.notes.is_empty() {
        parts.push(question.notes.join("\n"));
    }
    format!("\n{}\n", parts.join("\n\n"))
}

/// One line of a table: the rows of a case that were measured together.
struct Line<'a> {
    provenance: String,
    rows: Vec<&'a Row>,
}

fn lines(question: &Question) -> Vec<Line<'_>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for row in &question.rows {
        let provenance = provenance(row);
        let known = lines
            .iter_mut()
            .find(|line| line.rows[0].case == row.case && line.provenance == provenance);
        match known {
            Some(line) => line.rows.push(row),
            None => lines.push(Line { provenance, rows: vec![row] }),
        }
    }
    lines
}

/// Machine, commit and date of a row, and its circumstances.
fn provenance(row: &Row) -> String {
    let mut parts = vec![row.machine.clone(), row.commit.clone(), row.date.clone()];
    parts.extend(row.peers_date.as_ref().map(|date| format!("peers {date}")));
    parts.extend(row.note.clone());
    parts.join(", ")
}

fn table(question: &Question) -> String {
    let mut columns: Vec<&str> = Vec::new();
    let mut peers: Vec<&str> = Vec::new();
    for row in &question.rows {
        if !columns.contains(&row.column.as_str()) {
            columns.push(&row.column);
        }
        peers.extend(row.peers.keys().map(String::as_str));
    }
    peers.sort_unstable();
    peers.dedup();
    let has_memory = question.rows.iter().any(|row| !row.memory.is_empty());
    let lines = lines(question);
    let is_shared = lines.iter().all(|line| line.provenance == lines[0].provenance);

    let unit = question.unit.as_str();
    let case = if unit.is_empty() { "case".to_owned() } else { format!("case, {unit}") };
    let mut heads = vec![case.as_str()];
    heads.extend(&columns);
    heads.extend(&peers);
    heads.extend(has_memory.then_some("MiB"));
    heads.extend((!is_shared).then_some("machine, commit, date"));
    let mut text = Vec::new();
    if is_shared {
        text.extend([lines[0].provenance.clone(), String::new()]);
    }
    text.push(format!("| {} |", heads.join(" | ")));
    text.push(format!("|{}", "---|".repeat(heads.len())));
    for (index, line) in lines.iter().enumerate() {
        let mut cells = cells(question, line, &columns, &peers);
        if has_memory {
            let memory = line.rows[0].memory.iter().map(|mib| number(*mib, 0));
            cells.push(memory.collect::<Vec<_>>().join(" / "));
        }
        if !is_shared {
            let is_repeated = index > 0 && lines[index - 1].provenance == line.provenance;
            cells.push(if is_repeated { String::new() } else { line.provenance.clone() });
        }
        text.push(format!("| {} |", cells.join(" | ")));
    }
    text.join("\n")
}

/// Case, our numbers and those of the peers.
fn cells(question: &Question, line: &Line<'_>, columns: &[&str], peers: &[&str]) -> Vec<String> {
    let mut cells = vec![line.rows[0].case.clone()];
    for column in columns {
        let row = line.rows.iter().find(|row| row.column == *column);
        cells.push(row.map(|row| row.ours.text()).unwrap_or_default());
    }
    for name in peers {
        let cell = line.rows.iter().find_map(|row| {
            let peer = row.peers.get(*name)?;
            Some(peer_cell(*peer, row.ours, question.better))
        });
        cells.push(cell.unwrap_or_default());
    }
    cells
}

fn peer_cell(peer: Peer, ours: Value, better: Option<Better>) -> String {
    match (peer, better) {
        (Peer::Ratio(Ratio { ratio }), _) => times(ratio.bounds()),
        (Peer::Value(value), None) => value.text(),
        (Peer::Value(value), Some(better)) => {
            format!("{} ({})", value.text(), times(times_as_fast(ours, value, better)))
        }
    }
}

/// How many times as fast ours is: at least, at most.
fn times_as_fast(ours: Value, theirs: Value, better: Better) -> [f64; 2] {
    let ([our_least, our_most], [their_least, their_most]) = (ours.bounds(), theirs.bounds());
    match better {
        Better::Lower => [their_least / our_most, their_most / our_least],
        Better::Higher => [our_least / their_most, our_most / their_least],
    }
}

/// A ratio as the page prints it, more digits the closer it is to 1.
fn times(bounds: [f64; 2]) -> String {
    let [least, most] = bounds.map(|ratio| {
        let places = if ratio < 2.0 { 2 } else { usize::from(ratio < 10.0) };
        format!("{ratio:.places$}")
    });
    if least == most { format!("{least}×") } else { format!("{least}–{most}×") }
}

impl Value {
    fn bounds(self) -> [f64; 2] {
        match self {
            Self::One(value) => [value, value],
            Self::Range(bounds) => bounds,
        }
    }

    fn text(self) -> String {
        match self {
            Self::One(value) => number(value, places(value)),
            Self::Range([least, most]) => {
                let places = places(least).max(places(most));
                format!("{}–{}", number(least, places), number(most, places))
            }
        }
    }
}

/// Digits after the point of the shortest text that is the number.
fn places(value: f64) -> usize {
    value.to_string().split_once('.').map_or(0, |(_, digits)| digits.len())
}

/// A number with commas between thousands.
fn number(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    let (integer, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (index, digit) in integer.chars().enumerate() {
        if index > 0 && (integer.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_thousands_and_the_digits_of_the_file() {
        let texts = [0.149, 22.6, 234.0, 1060.0, 8.71e6].map(|value| Value::One(value).text());
        assert_eq!(texts, ["0.149", "22.6", "234", "1,060", "8,710,000"]);
        assert_eq!(Value::Range([0.3, 0.31]).text(), "0.30–0.31");
    }

    #[test]
    fn ratios_are_above_one_where_ours_is_faster() {
        let cell = |ours, theirs, better| peer_cell(Peer::Value(theirs), ours, Some(better));
        assert_eq!(cell(Value::One(2.0), Value::One(3.0), Better::Lower), "3 (1.50×)");
        assert_eq!(cell(Value::One(2.0), Value::One(20.0), Better::Higher), "20 (0.10×)");
        let (ours, theirs) = (Value::Range([0.5, 1.0]), Value::Range([4.0, 8.5]));
        assert_eq!(cell(ours, theirs, Better::Lower), "4.0–8.5 (4.0–17×)");
        assert_eq!(cell(ours, theirs, Better::Higher), "4.0–8.5 (0.06–0.25×)");
        let kept = Peer::Ratio(Ratio { ratio: Value::Range([43.0, 47.0]) });
        assert_eq!(peer_cell(kept, ours, Some(Better::Lower)), "43–47×");
    }
}
