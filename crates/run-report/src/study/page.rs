//! The findings for people: an HTML page, and the page of the book.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use figures::chart_svg::standalone_svg;
use figures::html::{Table, escape, paragraph};
use figures::{Block, Figure, Page, Section};

use super::agreement::Agreement;
use super::finding::{Finding, Verdict};
use super::measure::Measure;
use whole_file::{FileError, write_atomically};

/// Setting of a study, for the pages.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Command that runs it again.
    pub command: String,
    /// Models, seeds and steps, a sentence.
    pub summary: String,
    /// True if targets are judged: a quick run is too short for them.
    pub has_verdicts: bool,
    /// Comparison with a study of other seeds.
    pub agreement: Option<Agreement>,
}

const TITLE: &str = "The paper's findings in a language model";
const PAPER: &str =
    "<p>The paper: <a href=\"https://arxiv.org/abs/2505.22617\">arXiv:2505.22617</a>.</p>\n";

fn html(findings: &[Finding], setting: &Setting) -> Page {
    let verdict = |finding: &Finding| match finding.verdict().filter(|_| setting.has_verdicts) {
        Some(verdict) => format!("{}, {}", verdict.text(), finding.score()),
        None => String::new(),
    };
    let section = |finding: &Finding| {
        let mut text = paragraph(&format!("Claim: {}", finding.claim));
        text += &paragraph(&format!("Targets: {}", finding.targets));
        text += &paragraph(&verdict(finding));
        text.extend(finding.notes.iter().map(|note| paragraph(note)));
        let blocks = vec![
            Block::Html(text),
            Block::Figures(finding.figures.clone()),
            Block::Html(measures(&finding.measures, setting)),
        ];
        Section::new(finding.name, finding.title, blocks)
    };
    Page {
        title: TITLE.to_owned(),
        headline: headline(findings, setting),
        introduction: vec![setting.summary.clone()],
        sections: findings.iter().map(section).collect(),
        command: setting.command.clone(),
        footer: PAPER.to_owned(),
        style: String::new(),
    }
}

fn measures(measures: &[Measure], setting: &Setting) -> String {
    let headings = ["Measured", "Mean [0.95 interval]", "Target", "Met, by seeds"];
    let mut table = Table::new("", &headings, |column| matches!(column, 1 | 2));
    for measure in measures {
        let met = measure.met_text().replace("**", "");
        let met = if setting.has_verdicts { met } else { "–".to_owned() };
        let quantity = format!("<span class=\"wrap\">{}</span>", escape(&measure.quantity));
        let [mean, target] = [measure.text(), measure.target.text()].map(|text| escape(&text));
        table.html_row(vec![quantity, mean, target, met]);
    }
    table.html()
}

/// `Of 8 findings, 5 reproduced, 2 in part, 1 not reproduced.`
pub fn headline(findings: &[Finding], setting: &Setting) -> String {
    if !setting.has_verdicts {
        return "A quick look: fewer seeds and steps, no verdicts.".to_owned();
    }
    let all = findings.len();
    let [reproduced, in_part, missed] =
        [Verdict::Reproduced, Verdict::InPart, Verdict::NotReproduced]
            .map(|verdict| findings.iter().filter(|one| one.verdict() == Some(verdict)).count());
    format!(
        "Of {all} findings, {reproduced} reproduced, {in_part} in part, {missed} not reproduced."
    )
}

/// The findings as sections of Markdown; figures stand at `images/STEM.svg`.
fn markdown(findings: &[Finding], setting: &Setting) -> String {
    let (first, command) = (headline(findings, setting), &setting.command);
    let mut text = format!("{first} {} `{command} --docs docs`\n", setting.summary);
    for finding in findings {
        let Finding { title, claim, targets, .. } = finding;
        let verdict = finding.verdict().map_or("no target", Verdict::text);
        let score = finding.score();
        let _ = write!(
            text,
            "\n## {title}\n\n{claim}\n\nTargets: {targets}\n\n{score}: **{verdict}**.\n"
        );
        if let Some(figure) = finding.figures.first() {
            let (title, stem) = (escape(&figure.chart.title), &figure.chart.stem);
            let _ = write!(text, "\n![{title}](images/language-model/{stem}.svg)\n");
        }
        text +=
            "\n| measured | mean [0.95 interval] | target | met, by seeds |\n|---|---|---|---|\n";
        for measure in &finding.measures {
            let (quantity, mean, target) =
                (&measure.quantity, measure.text(), measure.target.text());
            let _ = writeln!(text, "| {quantity} | {mean} | {target} | {} |", measure.met_text());
        }
        for note in &finding.notes {
            let _ = write!(text, "\n{note}\n");
        }
    }
    if let Some(agreement) = &setting.agreement {
        let _ = write!(text, "\n## Other seeds\n\n{}", agreement.markdown());
    }
    text
}

