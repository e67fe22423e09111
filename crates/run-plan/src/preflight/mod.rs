//! Checks whether a run can learn at all, from a few dozen of its own samples before it is started.
//!
//! [`Preflight`] counts over the samples; [`Finding`]s are problems and the settings to change. A finding is
//! [fatal](Finding::fatal) where no step of the run could have a gradient.

mod findings;
mod samples;
mod text;

use training_run::config::Run;

pub use findings::{MOST, ModelFacts};
pub use samples::{Finding, Preflight, PreflightGroup, PreflightSample, QUANTILES, SampleGrade};

impl Preflight {
    /// Counts and judges the samples of a run; every group has the same number of responses.
    ///
    /// # Panics
    ///
    /// If there is no response.
    pub fn new(
        rendered_prompt: String,
        groups: Vec<PreflightGroup>,
        run: &Run,
        model: ModelFacts,
    ) -> Self {
        let samples = || groups.iter().flat_map(|group| &group.samples);
        let count = samples().count();
        assert!(count > 0, "a response to look at");
        let share = |is: &dyn Fn(&PreflightSample) -> bool| {
            samples().filter(|sample| is(sample)).count() as f64 / count as f64
        };
        let share_of_groups = |is: &dyn Fn(&PreflightGroup) -> bool| {
            groups.iter().filter(|group| is(group)).count() as f64 / groups.len() as f64
        };
        let group_size = groups.iter().map(|group| group.samples.len()).max().unwrap_or(0);
        let mut groups_by_right = vec![0; group_size + 1];
        for group in &groups {
            groups_by_right[group.right()] += 1;
        }
        let mut lengths: Vec<usize> = samples().map(|sample| sample.tokens).collect();
        lengths.sort_unstable();
        let tokens: usize = lengths.iter().sum();
        let entropy: f64 = samples().map(|sample| sample.entropy_sum).sum();
        let mut seen = Self {
            prompts: groups.len(),
            group_size,
            rendered_prompt,
            right_fraction: share(&|sample| sample.outcome == SampleGrade::Right),
            unparsed_fraction: share(&|sample| sample.outcome == SampleGrade::Unparsed),
            truncated_fraction: share(&|sample| sample.truncated),
            ended_by_token_fraction: share(&|sample| sample.ended_by_token),
            ended_by_stop_fraction: share(&|sample| !sample.truncated && !sample.ended_by_token),
            teaching_group_fraction: share_of_groups(&PreflightGroup::teaches),
            groups_by_right,
            length_quantiles: QUANTILES.map(|level| quantile(&lengths, level)),
            longest_prompt_tokens: groups.iter().map(|g| g.prompt_tokens).max().unwrap_or(0),
            mean_entropy: entropy / tokens.max(1) as f64,
            repeated_group_fraction: share_of_groups(&|group| {
                group.samples.len() > 1
                    && group.samples.windows(2).all(|pair| pair[0].text == pair[1].text)
            }),
            findings: Vec::new(),
            groups,
        };
        seen.findings = findings::findings(&seen, run.config(), model);
        seen
    }

    /// True if no step of the run could have a gradient.
    pub fn cannot_learn(&self) -> bool {
        self.findings.iter().any(|finding| finding.fatal)
    }
}

/// Returns the quantile of ascending values, linear between neighbours.
fn quantile(ascending: &[usize], level: f64) -> f64 {
    let place = level * (ascending.len() - 1) as f64;
    let index = (1..ascending.len()).take_while(|&index| index as f64 <= place).count();
    let (low, high) = (ascending[index], ascending[(index + 1).min(ascending.len() - 1)]);
    low as f64 + (place - index as f64) * (high as f64 - low as f64)
}
