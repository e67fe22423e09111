"""Numbers to log once a step: covariance, quadrants, predicted change of entropy, and the law of the run."""

from __future__ import annotations

from typing import Any, Optional

from entropy_rl._native import covariance_summary, fit_law, predicted_entropy_change, quadrants


def step_metrics(
    log_prob: Any, advantage: Any, *, entropy: Optional[Any] = None, response_mask: Optional[Any] = None
) -> dict[str, float]:
    """Measure a mini-batch before its update; arguments as in `entropy_rl.token_covariances`.

    covariance/mean, covariance/top_FRACTION: nat·reward, of all tokens and of those of largest covariance.
    quadrant/NAME: fraction of the tokens. entropy_change/RULE: predicted change of entropy by a logit step of 1, nats;
    with an entropy it is centred in each token's own state, which makes it unbiased.
    """
    columns = dict(entropy=entropy, response_mask=response_mask)
    summary = covariance_summary(log_prob, advantage, **columns)
    four = quadrants(log_prob, advantage, **columns)
    change = predicted_entropy_change(log_prob, advantage, eta=1.0, **columns)
    vanilla, natural = change.policy_gradient_state, change.natural_policy_gradient_state
    metrics = {"covariance/mean": summary.mean}
    metrics |= {f"covariance/top_{top.fraction:g}": top.mean for top in summary.top_means[:-1]}
    for name in ("up_likely", "up_unlikely", "down_likely", "down_unlikely"):
        metrics[f"quadrant/{name}"] = getattr(four, name).tokens / max(1, summary.tokens)
    metrics["entropy_change/policy_gradient"] = change.policy_gradient_batch if vanilla is None else vanilla
    metrics["entropy_change/natural_policy_gradient"] = (
        change.natural_policy_gradient_batch if natural is None else natural
    )
    return metrics


class RunLaw:
    """The law `R = -a exp(H) + b` over the steps of a run so far."""

    def __init__(self) -> None:
        self._entropy: list[float] = []
        self._reward: list[float] = []

    def add(self, entropy: float, reward: float) -> dict[str, float]:
        """Add a step's mean entropy, in nats, and mean reward; from the third on, returns a, b, ceiling and r_squared."""
        self._entropy.append(entropy)
        self._reward.append(reward)
        if len(self._entropy) < 3 or min(self._entropy) == max(self._entropy):
            return {}
        law = fit_law(self._entropy, self._reward)
        metrics = {"law/a": law.a, "law/b": law.b, "law/ceiling": law.ceiling}
        if law.r_squared is not None:
            metrics["law/r_squared"] = law.r_squared
        return metrics
