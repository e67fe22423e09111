#!/usr/bin/env python3
"""Every policy loss of the registry a second time, with torch's autograd: an oracle that shares nothing with the crate.

    pip install torch numpy
    python torch_losses.py cases.json     # checks a file of conformance cases against the formulas here

torch_cases.py writes the cases that tests/it/torch_losses.rs replays.

Written from the papers' formulas, and, where a paper leaves a choice, from its authors' code: rows of padded tokens under
a mask, stop-gradients as `detach`, selections by a stable sort. Settings that a case leaves out are the published ones
below, so the crate's defaults are checked too.
"""
import json
import sys

import numpy as np
import torch

PPO = dict(clip_ratio_low=0.2, clip_ratio_high=0.2, clip_ratio_c=3.0, semantics="exact")
CLIP_HIGHER = dict(clip_ratio_low=0.2, clip_ratio_high=0.28)
COVARIANCE = dict(centering="batch", scope="mini-batch", semantics="exact")
PENALTY = dict(divergence="abs", coefficient=1.0, anchor="old")
DEFAULTS = {
    "ppo-clip": PPO,
    "clip-cov": dict(fraction=2e-4, covariance_low=1.0, covariance_high=5.0, clip_ratio_low=1.0, clip_ratio_high=1.0, **COVARIANCE),
    "kl-cov": dict(fraction=2e-3, coefficient=1.0, divergence="abs", **COVARIANCE),
    "covariance-control": dict(
        fraction=2e-3, select="top", treatment={"penalise": {}}, base={"ppo-clip": dict(CLIP_HIGHER, clip_ratio_c="off")}, **COVARIANCE
    ),
    "cispo": dict(clip_ratio_low=1.0, clip_ratio_high=4.0),
    "gspo": dict(clip_ratio_low=3e-4, clip_ratio_high=4e-4),
    "gmpo": dict(clip_ratio_low=0.4, clip_ratio_high=0.4),
    "sapo": dict(temperature_positive=1.0, temperature_negative=1.05),
    "dppo-tv": dict(divergence_low=0.2, divergence_high=0.2, ratio_ceiling=20.0, pull=0.0),
    "dppo-kl": dict(divergence_low=0.05, divergence_high=0.05, ratio_ceiling=20.0),
    "reinforce": {},
    "dro": dict(beta=0.05),
    "high-entropy": dict(fraction=0.2, scope="mini-batch", **CLIP_HIGHER),
    "steer": dict(smallest_weight=0.8, **CLIP_HIGHER),
    "ce-gppo": dict(beta_low=0.75, beta_high=1.0, **CLIP_HIGHER),
    "sign-weight": dict(positive=0.1, negative=1.0, clip_ratio_low=0.2, clip_ratio_high=0.2),
    "entropy-ratio-clip": dict(entropy_ratio_low=0.95, entropy_ratio_high=1.05, **CLIP_HIGHER),
    "dynamic-clip": dict(clip_ratio_low=0.16, clip_ratio_high=0.2, ratio_ceiling=10.0),
    "sequence-mask": dict(divergence=0.5, **CLIP_HIGHER),
    "vespo": dict(power_positive=2.0, decay_positive=3.0, power_negative=3.0, decay_negative=2.0),
    "topr": dict(positive=1.0, negative=1.0, level="sequence"),
    "bapo": dict(
        balance=1.0, ratio_low_start=0.6, ratio_low_end=0.9, ratio_low_step=0.05,
        ratio_high_start=1.2, ratio_high_end=3.0, ratio_high_step=0.05, clip_ratio_c=3.0,
    ),
    "entropy-discriminator": dict(deviations=2.5, clip_ratio_low=0.2, clip_ratio_high=0.2),
    "covariance-weight": dict(clip_ratio_low=0.2, clip_ratio_high=0.2),
}
COUNTS = ["clipped", "clipped_lower"]
COLUMNS = ["log_prob", "old_log_prob", "advantage", "entropy", "old_entropy", "reference_log_prob", "rollout_log_prob"]


