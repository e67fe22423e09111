"""Writes cancelling_cases.json: updates whose figures are tiny parts of the terms they are summed from, or 0.

    python3 cancelling_cases.py > cancelling_cases.json

Needs mpmath. Computed with 300 digits and more, in the schema of extreme_cases.json. Inputs are the exact binary64
values of the printed decimals; "0" is a figure below 10^-280, which is one that is 0.
"""

import json
import random

from extreme_cases import case
from mpmath import exp, log, mp, mpf

random.seed(31)
SIZES = (1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 0.03, 0.3, 1.0, 3.0, 10.0)
SIDES = ("pg", "npg")
FIELDS = (
    "H1 dH first_order second_order_term remainder1 kl_new_old range_u bound_remainder1"
).split()


def entropy(logits):
    top = max(logits)
    weights = [exp(z - top) for z in logits]
    total = sum(weights)
    return log(total) - sum(w * (z - top) for w, z in zip(weights, logits)) / total


def policy(logits):
    top = max(logits)
    weights = [exp(z - top) for z in logits]
    return [w / sum(weights) for w in weights]


def step(logits, advantages, eta, rule):
    if rule == "npg":
        return [eta * a for a in advantages]
    p = policy(logits)
    mean = sum(a * b for a, b in zip(p, advantages))
    return [eta * a * (b - mean) for a, b in zip(p, advantages)]


def first(logits, advantages, eta, rule):
    p, d = policy(logits), step(logits, advantages, eta, rule)
    mean_z, mean_d = (sum(a * b for a, b in zip(p, x)) for x in (logits, d))
    return -sum(a * (z - mean_z) * (x - mean_d) for a, z, x in zip(p, logits, d))


def second(logits, advantages, eta, rule):
    p, d = policy(logits), step(logits, advantages, eta, rule)
    mean_z, mean_d = (sum(a * b for a, b in zip(p, x)) for x in (logits, d))
    return -sum(a * (1 + z - mean_z) * (x - mean_d) ** 2 for a, z, x in zip(p, logits, d))


def change(logits, advantages, eta, rule):
    d = step(logits, advantages, eta, rule)
    return entropy([z + x for z, x in zip(logits, d)]) - entropy(logits)


def tuned(name, figure, rule, logits, advantages, eta, knobs):
    """A case in which `figure` nearly vanishes: knobs (column, index, size) are turned one after the other, each
    finer than the one before, and every time rounded to binary64."""
    mp.dps = 300
    inputs = {"logits": [mpf(z) for z in logits], "advantages": [mpf(a) for a in advantages]}
    inputs["eta"] = [mpf(eta)]

    def at(column, index, start, x, size):
        moved = {key: list(values) for key, values in inputs.items()}
        moved[column][index] = start + x * mpf(size)
        return figure(moved["logits"], moved["advantages"], moved["eta"][0], rule)

    for column, index, size in knobs:
        start = inputs[column][index]
        x = root(lambda x: at(column, index, start, x, size))
        inputs[column][index] = mpf(float(start + x * mpf(size)))
    row = [float(z) for z in inputs["logits"]], [float(a) for a in inputs["advantages"]]
    return wide(name, *row, float(inputs["eta"][0]))


def root(f):
    """Of a smooth function near 0, by the secant method."""
    for start in (0, -1, 1, -2, 2, -4, 4, 8):
        a, b = mpf(start), mpf(start) + mpf(0.01)
        f_a, f_b = f(a), f(b)
        for _ in range(60):
            if f_a == f_b or abs(b) > 50:
                break
            a, b, f_a = b, b - f_b * (b - a) / (f_b - f_a), f_b
            f_b = f(b)
        if abs(f_b) < mpf(10) ** -250 and abs(b) < 50:
            return b
    raise ValueError("no root near 0")


def wide(name, logits, advantages, eta):
    row = case(name, logits, advantages, eta, digits=300)
    for side in SIDES:
        row[side] = {field: row[side][field] for field in FIELDS}
    return row


def gauss(n, scale=1.0):
    return [random.gauss(0, scale) for _ in range(n)]


