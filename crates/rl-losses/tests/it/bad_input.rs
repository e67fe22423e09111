//! Answers of every function to invalid columns and lengths: an error that names the
//! column, the place, the value and the rule; never a panic.

use std::fmt::Display;

use entropy_core::UpdateRule;
use insta::assert_snapshot;
use proptest::prelude::*;
use rl_losses::{
    AdvantageEstimator, ClipCov, ClipRange, Column, ControlError, CovarianceBand, DivergenceSums,
    Divisor, DualClip, EntropyChangeColumns, EntropyChangeSums, EntropyTarget, Gae, Gdpo,
    KlCoefficient, KlController, KlCov, KlEstimator, Knob, OverlongPenalty, PassAtK, PolicyLoss,
    Prime, QuantileBaseline, Reinforce, ReinforcePlusPlus, RolloutColumns, RolloutCorrection,
    Thermostat, ThermostatSettings, TokenBatch, TokenColumns, group_covariances, kl_loss, kl_mean,
    kl_rewards, quadrants,
};

use crate::batches::{losses, rules, seeded};

/// Names of the columns of tokens.
const TOKENS: [&str; 13] = [
    "log_prob",
    "old_log_prob",
    "advantage",
    "entropy",
    "old_entropy",
    "reference_log_prob",
    "rollout_log_prob",
    "weights",
    "mean_score",
    "token_rewards",
    "values",
    "process_log_ratio",
    "squared_scores",
];
/// Names of the columns of samples.
const SAMPLES: [&str; 5] =
    ["rewards", "advantages", "end_values", "greedy_rewards", "reward_components"];

/// Columns of one rollout: two groups of two samples, five tokens.
#[derive(Clone, Debug)]
struct Inputs {
    columns: Vec<(&'static str, Vec<f64>)>,
    sequence_lengths: Vec<usize>,
    group_sizes: Vec<usize>,
    micro_batches: Vec<usize>,
}

impl Inputs {
    fn valid() -> Self {
        let tokens = TOKENS.map(|name| (name, vec![-0.5, -1.5, -0.25, -1.0, -0.75]));
        let samples = SAMPLES.map(|name| (name, vec![1.0, 0.0, 0.0, 1.0]));
        Self {
            columns: tokens.into_iter().chain(samples).collect(),
            sequence_lengths: vec![2, 1, 0, 2],
            group_sizes: vec![2, 2],
            micro_batches: vec![1, 3],
        }
    }

    fn column(&self, name: &str) -> &[f64] {
        let entry = self.columns.iter().find(|(column, _)| *column == name);
        &entry.expect("a column of the list").1
    }

    fn rollout(&self) -> RolloutColumns<'_> {
        RolloutColumns {
            rewards: self.column("rewards"),
            group_sizes: &self.group_sizes,
            sequence_lengths: &self.sequence_lengths,
            token_rewards: Some(self.column("token_rewards")),
            values: Some(self.column("values")),
            end_values: Some(self.column("end_values")),
            greedy_rewards: Some(self.column("greedy_rewards")),
            process_log_ratio: Some(self.column("process_log_ratio")),
            reward_components: None,
            squared_scores: Some(self.column("squared_scores")),
        }
    }

    fn batch(&self) -> Result<TokenBatch<'_>, rl_losses::BatchError> {
        let columns = TokenColumns {
            log_prob: self.column("log_prob"),
            old_log_prob: self.column("old_log_prob"),
            advantage: self.column("advantage"),
        };
        let batch = TokenBatch::new(columns, &self.sequence_lengths)?;
        let batch = Column::ALL
            .into_iter()
            .try_fold(batch, |batch, column| batch.with(column, self.column(column.name())))?;
        batch.with_micro_batches(&self.micro_batches)
    }
}

