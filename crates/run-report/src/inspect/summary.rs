//! Summary of a run in plain lines, for use without a terminal.

use super::metric_rows::{curve_rows, heading, row};
use super::text_lines::plain;
use messages::counted;
use whole_file::FileError;

use crate::run_law::RunLaw;
use crate::run_view::RunView;

const STEPS: usize = 20;
const WIDTH: usize = 80;
/// Number of responses shown of the last step, and of characters of each.
const SAMPLES: usize = 4;
const CHARACTERS: usize = 160;

/// Prints evenly spaced steps, the curves of all of them, what the reward cost in entropy, and some responses of the last step that has any.
///
/// # Errors
///
/// [`FileError`], naming file and line.
pub fn summary(view: &RunView) -> Result<String, FileError> {
    // Step 0 is the evaluation before training.
    let steps = view.steps.iter().filter(|&&step| step > 0).count();
    let mut text = format!("{}: {}\n", plain(&view.name), counted(steps, "step"));
    text += &format!("{}\n", heading());
    let count = view.metrics().len();
    let stride = count.div_ceil(STEPS).max(1);
    // The last one is always shown.
    for metrics in view.metrics().iter().skip(count.saturating_sub(1) % stride).step_by(stride) {
        text += &format!("{}\n", row(metrics.step(), Some(metrics)));
    }
    for row in curve_rows(view, WIDTH) {
        text += &format!("{row}\n");
    }
    if let Some(extrapolation) = RunLaw::of(view.metrics()).extrapolation() {
        text += &format!("{extrapolation}\n");
    }
    for &step in view.steps.iter().rev() {
        let samples = view.samples(step)?;
        if samples.is_empty() {
            continue;
        }
        let right = samples.iter().filter(|sample| sample.verdict == "right").count();
        let cut = samples.iter().filter(|sample| sample.truncated).count();
        text += &format!("step {step}: {right} of {} responses right, {cut} cut\n", samples.len());
        for sample in samples.iter().take(SAMPLES) {
            let [problem, response] = [&sample.problem, &sample.response]
                .map(|text| plain(text).chars().take(CHARACTERS).collect::<String>());
            let (verdict, answer) = (plain(&sample.verdict), plain(&sample.answer));
            text += &format!("  {verdict} {problem} => {answer}: {response}\n");
        }
        break;
    }
    Ok(text)
}
