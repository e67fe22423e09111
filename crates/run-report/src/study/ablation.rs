//! Common remedies beside Clip-Cov and KL-Cov, and the knobs of these.

use figures::Figure;

use super::cell::{SeedRun, Study};
use super::curve::{chart, paired};
use super::finding::Finding;
use super::measure::{Measure, Target};
use super::method::{CLIP_SHARE, GRPO, KL_SHARE, KL_WEIGHT, Role, knob_values, names};
use crate::report::ENTROPY;

fn late_entropy(run: &SeedRun) -> f64 {
    run.mean(ENTROPY, 2.0 / 3.0, 1.0)
}

fn entropy_chart(study: &Study, methods: &[&str], stem: &str, title: &str) -> Figure {
    let words = (stem, title, "Entropy (nats per token)");
    chart((study, study.main_model()), methods, words, |run| run.series(ENTROPY))
}

/// Entropy bonus, reference KL and clip-higher.
pub(super) fn ablations(study: &Study) -> Finding {
    let grpo = study.grpo();
    let names = names(Role::Ablation);
    let mut measures = vec![];
    for name in &names {
        let runs = study.main(name);
        let gain = paired(grpo, runs, |run| run.end.accuracy(|_| true));
        let what = format!("{name} less GRPO: held-out avg@n");
        measures.push(Measure::new(&what, gain, Target::AtMost(0.05)));
        let what = format!("{name}: entropy over the last third, nat");
        measures.push(Measure::new(&what, runs.iter().map(late_entropy), Target::None));
    }
    let all = [vec![GRPO], names].concat();
    Finding::new(
        "ablations",
        measures,
        vec![entropy_chart(study, &all, "lm-ablations", "Entropy of common remedies")],
    )
}

/// Entropy by the share that is dropped or penalised, and by the weight of the penalty.
pub(super) fn knobs(study: &Study) -> Finding {
    let (mut measures, mut figures) = (vec![], vec![]);
    for (knob, stem) in
        [(CLIP_SHARE, "lm-knob-r"), (KL_SHARE, "lm-knob-k"), (KL_WEIGHT, "lm-knob-beta")]
    {
        let values = knob_values(knob);
        let mut names = vec![GRPO];
        let mut before = (0.0, study.grpo());
        for (value, name) in values {
            let runs = study.main(name);
            let rise = paired(before.1, runs, late_entropy);
            let what = format!("{knob}: entropy at {value} less that at {}, nat", before.0);
            measures.push(Measure::new(&what, rise, Target::AtLeast(0.0)));
            before = (value, runs);
            names.push(name);
        }
        figures.push(entropy_chart(study, &names, stem, knob));
    }
    Finding::new("knobs", measures, figures)
}
