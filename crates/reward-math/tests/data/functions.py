"""Writes functions.jsonl: elementary functions of rational numbers of any size, with their values by mpmath (60 digits)."""

import json
import random
from pathlib import Path

from mpmath import atan, asin, cos, exp, floor, log, log10, mp, mpf, nstr, sin, tan

mp.dps = 120
random.seed(11)
FUNCTIONS = {
    r"\exp": (exp, lambda x: abs(x) < 90),
    r"\ln": (log, lambda x: x > 0),
    r"\sin": (sin, lambda x: True),
    r"\cos": (cos, lambda x: True),
    r"\tan": (tan, lambda x: True),
    r"\arctan": (atan, lambda x: True),
    r"\arcsin": (asin, lambda x: abs(x) <= 1),
}


def argument():
    """Returns top and bottom of a fraction: of moderate size, huge, tiny, or near 1."""
    top, bottom = random.randint(1, 10**random.randint(1, 9)), random.randint(1, 10**random.randint(1, 9))
    kind = random.randrange(6)
    if kind == 0:
        top *= 10**random.randint(1, 20)
    elif kind == 1:
        bottom *= 10**random.randint(1, 20)
    elif kind == 2:
        bottom = 10**random.randint(3, 30)
        top = bottom + random.choice([-1, 1]) * random.randint(1, 9)
    return random.choice([-1, 1, 1]) * top, bottom


rows = []
while len(rows) < 240:
    name, (function, defined) = random.choice(list(FUNCTIONS.items()))
    top, bottom = argument()
    x = mpf(top) / bottom
    if defined(x):
        value = function(x)
        # As many digits behind the point as 60 of a small value take.
        digits = int(60 - min(0, floor(log10(abs(value)))))
        text = nstr(value, digits + int(max(0, floor(log10(abs(value))) + 1)), min_fixed=-mp.inf, max_fixed=mp.inf)
        sign = "-" if top < 0 else ""
        latex = rf"{name}\left({sign}\frac{{{abs(top)}}}{{{bottom}}}\right)"
        rows.append({"function": latex, "value": text})
path = Path(__file__).with_name("functions.jsonl")
path.write_text("".join(json.dumps(row) + "\n" for row in rows))
