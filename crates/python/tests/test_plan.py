"""Plans and evaluations against the cases of conformance/."""

import entropy_rl as er
import numpy as np
import pytest
from conformance import COLUMNS, DATA, LENGTHS, MASK, arguments

CASES = DATA["cases"]
THREE = ("log_prob", "old_log_prob", "advantage")


def test_every_method_has_a_case() -> None:
    assert {name for case in CASES for name in case["policy_loss"]} == set(er.methods())
    assert len(er.methods()) > 15


def test_a_preset_is_its_method_with_published_settings() -> None:
    assert er.presets()["paper-7b-clip-cov"].startswith("arXiv:2505.22617")
    pairs: list[tuple[str, dict[str, object], str, dict[str, object]]] = [
        ("paper-7b-kl-cov", {}, "kl-cov", {"semantics": "verl"}),
        ("dapo", {}, "ppo-clip", {"clip_ratio_high": 0.28, "clip_ratio_c": 10.0}),
        ("dapo", {"clip_ratio_c": 3.0}, "ppo-clip", {"clip_ratio_high": 0.28}),
    ]
    for preset, changes, method, settings in pairs:
        calls: list[tuple[str, dict[str, object]]] = [(preset, changes), (method, settings)]
        plans = [er.plan(name, **COLUMNS, response_mask=MASK, **given) for name, given in calls]
        assert plans[0].policy_loss == method
        values = [plan.evaluate(**COLUMNS, response_mask=MASK).value for plan in plans]
        assert values[0] == values[1]


@pytest.mark.parametrize("case", CASES, ids=lambda case: next(iter(case["policy_loss"])))
def test_value_and_gradient_are_those_of_the_case(case: dict) -> None:  # type: ignore[type-arg]
    plan = er.plan(**COLUMNS, response_mask=MASK, seed=0, **arguments(case))
    assert (plan.rows, plan.tokens) == (4, 16)
    found = plan.evaluate(**COLUMNS, response_mask=MASK)
    assert abs(found.value - case["value"]) <= 1e-12
    np.testing.assert_allclose(found.gradient[MASK], case["grad_log_prob"], rtol=0, atol=1e-12)
    assert (found.gradient[~MASK] == 0).all()
    for name in ("tokens", "selected", "clipped", "clipped_lower", "altered"):
        assert getattr(found, name) == case["sums"][name], name


@pytest.mark.parametrize("case", CASES, ids=lambda case: next(iter(case["policy_loss"])))
def test_rows_in_any_order_add_up(case: dict) -> None:  # type: ignore[type-arg]
    plan = er.plan(**COLUMNS, response_mask=MASK, seed=3, **arguments(case))
    whole = plan.evaluate(**COLUMNS, response_mask=MASK)
    value = 0.0
    for rows in ([3, 0], [1], [2]):
        part = {name: column[rows] for name, column in COLUMNS.items()}
        found = plan.evaluate(**part, rows=rows, response_mask=MASK[rows])
        value += found.value
        np.testing.assert_allclose(found.gradient, whole.gradient[rows], rtol=0, atol=1e-15)
        np.testing.assert_allclose(found.advantages, whole.advantages[rows], rtol=0, atol=1e-13)
    assert abs(value - whole.value) < 1e-14


@pytest.mark.parametrize("case", CASES, ids=lambda case: next(iter(case["policy_loss"])))
def test_equivalent_advantages_have_the_gradient(case: dict) -> None:  # type: ignore[type-arg]
    plan = er.plan(**COLUMNS, response_mask=MASK, seed=3, **arguments(case))
    found = plan.evaluate(**COLUMNS, response_mask=MASK)
    advantages, gradient = found.advantages, found.gradient
    ratio = np.exp(COLUMNS["log_prob"] - COLUMNS["old_log_prob"])[MASK]
    surrogate = -np.array(case["weights"]) * ratio * advantages[MASK]
    # An advantage that only rounding changed is the one passed.
    np.testing.assert_allclose(surrogate, gradient[MASK], rtol=1e-5, atol=1e-15)
    assert (advantages[~MASK] == 0).all()