/// Writes `report.html`, `reproduce.json` and `figures/STEM.svg` into a folder, and returns the path of the page.
///
/// # Errors
///
/// [`FileError`], naming the first file that could not be written.
pub fn write(findings: &[Finding], setting: &Setting, folder: &Path) -> Result<PathBuf, FileError> {
    let report = folder.join("report.html");
    write_atomically(&report, html(findings, setting).html().as_bytes())?;
    write_json(findings, &folder.join("reproduce.json"))?;
    write_figures(findings.iter().flat_map(|finding| &finding.figures), &folder.join("figures"))?;
    Ok(report)
}

/// Writes the page of the book, `language-model.md`, with `language-model.json` and the first figure of each finding.
///
/// # Errors
///
/// [`FileError`], naming the first file that could not be written.
pub fn write_book(findings: &[Finding], setting: &Setting, docs: &Path) -> Result<(), FileError> {
    let text = format!("{INTRODUCTION}{}{FOOTER}", markdown(findings, setting));
    write_atomically(&docs.join("language-model.md"), text.as_bytes())?;
    write_json(findings, &docs.join("language-model.json"))?;
    let first = findings.iter().filter_map(|finding| finding.figures.first());
    write_figures(first, &docs.join("images/language-model"))
}

fn write_json(findings: &[Finding], path: &Path) -> Result<(), FileError> {
    let mut json = serde_json::to_vec_pretty(findings).expect("findings are JSON");
    json.push(b'\n');
    write_atomically(path, &json)
}

fn write_figures<'a>(
    figures: impl Iterator<Item = &'a Figure>,
    folder: &Path,
) -> Result<(), FileError> {
    fs::create_dir_all(folder).map_err(FileError::of(folder, "create the folder"))?;
    for Figure { chart, .. } in figures {
        let path = folder.join(format!("{}.svg", chart.stem));
        write_atomically(&path, standalone_svg(chart).as_bytes())?;
    }
    Ok(())
}

const INTRODUCTION: &str = "\
# Findings in a language model

`llm-trainer reproduce` repeats the findings of Cui et al. (arXiv:2505.22617) on transformers, in the loop that trains 7B.

```sh
llm-trainer reproduce                                              # all findings; writes runs/language-model/report.html
llm-trainer reproduce --quick                                      # the smallest model, half the steps, two seeds, no verdicts
llm-trainer reproduce --first-seed 51 --output runs/other-seeds    # the same with other seeds
llm-trainer reproduce --compare runs/other-seeds/reproduce.json --docs docs   # this page, its figures and language-model.json
```

A question asks which operation makes `20?3=17`: 1 for +, 2 for -, 3 for *. Half of the questions are sums. The model is warmed up on a
teacher that guesses: 1 in 0.6, 2 in 0.3, 3 in 0.1 of the answers, whatever the question. To answer 1 always is right in half of the questions and
costs all entropy. To look at the numbers takes answers that are rarely tried. The task was chosen for this
([what else was tried](#what-else-was-tried)): it says that the mechanism works in a language model, not how often tasks are like this.

Targets were fixed before the run, and the settings chosen on seeds 1 to 25 ([how](#how-the-settings-were-chosen)). A target is met if
the whole 0.95 interval (Student's t over the seeds) meets it; the last column counts the seeds that meet it by themselves. Means and
intervals of ratios are those of their logarithms.

";

const FOOTER: &str = "
## How the settings were chosen

In two earlier studies, seeds 11 to 14 and 21 to 25, GRPO left the habit by itself in two of nine warm-ups of the smallest model, and in
one it lost the format of the answers within a step, and with it all reward; Clip-Cov did so more often. That step followed on the
first answer of a rare form after many steps without gradients. AdamW with β₂ = 0.999 makes it a step of three times the learning rate
in parameters that never moved; with 0.95 it is half of one. Of five runs that had failed, four did not with 0.95, and one lost the
format for some steps. The epsilon of 1e-4 keeps AdamW from making steps of noise; the demo keeps AdamW's usual settings. The learning rate
is 3e-4 times 64 over the model's width. Clip-Cov takes the paper's band, 1 to 5, and 0.04 of the tokens: of 0.02 it falls back to the
habit; up to a covariance of 50 it drops the penalties of answers in a wrong format.

## What else was tried

One or three seeds each, models of 0.1 and 0.3 million parameters, by scripts that are not in the repository. Nothing separated the
methods with an interval:

- Sums of one to three digits, answered directly or worked out, with slips in 0.1 to 0.95 of the answers. The slips alone explored
  enough, and GRPO was never flat.
- Sums of two digits by a teacher that carries by chance in 0.01 to 0.1 of the answers. With one warm-up Clip-Cov ended 0.14 above
  a flat GRPO, with the next all were equal.
- Chains of additions and products of two to six numbers, worked or direct: the worked answers were never learnt.
- Two operations at once, `9 5 9 > 63`. GRPO was flat at 0.25, KL-Cov reached 0.28, Clip-Cov lost the format of the answer.
- This task with an answer `#### 1` of seven tokens. Both methods broke through, but a collapsed policy lost the format now and then.

---

← [Findings](reproduce.md) · [Contents](README.md) · [Benchmarks](benchmarks.md) →
";
