//! Environments and schedules for entropy control, and runs that all findings share: each is done once.

use crate::environment::TabularSetting;
use crate::reproduce::{Progress, Setting};
use crate::training::{Curve, CurvePoint, Method, Schedule, Trainer};
use rayon::prelude::*;
use rl_losses::{
    ClipCov, ClipRange, CovarianceBand, DualClip, EntropyTarget, KlCov, Knob, LossSums, PolicyLoss,
    PpoClip, Thermostat, ThermostatSettings,
};
use serde::{Deserialize, Serialize};

/// An environment and a schedule; the method is what is compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Arena {
    world: TabularSetting,
    pub(super) schedule: Schedule,
}

impl Arena {
    /// Small steps, which stay inside PPO's trust region: methods differ by what they do to the covariance.
    pub(super) fn slow(setting: &Setting) -> Self {
        setting.pick(Self::of(32, 0.3, 2000, 20), Self::of(256, 0.3, 3000, 20))
    }

    /// Large steps, many of which PPO's clip stops.
    pub(super) fn fast(setting: &Setting) -> Self {
        setting.pick(Self::of(32, 1.0, 1000, 20), Self::of(256, 1.0, 1500, 10))
    }

    pub(super) fn of(
        prompts: usize,
        learning_rate: f64,
        rollouts: usize,
        evaluate_every: usize,
    ) -> Self {
        Self {
            world: TabularSetting { prompts, ..TabularSetting::CONTROL },
            schedule: Schedule { rollouts, evaluate_every, ..Schedule::tabular(learning_rate) },
        }
    }

    /// Runs every method once per seed and returns `[methods]`; a run done before is not repeated.
    pub(super) fn runs<Name: Into<String>>(
        &self,
        setting: &Setting,
        progress: &Progress,
        methods: impl IntoIterator<Item = (Name, Method)>,
    ) -> Vec<Trial> {
        self.held_runs(setting, progress, methods, None)
    }

    /// [`runs`](Self::runs) under a thermostat of the fraction of tokens, if there is an entropy to `hold`.
    pub(super) fn held_runs<Name: Into<String>>(
        &self,
        setting: &Setting,
        progress: &Progress,
        methods: impl IntoIterator<Item = (Name, Method)>,
        hold: Option<Hold>,
    ) -> Vec<Trial> {
        let (names, methods): (Vec<Name>, Vec<Method>) = methods.into_iter().unzip();
        let cells: Vec<(&Method, u64)> = methods
            .iter()
            .flat_map(|method| setting.all_seeds().map(move |seed| (method, seed)))
            .collect();
        progress.plan(cells.len() as u64);
        let run = |(method, seed): (&Method, u64)| {
            let run = || Run::of(self, method, hold, seed);
            let run = progress.run(&(self, method, hold), seed, run);
            progress.advance(1);
            run
        };
        let runs: Vec<Run> = cells.into_par_iter().with_max_len(1).map(run).collect();
        std::iter::zip(names, runs.chunks(setting.seeds))
            .map(|(name, seeds)| Trial { name: name.into(), seeds: seeds.to_vec() })
            .collect()
    }
}

/// A trajectory of entropy, from the initial one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Hold {
    /// Entropy at the end, in nats.
    pub(super) entropy: f64,
    /// Rollouts until then.
    pub(super) within: u64,
}

impl Hold {
    /// The thermostat with its default gains, its knob starting where `method` stands.
    fn thermostat(self, initial_entropy: f64, method: &Method) -> Thermostat {
        let target =
            EntropyTarget { start: initial_entropy, end: self.entropy, steps: self.within };
        let knob = Knob::Fraction.read(&method.loss).expect("a loss with a fraction");
        let settings = ThermostatSettings::new(target, knob, FRACTIONS.0, FRACTIONS.1);
        settings.and_then(Thermostat::new).expect("settings of a finding are in range")
    }
}

