#!/usr/bin/env python3
"""Writes outcome_loss.json: the cross-entropy of an implicit reward model in 50 digits, and its derivative.

    pip install mpmath
    python outcome_loss.py > outcome_loss.json

From the formula of arXiv:2502.01456 alone: probabilities are formed and their logarithms taken, and the derivative is a
limit of differences. Neither is safe in floating point; here nothing rounds.
"""
import json

import mpmath as mp

mp.mp.dps = 60

CASES = [
    dict(beta="0.05", lengths=[3, 1, 4], outcomes=[1, 0, 1], log_ratio=["0.4", "-1.25", "2.5", "-3", "0.125", "7.5", "-0.75", "0"]),
    dict(beta="1", lengths=[2, 2, 1], outcomes=[0, 0, 1], log_ratio=["12.5", "9.25", "-30", "4.5", "-18.75"]),
    dict(beta="0.5", lengths=[1, 0, 2], outcomes=[1, 1, 0], log_ratio=["80.5", "-40.25", "-36"]),
    dict(beta="0", lengths=[2], outcomes=[1], log_ratio=["3", "-5"]),
]


def loss(case, log_ratio):
    beta, total, first = mp.mpf(case["beta"]), mp.mpf(0), 0
    for length, right in zip(case["lengths"], case["outcomes"]):
        reward = beta * mp.fsum(log_ratio[first : first + length])
        first += length
        probability = 1 / (1 + mp.exp(-reward))
        total -= mp.log(probability if right else 1 - probability)
    return total / len(case["lengths"])


def slope(case, token):
    log_ratio = [mp.mpf(x) for x in case["log_ratio"]]

    def at(x):
        moved = list(log_ratio)
        moved[token] = x
        return loss(case, moved)

    return mp.diff(at, log_ratio[token])


def write(case):
    value = loss(case, [mp.mpf(x) for x in case["log_ratio"]])
    gradient = [slope(case, token) for token in range(len(case["log_ratio"]))]
    digits = lambda x: mp.nstr(x, 25)
    return dict(case, value=digits(value), gradient=[digits(x) for x in gradient])


print(json.dumps([write(case) for case in CASES], indent=1))