type Entry = (&'static str, fn(&Inputs) -> Result<(), String>);

fn said<T, E: Display>(outcome: Result<T, E>) -> Result<(), String> {
    outcome.map(drop).map_err(|error| error.to_string())
}

fn advantages(inputs: &Inputs, estimator: AdvantageEstimator) -> Result<(), String> {
    said(estimator.advantages(&inputs.rollout()))
}

/// Everything that reads columns.
#[expect(clippy::too_many_lines, reason = "one table of cases")]
fn entries() -> Vec<Entry> {
    vec![
        ("TokenBatch", |inputs| said(inputs.batch())),
        ("kl_loss", |inputs| {
            let reference = inputs.column("reference_log_prob");
            let weights = inputs.column("weights");
            said(kl_loss(KlEstimator::K3, 0.1, inputs.column("log_prob"), reference, weights))
        }),
        ("kl_rewards", |inputs| {
            let (rewards, new) = (inputs.column("token_rewards"), inputs.column("log_prob"));
            said(kl_rewards(
                KlEstimator::K1,
                0.1,
                rewards,
                new,
                inputs.column("reference_log_prob"),
            ))
        }),
        ("kl_mean", |inputs| {
            let reference = inputs.column("reference_log_prob");
            let lengths = &inputs.sequence_lengths;
            said(kl_mean(KlEstimator::K1, inputs.column("log_prob"), reference, lengths))
        }),
        ("RolloutCorrection", |inputs| {
            let (old, rollout) = (inputs.column("old_log_prob"), inputs.column("rollout_log_prob"));
            said(RolloutCorrection::default().weights(old, rollout, &inputs.sequence_lengths))
        }),
        ("EntropyChangeSums", |inputs| {
            said(EntropyChangeSums::of(EntropyChangeColumns {
                log_prob: inputs.column("log_prob"),
                advantage: inputs.column("advantage"),
                entropy: inputs.column("entropy"),
                mean_score: Some(inputs.column("mean_score")),
            }))
        }),
        ("quadrants", |inputs| {
            let entropy = Some(inputs.column("entropy"));
            said(quadrants(inputs.column("log_prob"), inputs.column("advantage"), entropy))
        }),
        ("DivergenceSums", |inputs| {
            said(DivergenceSums::of(inputs.column("log_prob"), inputs.column("old_log_prob")))
        }),
        ("group_covariances", |inputs| {
            let (new, advantage) = (inputs.column("log_prob"), inputs.column("advantages"));
            let (lengths, groups) = (&inputs.sequence_lengths, &inputs.group_sizes);
            said(group_covariances(new, lengths, advantage, groups, UpdateRule::PolicyGradient))
        }),
        ("grpo", |inputs| advantages(inputs, AdvantageEstimator::Grpo)),
        ("dr-grpo", |inputs| advantages(inputs, AdvantageEstimator::DrGrpo)),
        ("rloo", |inputs| advantages(inputs, AdvantageEstimator::Rloo)),
        ("reinforce", |inputs| {
            advantages(inputs, AdvantageEstimator::Reinforce(Reinforce::default()))
        }),
        ("reinforce-plus-plus", |inputs| {
            let settings = ReinforcePlusPlus::default();
            advantages(inputs, AdvantageEstimator::ReinforcePlusPlus(settings))
        }),
        ("reinforce-plus-plus-baseline", |inputs| {
            advantages(inputs, AdvantageEstimator::ReinforcePlusPlusBaseline)
        }),
        ("remax", |inputs| advantages(inputs, AdvantageEstimator::Remax)),
        ("opo", |inputs| advantages(inputs, AdvantageEstimator::Opo)),
        ("gpg", |inputs| advantages(inputs, AdvantageEstimator::Gpg)),
        ("quantile", |inputs| {
            advantages(inputs, AdvantageEstimator::Quantile(QuantileBaseline::default()))
        }),
        ("gdpo", |inputs| {
            let components = [inputs.column("rewards"), inputs.column("reward_components")];
            let columns =
                RolloutColumns { reward_components: Some(&components), ..inputs.rollout() };
            said(AdvantageEstimator::Gdpo(Gdpo::default()).advantages(&columns))
        }),
        ("optimal-token-baseline", |inputs| {
            advantages(inputs, AdvantageEstimator::OptimalTokenBaseline)
        }),
        ("grpo-passk", |inputs| advantages(inputs, AdvantageEstimator::GrpoPassk)),
        ("pass-at-k", |inputs| advantages(inputs, AdvantageEstimator::PassAtK(PassAtK { k: 2 }))),
        ("prime", |inputs| advantages(inputs, AdvantageEstimator::Prime(Prime::default()))),
        ("gae", |inputs| advantages(inputs, AdvantageEstimator::Gae(Gae::default()))),
    ]
}

/// One thing wrong with some inputs, and what an answer has to contain.
fn spoiled() -> Vec<(String, Inputs, Vec<String>)> {
    let mut all = Vec::new();
    for (place, (name, values)) in Inputs::valid().columns.into_iter().enumerate() {
        let mut with = |what: &str, words: &[&str], change: &dyn Fn(&mut Vec<f64>)| {
            let mut inputs = Inputs::valid();
            change(&mut inputs.columns[place].1);
            let words = words.iter().map(ToString::to_string).collect();
            all.push((format!("{name} {what}"), inputs, words));
        };
        let (last, count) = ((values.len() - 1).to_string(), (values.len() - 1).to_string());
        with("short", &[&count], &|column| column.truncate(column.len() - 1));
        for (value, text) in
            [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (f64::NEG_INFINITY, "-inf")]
        {
            let words = [name, text, &last, "expected a finite number"];
            with(text, &words, &|column| *column.last_mut().expect("a value") = value);
        }
    }
    let mut lengths = |name: &str, words: &[&str], change: &dyn Fn(&mut Inputs)| {
        let mut inputs = Inputs::valid();
        change(&mut inputs);
        all.push((name.to_owned(), inputs, words.iter().map(ToString::to_string).collect()));
    };
    let endless = usize::MAX.to_string();
    lengths("sequence_lengths short", &["3"], &|inputs| inputs.sequence_lengths.truncate(3));
    lengths("sequence_lengths endless", &[&endless], &|inputs| {
        inputs.sequence_lengths[0] = usize::MAX;
    });
    lengths("group_sizes short", &["group_sizes", "2"], &|inputs| inputs.group_sizes.truncate(1));
    lengths("group_sizes endless", &["group_sizes", &endless], &|inputs| {
        inputs.group_sizes[0] = usize::MAX;
    });
    lengths("group_sizes empty", &["group 1", "0", "expected at least"], &|inputs| {
        inputs.group_sizes = vec![2, 0, 2];
    });
    lengths("micro_batches short", &["micro_batches", "3", "4"], &|inputs| {
        inputs.micro_batches = vec![3];
    });
    all
}

#[test]
fn valid_columns_are_taken() {
    for (name, entry) in entries() {
        assert_eq!(entry(&Inputs::valid()), Ok(()), "{name}");
    }
}

/// The table of entries and bad inputs: each is not read, or refused with an error that names what is wrong.
#[test]
fn what_is_wrong_is_said_in_so_many_words() {
    let mut table = Vec::new();
    for (name, entry) in entries() {
        for (what, inputs, words) in spoiled() {
            if let Err(answer) = entry(&inputs) {
                for word in words {
                    // Advantages of samples are `advantage` to one function, `advantages` to another.
                    let word = word.trim_end_matches('s');
                    assert!(answer.contains(word), "{name}, {what}: `{answer}` lacks `{word}`");
                }
                table.push(format!("{name}: {what}: {answer}"));
            }
        }
    }
    assert_snapshot!(table.join("\n"));
}

/// Plans and evaluates under every rule of aggregation, if the batch is one.
fn plans(inputs: &Inputs, loss: &PolicyLoss) -> Result<(), String> {
    let batch = inputs.batch().map_err(|error| error.to_string())?;
    for rule in rules() {
        let plan = loss.plan(&batch, &rule, &mut seeded(3)).map_err(|error| error.to_string())?;
        let output = loss.evaluate(&batch, plan.part(0..batch.len()));
        assert_eq!(output.grad_log_prob.len(), batch.len());
    }
    Ok(())
}

/// Any number at all: what arithmetic on pointers, files and networks can bring.
fn anything() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -3.0..0.0f64,
        1 => any::<f64>(),
        1 => prop::sample::select(vec![
            f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, -0.0, 5e-324, 1.0,
        ]),
    ]
}