class Batch:
    """Ragged columns as padded rows; what stands in the padding must not matter."""

    def __init__(self, inputs):
        self.lengths, self.micro_batches = inputs["sequence_lengths"], inputs["micro_batches"]
        width = max(self.lengths, default=0) + 1
        self.mask = torch.tensor([[t < n for t in range(width)] for n in self.lengths]).reshape(-1, width)
        for name in COLUMNS:
            rows = torch.full(self.mask.shape, -0.37, dtype=torch.float64)
            rows[self.mask] = torch.tensor(inputs[name], dtype=torch.float64)
            setattr(self, name, rows)
        self.log_prob.requires_grad_()
        self.x = self.log_prob - self.old_log_prob
        self.r = self.x.clamp(-20, 20).exp()

    def scopes(self, scope):
        """One mask of tokens for each scope of a selection."""
        if scope == "mini-batch":
            return [self.mask]
        ends = np.cumsum([0] + self.micro_batches)
        rows = torch.arange(len(self.lengths))[:, None]
        return [self.mask & (rows >= a) & (rows < b) for a, b in zip(ends, ends[1:])]


def clipped_surrogate(b, ratio, low, high, c=float("inf")):
    """Loss, tokens on the flat side of the clip, tokens at the ceiling of the dual clip."""
    plain, bounded = -b.advantage * ratio, -b.advantage * ratio.clamp(1 - low, 1 + high)
    loss, negative = torch.maximum(plain, bounded), b.advantage < 0
    ceiling = negative & (ratio > c)
    if c < float("inf"):
        loss = torch.where(negative, torch.minimum(loss, -b.advantage * c), loss)
    return loss, (bounded > plain) & ~ceiling, ceiling


def ppo(b, s):
    published = s["semantics"] in ("paper", "prime")  # neither dual clip nor a limit on the log-ratio
    c = float("inf") if published or s["clip_ratio_c"] == "off" else s["clip_ratio_c"]
    return clipped_surrogate(b, b.x.exp() if published else b.r, s["clip_ratio_low"], s["clip_ratio_high"], c)


def divergence(kind, x):
    k2 = x**2 / 2
    if kind.endswith("+"):  # straight through: this value, the slope of k2
        return divergence(kind[:-1], x).detach() + k2 - k2.detach()
    k3 = ((-x).clamp(-20, 20).exp() - (-x).clamp(-20, 20) - 1).clamp(-10, 10)
    return {"k1": x, "abs": x.abs(), "k2": k2, "k3": k3}[kind]


def share(s, tokens, random):
    if s.get("semantics") == "paper":
        return int(s["fraction"] * tokens)
    if s.get("semantics") == "prime" and not random:  # percent, capped by the number of tokens
        return min(max(1, int(tokens * min(float(f"{100 * s['fraction']:.12g}"), tokens) / 100)), tokens)
    return min(max(1, int(s["fraction"] * tokens)), tokens)


def candidates(b, s):
    """Tokens that a covariance may select; the published codes take those without an advantage too."""
    return b.advantage != 0 if s.get("semantics") == "exact" else torch.ones_like(b.mask)


def highest(b, s, values):
    """The share of each scope with the highest values, earlier tokens first among equals."""
    chosen = torch.zeros_like(b.mask)
    for scope in b.scopes(s["scope"]):
        places, among = (scope & candidates(b, s)).nonzero(), values(scope)[scope & candidates(b, s)].detach()
        order = torch.sort(among, descending=True, stable=True).indices
        best = places[order[: share(s, int(scope.sum()), False)]]
        chosen[best[:, 0], best[:, 1]] = True
    return chosen


def covariance(b, s, random):
    epsilon = 1e-8 if random and s["semantics"] in ("verl", "prime") else 0.0

    def values(scope):
        if s["centering"] == "state":
            return b.advantage * (b.log_prob + b.entropy)
        mean = lambda column: column[scope].sum() / (scope.sum().double() + epsilon)
        return (b.advantage - mean(b.advantage)) * (b.log_prob - mean(b.log_prob))

    return values


