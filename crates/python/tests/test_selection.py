"""Masks against their definition in numpy."""

import entropy_rl as er
import numpy as np
import pytest

rng = np.random.default_rng(11)
tokens = 30_000
log_prob = -rng.exponential(1.0, tokens)
old_log_prob = log_prob + rng.normal(0.0, 0.2, tokens)
advantage = rng.normal(0.0, 1.0, tokens)
entropy = rng.exponential(0.7, tokens)
covariance = (advantage - advantage.mean()) * (log_prob - log_prob.mean())


def test_kl_cov_marks_the_highest_covariances() -> None:
    mask = er.kl_cov_mask(log_prob, advantage)
    assert mask.dtype == np.bool_ and mask.shape == (tokens,)
    highest = np.argsort(-covariance, kind="stable")[: int(2e-3 * tokens)]
    assert set(np.flatnonzero(mask)) == set(highest)
    in_state = er.kl_cov_mask(log_prob, advantage, fraction=0.01, centering="state", entropy=entropy)
    highest = np.argsort(-advantage * (log_prob + entropy), kind="stable")[:300]
    assert set(np.flatnonzero(in_state)) == set(highest)


def test_clip_cov_draws_from_the_band() -> None:
    mask = er.clip_cov_mask(log_prob, old_log_prob, advantage, seed=1)
    assert mask.sum() == 6
    assert ((covariance[mask] > 1.0) & (covariance[mask] < 5.0)).all()
    explicit = er.clip_cov_mask(
        log_prob, old_log_prob, advantage, seed=1, fraction=2e-4, covariance_low=1.0, covariance_high=5.0,
        clip_ratio_low=1.0, clip_ratio_high=1.0, centering="batch", semantics="exact",
    )
    assert (mask == explicit).all()
    assert (mask == er.clip_cov_mask(log_prob, old_log_prob, advantage, seed=1)).all()
    assert (mask != er.clip_cov_mask(log_prob, old_log_prob, advantage, seed=2)).any()


def test_clip_cov_leaves_alone_what_the_clip_has_cut() -> None:
    ratio = np.exp(log_prob - old_log_prob)
    cut = ((advantage > 0) & (ratio > 1.1)) | ((advantage < 0) & (ratio < 0.9))
    everything = er.clip_cov_mask(
        log_prob, old_log_prob, advantage, seed=0, fraction=1.0, clip_ratio_low=0.1, clip_ratio_high=0.1
    )
    assert (everything == ((covariance > 1.0) & (covariance < 5.0) & ~cut)).all()


def test_the_draw_is_uniform() -> None:
    """Each of the band is drawn equally often, to four standard errors."""
    band = (covariance > 1.0) & (covariance < 5.0)
    draws = 400
    counts = np.zeros(tokens)
    for seed in range(draws):
        counts += er.clip_cov_mask(log_prob, old_log_prob, advantage, seed=seed, fraction=0.02)
    assert counts[~band].sum() == 0
    first, second = np.array_split(counts[band], 2)
    share = 600 / band.sum()
    for half in (first, second):
        error = np.sqrt(draws * len(half) * share * (1 - share))
        assert abs(half.sum() - draws * len(half) * share) < 4 * error


def test_single_precision_selects_as_double_does_of_the_same_numbers() -> None:
    singles = [column.astype(np.float32) for column in (log_prob, old_log_prob, advantage)]
    doubles = [column.astype(np.float64) for column in singles]
    mixed = [singles[0], doubles[1], doubles[2]]
    masks = [er.clip_cov_mask(*columns, seed=5, fraction=0.01) for columns in (singles, doubles, mixed)]
    assert (masks[1] == masks[2]).all()
    # A covariance at the edge of the band may round to the other side.
    assert (masks[0] != masks[1]).sum() <= 2


def test_high_entropy_keeps_a_fifth() -> None:
    mask = er.high_entropy_mask(entropy)
    assert mask.sum() == tokens // 5
    assert entropy[mask].min() > entropy[~mask].max()


def test_what_does_not_fit_is_refused_in_the_words_of_the_library() -> None:
    with pytest.raises(ValueError, match="`fraction` is 20"):
        er.kl_cov_mask(log_prob, advantage, fraction=20.0)
    with pytest.raises(ValueError, match="`covariance_low`"):
        er.clip_cov_mask(log_prob, old_log_prob, advantage, seed=0, covariance_low=5.0, covariance_high=1.0)
    with pytest.raises(ValueError, match="needs the column `entropy`"):
        er.kl_cov_mask(log_prob, advantage, centering="state")
    with pytest.raises(ValueError, match="`semantics`: unknown variant `trl`, expected one of `exact`"):
        er.kl_cov_mask(log_prob, advantage, semantics="trl")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="`fraction`"):
        er.high_entropy_mask(entropy, fraction=0.0)
    with pytest.raises(ValueError, match="column `entropy` is inf"):
        er.high_entropy_mask([0.0, np.inf])
    with pytest.raises(OverflowError):
        er.clip_cov_mask(log_prob, old_log_prob, advantage, seed=-1)
    with pytest.raises(TypeError):
        er.clip_cov_mask(log_prob, old_log_prob, advantage)  # type: ignore[call-arg]


def test_no_tokens_and_one() -> None:
    assert er.kl_cov_mask([], []).shape == (0,)
    assert er.kl_cov_mask([-1.0], [1.0]).tolist() == [True]
    assert er.clip_cov_mask([-1.0], [-1.0], [1.0], seed=0).tolist() == [False]
