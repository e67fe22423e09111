"""A program over the whole interface, for `mypy --strict`."""

from typing import Literal

import entropy_rl as er
import numpy as np
from numpy.typing import NDArray


def reward(response: str, ground_truth: str) -> float:
    verdict: er.Verdict = er.verify(response, ground_truth, mode="strict")
    state: Literal["right", "wrong", "unparsed"] = verdict.verdict
    rung: str | None = verdict.rung
    print(state, rung, verdict.why)
    found = er.extract(response)
    if found is not None:
        start, end = found.span
        print(response[start:end], found.rule)
    return float(er.grade([response], [ground_truth], threads=1)[0])


def diagnose(log_prob: NDArray[np.float32], advantage: list[float]) -> tuple[float, int]:
    covariance: NDArray[np.float64] = er.token_covariances(log_prob, advantage)
    change = er.predicted_entropy_change(log_prob, advantage, eta=0.1)
    # The state-centred prediction is there only with an entropy.
    state: float | None = change.policy_gradient_state
    top = er.covariance_summary(log_prob, advantage).top_means[0]
    share = er.clip_fractions(log_prob, log_prob, advantage, clip_ratio_c=None).clip_fraction
    return covariance.mean() + share + (state or 0.0) + top.mean, er.quadrants(log_prob, advantage).still.tokens


def masks(log_prob: NDArray[np.float32], advantage: NDArray[np.float64]) -> NDArray[np.bool_]:
    clip = er.clip_cov_mask(log_prob, log_prob, advantage, seed=1)
    kl = er.kl_cov_mask(log_prob, advantage, centering="state", entropy=-log_prob)
    return clip | kl | er.high_entropy_mask(log_prob)


def foretold(entropy: list[float], accuracy: list[float]) -> tuple[float, float] | None:
    law: er.PerformanceLaw = er.fit_law(entropy, accuracy)
    low, high = law.interval_ceiling(confidence=0.9)
    print(law.ceiling, low, high)
    return er.forecast(entropy, accuracy, share=0.5).final_interval


def simulated(quality: NDArray[np.float64]) -> float:
    def loss(batch: er.MiniBatch) -> NDArray[np.float64]:
        gradient: NDArray[np.float64] = -batch.advantage / batch.log_prob.size
        return gradient

    environment = er.Environment(quality, np.zeros(quality.shape))
    simulation = er.Simulation(environment, method={"entropy_bonus": 0.1}, loss=loss, advantage=lambda rewards: rewards)
    report: er.StepReport | None = simulation.step()
    simulation.reference_kl = 0.1
    curve: er.Curve = simulation.train()
    policy = er.SoftmaxPolicy(simulation.log_prob()[:, 0])
    print(report, simulation.rollout().rewards.mean(), policy.logit_step(quality[:, 0], rule="natural_policy_gradient"))
    checks: list[er.TheoryCheck] = er.check_theory(policies=8)
    return float(curve.reward[-1]) if all(check.passed for check in checks) else 0.0


class Tensor:
    """A tensor, as far as the package looks."""

    def detach(self) -> "Tensor":
        return self

    def numpy(self) -> NDArray[np.float32]:
        return np.zeros(1, np.float32)


def losses(log_prob: Tensor, advantage: Tensor, response_mask: Tensor) -> Tensor:
    plan: er.StepPlan = er.plan(
        "clip-cov", log_prob, log_prob, advantage, response_mask=response_mask, seed=1, fraction=1e-3
    )
    found = plan.evaluate(log_prob, log_prob, advantage, rows=range(2), response_mask=response_mask)
    value: float = found.value
    print(er.__version__, er.methods(), value, plan.selected)
    mask: Tensor = er.kl_cov_mask(log_prob, advantage, response_mask=response_mask)
    print(mask, plan.evaluate([0.0], [0.0], [1.0]).advantages.sum(), found.advantages)
    return found.gradient


# What is wrong has to be found: mypy fails on an ignore that ignores nothing.
er.verify("a", "b", mode="loose")  # type: ignore[arg-type]
er.kl_cov_mask([0.0], [0.0], fraction="2e-3")  # type: ignore[call-overload]
er.plan("kl-cov", [0.0], [0.0], [0.0], aggregation="mean")  # type: ignore[arg-type]
er.Environment.draw("bandits")  # type: ignore[arg-type]
er.Verdict().verdict = "right"  # type: ignore[misc]