fn any_inputs() -> impl Strategy<Value = Inputs> {
    let size = prop_oneof![8 => 0usize..4, 1 => Just(usize::MAX)];
    (0usize..7, 0usize..5).prop_flat_map(move |(tokens, samples)| {
        let sizes = prop::collection::vec(size.clone(), 0..4);
        (
            prop::collection::vec(prop::collection::vec(anything(), tokens), TOKENS.len()),
            prop::collection::vec(prop::collection::vec(anything(), samples), SAMPLES.len()),
            prop_oneof![Just(vec![tokens]), sizes.clone()],
            prop_oneof![Just(vec![samples]), sizes.clone()],
            prop_oneof![Just(vec![1]), sizes],
        )
            .prop_map(|(tokens, samples, sequence_lengths, group_sizes, micro_batches)| {
                Inputs {
                    columns: std::iter::zip(TOKENS, tokens)
                        .chain(std::iter::zip(SAMPLES, samples))
                        .collect(),
                    sequence_lengths,
                    group_sizes,
                    micro_batches,
                }
            })
    })
}

proptest! {
    #[test]
    fn nothing_in_a_column_makes_a_function_panic(inputs in any_inputs()) {
        for (_, entry) in entries() {
            drop(entry(&inputs));
        }
    }

    #[test]
    fn nothing_in_a_batch_makes_a_loss_panic(inputs in any_inputs()) {
        for loss in losses() {
            drop(plans(&inputs, &loss));
        }
    }

    #[test]
    fn no_number_makes_a_constructor_or_a_controller_panic(
        numbers in prop::collection::vec(anything(), 6),
        samples in any::<usize>(), step in any::<u64>(),
    ) {
        let [a, b, c, d, e, f] = numbers[..] else { panic!("six numbers") };
        drop((ClipRange::new(a, b), CovarianceBand::new(a, b), DualClip::at(a), Divisor::try_from(a)));
        drop((KlCov::new(a, b), OverlongPenalty::new(samples, samples / 2, a)));
        if let Ok(shaping) = OverlongPenalty::new(usize::MAX, samples, 1.0) {
            prop_assert!((-1.0..=0.0).contains(&shaping.penalty(usize::MAX)));
        }
        if let (Ok(band), Ok(clip)) = (CovarianceBand::new(a, b), ClipRange::new(c, d)) {
            drop(ClipCov::new(e, band, clip));
        }
        for knob in [Knob::Fraction, Knob::Coefficient, Knob::ClipRatioHigh] {
            for loss in losses() {
                if let Ok(moved) = knob.set(&loss, a) {
                    prop_assert!(knob.read(&moved).is_ok());
                }
            }
        }
        if let Ok(mut controller) = KlController::new(KlCoefficient::Fixed(a)) {
            drop(controller.update(b, samples));
        }
        let target = EntropyTarget { start: a, end: b, steps: step };
        if let Ok(settings) = ThermostatSettings::new(target, c, d, e) {
            let mut thermostat = Thermostat::new(settings).expect("checked settings");
            for entropy in [f, a, b] {
                let outcome: Result<(), ControlError> = thermostat.update(entropy);
                prop_assert_eq!(outcome.is_ok(), entropy.is_finite() && entropy >= 0.0);
                prop_assert!((d..=e).contains(&thermostat.knob()), "{thermostat:?}");
            }
        }
    }
}