def covariance_control(b, s, drawn):
    base = s["base"]
    if base == "unclipped":
        loss, clipped, ceiling = -b.advantage * b.x.exp(), torch.zeros_like(b.mask), torch.zeros_like(b.mask)
    else:
        loss, clipped, ceiling = ppo(b, {**PPO, **base["ppo-clip"]})
    eligible = None
    if s["select"] == "top":
        chosen = highest(b, s, covariance(b, s, False))
    else:
        low, high = (s["select"]["band"][f"covariance_{side}"] for side in ("low", "high"))
        eligible, counts = torch.zeros_like(b.mask), []
        for scope in b.scopes(s["scope"]):
            value = covariance(b, s, True)(scope).detach()
            inside = (value >= low) & (value <= high) if s["semantics"] == "paper" else (value > low) & (value < high)
            inside &= scope & candidates(b, s) & ~clipped
            eligible |= inside
            counts.append((inside, share(s, int(scope.sum()), True)))
        chosen = drawn(counts)
    treatment = s["treatment"]
    if treatment == "drop":
        treated, clipped, ceiling = 0 * loss, clipped & ~chosen, ceiling & ~chosen
    elif treatment == "detach":
        treated, clipped, ceiling = loss.detach(), clipped & ~chosen, ceiling & ~chosen
    elif "reweight" in treatment:
        treated = treatment["reweight"]["factor"] * loss
    else:
        penalty = {**PENALTY, **treatment["penalise"]}
        anchor = {"old": b.old_log_prob, "reference": b.reference_log_prob, "rollout": b.rollout_log_prob}[penalty["anchor"]]
        treated = loss + penalty["coefficient"] * divergence(penalty["divergence"], b.log_prob - anchor)
    return torch.where(chosen, treated, loss), clipped, ceiling, chosen, eligible


def clip_cov(b, s, drawn):
    bounds = {key: s[key] for key in ("clip_ratio_low", "clip_ratio_high")}
    base = "unclipped" if s["semantics"] == "paper" else {"ppo-clip": dict(bounds, semantics="prime")}
    band = {key: s[key] for key in ("covariance_low", "covariance_high")}
    return covariance_control(b, dict(s, select={"band": band}, treatment="drop", base=base), drawn)


def kl_cov(b, s, drawn):
    penalty = {key: s[key] for key in ("coefficient", "divergence")}
    return covariance_control(b, dict(s, select="top", treatment={"penalise": penalty}, base="unclipped"), drawn)


def sequence_mean(b, rows):
    return ((rows * b.mask).sum(1) / b.mask.sum(1).clamp(min=1))[:, None]


def gspo(b, s):
    log_ratio = (sequence_mean(b, b.x).detach() + b.log_prob - b.log_prob.detach()).clamp(max=10)
    return clipped_surrogate(b, log_ratio.exp(), s["clip_ratio_low"], s["clip_ratio_high"])[:2]


def gmpo(b, s):
    sign = b.advantage.sign()
    counted = sign * torch.minimum(sign * b.x, sign * b.x.clamp(-s["clip_ratio_low"], s["clip_ratio_high"]))
    loss = -sequence_mean(b, b.advantage) * sequence_mean(b, counted).exp()
    return loss.expand(b.mask.shape), (sign != 0) & (counted != b.x)


def sapo(b, s):
    positive = (b.advantage > 0).double()
    tau = positive * s["temperature_positive"] + (1 - positive) * s["temperature_negative"]
    return -b.advantage * 4 / tau * torch.sigmoid(tau * (b.r - 1))


