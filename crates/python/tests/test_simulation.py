"""The simulator: environments, methods and curves as arrays; a custom loss, custom advantages, errors."""

from __future__ import annotations

from typing import Any

import entropy_rl as er
import numpy as np
import pytest

SCHEDULE = {"rollouts": 12, "evaluate_every": 4, "group_size": 8, "learning_rate": 0.5}


def bandits(seed: int = 0) -> er.Environment:
    return er.Environment.draw("tabular", seed=seed, prompts=48, positions=2, actions=6)


def test_a_drawn_environment_is_arrays_that_make_it_again() -> None:
    environment = bandits()
    assert (environment.prompts, environment.positions, environment.actions) == (48, 2, 6)
    assert environment.quality.shape == environment.start.shape == (48, 2, 6)
    assert environment.quality.max() == 1.0
    again = er.Environment(environment.quality, environment.start)
    curves = [er.Simulation(world, schedule=SCHEDULE, seed=3).train() for world in (environment, again)]
    assert (curves[0].reward == curves[1].reward).all()
    assert curves[0].rollouts.tolist() == [0, 4, 8, 12]
    assert curves[0].entropy[-1] < curves[0].entropy[0] and curves[0].reward[-1] > curves[0].reward[0]


def test_the_figures_are_sums_over_the_policy() -> None:
    environment = bandits(1)
    simulation = er.Simulation(environment, schedule=SCHEDULE)
    simulation.step()
    prob = np.exp(simulation.log_prob())
    point = simulation.evaluate()
    entropy = -(prob * np.log(prob)).sum(-1).mean()
    reward = (prob * environment.quality).sum(-1).prod(-1).mean()
    np.testing.assert_allclose([point.entropy[0], point.reward[0]], [entropy, reward], rtol=1e-12)


def test_features_are_shared_with_the_validation() -> None:
    rng = np.random.default_rng(2)

    def world(prompts: int, validation: er.Environment | None = None) -> er.Environment:
        shape = (prompts, 2, 5)
        features = rng.normal(0.0, 0.5, (*shape, 3))
        quality = np.exp(2.0 * (features[..., 0] - features[..., 0].max(-1, keepdims=True)))
        return er.Environment(quality, [1.0, 0.0, 0.0, 0.0], prior=rng.normal(size=shape), features=features, validation=validation)

    schedule = {**SCHEDULE, "step_size": "token-mean", "learning_rate": 2.0, "rollouts": 40}
    curve = er.Simulation(world(64, world(32)), schedule=schedule).train()
    assert curve.reward[-1] > curve.reward[0] + 0.1
    with pytest.raises(ValueError, match="`validation` has 60 parameters, the questions to train on have 4"):
        world(4, er.Environment(np.ones((6, 2, 5)), np.zeros((6, 2, 5))))


def test_a_method_is_written_as_in_a_sweep() -> None:
    def curve(**method: Any) -> er.Curve:
        return er.Simulation(bandits(), method=method, schedule={**SCHEDULE, "rollouts": 60}).train()

    grpo, kl_cov = curve(), curve(loss={"kl-cov": {"fraction": 0.4, "coefficient": 2.0}})
    assert kl_cov.entropy[-1] > grpo.entropy[-1]
    assert curve(entropy_bonus=0.05).entropy[-1] > grpo.entropy[-1]
    for method, message in (
        ({"loss": {"klcov": {}}}, "`method`: unknown variant `klcov`"),
        ({"loss": {"kl-cov": {"fraction": 2.0}}}, "`method`: `fraction` is 2"),
        ({"adaptive_entropy": {}, "entropy_bonus": 0.1}, "`adaptive_entropy` and `entropy_bonus` are both given"),
        ({"entropy": 1.0}, "`method`: unknown field `entropy`"),
    ):
        with pytest.raises(ValueError, match=message):
            curve(**method)
    with pytest.raises(ValueError, match="`group_size` is 0, expected"):
        er.Simulation(bandits(), schedule={"group_size": 0})
    with pytest.raises(ValueError, match="`actions` is 1, expected"):
        er.Environment.draw(actions=1)
    with pytest.raises(ValueError, match="`kind`: unknown variant `bandit`"):
        er.Environment.draw("bandit")  # type: ignore[arg-type]


