"""Theory: policies against numpy, the checks of the simulator."""

import entropy_rl as er
import numpy as np
import pytest

RNG = np.random.default_rng(5)
LOGITS = RNG.normal(0.0, 2.0, (7, 5))
DIRECTION = RNG.normal(0.0, 1.0, LOGITS.shape)


def log_softmax(logits: np.ndarray) -> np.ndarray:
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def entropy(logits: np.ndarray) -> np.ndarray:
    log_prob = log_softmax(logits)
    return -(np.exp(log_prob) * log_prob).sum(axis=-1)


def test_a_policy_is_the_softmax_of_its_logits() -> None:
    policy = er.SoftmaxPolicy(LOGITS)
    np.testing.assert_allclose(policy.log_prob, log_softmax(LOGITS), rtol=0, atol=1e-14)
    np.testing.assert_allclose(policy.entropy, entropy(LOGITS), rtol=0, atol=1e-14)
    prob = np.exp(policy.log_prob)
    expected = (prob * LOGITS * DIRECTION).sum(-1) - (prob * LOGITS).sum(-1) * (prob * DIRECTION).sum(-1)
    np.testing.assert_allclose(policy.covariance(LOGITS, DIRECTION), expected, atol=1e-13)


def test_the_change_of_entropy_is_exact_and_predicted_to_its_order() -> None:
    policy = er.SoftmaxPolicy(LOGITS)
    for size, orders in ((1e-2, (2, 3)), (1e-3, (2, 3))):
        step = size * DIRECTION
        exact = policy.entropy_change(step)
        np.testing.assert_allclose(exact, entropy(LOGITS + step) - entropy(LOGITS), rtol=0, atol=1e-13)
        first = policy.entropy_change_first_order(step)
        second = policy.entropy_change_second_order(step)
        assert np.abs(exact - first).max() < 10.0 * size ** orders[0]
        assert np.abs(exact - second).max() < 10.0 * size ** orders[1]
        assert (np.abs(exact - first) <= policy.remainder_bound(step)).all()


def test_steps_are_those_of_the_theorems() -> None:
    policy = er.SoftmaxPolicy(LOGITS)
    prob = np.exp(policy.log_prob)
    centred = DIRECTION - (prob * DIRECTION).sum(-1, keepdims=True)
    np.testing.assert_allclose(policy.logit_step(DIRECTION, eta=0.3), 0.3 * prob * centred, atol=1e-14)
    natural = policy.logit_step(DIRECTION, rule="natural_policy_gradient", eta=0.3)
    # A softmax does not see a constant that is added to all logits of a state.
    np.testing.assert_allclose(np.diff(natural), 0.3 * np.diff(DIRECTION), atol=1e-14)


def test_what_is_no_policy_is_named() -> None:
    with pytest.raises(ValueError, match=r"`logits` has shape \[3\], expected \[states, actions\]"):
        er.SoftmaxPolicy([0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="`logits` of state 1: "):
        er.SoftmaxPolicy([[0.0, 1.0], [0.0, np.nan]])
    with pytest.raises(TypeError, match="`logits`: "):
        er.SoftmaxPolicy([["a"]])
    policy = er.SoftmaxPolicy(LOGITS)
    with pytest.raises(ValueError, match=r"`step` has shape \[5\], expected \[7, 5\]"):
        policy.entropy_change(DIRECTION[0])
    with pytest.raises(ValueError, match="`step` of state 0, action 2 is inf"):
        policy.entropy_change(np.where(np.arange(5) == 2, np.inf, DIRECTION))
    with pytest.raises(ValueError, match='`rule` is "natural", expected'):
        policy.logit_step(DIRECTION, rule="natural")  # type: ignore[arg-type]
    assert repr(policy) == "SoftmaxPolicy(states=7, actions=5)"


def test_every_statement_holds() -> None:
    checks = er.check_theory(seed=3, policies=8, cases=500)
    assert {"Lemma 1", "Theorem 1", "Theorem 2"} <= {check.statement for check in checks}
    assert all(check.passed and check.worst <= check.allowed for check in checks), checks
    with pytest.raises(ValueError, match="`policies` is 7, expected at least 8"):
        er.check_theory(policies=7)