def dppo(b, s, kind):
    new, old, positive = b.log_prob.detach().exp(), b.old_log_prob.exp(), b.advantage > 0
    if kind == "tv":
        left = torch.where(positive, new - old > s["divergence_high"], new - old < -s["divergence_low"])
    else:
        kl = old * -b.x.detach() + (1 - old) * ((1 - old + 1e-8) / (1 - new + 1e-8)).log()
        left = torch.where(positive, (kl > s["divergence_high"]) & (new > old), (kl > s["divergence_low"]) & (new < old))
    left &= b.advantage != 0
    loss = -b.advantage * b.r.detach().clamp(max=s["ratio_ceiling"]) * b.log_prob
    pull = s.get("pull", 0.0) * b.x**2
    return torch.where(left, 0 * loss, loss) + pull, left, ~left & (b.r > s["ratio_ceiling"])


def cispo(b, s):
    weight = b.r.detach().clamp(1 - s["clip_ratio_low"], 1 + s["clip_ratio_high"])
    return -weight * b.advantage * b.log_prob, weight != b.r


def steer(b, s):
    p = b.log_prob.exp()
    change = b.advantage * b.r * (1 - p) * (b.log_prob + b.entropy)  # A / pi_old * p (1 - p) (ln p + H)
    size = change.abs().detach()
    k = -np.log(s["smallest_weight"]) / max(size[b.mask].max().item(), 0.02)
    loss, *rest = clipped_surrogate(b, b.r, s["clip_ratio_low"], s["clip_ratio_high"])
    return (-k * size).exp() * loss, *rest


def ce_gppo(b, s):
    low, high = 1 - s["clip_ratio_low"], 1 + s["clip_ratio_high"]
    below, above = (b.r < low) & (b.advantage < 0), (b.r > high) & (b.advantage > 0)
    carried = (b.log_prob - b.log_prob.detach()).exp()
    loss = torch.where(below, -s["beta_low"] * low * carried * b.advantage, -b.r * b.advantage)
    return torch.where(above, -s["beta_high"] * high * carried * b.advantage, loss), below | above


def sign_weight(b, s):
    loss, *rest = clipped_surrogate(b, b.r, s["clip_ratio_low"], s["clip_ratio_high"])
    return torch.where(b.advantage > 0, s["positive"] * loss, s["negative"] * loss), *rest


def keeping(b, s, kept):
    """The clipped surrogate of some tokens alone; the others stay in the denominator."""
    loss, clipped, ceiling = clipped_surrogate(b, b.r, s["clip_ratio_low"], s["clip_ratio_high"])
    return torch.where(kept, loss, 0 * loss), clipped & kept, ceiling


def high_entropy(b, s):
    kept = highest(b, s, lambda scope: b.entropy)
    return *keeping(b, s, kept), kept


def entropy_ratio_clip(b, s):
    ratio = (b.entropy + 1e-8) / (b.old_entropy + 1e-8)
    kept = (ratio > s["entropy_ratio_low"]) & (ratio < s["entropy_ratio_high"])
    return *keeping(b, s, kept), ~kept & b.mask


def entropy_discriminator(b, s):
    slope = (b.log_prob.exp() * (b.log_prob + b.entropy)).detach()
    inside = slope[b.mask]
    deviation = inside.std(unbiased=False) if len(inside) else 0.0
    far = slope - inside.mean() < -s["deviations"] * deviation
    dropped = b.mask & (b.advantage < 0) & far & torch.tensor(bool(deviation > 1e-12))
    return *keeping(b, s, ~dropped), dropped


def dynamic_clip(b, s):
    q, c = b.old_log_prob.exp(), s["ratio_ceiling"]
    low = 0.5 + 0.5 * (1 - 4 * s["clip_ratio_low"] / q).clamp(min=0).sqrt()
    high = (0.5 + 0.5 * (1 + 4 * s["clip_ratio_high"] / q).sqrt()).clamp(max=c)
    plain, bounded = -b.advantage * b.r.clamp(max=c), -b.advantage * b.r.clamp(low, high)
    above, below = (b.advantage > 0) & (b.r > high), (b.advantage < 0) & (b.r < low)
    return torch.maximum(plain, bounded), above | below, (b.advantage < 0) & (b.r > c)


