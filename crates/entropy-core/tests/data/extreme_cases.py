"""Writes extreme_cases.json: changes of entropy in multi-precision, in the schema of theory_vectors.json.

    python3 extreme_cases.py > extreme_cases.json

Needs mpmath. Inputs are the exact binary64 values of the printed decimals.
"""

import json
import random

from mpmath import exp, log, mp, mpf, nstr, sqrt

random.seed(20250522)
DIGITS = 25


def text(x):
    """Decimal string; 0 for what is only rounding of the working precision."""
    return nstr(x, DIGITS, strip_zeros=True) if abs(x) > mpf(10) ** (20 - mp.dps) else "0"


def side(logits, step):
    """Figures of one step over the support, exact to the working precision."""
    top = max(logits)
    weights = [exp(z - top) for z in logits]
    total = sum(weights)
    p = [w / total for w in weights]
    ell = [z - top - log(total) for z in logits]
    entropy = -sum(a * b for a, b in zip(p, ell))
    mean = sum(a * b for a, b in zip(p, step))
    u = [s - mean for s in step]
    c = [a + entropy for a in ell]
    moved = [w * exp(s) for w, s in zip(p, u)]
    scale = sum(moved)
    q = [m / scale for m in moved]
    log_ratio = [s - log(scale) for s in u]
    log_q = [a + x for a, x in zip(ell, log_ratio)]
    after = -sum(a * b for a, b in zip(q, log_q))
    expect = lambda f: sum(a * b for a, b in zip(p, f))
    cov = expect([a * b for a, b in zip(c, u)])
    var = expect([a * a for a in u])
    kappa3_luu = expect([a * b * b for a, b in zip(c, u)])
    kappa3 = expect([a**3 for a in u])
    kappa4 = expect([a * b**3 for a, b in zip(c, u)]) - 3 * cov * var
    first, second, third = -cov, -(var + kappa3_luu) / 2, -(2 * kappa3 + kappa4) / 6
    change = after - entropy
    width = max(step) - min(step)
    others = log(mpf(len(p) - 1)) if len(p) > 1 else mpf(0)
    bound = (1 + sqrt(1 + others**2 / 4)) / 8 * width**2 if len(p) > 1 else mpf(0)
    return {
        "H1": text(after),
        "dH": text(change),
        "first_order": text(first),
        "second_order_term": text(second),
        "third_order_term": text(third),
        "remainder1": text(change - first),
        "var_u": text(var),
        "kl_new_old": text(sum(a * b for a, b in zip(q, log_ratio))),
        "kl_old_new": text(-sum(a * b for a, b in zip(p, log_ratio))),
        "range_u": text(width),
        "bound_remainder1": text(bound),
        # Size of the terms of dH before they cancel: what rounding is measured against.
        "terms": text(sum(a * abs(b * x) for a, b, x in zip(p, c, log_ratio)) + var),
    }


def case(name, logits, advantages, eta, digits=120):
    gap = max(z for z in logits if z is not None) - min(z for z in logits if z is not None)
    mp.dps = digits + int(2 * gap)
    support = [a for a, z in enumerate(logits) if z is not None]
    z = [mpf(logits[a]) for a in support]
    advantage = [mpf(advantages[a]) for a in support]
    top = max(z)
    weights = [exp(x - top) for x in z]
    p = [w / sum(weights) for w in weights]
    ell = [log(x) for x in p]
    entropy = -sum(a * b for a, b in zip(p, ell))
    mean = sum(a * b for a, b in zip(p, advantage))
    pg = [mpf(eta) * a * (b - mean) for a, b in zip(p, advantage)]
    npg = [mpf(eta) * b for b in advantage]
    return {
        "name": name,
        "n": len(logits),
        "n_support": len(support),
        "logits": [None if x is None else repr(x) for x in logits],
        "advantages": [repr(x) for x in advantages],
        "eta": repr(eta),
        "H0": text(entropy),
        "abar": text(mean),
        "pg": side(z, pg),
        "npg": side(z, npg),
    }


def gauss(n, scale):
    return [round(random.gauss(0, scale), 6) for _ in range(n)]


def peaked(n, gap):
    return [0.0] + [-gap - round(random.random() * 3, 6) for _ in range(n - 1)]


def main():
    cases = []
    for gap in (1.0, 10.0, 20.0, 30.0, 36.5, 50.0, 100.0, 300.0, 600.0):
        for n in (2, 5):
            cases.append(case(f"gap_{gap}_n{n}", peaked(n, gap), gauss(n, 1), 0.25))
    for eta in (1e-15, 1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.25, 1.0, 3.0, 50.0):
        cases.append(case(f"eta_{eta}", gauss(6, 2), gauss(6, 1), eta))
        cases.append(case(f"uniform_eta_{eta}", [0.5] * 3, gauss(3, 1), eta))
        cases.append(case(f"peaked_eta_{eta}", peaked(4, 35.0), gauss(4, 1), eta))
    for spread in (1e-12, 1e-9, 1e-6, 1e-3):
        logits = [1.0 + spread * x for x in (0.0, 1.0, -0.5, 0.25)]
        cases.append(case(f"almost_uniform_{spread}", logits, gauss(4, 1), 1e-3))
    for n in (2, 3, 7, 20, 60):
        cases.append(case(f"gauss_n{n}", gauss(n, 1.5), gauss(n, 1), 0.05))
        cases.append(case(f"uncentred_n{n}", gauss(n, 3), [a + 1000.0 for a in gauss(n, 1)], 1e-3))
        cases.append(case(f"binary_n{n}", gauss(n, 2), [1.0] + [0.0] * (n - 1), 0.5))
    masked = [None if a % 3 == 1 else x for a, x in enumerate(gauss(12, 4))]
    cases.append(case("masked_n12", masked, gauss(12, 1), 0.1))
    cases.append(case("two_peaks", [0.0, 0.0, -50.0, -60.0], [0.0, 0.0, 1.0, -1.0], 0.5))
    cases.append(case("two_peaks_pushed_apart", [0.0, 1e-9, -40.0], [1.0, -1.0, 3.0], 1e-3))
    cases.append(case("far_from_zero", [700.0, 699.0, 660.0, -700.0], [0.5, -0.5, 2.0, 1.0], 0.1))
    cases.append(case("constant_advantage", gauss(5, 2), [0.7] * 5, 0.3))

    meta = {
        "source": "extreme_cases.py (mpmath, 120 digits and more)",
        "conventions": "those of theory_vectors.json; `terms` is the size of the terms of dH",
    }
    rows = ",\n".join(json.dumps(row) for row in cases)
    print('{"meta": ' + json.dumps(meta) + ',\n"cases": [\n' + rows + "\n]}")


if __name__ == "__main__":
    main()
