#!/usr/bin/env python3
"""Writes torch_losses.json: every policy loss by torch_losses.py, on batches with an edge each.

    pip install torch numpy
    python torch_cases.py > torch_losses.json
"""
import json

import numpy as np
import torch

from torch_losses import COLUMNS, DEFAULTS, evaluate


def batches():
    rng = np.random.default_rng(2505)
    column = lambda n, low, high: np.round(rng.uniform(low, high, n), 4)

    def batch(lengths, micro_batches, move):
        n = sum(lengths)
        log_prob, entropy = column(n, -5, -0.05), column(n, 0.05, 2.5)
        old = np.round(log_prob - np.resize(move, n) * rng.choice([-1, 1], n), 4)
        columns = [log_prob, np.minimum(old, -1e-3), column(n, -1.5, 1.5), entropy, np.round(entropy * column(n, 0.9, 1.1), 4)]
        columns += [np.round(old + column(n, -0.3, 0.3), 4), np.round(old + column(n, -0.02, 0.02), 4)]
        inputs = {name: values.tolist() for name, values in zip(COLUMNS, columns)}
        return dict(inputs, sequence_lengths=list(lengths), micro_batches=list(micro_batches))

    ragged = batch([5, 0, 7, 1, 4], [2, 2, 1], [0.02, 0.15, 0.3, 0.7, 1.4])
    ragged["advantage"][3] = ragged["advantage"][9] = 0.0
    single = batch([1], [1], [0.5])
    on_policy = batch([3, 4], [1, 1], [0.0])
    on_policy.update(old_log_prob=on_policy["log_prob"], old_entropy=on_policy["entropy"])
    ties = batch([4, 2, 2], [1, 2], [0.3])
    for name in COLUMNS:
        ties[name] = [ties[name][t % 2] for t in range(8)]
    ties["advantage"] = [1.0, -1.0] * 4
    equal = batch([2, 3], [2], [0.4])
    equal.update(advantage=[0.5] * 5, entropy=[0.0] * 5, old_entropy=[0.0] * 5)
    far = batch([4, 4], [1, 1], [21.0, 3.0, 30.0, 8.0])
    far["advantage"] = [1.0, 1.0, -1.0, -1.0, -0.5, 0.5, 0.5, -0.5]
    return dict(ragged=ragged, single=single, on_policy=on_policy, ties=ties, equal=equal, far=far)