def test_clip_cov_as_an_advantage_is_zero_or_the_advantage_itself() -> None:
    rng = np.random.default_rng(1)
    log_prob, advantage = -rng.exponential(1.0, (6, 40)), rng.normal(0.0, 1.0, (6, 40))
    old = log_prob + rng.normal(0.0, 0.4, log_prob.shape)
    mask = rng.random(log_prob.shape) < 0.7
    settings = dict(fraction=0.05, covariance_low=0.2)
    for kind in (np.float64, np.float32):
        columns = [column.astype(kind) for column in (log_prob, old, advantage)]
        plan = er.plan("clip-cov", *columns, response_mask=mask, seed=4, **settings)
        dropped = er.clip_cov_mask(*columns, response_mask=mask, seed=4, **settings)
        found = plan.evaluate(*columns, response_mask=mask)
        clipped = found.gradient == 0
        assert dropped.sum() == plan.selected > 3 and (clipped & mask & ~dropped).any()
        assert (found.advantages == np.where(clipped, 0.0, columns[2])).all()


def test_a_token_whose_ratio_is_zero_has_no_advantage() -> None:
    columns = dict(log_prob=[-800.0, -1.0], old_log_prob=[-1.0, -1.0], advantage=[1.0, 1.0])
    found = er.plan("ppo-clip", **columns).evaluate(**columns)
    assert found.gradient[0] == 0.0 and found.advantages.tolist() == [0.0, 1.0]


def test_columns_of_one_dimension_are_one_sequence() -> None:
    flat = {name: COLUMNS[name][MASK] for name in THREE}
    plan = er.plan("ppo-clip", **flat)
    case = next(case for case in CASES if "ppo-clip" in case["policy_loss"])
    assert plan.rows == 1 and abs(plan.evaluate(**flat).value - case["value"]) <= 1e-12
    assert repr(plan) == "StepPlan(policy_loss='ppo-clip', rows=1, tokens=16, selected=0)"


def test_what_does_not_fit_is_named() -> None:
    three = {name: COLUMNS[name] for name in THREE}
    with pytest.raises(ValueError, match="`policy_loss`: unknown variant `clip_cov`, expected one of `ppo-clip`"):
        er.plan("clip_cov", **three, response_mask=MASK)
    with pytest.raises(ValueError, match="`policy_loss`: unknown field `fracton`"):
        er.plan("kl-cov", **three, response_mask=MASK, fracton=0.1)
    with pytest.raises(ValueError, match="`fraction` is 20"):
        er.plan("kl-cov", **three, response_mask=MASK, fraction=20.0)
    with pytest.raises(ValueError, match="`aggregation`: unknown variant `mean`"):
        er.plan("kl-cov", **three, response_mask=MASK, aggregation="mean")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="`clip-cov` draws tokens and needs `seed`"):
        er.plan("clip-cov", **three, response_mask=MASK)
    with pytest.raises(ValueError, match="`high-entropy` needs the column `entropy`"):
        er.plan("high-entropy", **three, response_mask=MASK)
    with pytest.raises(ValueError, match=r"`log_prob` has shape \[4, 7\], which needs `response_mask`"):
        er.plan("ppo-clip", **three)
    with pytest.raises(ValueError, match=r"`response_mask` has shape \[3, 7\], `log_prob` has \[4, 7\]"):
        er.plan("ppo-clip", **three, response_mask=MASK[:3])
    with pytest.raises(ValueError, match=r"`advantage` has shape \[4, 6\], expected \[4, 7\]"):
        er.plan("ppo-clip", **{**three, "advantage": three["advantage"][:, 1:]}, response_mask=MASK)
    with pytest.raises(TypeError, match="`advantage`: expected .* found numpy.ndarray of int64"):
        er.plan("ppo-clip", **{**three, "advantage": np.ones((4, 7), int)}, response_mask=MASK)  # type: ignore[arg-type]
    plan = er.plan("ppo-clip", **three, response_mask=MASK)
    with pytest.raises(ValueError, match="`rows` has 1 entries, the columns have 4 rows"):
        plan.evaluate(**three, response_mask=MASK, rows=[0])
    with pytest.raises(ValueError, match="`rows` has 9, the plan has 4 rows"):
        plan.evaluate(**three, response_mask=MASK, rows=[0, 1, 2, 9])
    with pytest.raises(ValueError, match=f"row 3 has {LENGTHS[0]} trained tokens, {LENGTHS[3]} in the plan"):
        plan.evaluate(**three, response_mask=MASK, rows=[3, 1, 2, 0])
