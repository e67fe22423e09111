//! Every policy loss written out with tensors, for autograd: from the papers' formulas, with nothing of `rl-losses`.

use rl_losses::PolicyLoss;
use tch::{Kind, Tensor};

/// The tokens of a mini-batch. Only `log_prob` has a graph.
pub(crate) struct Columns {
    pub(crate) log_prob: Tensor,
    pub(crate) old: Tensor,
    pub(crate) rollout: Tensor,
    pub(crate) entropy: Tensor,
    pub(crate) old_entropy: Tensor,
    pub(crate) advantage: Tensor,
    pub(crate) lengths: Vec<i64>,
}

/// One setting of each loss, narrow enough that it acts on policies that moved twice.
pub(crate) const SETTINGS: [&str; 24] = [
    "[ppo-clip]",
    // A fraction of 1 drops the whole band, so that no draw is involved.
    "[clip-cov]\nfraction = 1.0\ncovariance_low = 0.05\ncovariance_high = 5.0",
    "[kl-cov]\nfraction = 0.2\ncoefficient = 0.7",
    "[covariance-control]\nfraction = 0.2\nselect = \"top\"\n\
     treatment.penalise = { divergence = \"k2\", coefficient = 0.7, anchor = \"rollout\" }\n\
     base.ppo-clip = { clip_ratio_high = 0.28, clip_ratio_c = \"off\" }",
    "[cispo]\nclip_ratio_low = 0.02\nclip_ratio_high = 0.02",
    "[gspo]\nclip_ratio_low = 0.02\nclip_ratio_high = 0.02",
    "[gmpo]\nclip_ratio_low = 0.02\nclip_ratio_high = 0.02",
    "[sapo]",
    "[dppo-tv]\ndivergence_low = 0.01\ndivergence_high = 0.01",
    "[dppo-kl]\ndivergence_low = 0.001\ndivergence_high = 0.001",
    "[reinforce]",
    "[dro]",
    "[high-entropy]",
    "[steer]\nsmallest_weight = 0.3",
    "[ce-gppo]\nclip_ratio_low = 0.02\nclip_ratio_high = 0.02",
    "[sign-weight]",
    "[entropy-ratio-clip]\nentropy_ratio_low = 0.99\nentropy_ratio_high = 1.01",
    "[dynamic-clip]\nclip_ratio_low = 0.01\nclip_ratio_high = 0.01",
    // The rollout lies an eighth of a nat below the old policy: a sequence must fall by more to be left out.
    "[sequence-mask]\ndivergence = 0.0",
    "[vespo]",
    "[topr]",
    "[bapo]\nratio_low_start = 0.97\nratio_low_end = 0.99\nratio_low_step = 0.01\n\
     ratio_high_start = 1.01\nratio_high_end = 1.03\nratio_high_step = 0.01",
    "[entropy-discriminator]\ndeviations = 0.2",
    "[covariance-weight]",
];

