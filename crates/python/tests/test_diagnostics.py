"""Diagnostics against numpy."""

import entropy_rl as er
import numpy as np
import pytest

rng = np.random.default_rng(3)
log_prob = -rng.exponential(1.0, 5000)
old_log_prob = log_prob + rng.normal(0.0, 0.3, 5000)
advantage = rng.normal(0.2, 1.0, 5000)
advantage[::10] = 0.0
entropy = rng.exponential(0.7, 5000)
batch_centred = (advantage - advantage.mean()) * (log_prob - log_prob.mean())
state_centred = advantage * (log_prob + entropy)


def test_covariances_in_both_centrings() -> None:
    found = er.token_covariances(log_prob, advantage)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, batch_centred, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(er.token_covariances(log_prob, advantage, entropy=entropy), state_centred, rtol=1e-12)


def test_the_summary_is_that_of_numpy() -> None:
    summary = er.covariance_summary(log_prob, advantage)
    np.testing.assert_allclose(summary.mean, np.cov(log_prob, advantage, bias=True)[0, 1], rtol=1e-9)
    descending = np.sort(batch_centred)[::-1]
    for top in summary.top_means:
        assert top.tokens == max(1, round(np.ceil(top.fraction * 5000 - 1e-9)))
        np.testing.assert_allclose(top.mean, descending[: top.tokens].mean(), rtol=1e-9)
    for quantile in summary.quantiles:
        np.testing.assert_allclose(quantile.value, np.quantile(batch_centred, quantile.level), rtol=1e-9)


def test_quadrants_sort_by_sign_and_likelihood() -> None:
    four = er.quadrants(log_prob, advantage)
    likely = log_prob >= log_prob.mean()
    for found, expected in (
        (four.up_likely, (advantage > 0) & likely),
        (four.up_unlikely, (advantage > 0) & ~likely),
        (four.down_likely, (advantage < 0) & likely),
        (four.down_unlikely, (advantage < 0) & ~likely),
        (four.still, advantage == 0),
    ):
        assert found.tokens == expected.sum()
        np.testing.assert_allclose(found.covariance, batch_centred[expected].sum(), rtol=1e-9)
    in_state = er.quadrants(log_prob, advantage, entropy=entropy)
    assert in_state.up_likely.tokens == ((advantage > 0) & (log_prob + entropy >= 0)).sum()


def test_predicted_change_of_entropy() -> None:
    prob, score = np.exp(log_prob), rng.normal(0.0, 0.1, 5000)
    eta = 0.05
    found = er.predicted_entropy_change(log_prob, advantage, eta=eta, entropy=entropy, mean_score=score)
    expected = (
        -eta * np.cov(log_prob, prob * advantage, bias=True)[0, 1],
        -eta * np.cov(log_prob, advantage, bias=True)[0, 1],
        -eta * (advantage * (prob * (log_prob + entropy) - score)).mean(),
        -eta * state_centred.mean(),
    )
    assert found.policy_gradient_state is not None and found.natural_policy_gradient_state is not None
    np.testing.assert_allclose(
        (
            found.policy_gradient_batch,
            found.natural_policy_gradient_batch,
            found.policy_gradient_state,
            found.natural_policy_gradient_state,
        ),
        expected,
        rtol=1e-9,
    )


def test_divergence_and_clip_fractions() -> None:
    moved, x = er.divergence(log_prob, old_log_prob), log_prob - old_log_prob
    np.testing.assert_allclose(
        (moved.k1, moved.k3, moved.mean_abs_log_ratio, moved.max_abs_log_ratio),
        (-x.mean(), (np.exp(x) - 1 - x).mean(), abs(x).mean(), abs(x).max()),
        rtol=1e-9,
    )
    ratio = np.exp(x)
    up, down = advantage > 0, advantage < 0
    clipped = (up & (ratio > 1.28)) | (down & (ratio < 0.8))
    lower = down & (ratio > 1.5)
    found = er.clip_fractions(log_prob, old_log_prob, advantage, clip_ratio_high=0.28, clip_ratio_c=1.5)
    assert found.clip_fraction == clipped.mean() and found.clip_fraction_lower == lower.mean()
    assert er.clip_fractions(log_prob, old_log_prob, advantage, clip_ratio_c=None).clip_fraction_lower == 0.0


def test_every_kind_of_column_gives_the_same() -> None:
    expected = er.token_covariances(log_prob, advantage)
    wide = np.repeat(log_prob, 2)[::2]
    backwards = log_prob[::-1].copy()[::-1]
    for column in (list(log_prob), tuple(log_prob), wide, backwards):
        assert (er.token_covariances(column, advantage) == expected).all()
    single = log_prob.astype(np.float32)
    for column in (single, np.repeat(single, 3)[::3]):
        assert (er.token_covariances(column, advantage) == er.token_covariances(single.astype(np.float64), advantage)).all()


