"""Records transitions of gymnasium's CartPole-v1 for tests/it/cart_pole.rs.

    pip install gymnasium==1.4.0 numpy==2.4.6
    python record_cart_pole.py > cart_pole_v1.json

States are `env.unwrapped.state`: float64, unlike the observations, which are float32.
"""

import json

import gymnasium
import numpy


def episode(env, seed, controller):
    """States from the first to the last, the actions between them, and how it ended."""
    env.reset(seed=seed)
    states, actions, total = [env.unwrapped.state.tolist()], [], 0.0
    ended = terminated = truncated = False
    while not ended:
        actions.append(int(controller(*states[-1])))
        _, reward, terminated, truncated, _ = env.step(actions[-1])
        states.append(env.unwrapped.state.tolist())
        total += float(reward)
        ended = terminated or truncated
    return {
        "states": states,
        "actions": actions,
        "return": total,
        "terminated": terminated,
        "truncated": truncated,
    }


def transition(env, state, action):
    """One step from a state of choice."""
    env.reset()
    env.unwrapped.state = numpy.array(state)
    _, reward, terminated, _, _ = env.step(action)
    return {
        "state": state,
        "action": action,
        "next": env.unwrapped.state.tolist(),
        "reward": float(reward),
        "terminated": terminated,
    }


def main():
    env = gymnasium.make("CartPole-v1")
    rng = numpy.random.default_rng(7)
    balance = lambda x, v, angle, spin: angle + 0.5 * spin + 0.02 * x + 0.05 * v > 0
    lean = lambda _x, _v, angle, spin: angle - 0.06 + 0.5 * spin > 0
    episodes = [episode(env, seed, lambda *_: rng.integers(2)) for seed in range(6)]
    episodes += [episode(env, 6, lambda *_: 0), episode(env, 7, lambda *_: 1)]
    # Out of the track with the pole upright, and to the time limit.
    episodes += [episode(env, 8, lean), episode(env, 9, balance)]
    wide = numpy.array([2.6, 3.0, 0.23, 3.5])
    transitions = [
        transition(env, (wide * rng.uniform(-1, 1, 4)).tolist(), int(rng.integers(2)))
        for _ in range(80)
    ]
    versions = f"gymnasium {gymnasium.__version__}, numpy {numpy.__version__}"
    recording = {"source": f"CartPole-v1 of {versions}", "episodes": episodes, "transitions": transitions}
    print(json.dumps(recording, separators=(",", ":")))


main()
