//! One thermostat for each bucket of difficulty.

use serde::{Deserialize, Serialize};

use super::{ControlError, Thermostat, ThermostatSettings};
use crate::column::sequence_ranges;
use crate::parameter::{ParameterError, Settings, check_below, check_unit, checked_when_read};

/// Settings of a [`DifficultyThermostat`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct DifficultyThermostatSettings {
    /// Accuracies between the buckets, ascending, within `0..=1`: `[0.25, 0.75]` makes hard (below
    /// 0.25), middle and easy (0.75 or above) prompts.
    pub accuracy_edges: Vec<f64>,
    /// The thermostat every bucket starts with.
    pub thermostat: ThermostatSettings,
}

impl Settings for DifficultyThermostatSettings {
    fn check(&self) -> Result<(), ParameterError> {
        self.thermostat.check()?;
        for &edge in &self.accuracy_edges {
            check_unit("accuracy_edges", edge)?;
        }
        let mut pairs = self.accuracy_edges.windows(2);
        pairs.try_for_each(|pair| {
            check_below(("accuracy_edges", pair[0]), ("accuracy_edges", pair[1]))
        })
    }
}

checked_when_read!(DifficultyThermostatSettings);

/// A [`Thermostat`] for each bucket of group accuracy.
///
/// Easy prompts lose entropy several times faster than hard ones (paper, Fig. 8), so one knob for
/// all holds the mean by flattening the hard ones. The buckets share their settings, not their
/// state. Their knobs are fractions for
/// [`PolicyLoss::plan_by_bucket`](crate::PolicyLoss::plan_by_bucket):
///
/// ```
/// use rand::SeedableRng;
/// use rl_losses::{
///     Aggregation, DifficultyThermostat, DifficultyThermostatSettings, EntropyTarget, KlCov,
///     PolicyLoss, Thermostat, ThermostatSettings, TokenBatch, TokenColumns,
/// };
///
/// let mut thermostats = DifficultyThermostat::new(&DifficultyThermostatSettings {
///     accuracy_edges: vec![0.5],
///     thermostat: ThermostatSettings::new(EntropyTarget::constant(0.3), 2e-3, 1e-5, 0.5)?,
/// })?;
/// // Mean entropies of the last step's tokens: the hard prompts have enough, the easy ones do not.
/// thermostats.update(&[Some(0.5), Some(0.1)])?;
///
/// let columns = TokenColumns {
///     log_prob: &[-0.1, -2.0, -0.5, -0.3],
///     old_log_prob: &[-0.3, -2.0, -0.4, -0.2],
///     advantage: &[1.0, 1.0, -1.0, -1.0],
/// };
/// let batch = TokenBatch::new(columns, &[1, 1, 2])?;
/// // The accuracy of each sequence's group decides on its bucket.
/// let buckets = [0.25, 0.25, 0.75].map(|accuracy| thermostats.bucket(accuracy));
/// let fractions: Vec<f64> = thermostats.thermostats().iter().map(Thermostat::knob).collect();
///
/// let loss = PolicyLoss::KlCov(KlCov::default());
/// let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(0);
/// let rule = Aggregation::TokenMean;
/// let plan = loss.plan_by_bucket(&batch, &buckets, &fractions, &rule, &mut rng)?;
/// assert_eq!(plan.selected_tokens().len(), 2, "one token of each bucket, the least there is");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DifficultyThermostat {
    accuracy_edges: Vec<f64>,
    thermostats: Vec<Thermostat>,
}

impl DifficultyThermostat {
    /// Thermostats at step 0.
    ///
    /// # Errors
    ///
    /// [`ParameterError`] if a setting is out of its range or the edges do not ascend.
    pub fn new(settings: &DifficultyThermostatSettings) -> Result<Self, ParameterError> {
        settings.check()?;
        let thermostat = Thermostat::new(settings.thermostat)?;
        Ok(Self {
            accuracy_edges: settings.accuracy_edges.clone(),
            thermostats: vec![thermostat; settings.accuracy_edges.len() + 1],
        })
    }

    /// True of the settings that it was made of.
    pub fn has_settings(&self, settings: &DifficultyThermostatSettings) -> bool {
        self.accuracy_edges == settings.accuracy_edges
            && self.thermostats.iter().all(|one| one.settings == settings.thermostat)
    }

    /// Share of each bucket's tokens that its thermostat asks for, hardest bucket first.
    pub fn knobs(&self) -> Vec<f64> {
        self.thermostats.iter().map(Thermostat::knob).collect()
    }

    /// The bucket of a group by the share of its responses that is right: 0 is the hardest.
    pub fn bucket(&self, accuracy: f64) -> usize {
        self.accuracy_edges.iter().filter(|&&edge| accuracy >= edge).count()
    }

    /// The bucket of each response, `[responses]`, by the mean of its group. Groups of `group_size` lie one after the other;
    /// `accuracy` is 1 of a right response and 0 of a wrong one.
    pub fn buckets(&self, accuracy: &[f64], group_size: usize) -> Vec<usize> {
        let bucket = |group: &[f64]| {
            let mean = group.iter().sum::<f64>() / group.len() as f64;
            std::iter::repeat_n(self.bucket(mean), group.len())
        };
        accuracy.chunks(group_size.max(1)).flat_map(bucket).collect()
    }

    /// Mean entropy over the tokens of each bucket, in nats; `None` of a bucket without tokens.
    ///
    /// `buckets` and `sequence_lengths` are `[sequences]`, `entropy` is `[tokens]`, in nats, sequence after sequence.
    pub fn entropies(
        &self,
        buckets: &[usize],
        sequence_lengths: &[usize],
        entropy: &[f64],
    ) -> Vec<Option<f64>> {
        let mut sums = vec![(0.0, 0_usize); self.thermostats.len()];
        for (&bucket, tokens) in std::iter::zip(buckets, sequence_ranges(sequence_lengths)) {
            sums[bucket].1 += tokens.len();
            sums[bucket].0 += entropy[tokens].iter().sum::<f64>();
        }
        let mean = |(sum, tokens): (f64, usize)| (tokens > 0).then(|| sum / tokens as f64);
        sums.into_iter().map(mean).collect()
    }

    /// The thermostats, hardest bucket first.
    pub fn thermostats(&self) -> &[Thermostat] {
        &self.thermostats
    }

    /// Takes in the entropy of each bucket, in nats; `None` of a bucket that had no tokens, which
    /// keeps its state.
    ///
    /// # Errors
    ///
    /// [`ControlError`] unless there is one entry per bucket and every entropy is finite and not
    /// negative; no bucket then moves.
    pub fn update(&mut self, entropies: &[Option<f64>]) -> Result<(), ControlError> {
        let (entries, expected) = (entropies.len(), self.thermostats.len());
        if entries != expected {
            let problem = format!("`entropies` has {entries} entries, expected {expected}");
            return Err(ControlError::Measured(problem));
        }
        let mut moved = self.thermostats.clone();
        for (thermostat, entropy) in std::iter::zip(&mut moved, entropies) {
            if let Some(entropy) = entropy {
                thermostat.update(*entropy)?;
            }
        }
        self.thermostats = moved;
        Ok(())
    }
}
