"""The law against numpy's least squares and Student's t."""

import entropy_rl as er
import numpy as np
import pytest

rng = np.random.default_rng(5)
entropy = np.linspace(1.2, 0.05, 40)
reward = 0.62 - 0.17 * np.exp(entropy) + rng.normal(0.0, 0.01, 40)
# Two-sided 0.95 quantile of Student's t with 38 degrees of freedom, from tables.
T_38 = 2.0243941645751367


def test_the_fit_is_the_least_squares_of_numpy() -> None:
    law = er.fit_law(entropy, reward)
    slope, intercept = np.polyfit(np.exp(entropy), reward, 1)
    np.testing.assert_allclose((law.a, law.b, law.ceiling), (-slope, intercept, intercept + slope), rtol=1e-9)
    residual = reward - (intercept + slope * np.exp(entropy))
    np.testing.assert_allclose(law.rmse, np.sqrt((residual**2).mean()), rtol=1e-9)
    assert law.points == 40
    assert law.r_squared is not None and law.linear_r_squared is not None
    np.testing.assert_allclose(law.r_squared, 1 - residual.var() / reward.var(), rtol=1e-9)
    assert law.r_squared > law.linear_r_squared
    assert law.predict(0.5) == pytest.approx(law.b - law.a * np.exp(0.5), rel=1e-14)


def test_intervals_are_student_s() -> None:
    law = er.fit_law(entropy, reward)
    x = np.exp(entropy)
    deviation = law.rmse * np.sqrt(40 / 38)
    squares = ((x - x.mean()) ** 2).sum()
    leverage = 1 / 40 + (1.0 - x.mean()) ** 2 / squares
    for (low, high), centre, variance in (
        (law.interval_a(), law.a, 1 / squares),
        (law.interval_ceiling(), law.ceiling, leverage),
        (law.confidence_interval(0.0), law.ceiling, leverage),
        (law.prediction_interval(0.0), law.ceiling, 1 + leverage),
    ):
        half = T_38 * deviation * np.sqrt(variance)
        np.testing.assert_allclose((low, high), (centre - half, centre + half), rtol=1e-9)
    narrow, wide = law.interval_b(confidence=0.5), law.interval_b(confidence=0.99)
    assert wide[0] < narrow[0] < law.b < narrow[1] < wide[1]


def test_a_run_is_foretold_from_its_beginning() -> None:
    told = er.forecast(entropy, reward, share=0.5)
    assert told.fitted == 20 and told.law == er.fit_law(entropy[:20], reward[:20])
    assert told.law is told.law
    rest = reward[20:] - np.array([told.law.predict(h) for h in entropy[20:]])
    np.testing.assert_allclose(told.rmse_rest, np.sqrt((rest**2).mean()), rtol=1e-9)
    np.testing.assert_allclose(told.final_error, -rest[-1], rtol=1e-9)
    still, gain = np.sqrt(((reward[20:] - reward[19]) ** 2).mean()), reward[-1] - reward[19]
    np.testing.assert_allclose((told.persistence_rmse_rest, told.gain_left), (still, gain), rtol=1e-9)
    np.testing.assert_allclose(told.skill_over_persistence, 1 - told.rmse_rest / still, rtol=1e-9)
    np.testing.assert_allclose(told.skill_over_line, 1 - told.rmse_rest / told.linear_rmse_rest, rtol=1e-9)
    np.testing.assert_allclose(told.bias, -rest[-1] / gain, rtol=1e-9)
    assert told.final_interval is not None
    assert told.final_interval == told.law.prediction_interval(entropy[-1])


def test_what_determines_no_law_is_said() -> None:
    with pytest.raises(ValueError, match="needs two different entropies"):
        er.fit_law([1.0, 1.0, 1.0], [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="3 entropies and 2 rewards"):
        er.fit_law([1.0, 2.0, 3.0], [0.1, 0.2])
    with pytest.raises(ValueError, match="at least 3 points"):
        er.fit_law([1.0, 2.0], [0.1, 0.2]).interval_a()
    with pytest.raises(ValueError, match="`confidence` is 95"):
        er.fit_law(entropy, reward).interval_a(confidence=95.0)
    with pytest.raises(ValueError, match="`share` is 1.5"):
        er.forecast(entropy, reward, share=1.5)
