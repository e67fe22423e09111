#!/usr/bin/env python3
"""Writes exact_steps.json: a hundred exact policy-gradient steps in 40 digits, rounded at the end to f64.

    pip install mpmath numpy && python exact_steps.py > exact_steps.json

Per row and step, with p = softmax(z): H = -sum p log p, V = sum p r, A = r - V, g = p A ("policy-gradient") or A
("natural-policy-gradient"), covariance = sum p (log p + H) (g - sum p g); then z += g / 10.
"""
import json

import numpy as np
from mpmath import exp, fsum, log, mp, mpf

mp.dps = 40
STEPS = 100


def steps(logits, reward, rule):
    z, r, summaries = [mpf(x) for x in logits], [mpf(x) for x in reward], []
    for _ in range(STEPS):
        total = fsum(exp(x) for x in z)
        p = [exp(x) / total for x in z]
        log_p = [log(q) for q in p]
        entropy = -fsum(q * l for q, l in zip(p, log_p))
        value = fsum(q * x for q, x in zip(p, r))
        advantage = [x - value for x in r]
        g = advantage if rule.startswith("natural") else [q * a for q, a in zip(p, advantage)]
        mean = fsum(q * x for q, x in zip(p, g))
        covariance = fsum(q * (l + entropy) * (x - mean) for q, l, x in zip(p, log_p, g))
        summaries.append([float(entropy), float(covariance), float(value)])
        z = [x + mpf(0.1) * d for x, d in zip(z, g)]
    return dict(rule=rule, logits=list(logits), reward=list(reward), summaries=summaries, after=[float(x) for x in z])


cases = []
for actions, spread in ((100, 0.5), (37, 0.5), (37, 12.0), (3, 30.0)):
    rng = np.random.default_rng(0)
    logits, reward = (rng.standard_normal(actions) * spread).tolist(), rng.random(actions).tolist()
    cases += [steps(logits, reward, rule) for rule in ("policy-gradient", "natural-policy-gradient")]
print(json.dumps(dict(eta=0.1, cases=cases)).replace('{"rule"', '\n{"rule"'))