FURTHER = [
    {"ppo-clip": dict(clip_ratio_high=0.28, clip_ratio_c="off")},
    {"ppo-clip": dict(clip_ratio_c=1.3)},
    {"ppo-clip": dict(semantics="prime")},
    {"clip-cov": dict(fraction=0.2, covariance_low=0.0, clip_ratio_low=0.2, clip_ratio_high=0.28)},
    {"clip-cov": dict(fraction=0.2, covariance_low=0.0, semantics="paper")},
    {"clip-cov": dict(fraction=0.2, covariance_low=0.0, semantics="verl", scope="micro-batch")},
    {"clip-cov": dict(fraction=0.3, covariance_low=0.0, centering="state")},
    {"kl-cov": dict(fraction=0.29, coefficient=0.7)},
    {"kl-cov": dict(fraction=0.3, divergence="k2", scope="micro-batch")},
    {"kl-cov": dict(fraction=0.4, divergence="k3", centering="state")},
    {"kl-cov": dict(fraction=0.3, divergence="k1")},
    {"kl-cov": dict(fraction=0.3, divergence="k3+")},
    {"kl-cov": dict(fraction=0.05, semantics="paper")},
    {"covariance-control": dict(fraction=0.3, treatment="drop")},
    {"covariance-control": dict(fraction=0.3, treatment="detach", base="unclipped")},
    {"covariance-control": dict(fraction=0.3, treatment={"reweight": {"factor": 0.3}})},
    {"covariance-control": dict(fraction=0.3, treatment={"penalise": {"divergence": "k3", "anchor": "reference"}})},
    {"covariance-control": dict(fraction=0.3, treatment={"penalise": {"divergence": "abs+", "anchor": "rollout"}})},
    {"covariance-control": dict(fraction=0.3, select={"band": {"covariance_low": -1.0, "covariance_high": 1.0}}, treatment={"penalise": {}})},
    {"cispo": dict(clip_ratio_low=0.2, clip_ratio_high=0.28)},
    {"gspo": dict(clip_ratio_low=0.1, clip_ratio_high=0.1)},
    {"gmpo": dict(clip_ratio_low=0.2, clip_ratio_high=0.3)},
    {"dppo-tv": dict(divergence_low=0.02, divergence_high=0.03, ratio_ceiling=1.5)},
    {"dppo-kl": dict(divergence_low=0.002, divergence_high=0.003, ratio_ceiling=1.2)},
    {"high-entropy": dict(fraction=0.4, scope="micro-batch")},
    {"steer": dict(smallest_weight=0.3)},
    {"ce-gppo": dict(beta_low=0.3, beta_high=0.6)},
    {"sign-weight": dict(positive=0.0, negative=0.5)},
    {"entropy-ratio-clip": dict(entropy_ratio_low=0.99, entropy_ratio_high=1.2)},
    {"dynamic-clip": dict(ratio_ceiling=1.4)},
]
# Written last, so that the cases before keep their rule of aggregation and their draws.
LATER = [
    {"sequence-mask": {}},
    {"vespo": {}},
    {"topr": {}},
    {"dppo-tv": dict(divergence_low=0.02, divergence_high=0.03, pull=0.5)},
    {"sequence-mask": dict(divergence=0.05)},
    {"vespo": dict(power_positive=0.5, decay_positive=1.5, power_negative=1.0, decay_negative=0.3)},
    {"topr": dict(positive=0.5, negative=2.0, level="token")},
    {"topr": dict(level="geometric")},
]
LAST = [
    {"bapo": {}},
    {"bapo": dict(ratio_low_end=0.9, ratio_high_end=1.5, ratio_low_step=0.11, ratio_high_step=0.07, clip_ratio_c="off")},
    {"bapo": dict(balance=0.4, ratio_low_start=0.8, ratio_low_end=0.95, ratio_high_start=1.05)},
]
DISCRIMINATOR = [
    {"entropy-discriminator": {}},
    {"entropy-discriminator": dict(deviations=0.5, clip_ratio_high=0.28)},
    {"entropy-discriminator": dict(deviations=0.0)},
]
COVARIANCE_WEIGHT = [{"covariance-weight": {}}, {"covariance-weight": dict(clip_ratio_low=0.1, clip_ratio_high=0.28)}]
RULES = ["token-mean", "seq-mean-token-mean", "seq-mean-token-sum", {"seq-mean-token-sum-norm": {"divisor": 12.0}}]


def write():
    rng, inputs, cases = np.random.default_rng(1), batches(), []

    def draw(counts):
        """A uniform draw without replacement in each scope."""
        chosen = torch.zeros_like(counts[0][0])
        for eligible, count in counts:
            places = eligible.nonzero()[torch.from_numpy(rng.permutation(int(eligible.sum())))][:count]
            chosen[places[:, 0], places[:, 1]] = True
        return chosen

    later = [method for policy_loss in LATER + LAST + DISCRIMINATOR + COVARIANCE_WEIGHT for method in policy_loss if policy_loss[method] == {}]
    first = [{method: {}} for method in DEFAULTS if method not in later] + FURTHER
    for policy_losses in first, LATER, LAST, DISCRIMINATOR, COVARIANCE_WEIGHT:
        for name, batch in inputs.items():
            for policy_loss in policy_losses:
                rule = RULES[len(cases) % 4]
                case = dict(batch=name, policy_loss=policy_loss, aggregation=rule)
                cases.append({**case, **evaluate(batch, policy_loss, rule, draw)})
    for case in cases:
        del case["weights"]  # of the rules alone; the value and the gradient carry them
    print(json.dumps(dict(batches=inputs, cases=cases)).replace('{"batch"', '\n{"batch"').replace("]}], ", "]}],\n"))


write()