/// The loss of each token, under its setting in [`SETTINGS`].
#[expect(clippy::too_many_lines, reason = "a table")]
pub(crate) fn terms(method: &PolicyLoss, columns: &Columns) -> Tensor {
    let Columns { log_prob, old, rollout, entropy, old_entropy, advantage, lengths } = columns;
    let log_ratio: Tensor = log_prob - old;
    let ratio = log_ratio.exp();
    let still = log_prob.detach();
    let positive = advantage.gt(0.0);
    let negative = advantage.lt(0.0);
    let zero = advantage.zeros_like();
    // Every share here is a fifth.
    let count = advantage.size()[0] / 5;
    let covariance = || -> Tensor {
        (advantage - advantage.mean(Kind::Double)) * (&still - still.mean(Kind::Double))
    };
    match method.name() {
        "ppo-clip" => dual_clipped(&ratio, advantage, 0.8, 1.2),
        "clip-cov" => {
            let covariance = covariance();
            let in_band = covariance.gt(0.05).logical_and(&covariance.lt(5.0));
            zero.where_self(&in_band, &clipped(&ratio, advantage, 0.0, 2.0))
        }
        "kl-cov" => {
            let chosen = top(&covariance(), count);
            -(&ratio * advantage) + log_ratio.abs() * chosen * 0.7
        }
        "covariance-control" => {
            let chosen = top(&covariance(), count);
            let moved: Tensor = log_prob - rollout;
            let penalty: Tensor = moved.square() * 0.5;
            clipped(&ratio, advantage, 0.8, 1.28) + penalty * chosen * 0.7
        }
        "cispo" => -(ratio.detach().clamp(0.98, 1.02) * advantage * log_prob),
        "gspo" => {
            let mean = of_sequences(&log_ratio.detach(), lengths);
            let log_ratio: Tensor = mean + log_prob - &still;
            clipped(&log_ratio.exp(), advantage, 0.98, 1.02)
        }
        "gmpo" => {
            let held = log_ratio.clamp_max(0.02).where_self(&positive, &log_ratio.clamp_min(-0.02));
            -(of_sequences(&held, lengths).exp() * advantage)
        }
        "sapo" => {
            let gate = |temperature: f64| -> Tensor {
                let inner: Tensor = (&ratio - 1.0) * temperature;
                inner.sigmoid() * (4.0 / temperature) * advantage
            };
            -gate(1.0).where_self(&positive, &gate(1.05))
        }
        "dppo-tv" => {
            let moved: Tensor = still.exp() - old.exp();
            let left = left(advantage, &moved.gt(0.01), &moved.lt(-0.01));
            zero.where_self(&left, &score(&ratio, advantage, log_prob))
        }
        "dppo-kl" => {
            let (now, before) = (still.exp(), old.exp());
            let (rest, rest_before): (Tensor, Tensor) = (1.0 - &now, 1.0 - &before);
            let others = &rest_before * (&rest_before / &rest).log();
            let divergence = &before * (old - &still) + others;
            let far = divergence.gt(0.001);
            let rises = far.logical_and(&now.gt_tensor(&before));
            let falls = far.logical_and(&now.lt_tensor(&before));
            zero.where_self(&left(advantage, &rises, &falls), &score(&ratio, advantage, log_prob))
        }
        "reinforce" => -(advantage * log_prob),
        "dro" => -(advantage * log_prob - log_ratio.square() * 0.025),
        "high-entropy" => clipped(&ratio, advantage, 0.8, 1.28) * top(entropy, count),
        "steer" => {
            let probability = still.exp();
            let rest: Tensor = 1.0 - &probability;
            let slope: Tensor = &probability * rest * (&still + entropy);
            let change: Tensor = advantage / old.exp() * slope;
            let change = change.abs();
            let scale = change.max().double_value(&[]).max(0.02);
            let exponent: Tensor = change * (0.3f64.ln() / scale);
            let weight = exponent.exp();
            clipped(&ratio, advantage, 0.8, 1.28) * weight
        }
        "ce-gppo" => {
            let same = &ratio / ratio.detach();
            let below = negative.logical_and(&ratio.lt(0.98));
            let above = positive.logical_and(&ratio.gt(1.02));
            let kept = -(&ratio * advantage);
            let low = -(&same * advantage * (0.75 * 0.98));
            let high = -(&same * advantage * 1.02);
            low.where_self(&below, &high.where_self(&above, &kept))
        }
        "sign-weight" => {
            let upper = clipped(&ratio, advantage, 0.8, 1.2);
            (&upper * 0.1).where_self(&positive, &upper)
        }
        "entropy-ratio-clip" => {
            let change: Tensor = entropy / old_entropy;
            let out = change.lt(0.99).logical_or(&change.gt(1.01));
            zero.where_self(&out, &clipped(&ratio, advantage, 0.8, 1.28))
        }
        "dynamic-clip" => {
            let root = |signed: f64| -> Tensor {
                let square: Tensor = old.exp().reciprocal() * signed + 1.0;
                square.clamp_min(0.0).sqrt()
            };
            let (low, high): (Tensor, Tensor) = (root(-0.04) * 0.5 + 0.5, root(0.04) * 0.5 + 0.5);
            // However rare the token was, no ratio counts for more than 10.
            let ratio = ratio.clamp_max(10.0);
            let held = ratio.maximum(&low).minimum(&high);
            (-(&ratio * advantage)).maximum(&-(held * advantage))
        }
        "sequence-mask" => {
            let moved: Tensor = rollout - &still;
            let stale = of_sequences(&moved, lengths).gt(0.0).logical_and(&negative);
            zero.where_self(&stale, &clipped(&ratio, advantage, 0.8, 1.28))
        }
        "vespo" => {
            let sequence = sums(&log_ratio.detach(), lengths);
            let weight = |power: f64, decay: f64| -> Tensor {
                let exponent: Tensor = &sequence * power - (sequence.exp() - 1.0) * decay;
                exponent.exp()
            };
            let weight = weight(3.0, 2.0).where_self(&negative, &weight(2.0, 3.0));
            -(weight * advantage * log_prob)
        }
        "topr" => {
            let held = sums(&log_ratio.detach(), lengths).exp().clamp_max(1.0);
            let weight = held.ones_like().where_self(&positive, &held);
            -(weight * advantage * log_prob)
        }
        "bapo" => {
            let weight = |held: &Tensor, side: &Tensor| -> f64 {
                let terms: Tensor = held.detach() * advantage.abs() * side;
                terms.sum(Kind::Double).double_value(&[])
            };
            let (mut low, mut high) = (0.97, 1.01);
            let balanced = |low: f64, high: f64| {
                weight(&ratio.clamp_max(high), &positive)
                    >= weight(&ratio.clamp_min(low), &negative)
            };
            while !balanced(low, high) && low < 0.985 {
                low += 0.01;
            }
            while !balanced(low, high) && high < 1.025 {
                high += 0.01;
            }
            dual_clipped(&ratio, advantage, low, high)
        }
        "entropy-discriminator" => {
            let slope: Tensor = still.exp() * (&still + entropy);
            let centred: Tensor = &slope - slope.mean(Kind::Double);
            let bound = -0.2 * slope.std(false).double_value(&[]);
            let dropped = centred.lt(bound).logical_and(&negative);
            zero.where_self(&dropped, &clipped(&ratio, advantage, 0.8, 1.2))
        }
        "covariance-weight" => {
            let covariance: Tensor =
                (&still - still.mean(Kind::Double)) * (advantage - advantage.mean(Kind::Double));
            let spread: Tensor = 2.0 * covariance.var(false);
            let weight: Tensor = (-covariance.square() / spread).exp();
            let weight: Tensor = &weight / weight.mean(Kind::Double);
            weight * clipped(&ratio, advantage, 0.8, 1.2)
        }
        name => panic!("{name} is not written out here"),
    }
}