def test_states_remember_tokens_with_noise() -> None:
    settings = {"prompts": 24, "positions": 3, "actions": 4}
    environment = er.Environment.draw(seed=1, states={"memory": 1, "noise": 0.25}, **settings)
    # One state at first, then one for each outcome of the token before.
    assert (environment.positions, environment.states) == (3, 1 + 4 + 4)
    assert environment.quality.shape == environment.start.shape == (24, 9, 4)
    simulation = er.Simulation(environment, schedule={**SCHEDULE, "group_size": 400, "drop_uninformative": False})
    simulation.step()
    rollout = simulation.rollout()
    first, behind = rollout.actions[..., 0], rollout.states[..., 1] - 1
    assert (rollout.states[..., 0] == 0).all() and rollout.states[..., 2].min() >= 5
    # A quarter of the outcomes is drawn anew, one in four of those as it was: 13 of 16 stay; five standard errors.
    stays = (first == behind).mean()
    assert abs(stays - 13 / 16) < 5 * np.sqrt(13 / 16 * 3 / 16 / first.size)
    with pytest.raises(ValueError, match="`noise` is 2, expected 0 to 1"):
        er.Environment.draw(states={"noise": 2.0})
    with pytest.raises(ValueError, match="`states`: unknown field `memories`"):
        er.Environment.draw(states={"memories": 1})


def test_transitions_are_an_array() -> None:
    """A fair first token leads to certainty or to a fair coin: the entropy of two tokens is that of the visits."""
    transitions = np.zeros((3, 2, 3))
    transitions[0, 0] = [0.0, 0.75, 0.25]
    transitions[0, 1, 2] = 1.0
    start = np.zeros((1, 3, 2))
    start[0, 1] = [40.0, -40.0]
    environment = er.Environment(np.ones((1, 3, 2)), start, transitions=transitions)
    assert (environment.positions, environment.states) == (2, 3)
    point = er.Simulation(environment).evaluate()
    visits = np.array([1.0, 0.375, 0.625])
    np.testing.assert_allclose(point.entropy, (visits * [np.log(2), 0.0, np.log(2)]).sum() / 2, rtol=1e-12)
    backwards = np.zeros((2, 1, 2))
    backwards[1, 0, 0] = 1.0
    with pytest.raises(ValueError, match="`transitions`: `next` is 0; expected a later state"):
        er.Environment(np.ones((1, 2, 1)), np.zeros((1, 2, 1)), transitions=backwards)
    with pytest.raises(ValueError, match=r"`transitions` has shape \[2, 1, 2\], expected \[3, 2, 3\]"):
        er.Environment(np.ones((1, 3, 2)), start, transitions=backwards)


def test_a_network_starts_at_the_policy_and_learns() -> None:
    environment = bandits()
    network = environment.with_network(hidden=8, features=4, seed=1)
    logits = er.Simulation(environment).log_prob()
    np.testing.assert_allclose(er.Simulation(network).log_prob(), logits, rtol=0, atol=0.2)
    assert network.start.shape == (1 + 4 * 8 + 8 + 8 + 1,) and network.start[0] == 1.0
    drawn = er.Environment.draw("tabular", network={"hidden": 8, "features": 4}, prompts=48, positions=2, actions=6)
    schedule = {**SCHEDULE, "rollouts": 40, "step_size": "token-mean", "learning_rate": 1.0}
    curve = er.Simulation(drawn, schedule=schedule).train()
    assert curve.reward[-1] > curve.reward[0] + 0.05
    with pytest.raises(ValueError, match="`hidden` is 0, expected"):
        er.Environment.draw(network={"hidden": 0})
    with pytest.raises(ValueError, match="environment has no hidden units|hidden units"):
        environment.with_network(hidden=0)


def test_the_information_of_the_prompt_is_that_of_its_definition() -> None:
    simulation = er.Simulation(bandits(), schedule=SCHEDULE)
    prob = np.exp(simulation.log_prob())
    joint = np.einsum("xa,xb->xab", prob[:, 0], prob[:, 1]).reshape(48, 36)
    expected = (joint * np.log(joint / joint.mean(axis=0))).sum(axis=1).mean()
    information = simulation.prompt_information()
    assert information is not None
    np.testing.assert_allclose(information, expected, rtol=1e-12)


