"""The cases of conformance/cases.json, as rows of padded tokens."""

import json
import pathlib

import numpy as np
from numpy.typing import NDArray

FOLDER = pathlib.Path(__file__).parents[3] / "conformance"
DATA = json.loads((FOLDER / "cases.json").read_text(encoding="utf-8"))
LENGTHS = DATA["inputs"]["sequence_lengths"]
NAMES = ("log_prob", "old_log_prob", "advantage", "entropy", "old_entropy", "reference_log_prob", "rollout_log_prob")
MASK = np.arange(max(LENGTHS)) < np.array(LENGTHS)[:, None]


def rows(name: str) -> NDArray[np.float64]:
    """Column [sequences, length]; not a number where it is padded, as nothing may be read there."""
    column = np.full(MASK.shape, np.nan)
    column[MASK] = DATA["inputs"][name]
    return column


COLUMNS = {name: rows(name) for name in NAMES}


def arguments(case: dict) -> dict:  # type: ignore[type-arg]
    """Arguments of `entropy_rl.plan` besides the columns."""
    ((method, settings),) = case["policy_loss"].items()
    rules = dict(aggregation=case["aggregation"], micro_batches=DATA["inputs"]["micro_batches"])
    return dict(policy_loss=method, **rules, **settings)
