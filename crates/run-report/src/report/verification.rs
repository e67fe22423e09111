//! Checks of the theory on random policies.

use figures::Block;
use figures::html::{Table, absent, escape, paragraph};
use figures::number_format::significant;

use super::Report;

pub(super) fn blocks(report: &Report) -> Vec<Block> {
    let html = match &report.verification {
        None => absent("Left out: softmax-sim verify was not run for this page."),
        Some(verification) if verification.rows.is_empty() => {
            absent("softmax-sim verify reported no check.")
        }
        Some(verification) => {
            let rows = &verification.rows;
            let passed = rows.iter().filter(|row| row.passed).count();
            let (all, seed) = (rows.len(), verification.seed);
            let intro = format!(
                "{passed} of {all} checks hold on random softmax policies (softmax-sim verify, seed {seed})."
            );
            let mut table = Table::new(
                "Worst case of each check, beside what was allowed.",
                &["Statement", "Check", "Cases", "Worst", "Allowed", "Verdict"],
                |column| (2..5).contains(&column),
            );
            for row in rows {
                let (class, verdict) =
                    if row.passed { ("pass", "✓ holds") } else { ("fail", "✗ fails") };
                table.html_row(vec![
                    escape(&row.statement),
                    format!("<span class=\"wrap\">{}</span>", escape(&row.check)),
                    row.cases.to_string(),
                    significant(row.worst, 2),
                    significant(row.allowed, 2),
                    format!("<span class=\"{class}\">{verdict}</span>"),
                ]);
            }
            let table = table.html();
            let fold = if passed == all { "details" } else { "details open" };
            let summary = "<summary>Every check with its worst case</summary>";
            format!("{}<{fold}>{summary}\n{table}</details>\n", paragraph(&intro))
        }
    };
    vec![Block::Html(html)]
}