/// Range of the fraction of tokens that a thermostat may set.
const FRACTIONS: (f64, f64) = (1e-4, 0.5);

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    pub(super) curve: Curve,
    /// Loss sums over all updates of the run.
    pub(super) sums: LossSums,
    /// Fraction of tokens after each rollout, of a run under a thermostat.
    pub(super) fractions: Vec<f64>,
}

impl Run {
    fn of(arena: &Arena, method: &Method, hold: Option<Hold>, seed: u64) -> Self {
        let environment = arena.world.draw(seed);
        let mut trainer = Trainer::new(&environment, method.clone(), arena.schedule, seed);
        let initial = trainer.evaluate().entropy;
        let mut thermostat = hold.map(|hold| hold.thermostat(initial, method));
        let (mut sums, mut fractions) = (LossSums::default(), vec![]);
        let curve = trainer.run(|method, report| {
            sums += report.sums;
            if let Some(thermostat) = &mut thermostat {
                thermostat.update(report.entropy).expect("an entropy is finite and not negative");
                fractions.push(thermostat.knob());
                let set = Knob::Fraction.set(&method.loss, thermostat.knob());
                method.loss = set.expect("a loss with a fraction, held to its range");
            }
        });
        Self { curve, sums, fractions }
    }

    /// Evaluation after training.
    pub(super) fn end(&self) -> &CurvePoint {
        self.curve.last()
    }
}

/// The runs of one method, one a seed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trial {
    /// Name of the method in legends and tables.
    pub(super) name: String,
    pub(super) seeds: Vec<Run>,
}

impl Trial {
    /// `value` of each seed.
    pub(super) fn each(&self, value: impl Fn(&Run) -> f64) -> Vec<f64> {
        self.seeds.iter().map(value).collect()
    }

    /// `value` after training of each seed.
    pub(super) fn end(&self, value: fn(&CurvePoint) -> f64) -> Vec<f64> {
        self.each(|run| value(run.end()))
    }

    /// Entropy after training over that of `baseline` with the same seed.
    pub(super) fn entropy_over(&self, baseline: &Self) -> Vec<f64> {
        self.against(baseline, |end, base| end.entropy / base.entropy)
    }

    /// Reward after training above that of `baseline` with the same seed.
    pub(super) fn reward_above(&self, baseline: &Self) -> Vec<f64> {
        self.against(baseline, |run, base| run.reward - base.reward)
    }

    /// `value` after training beside `baseline` with the same seed.
    pub(super) fn against(
        &self,
        baseline: &Self,
        value: fn(&CurvePoint, &CurvePoint) -> f64,
    ) -> Vec<f64> {
        let pairs = std::iter::zip(&self.seeds, &baseline.seeds);
        pairs.map(|(run, base)| value(run.end(), base.end())).collect()
    }
}

/// GRPO with a ratio clipped at 0.2 below and `high` above.
pub(super) fn grpo_clipped(high: f64) -> Method {
    let clip = ClipRange::new(0.2, high).expect("a clip of a finding is in range");
    Method::of(PolicyLoss::PpoClip(PpoClip::new(clip, DualClip::OFF)))
}

/// The surrogate without a clip: KL-Cov with no strength, so that no token is treated.
pub(super) fn unclipped() -> Method {
    kl_cov(1e-3, 0.0)
}

/// KL-Cov on a `fraction` of the tokens.
pub(super) fn kl_cov(fraction: f64, coefficient: f64) -> Method {
    let loss = KlCov::new(fraction, coefficient).expect("a fraction of a finding is in range");
    Method::of(PolicyLoss::KlCov(loss))
}

/// Clip-Cov on a `fraction` of the tokens, with band and clip of the paper's scripts.
pub(super) fn clip_cov(fraction: f64) -> Method {
    let band = CovarianceBand::new(1.0, 5.0).expect("a band of a finding is in order");
    let clip = ClipRange::new(1.0, 1.0).expect("a clip of a finding is in range");
    let loss = ClipCov::new(fraction, band, clip).expect("a fraction of a finding is in range");
    Method::of(PolicyLoss::ClipCov(loss))
}