def test_what_is_no_column_is_named() -> None:
    with pytest.raises(TypeError, match="`log_prob`: expected an array or tensor .* found numpy.ndarray of int64"):
        er.token_covariances(np.arange(3), advantage)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"`advantage` has shape \[50, 100\], expected \[5000\]"):
        er.quadrants(log_prob, advantage.reshape(50, 100))
    with pytest.raises(TypeError, match=r"shape \(5, 10, 100\)"):
        er.quadrants(log_prob, advantage.reshape(5, 10, 100))
    with pytest.raises(ValueError, match=r"`log_prob` has shape \[50, 100\], which needs `response_mask`"):
        er.quadrants(log_prob.reshape(50, 100), advantage.reshape(50, 100))
    with pytest.raises(TypeError, match="of >f8"):
        er.quadrants(log_prob, advantage.astype(">f8"))
    with pytest.raises(TypeError, match="`advantage`: .* found NoneType"):
        er.quadrants(log_prob, None)  # type: ignore[arg-type]
    skewed = np.zeros(17, np.uint8)[1:].view(np.float64)
    with pytest.raises(TypeError, match="not aligned"):
        er.quadrants(skewed, [1.0, 1.0])


def test_values_that_do_not_fit_are_named() -> None:
    broken = log_prob.copy()
    broken[7] = np.nan
    with pytest.raises(ValueError, match="column `log_prob` is NaN at token 7, expected a finite number"):
        er.covariance_summary(broken, advantage)
    with pytest.raises(ValueError, match="column `entropy` has 2 tokens, `log_prob` has 5000"):
        er.token_covariances(log_prob, advantage, entropy=[0.0, 0.0])
    with pytest.raises(ValueError, match="`clip_ratio_c` is 0.5"):
        er.clip_fractions(log_prob, old_log_prob, advantage, clip_ratio_c=0.5)


def test_no_tokens() -> None:
    empty = np.zeros(0)
    assert er.token_covariances(empty, empty).shape == (0,)
    assert er.covariance_summary([], []).tokens == 0
    assert np.isnan(er.divergence(empty, empty).k1)


def test_results_are_readable() -> None:
    summary = er.covariance_summary([-1.0, -3.0], [1.0, -1.0])
    assert repr(summary).startswith("CovarianceSummary(tokens=2, mean=1.0, top_means=[TopMean(fraction=0.0002, tokens=1, ")
    assert repr(summary.quantiles[0]) == "Quantile(level=0.0, value=1.0)"
    four = er.quadrants([-1.0, -3.0], [1.0, -1.0])
    assert repr(four).startswith("Quadrants(up_likely=Quadrant(tokens=1, covariance=1.0), up_unlikely=")
    change = er.predicted_entropy_change([-1.0, -3.0], [1.0, -1.0], eta=0.1)
    assert repr(change).endswith("policy_gradient_state=None, natural_policy_gradient_state=None)")
    assert repr(er.divergence([0.0], [0.0])).startswith("Divergence(tokens=1, k1=")
    assert repr(er.clip_fractions([], [], [])) == "ClipFractions(clip_fraction=nan, clip_fraction_lower=nan)"
    told = er.forecast([1.0, 0.5, 0.2, 0.1], [0.1, 0.2, 0.3, 0.3], share=0.75)
    assert repr(told).startswith("Forecast(law=PerformanceLaw(a=") and repr(told).count("=") > 9


def test_half_precision_of_numpy_is_taken() -> None:
    halves = log_prob.astype(np.float16)
    found = er.token_covariances(halves, advantage)  # type: ignore[call-overload]
    assert (found == er.token_covariances(halves.astype(np.float64), advantage)).all()


def test_a_template_carries_no_information_about_the_prompt() -> None:
    letters = np.log([[0.75, 0.25]] * 3 + [[0.25, 0.75]])
    channel = er.prompt_information(np.concatenate([letters, letters[:, ::-1]]), [0] * 4 + [1] * 4)
    entropy = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))
    np.testing.assert_allclose(channel.mutual_information, np.log(2.0) - entropy, rtol=1e-12)
    assert channel.retrieval_accuracy == 0.75
    template = er.prompt_information(np.full((4, 2), -30.0), [0, 1, 0, 1])
    assert (template.mutual_information, template.retrieval_accuracy) == (0.0, 0.5)
    with pytest.raises(ValueError, match=r"`cross_log_prob` has shape \[4\], expected \[responses, prompts\]"):
        er.prompt_information(np.zeros(4), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="`own_prompts` is 2; expected a prompt below"):
        er.prompt_information(np.zeros((1, 2)), [2])