def policy_gradient(batch: er.MiniBatch) -> np.ndarray:
    """PPO's surrogate, clipped at 0.2, averaged over the tokens."""
    ratio = np.exp(batch.log_prob - batch.old_log_prob)
    clipped = np.where(batch.advantage > 0.0, ratio > 1.2, ratio < 0.8)
    return np.where(clipped, 0.0, -ratio * batch.advantage) / ratio.size


def grpo(rewards: np.ndarray) -> np.ndarray:
    centred = rewards - rewards.mean(axis=1, keepdims=True)
    return centred / (rewards.std(axis=1, ddof=1, keepdims=True) + 1e-6)


def test_a_custom_loss_and_advantages_train_as_the_registered_ones() -> None:
    expected = er.Simulation(bandits(), schedule=SCHEDULE).train()
    found = er.Simulation(bandits(), schedule=SCHEDULE, loss=policy_gradient, advantage=grpo).train()
    np.testing.assert_allclose(found.reward, expected.reward, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.entropy, expected.entropy, rtol=0, atol=1e-10)


def test_a_step_is_measured_token_by_token() -> None:
    simulation = er.Simulation(bandits(), schedule={**SCHEDULE, "drop_uninformative": False})
    assert repr(simulation) == 'Simulation(Environment(prompts=48, positions=2, actions=6), policy_loss="ppo-clip")'
    assert simulation.rollout().prompts.shape == (0,) and repr(simulation.rollout()).startswith("Rollout(prompts=")
    before = simulation.log_prob()
    report = simulation.step()
    assert report is not None and report.rollout == 0 and report.selected_fraction == 0.0
    rollout = simulation.rollout()
    assert rollout.actions.shape == rollout.advantage.shape == (48, 8, 2)
    assert report.mean_reward == rollout.rewards.mean()
    drawn = np.take_along_axis(before[rollout.prompts][:, None], rollout.actions[..., None], axis=-1)[..., 0]
    np.testing.assert_allclose(rollout.old_log_prob, drawn, rtol=0, atol=1e-14)
    np.testing.assert_allclose(rollout.advantage[..., 0], grpo(rollout.rewards), atol=1e-6)
    # A controller: the bonus of the next step.
    simulation.entropy_bonus = 0.1
    assert simulation.entropy_bonus == 0.1 and simulation.reference_kl == 0.0
    with pytest.raises(ValueError, match="`reference_kl` is NaN"):
        simulation.reference_kl = float("nan")
    while simulation.step() is not None:
        pass
    assert simulation.step() is None


def test_an_error_in_a_function_ends_the_simulation() -> None:
    def broken(batch: er.MiniBatch) -> np.ndarray:
        raise KeyError("of the loss")

    simulation = er.Simulation(bandits(), schedule=SCHEDULE, loss=broken)
    with pytest.raises(KeyError, match="of the loss"):
        simulation.step()
    with pytest.raises(RuntimeError, match="the simulation ended with an error"):
        simulation.train()
    for result, message in (
        (lambda rewards: rewards[0], r"`result of advantage` has shape \[8\], expected \[48, 8\]"),
        (lambda rewards: np.full(rewards.shape, np.inf), "`result of advantage` is "),
    ):
        with pytest.raises(ValueError, match=message):
            er.Simulation(bandits(), schedule=SCHEDULE, advantage=result).train()


def test_tables_that_form_no_environment_are_named() -> None:
    ones = np.ones((3, 1, 2))
    with pytest.raises(ValueError, match=r"`quality` has shape \[2\], expected \[prompts, positions, actions\]"):
        er.Environment([1.0, 0.0], ones)
    with pytest.raises(ValueError, match="`quality` is 2 for prompt 0, position 0, action 0, expected 0 to 1"):
        er.Environment(2.0 * ones, ones)
    with pytest.raises(ValueError, match=r"`start` has shape \[1, 2\], expected \[3, 1, 2\]"):
        er.Environment(ones, ones[0])
    with pytest.raises(ValueError, match="`prior` and `features` belong together"):
        er.Environment(ones, [1.0, 0.0], prior=ones)
    with pytest.raises(ValueError, match="`features` has shape"):
        er.Environment(ones, [1.0, 0.0], prior=ones, features=ones)
