"""Writes limits.jsonl: random definite integrals and series, with their values by mpmath's quad and nsum (40 digits)."""

import json
import random
from pathlib import Path

from mpmath import atan, cos, exp, factorial, inf, mp, mpf, nstr, nsum, quad, sin, sqrt

mp.dps = 40
random.seed(7)


def integrand(depth):
    """Returns LaTeX and a function of x."""
    if depth == 0 or random.random() < 0.2:
        k = random.choice([1, 2, 3, 5, 7])
        return random.choice([
            ("x", lambda x: x),
            (f"{k}", lambda x: mpf(k)),
            (rf"\frac{{x}}{{{k}}}", lambda x: x / k),
            (f"x^{{{k}}}", lambda x: x**k),
        ])
    a, f = integrand(depth - 1)
    kind = random.randrange(7)
    if kind < 2:
        b, g = integrand(depth - 1)
        if kind == 0:
            return rf"\left({a}+{b}\right)", lambda x: f(x) + g(x)
        return rf"\left({a}\right)\left({b}\right)", lambda x: f(x) * g(x)
    return [
        (rf"\sin\left({a}\right)", lambda x: sin(f(x))),
        (rf"e^{{\cos\left({a}\right)}}", lambda x: exp(cos(f(x)))),
        (rf"\sqrt{{1+\left({a}\right)^2}}", lambda x: sqrt(1 + f(x) ** 2)),
        (rf"\frac{{1}}{{2+\left({a}\right)^2}}", lambda x: 1 / (2 + f(x) ** 2)),
        (rf"\arctan\left({a}\right)", lambda x: atan(f(x))),
    ][kind - 2]


def series():
    """Returns LaTeX, a function of n, and the method of acceleration."""
    k, m, c = random.randint(1, 3), random.randint(1, 5), random.randint(0, 20)
    return random.choice([
        (rf"\frac{{n+{c}}}{{n^3+{m}}}", lambda n: (n + c) / (n**3 + m), "r+s"),
        (rf"\frac{{(-1)^n(n-{c})}}{{n^2+{m}}}", lambda n: (-1) ** n * (n - c) / (n**2 + m), "a"),
        (rf"\frac{{n^{{{k}}}-{c}}}{{{m + 1}^n}}", lambda n: (n**k - c) / mpf(m + 1) ** n, "d"),
        (rf"\frac{{(-1)^{{n+1}}{m}^{{n}}}}{{n!}}", lambda n: (-1) ** (n + 1) * mpf(m) ** n / factorial(n), "d"),
        (rf"\frac{{1}}{{(n+{m})(n+{m + k})}}", lambda n: mpf(1) / ((n + m) * (n + m + k)), "r+s"),
        (rf"\frac{{(-1)^n}}{{{m}n+{k}}}", lambda n: (-1) ** n / (mpf(m) * n + k), "a"),
    ])


rows = []
while len(rows) < 120:
    latex, function = integrand(3)
    low, high = random.choice([(0, 1), (0, 2), (-1, 1), (1, 3), (2, 1), (-2, 0)])
    value = quad(function, [low, (low + high) / mpf(2), high])
    rows.append((rf"\int_{{{low}}}^{{{high}}} {latex}\,dx", value))
while len(rows) < 200:
    latex, function, method = series()
    low = random.choice([1, 2, 5])
    value = nsum(lambda n: function(mpf(int(n))), [low, inf], method=method)
    rows.append((rf"\sum_{{n={low}}}^\infty {latex}", value))
digits = {"min_fixed": -inf, "max_fixed": inf}
lines = [json.dumps({"limit": latex, "value": nstr(value, 28, **digits)}) for latex, value in rows]
Path(__file__).with_suffix(".jsonl").write_text("\n".join(lines) + "\n")