def sequence_mask(b, s):
    divergence = sequence_mean(b, b.rollout_log_prob - b.log_prob.detach())
    dropped = (b.advantage < 0) & (divergence > s["divergence"])
    return *keeping(b, s, ~dropped), dropped & b.mask


def vespo(b, s):
    log_ratio = (b.x.detach().clamp(-20, 20) * b.mask).sum(1).clamp(np.log(1e-8), 20)[:, None]
    sign = (b.advantage >= 0).double()
    k, decay = (sign * s[f"{name}_positive"] + (1 - sign) * s[f"{name}_negative"] for name in ("power", "decay"))
    return -log_ratio.exp() ** k * (decay * (1 - log_ratio.exp())).exp() * b.advantage * b.log_prob


def topr(b, s):
    total = (b.x.detach() * b.mask).sum(1)[:, None].expand(b.mask.shape)
    log_ratio = {"token": b.x.detach(), "sequence": total, "geometric": sequence_mean(b, b.x.detach()).expand(b.mask.shape)}
    ratio, positive = log_ratio[s["level"]].clamp(-20, 20).exp(), b.advantage > 0
    weight = torch.where(positive, s["positive"] * torch.ones_like(ratio), s["negative"] * ratio.clamp(max=1))
    return -weight * b.advantage * b.log_prob, ~positive & (ratio > 1)


def bapo(b, s):
    ratio, advantage = b.r.detach(), torch.where(b.mask, b.advantage, 0 * b.advantage)
    positive = lambda bound: (ratio.clamp(max=bound) * advantage.clamp(min=0)).sum()
    negative = lambda bound: (ratio.clamp(min=bound) * -advantage.clamp(max=0)).sum()
    low, high = s["ratio_low_start"], s["ratio_high_start"]
    balanced = lambda: positive(high) >= s["balance"] * negative(low)
    while not balanced() and low < s["ratio_low_end"]:
        low = min(low + s["ratio_low_step"], s["ratio_low_end"])
    while not balanced() and high < s["ratio_high_end"]:
        high = min(high + s["ratio_high_step"], s["ratio_high_end"])
    return ppo(b, dict(clip_ratio_low=1 - low, clip_ratio_high=high - 1, clip_ratio_c=s["clip_ratio_c"], semantics="exact"))


def covariance_weight(b, s):
    log_prob, advantage = b.log_prob.detach()[b.mask], b.advantage[b.mask]
    value = (log_prob - log_prob.mean()) * (advantage - advantage.mean())
    deviation = (value - value.mean()).square().mean().sqrt()
    weight = torch.ones_like(b.log_prob.detach())
    if deviation > 1e-7 * value.abs().max():  # all the same but for rounding
        weight[b.mask] = torch.softmax(-(value**2) / (2 * deviation**2), 0) * len(value)
    loss, *rest = clipped_surrogate(b, b.r, s["clip_ratio_low"], s["clip_ratio_high"])
    return weight * loss, *rest


LOSSES = {
    "ppo-clip": lambda b, s, _: ppo(b, s),
    "clip-cov": clip_cov,
    "kl-cov": kl_cov,
    "covariance-control": covariance_control,
    "cispo": lambda b, s, _: cispo(b, s),
    "gspo": lambda b, s, _: gspo(b, s),
    "gmpo": lambda b, s, _: gmpo(b, s),
    "sapo": lambda b, s, _: (sapo(b, s),),
    "dppo-tv": lambda b, s, _: dppo(b, s, "tv"),
    "dppo-kl": lambda b, s, _: dppo(b, s, "kl"),
    "reinforce": lambda b, s, _: (-b.advantage * b.log_prob,),
    "dro": lambda b, s, _: (-(b.advantage * b.log_prob - s["beta"] / 2 * b.x**2),),
    "high-entropy": lambda b, s, _: high_entropy(b, s),
    "steer": lambda b, s, _: steer(b, s),
    "ce-gppo": lambda b, s, _: ce_gppo(b, s),
    "sign-weight": lambda b, s, _: sign_weight(b, s),
    "entropy-ratio-clip": lambda b, s, _: entropy_ratio_clip(b, s),
    "dynamic-clip": lambda b, s, _: dynamic_clip(b, s),
    "sequence-mask": lambda b, s, _: sequence_mask(b, s),
    "vespo": lambda b, s, _: (vespo(b, s),),
    "topr": lambda b, s, _: topr(b, s),
    "bapo": lambda b, s, _: bapo(b, s),
    "entropy-discriminator": lambda b, s, _: entropy_discriminator(b, s),
    "covariance-weight": lambda b, s, _: covariance_weight(b, s),
}