def main():
    cases = []
    for eta in SIZES:
        cases.append(wide(f"two_of_three_{eta}", [0.0, None, 0.0, 1.0], [1.0, 0.0, -1.0, 0.0], eta))
        cases.append(wide(f"levels_{eta}", [0.5, 0.5, -2.0, -2.0], [1.5, 0.5, 1.75, 0.25], eta))
        cases.append(wide(f"uniform_{eta}", [0.25] * 4, gauss(4), eta))
        cases.append(wide(f"mirror_{eta}", [1.0] * 4, [1.0, -1.0, 2.0, -2.0], eta))
        far = [700.0, 700.0, -700.0, 699.5, 699.5]
        cases.append(wide(f"far_{eta}", far, [3.0, 5.0, 0.1, 7.5, 0.5], eta))
        near = [1.0 + 1e-9 * x for x in (0.0, 1.0, -0.5, 0.25)]
        cases.append(wide(f"near_uniform_{eta}", near, gauss(4), eta))
        peaked = [0.0, 0.0, -35.0, -35.0]
        cases.append(wide(f"two_peaks_{eta}", peaked, [1.0, -1.0, 0.5, -0.5], eta))
        shifted = [a + 1000.0 for a in gauss(5)]
        cases.append(wide(f"shifted_{eta}", gauss(5, 3.0), shifted, eta))
        ragged = [z + 0.1 for z in gauss(6, 200.0)]
        cases.append(wide(f"ragged_{eta}", ragged, gauss(6), eta))
    for n in (2, 3, 16, 64):
        half = [float(a % 2) for a in range(n)]
        cases.append(wide(f"binary_uniform_n{n}", [0.0] * n, half, 1e-7))
        levels = [float(-(a // 2 % 3)) for a in range(n)]
        cases.append(wide(f"three_levels_n{n}", levels, half if n > 2 else [1.0, 1.0], 1e-7))
    # The step renames the actions: no change at all.
    cases.append(wide("swap", [0.0, 1.0], [1.0, -1.0], 0.5 * 2))
    cases.append(wide("turn", [0.0, 1.0, 3.0], [1.0, 2.0, -3.0], 1.0))
    cases.append(wide("swap_far", [0.0, 700.0, 1.0], [1.0, 0.0, -1.0], 1.0))
    # Probability for what had none left as binary64, and steps longer than any exponential.
    cases.append(wide("woken", [0.0, -760.0], [0.0, 1.0], 690.0))
    cases.append(wide("long", [0.0, 0.0, -5.0], [800.0, 800.0, 0.0], 1.0))
    cases.append(wide("long_tie", [0.0, 0.25, -5.0], [800.0, 800.0, 0.0], 1.0))
    cases.append(wide("long_peaked", [0.0, -40.0, -90.0], [0.0, 40.0, 90.0 + 45.0], 1.0))

    base = [0.3, -1.1, 0.9], [1.0, -0.4, 0.2]
    small = [0.3, -1.1, 0.9, 0.0, 0.1], [1.0, -0.4, 0.2, 1e-14, 1e-28]
    coarse = [("advantages", 2, 1.0)]
    fine = [("advantages", 2, 1.0), ("advantages", 3, 1e-14), ("advantages", 4, 1e-28)]
    for rule in SIDES:
        for eta in (1e-9, 1e-3, 0.5):
            for name, figure in (("change", change), ("first", first), ("second", second)):
                if name == "second" and eta != 1e-3:
                    continue
                knob = [("logits", 2, 1.0)] if name == "second" else coarse
                cases.append(tuned(f"{name}_tuned_{rule}_{eta}", figure, rule, *base, eta, knob))
                for turns in (2, 3):
                    knobs = knob + fine[1:turns]
                    name_of = f"{name}_tuned{turns}_{rule}_{eta}"
                    cases.append(tuned(name_of, figure, rule, *small, eta, knobs))
    meta = {"source": "cancelling_cases.py (mpmath, 300 digits and more)"}
    rows = ",\n".join(json.dumps(row) for row in cases)
    print('{"meta": ' + json.dumps(meta) + ',\n"cases": [\n' + rows + "\n]}")


if __name__ == "__main__":
    main()
