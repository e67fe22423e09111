"""From Lemma 1 to the law on a policy that fits a page: numpy is the simulator, `entropy_rl` the theory and the losses.

Run it (`python theory.py`), or open it as a notebook: an editor shows each `# %%` as a cell. An environment of your own is a
table of rewards, an algorithm a name of `entropy_rl.methods()` with settings, a measurement a line in `trained`.
"""

# %% A softmax policy: logits [states, actions]; one action answers a prompt.
from __future__ import annotations

from typing import Any

import entropy_rl as er
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def log_policy(logits: Array) -> Array:
    """Log-probability of each action, [states, actions], nats."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_prob: Array = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return log_prob


def entropies(logits: Array) -> Array:
    """Exact entropy of each state, nats."""
    log_prob = log_policy(logits)
    return -(np.exp(log_prob) * log_prob).sum(axis=-1)


def covariance(logits: Array, values: Array) -> Array:
    """Covariance of `log π(a)` and a value of the action, under the policy of each state."""
    log_prob = log_policy(logits)
    prob = np.exp(log_prob)
    centred = log_prob - (prob * log_prob).sum(axis=-1, keepdims=True)
    return (prob * centred * values).sum(axis=-1)


# %% Lemma 1: a step δ of the logits changes the entropy by `-Cov(log π, δ)`, up to a remainder of second order.
rng = np.random.default_rng(0)
logits = rng.normal(0.0, 1.5, (200, 12))
direction = rng.normal(0.0, 1.0, logits.shape)


def remainder(step: float) -> float:
    """Largest error of Lemma 1 over the states."""
    exact = entropies(logits + step * direction) - entropies(logits)
    return float(np.abs(exact + covariance(logits, step * direction)).max())


ratio = remainder(1e-3) / remainder(5e-4)
print(f"Lemma 1: the remainder falls by {ratio:.3f} when the step is halved")
assert 3.8 < ratio < 4.2

# %% Theorems 1 and 2: the step of a policy gradient is `η π A`, of a natural one `η A`. Tokens alone predict its effect.
prob = np.exp(log_policy(logits))
advantage = rng.normal(0.0, 1.0, logits.shape)
advantage -= (prob * advantage).sum(axis=-1, keepdims=True)
states = rng.integers(0, len(logits), 2_000_000)
actions = (rng.random((len(states), 1)) > prob[states].cumsum(axis=-1)).sum(axis=-1).clip(max=prob.shape[1] - 1)
token_log_prob, token_advantage = log_policy(logits)[states, actions], advantage[states, actions]
eta = 1e-3
predicted = er.predicted_entropy_change(token_log_prob, token_advantage, eta=eta, entropy=entropies(logits)[states])
for theorem, rule, step in (
    ("Theorem 1", "policy_gradient", prob * advantage),
    ("Theorem 2", "natural_policy_gradient", advantage),
):
    exact = (entropies(logits + eta * step) - entropies(logits)).mean()
    estimate = getattr(predicted, f"{rule}_state")
    print(f"{theorem}: exact {exact:.3e}, predicted from {len(states)} tokens {estimate:.3e} nats")
    assert abs(estimate / exact - 1.0) < 0.05

# %% Training: GRPO in a table, each method by its plan over the mini-batch.
PROMPTS, ACTIONS, GROUP = 64, 20, 16
reward_table = (rng.random((PROMPTS, ACTIONS)) < 0.15).astype(float)
# Some right answers are likely from the start: what is easy is learned first.
start = rng.normal(0.0, 1.0, (PROMPTS, ACTIONS)) + 0.5 * reward_table


def trained(method: str, steps: int = 60, learning_rate: float = 40.0, **settings: Any) -> tuple[Array, Array]:
    """Train from `start`; mean entropy and mean reward before each step, both exact."""
    draws, table = np.random.default_rng(1), start.copy()
    curve = []
    prompts = np.repeat(np.arange(PROMPTS), GROUP)
    for step in range(steps):
        prob = np.exp(log_policy(table))
        curve.append((entropies(table).mean(), (prob * reward_table).sum(axis=-1).mean()))
        chosen = (draws.random((len(prompts), 1)) > prob[prompts].cumsum(axis=-1)).sum(axis=-1).clip(max=ACTIONS - 1)
        rewards = reward_table[prompts, chosen].reshape(PROMPTS, GROUP)
        advantages = ((rewards - rewards.mean(axis=1, keepdims=True)) / (rewards.std(axis=1, keepdims=True) + 1e-6)).ravel()
        old = log_policy(table)[prompts, chosen]
        for _ in range(2):
            now = log_policy(table)[prompts, chosen]
            plan = er.plan(method, now, old, advantages, seed=step, aggregation="token-mean", **settings)
            slope = plan.evaluate(now, old, advantages).gradient
            # The derivative of `log π(a)` by the logits is `1[a] - π`.
            by_logit = -np.exp(log_policy(table))[prompts] * slope[:, None]
            by_logit[np.arange(len(prompts)), chosen] += slope
            np.add.at(table, prompts, -learning_rate * by_logit)
    entropy, reward = np.array(curve).T
    return entropy, reward


METHODS: dict[str, dict[str, Any]] = {
    "ppo-clip": {},
    "clip-cov": dict(fraction=0.3, covariance_low=0.3, covariance_high=50.0),
    "kl-cov": dict(fraction=0.4, coefficient=2.0),
}
curves = {method: trained(method, **settings) for method, settings in METHODS.items()}
for method, (entropy, reward) in curves.items():
    print(f"{method}: entropy {entropy[0]:.3f} to {entropy[-1]:.3f} nats, reward {reward[0]:.3f} to {reward[-1]:.3f}")
assert curves["ppo-clip"][0][-1] < 0.5 * curves["ppo-clip"][0][0]
assert all(curves[method][0][-1] > curves["ppo-clip"][0][-1] for method in ("clip-cov", "kl-cov"))

# %% The law: reward is bought with entropy, `R = -a exp(H) + b`; its ceiling is at H = 0.
law = er.fit_law(*curves["ppo-clip"])
print(f"law of ppo-clip: R = -{law.a:.3f} exp(H) + {law.b:.3f}, R² {law.r_squared:.4f}, ceiling {law.ceiling:.3f}")
assert law.r_squared is not None and law.r_squared > 0.9

# %% The curves, where matplotlib is installed and someone looks: `python -i theory.py`, then `plot()`.


def plot() -> None:
    """Reward over entropy, one curve a method, with the law of PPO's clip."""
    import matplotlib.pyplot as plt

    for method, (entropy, reward) in curves.items():
        plt.plot(entropy, reward, ".-", label=method)
    entropy = np.linspace(0.0, curves["ppo-clip"][0][0])
    plt.plot(entropy, [law.predict(value) for value in entropy], "k--", label="law of ppo-clip")
    plt.xlabel("entropy, nats")
    plt.ylabel("reward")
    plt.legend()
    plt.show()