def token_weights(b, aggregation):
    tokens = b.mask.sum(1, keepdim=True).clamp(min=1).double().expand(b.mask.shape)
    sequences = (b.mask.sum(1) > 0).sum()
    if aggregation == "token-mean":
        return torch.ones_like(tokens) / b.mask.sum()
    if aggregation == "seq-mean-token-mean":
        return 1 / (sequences * tokens)
    divisor = 1.0 if aggregation == "seq-mean-token-sum" else aggregation["seq-mean-token-sum-norm"]["divisor"]
    return torch.ones_like(tokens) / (sequences * divisor)


def evaluate(inputs, policy_loss, aggregation, drawn):
    b = Batch(inputs)
    ((method, settings),) = policy_loss.items()
    loss, clipped, ceiling, chosen, eligible = (*LOSSES[method](b, {**DEFAULTS[method], **settings}, drawn), *[None] * 4)[:5]
    weights = token_weights(b, aggregation)
    value = (weights * torch.where(b.mask, loss, 0 * loss)).sum()
    value.backward()
    where = lambda marks: [] if marks is None else marks[b.mask].nonzero()[:, 0].tolist()
    return {
        "selected": where(chosen),
        "eligible": None if eligible is None else where(eligible),
        "weights": weights[b.mask].tolist(),
        "value": value.item(),
        "grad_log_prob": b.log_prob.grad[b.mask].tolist(),
        "clipped": len(where(clipped)),
        "clipped_lower": len(where(ceiling)),
    }


def check(path):
    data, worst, failed = json.load(open(path)), 0.0, 0
    places = [(i, t) for i, n in enumerate(data["inputs"]["sequence_lengths"]) for t in range(n)]
    for index, case in enumerate(data["cases"]):

        def recorded(counts):
            """The case's own draw, if it is one that the method can make."""
            marks = torch.zeros_like(counts[0][0])
            for token in case["selected"]:
                marks[places[token]] = True
            inside = [marks & eligible for eligible, _ in counts]
            right = [kept.sum() == min(count, eligible.sum()) for kept, (eligible, count) in zip(inside, counts)]
            return marks if all(right) and (marks == sum(inside).bool()).all() else torch.zeros_like(marks)

        found = evaluate(data["inputs"], case["policy_loss"], case["aggregation"], recorded)
        numbers = ["weights", "grad_log_prob"]
        pairs = [(found["value"], case["value"])] + [pair for key in numbers for pair in zip(found[key], case[key])]
        gap = np.max(np.abs(np.subtract(*np.transpose(pairs))))  # NaN if any is
        same = found["selected"] == case["selected"] and all(case["sums"][key] == found[key] for key in COUNTS)
        worst, wrong = np.maximum(worst, gap), not (gap <= 1e-9 and same)
        failed += wrong
        if wrong:
            print(f"case {index} {case['policy_loss']}: off by {gap:.2e}, selection and counts {'agree' if same else 'differ'}")
    print(f"{len(data['cases']) - failed} of {len(data['cases'])} cases agree, largest difference {worst:.2e}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    check(sys.argv[1])
