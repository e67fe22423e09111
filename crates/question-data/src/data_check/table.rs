//! The report as a person reads it.

use std::fmt::{self, Display, Formatter};

use messages::{shortened, shown};

use super::phrases::PhrasePlace;
use super::report::{DataReport, RowFinding, equal, some};
use crate::dataset::LONGEST_PROBLEM;

/// Longest answer or phrase that is printed, in characters.
const LONGEST: usize = 90;

/// Most examples of one finding that are printed; `--json` holds all of them.
const SHOWN: usize = 5;

impl Display for DataReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(out, "{} ({})", self.file, shown(&self.layout, LONGEST_PROBLEM))?;
        line(out, "rows", self.rows, format!("{} are questions", self.questions))?;
        findings(out, "unusable rows", &self.unusable)?;
        findings(out, "unreadable answers", &self.unreadable_answers)?;
        line(out, "repeated ids", self.repeated_ids, "")?;
        self.write_lengths(out)?;
        let answers = &self.answers;
        let text = format!(
            "{} of them with leading zeros; {} decimals, {} single letters, {} others",
            answers.leading_zeros, answers.decimals, answers.letters, answers.others
        );
        line(out, "integer answers", answers.integers, text)?;
        self.write_repeats(out)?;
        line(out, "conflicting answers", self.conflicts.len(), "")?;
        for conflict in self.conflicts.iter().take(SHOWN) {
            let answers = conflict.rows.iter().zip(&conflict.answers);
            let answers: Vec<String> =
                answers.map(|(row, answer)| format!("{row}: {}", shown(answer, LONGEST))).collect();
            writeln!(out, "{:32}rows {}", "", answers.join(", "))?;
        }
        let rows = match self.broken_escapes.as_slice() {
            [] => String::new(),
            rows => format!("rows {}", some(rows, SHOWN)),
        };
        line(out, "broken escapes", self.broken_escapes.len(), rows)?;
        for script in &self.scripts {
            let (first, rest) = script.script.split_at(1);
            let name = format!("{}{rest} script", first.to_uppercase());
            line(out, &name, script.rows.len(), format!("rows {}", some(&script.rows, SHOWN)))?;
        }
        for phrase in &self.phrases {
            let name = match phrase.place {
                PhrasePlace::Beginning => "begin with",
                PhrasePlace::Ending => "end in",
                PhrasePlace::Anywhere => "hold",
            };
            line(out, name, phrase.rows.len(), format!("{:?}", shortened(&phrase.text, LONGEST)))?;
        }
        self.write_overlap(out)
    }
}

impl DataReport {
    fn write_lengths(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if let Some(lengths) = &self.lengths {
            let (unit, p90, p99, max) = (lengths.unit, lengths.p90, lengths.p99, lengths.max);
            let text =
                format!("{unit} at the median; 0.9 of them ≤ {p90}, 0.99 ≤ {p99}, longest {max}");
            line(out, "length", lengths.median, text)?;
            if lengths.limit > 0 {
                let text = format!("longer than {} {unit}", lengths.limit);
                line(out, "over-long", lengths.over_limit, text)?;
            }
        }
        Ok(())
    }

    fn write_repeats(&self, out: &mut Formatter<'_>) -> fmt::Result {
        for (name, repeats) in [
            ("exact duplicates", &self.exact_duplicates),
            ("same question", &self.same_question),
            ("signs apart", &self.signs_apart),
        ] {
            let groups: Vec<String> = repeats.groups.iter().take(SHOWN).map(|g| equal(g)).collect();
            let text = match groups.as_slice() {
                [] => String::new(),
                _ if name == "signs apart" => {
                    "pairs or more of mostly different questions, rows ".to_owned()
                }
                _ => format!(
                    "questions stand there more than once ({} rows too many, {} distinct), rows ",
                    repeats.surplus_rows(),
                    repeats.distinct
                ),
            };
            let text = text + &groups.join(", ");
            line(out, name, repeats.groups.len(), text)?;
        }
        Ok(())
    }

    fn write_overlap(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if let Some(overlap) = &self.overlap {
            let text = format!(
                "of {} questions of {} ({} with the same letters, {} by shared 13-grams); {} rows to drop: {}",
                overlap.questions,
                overlap.against,
                overlap.same_letters,
                overlap.shared_ngrams,
                overlap.rows_to_drop.len(),
                some(&overlap.rows_to_drop, SHOWN)
            );
            line(out, "known beforehand", overlap.known, text)?;
        }
        Ok(())
    }
}

fn line(out: &mut Formatter<'_>, name: &str, count: usize, text: impl Display) -> fmt::Result {
    let line = format!("  {name:20}{count:>8}  {text}");
    writeln!(out, "{}", line.trim_end())
}

fn findings(out: &mut Formatter<'_>, name: &str, findings: &[RowFinding]) -> fmt::Result {
    line(out, name, findings.len(), "")?;
    for finding in findings.iter().take(SHOWN) {
        let problem = shown(&finding.problem, LONGEST_PROBLEM);
        writeln!(out, "{:32}row {}: {problem}", "", finding.row)?;
    }
    Ok(())
}