/// `max(-r A, -clip(r) A)`.
fn clipped(ratio: &Tensor, advantage: &Tensor, low: f64, high: f64) -> Tensor {
    (-(ratio * advantage)).maximum(&-(ratio.clamp(low, high) * advantage))
}

/// Adds a dual clip at 3, which only binds where the advantage is negative.
fn dual_clipped(ratio: &Tensor, advantage: &Tensor, low: f64, high: f64) -> Tensor {
    let upper = clipped(ratio, advantage, low, high);
    upper.minimum(&(-(advantage * 3.0))).where_self(&advantage.lt(0.0), &upper)
}

/// `-sg(min(r, 20)) A log π`.
fn score(ratio: &Tensor, advantage: &Tensor, log_prob: &Tensor) -> Tensor {
    -(ratio.detach().clamp_max(20.0) * advantage * log_prob)
}

/// Returns true where the advantage pushes a token further out of its trust region.
fn left(advantage: &Tensor, rises: &Tensor, falls: &Tensor) -> Tensor {
    let up = advantage.gt(0.0).logical_and(rises);
    up.logical_or(&advantage.lt(0.0).logical_and(falls))
}

/// 1 where the `count` largest values are.
fn top(values: &Tensor, count: i64) -> Tensor {
    let (_, places) = values.topk(count, 0, true, false);
    values.zeros_like().index_fill(0, &places, 1.0)
}

/// Each sequence's mean, at every one of its tokens.
fn of_sequences(column: &Tensor, lengths: &[i64]) -> Tensor {
    at_every_token(column, lengths, |part| part.mean(Kind::Double))
}

/// Each sequence's sum, at every one of its tokens.
fn sums(column: &Tensor, lengths: &[i64]) -> Tensor {
    at_every_token(column, lengths, |part| part.sum(Kind::Double))
}

fn at_every_token(column: &Tensor, lengths: &[i64], take: impl Fn(&Tensor) -> Tensor) -> Tensor {
    let parts = column.split_with_sizes(lengths, 0);
    let numbers: Vec<Tensor> =
        parts.iter().map(|part| take(part).expand([part.size()[0]], false)).collect();
    Tensor::cat(&numbers, 0)
}
