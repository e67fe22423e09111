//! Text of a preflight.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use messages::counted;

use super::{Finding, Preflight, SampleGrade};

/// Most characters of a text that are shown, half from its beginning and half from its end.
const SHOWN: usize = 1200;

impl Preflight {
    /// Writes the first prompt, what was asked and answered `questions` times, and the counts.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written.
    pub fn write(&self, questions: usize, out: &mut impl fmt::Write) -> fmt::Result {
        writeln!(out, "the first of {} prompts, as the model reads it:", self.prompts)?;
        indent(out, &self.rendered_prompt)?;
        for (index, group) in self.groups.iter().take(questions).enumerate() {
            writeln!(out)?;
            if index > 0 {
                writeln!(out, "question {}, {}:", index + 1, group.question)?;
                indent(out, &group.problem)?;
            }
            let Some(sample) = group.samples.first() else { continue };
            let outcome = match sample.outcome {
                SampleGrade::Right => "right",
                SampleGrade::Wrong => "wrong",
                SampleGrade::Unparsed => "not read",
            };
            let cut = if sample.truncated { ", cut at the length limit" } else { "" };
            writeln!(
                out,
                "response 1 of {} to question {}: {outcome} ({}); known answer {}; {}{cut}",
                group.samples.len(),
                index + 1,
                shortened(&sample.reason, 120),
                shortened(&group.answer, 60),
                counted(sample.tokens, "token"),
            )?;
            indent(out, &sample.text)?;
        }
        writeln!(out)?;
        write!(out, "{self}")
    }

    /// The commonest reason why no answer was found in a response.
    fn commonest_lack(&self) -> Option<&str> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for sample in self.groups.iter().flat_map(|group| &group.samples) {
            if sample.outcome == SampleGrade::Unparsed {
                *counts.entry(&sample.reason).or_default() += 1;
            }
        }
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(reason, _)| reason)
    }
}

impl Display for Preflight {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let [shortest, quarter, median, most, longest] = self.length_quantiles;
        let (prompts, responses) = (self.prompts, self.group_size);
        writeln!(out, "{} × {}", counted(prompts, "prompt"), counted(responses, "response"))?;
        writeln!(out, "  right                        {:.3}", self.right_fraction)?;
        write!(out, "  no answer found              {:.3}", self.unparsed_fraction)?;
        if let Some(reason) = self.commonest_lack() {
            write!(out, "   mostly: {}", shortened(reason, 120))?;
        }
        writeln!(out)?;
        writeln!(out, "  ended by the model           {:.3}", self.ended_by_token_fraction)?;
        writeln!(out, "  ended by rollout.stop        {:.3}", self.ended_by_stop_fraction)?;
        writeln!(out, "  cut at the length limit      {:.3}", self.truncated_fraction)?;
        writeln!(out, "  groups whose rewards differ  {:.3}", self.teaching_group_fraction)?;
        writeln!(out, "  entropy                      {:.3} nats a token", self.mean_entropy)?;
        writeln!(
            out,
            "  length                       {shortest:.0} to {longest:.0} tokens; a quarter have at most {quarter:.0}, half \
             {median:.0}, nine tenths {most:.0}"
        )?;
        writeln!(out, "  right responses of a group, number of groups:")?;
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
        write!(out, "{kind}: {}\n  {}: {}", self.seen, self.settings.join(", "), self.advice)
    }
}

fn indent(out: &mut impl fmt::Write, text: &str) -> fmt::Result {
    let shown = shortened(text, SHOWN);
    shown.lines().try_for_each(|line| writeln!(out, "  | {line}"))
}

/// Shortens a text to its beginning and its end.
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
