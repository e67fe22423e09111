//! A preflight as a person reads it.

use std::fmt::{self, Display, Formatter};

use super::{Finding, Outcome, Preflight};

/// Most characters of a text that are shown: its beginning and its end.
const SHOWN: usize = 1200;

impl Preflight {
    /// Writes the first prompt, `samples` responses, and the counts.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written.
    pub fn write(&self, samples: usize, out: &mut impl fmt::Write) -> fmt::Result {
        writeln!(out, "prompt, as the model reads it (of {}):", self.prompts)?;
        indent(out, &self.rendered_prompt)?;
        for (number, group) in self.groups.iter().take(samples).enumerate() {
            let Some(sample) = group.samples.first() else { continue };
            let outcome = match sample.outcome {
                Outcome::Right => "right",
                Outcome::Wrong => "wrong",
                Outcome::Unparsed => "no answer found",
            };
            let cut = if sample.truncated { ", cut" } else { "" };
            writeln!(
                out,
                "\nresponse {} to question {}: {outcome} (answer {}; {}), {} tokens{cut}",
                number + 1,
                group.question,
                shortened(&group.answer, 60),
                shortened(&sample.reason, 120),
                sample.tokens
            )?;
            indent(out, &sample.text)?;
        }
        writeln!(out)?;
        write!(out, "{self}")
    }
}

impl Display for Preflight {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let [shortest, quarter, median, most, longest] = self.length_quantiles;
        writeln!(out, "{} prompts × {} responses", self.prompts, self.group_size)?;
        writeln!(out, "  right                   {:.3}", self.right_fraction)?;
        writeln!(out, "  no answer found         {:.3}", self.unparsed_fraction)?;
        writeln!(out, "  cut at the length limit {:.3}", self.truncated_fraction)?;
        writeln!(out, "  ended by a token        {:.3}", self.ended_by_token_fraction)?;
        writeln!(out, "  groups that teach       {:.3}", self.teaching_group_fraction)?;
        writeln!(out, "  entropy                 {:.3} nats a token", self.mean_entropy)?;
        writeln!(
            out,
            "  length in tokens        {shortest:.0} shortest, {quarter:.0} a quarter, {median:.0} half, {most:.0} nine \
             tenths, {longest:.0} longest"
        )?;
        writeln!(out, "  groups by right responses:")?;
        let widest = self.groups_by_right.iter().max().copied().unwrap_or(0).max(1);
        for (right, &count) in self.groups_by_right.iter().enumerate() {
            let bar = "█".repeat((count * 40).div_ceil(widest));
            writeln!(out, "{}", format!("    {right:>3} {count:>5}  {bar}").trim_end())?;
        }
        for finding in &self.findings {
            writeln!(out, "{finding}")?;
        }
        let verdict = match (self.cannot_learn(), self.findings.is_empty()) {
            (true, _) => "this run cannot learn",
            (false, false) => "this run can learn",
            (false, true) => "this run can learn; nothing looks wrong",
        };
        writeln!(out, "{verdict}")
    }
}

impl Display for Finding {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let kind = if self.fatal { "cannot learn" } else { "warning" };
        write!(out, "{kind}: {}. {}: {}", self.seen, self.settings.join(", "), self.advice)
    }
}

fn indent(out: &mut impl fmt::Write, text: &str) -> fmt::Result {
    let shown = shortened(text, SHOWN);
    shown.lines().try_for_each(|line| writeln!(out, "  | {line}"))
}

/// The beginning and the end of a text.
fn shortened(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let half = most / 2;
    let begin: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(count - half).collect();
    format!("{begin} […{} characters…] {end}", count - 2 * half)
}
