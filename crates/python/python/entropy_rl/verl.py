"""verl: `actor.policy_loss.loss_mode=entropy_rl_clip_cov` or `entropy_rl_kl_cov`, chosen over the whole mini-batch.

verl loads this module by itself where the package is installed, by the entry point `verl.plugins`. verl hands a
policy loss one micro-batch, which knows nothing of the others. So a plan is made over the mini-batch of all ranks
before the engine splits it, and each micro-batch is evaluated by its rows of the plan.
"""

from __future__ import annotations

import functools
import itertools
from contextvars import ContextVar
from typing import Any, Callable, Optional

import torch
from verl.trainer.ppo.core_algos import agg_loss, register_policy_loss
from verl.utils.metric import AggregationType, Metric
from verl.workers.config import ActorConfig

from entropy_rl._native import StepPlan, plan, verify
from entropy_rl.metrics import step_metrics
from entropy_rl.ranks import all_rows

_ROW = "entropy_rl_row"
# Each update draws other tokens; ranks count alike.
_draws = itertools.count()
# The plan of the mini-batch, and the rows of the micro-batch at hand.
_micro_batch: ContextVar[Optional[tuple[StepPlan, list[int]]]] = ContextVar("entropy_rl_micro_batch", default=None)


def compute_score(data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None, **_: Any) -> float:
    """Reward of a response by the verifier: 1 if it is right, else 0.

    For `reward.custom_reward_function.path=pkg://entropy_rl.verl`; a file would load this module a second time.
    """
    return 1.0 if verify(solution_str, ground_truth) else 0.0


def _clip_cov(config: Any) -> dict[str, Any]:
    loss = config.policy_loss
    low, high = config.clip_ratio_low, config.clip_ratio_high
    return dict(
        fraction=loss.clip_cov_ratio,
        covariance_low=loss.clip_cov_lb,
        covariance_high=loss.clip_cov_ub,
        clip_ratio_low=config.clip_ratio if low is None else low,
        clip_ratio_high=config.clip_ratio if high is None else high,
    )


def _kl_cov(config: Any) -> dict[str, Any]:
    return dict(fraction=config.policy_loss.kl_cov_ratio, coefficient=config.policy_loss.ppo_kl_coef)


# Name of the loss in verl: the method, and its settings from verl's own.
_METHODS: dict[str, tuple[str, Callable[[Any], dict[str, Any]]]] = {
    "entropy_rl_clip_cov": ("clip-cov", _clip_cov),
    "entropy_rl_kl_cov": ("kl-cov", _kl_cov),
}


def planned_loss(
    old_log_prob: torch.Tensor,
    log_prob: torch.Tensor,
    advantages: torch.Tensor,
    response_mask: torch.Tensor,
    loss_agg_mode: str = "token-mean",
    config: Any = None,
    rollout_is_weights: Optional[torch.Tensor] = None,
) -> tuple[torch.Tensor, dict[str, Any]]:
    """Plain surrogate of a micro-batch under the advantages that give it the method's gradient.

    The logged loss is that of the surrogate. `loss_agg_mode` weighs the tokens, `rollout_is_weights` too.
    """
    step = _micro_batch.get()
    if step is None:
        raise RuntimeError("no plan of the mini-batch: this engine does not train by BaseEngine.train_batch")
    loss_plan, rows = step
    found = loss_plan.evaluate(log_prob, old_log_prob, advantages, rows=rows, response_mask=response_mask)
    losses = -(log_prob - old_log_prob).exp() * found.advantages.to(log_prob)
    if rollout_is_weights is not None:
        losses = losses * rollout_is_weights
    loss = agg_loss(losses, response_mask, loss_agg_mode, **config.global_batch_info)
    sums = {"ppo_kl": found.neg_log_ratio, "entropy_rl/selected": found.selected, "pg_clipfrac": found.clipped}
    return loss, {f"actor/{name}": value / max(1, found.tokens) for name, value in sums.items()}


for _name in _METHODS:
    register_policy_loss(_name)(planned_loss)


def _plan_of(data: Any, method: str, settings: dict[str, Any], group: Any) -> tuple[StepPlan, slice, dict[str, float]]:
    """Plan over the mini-batch of all ranks, this rank's rows of it, and the numbers to log.

    Covariances are those of the policy before the first update of the rollout, `old_log_probs`: no further forward pass.
    """
    padded = data.select("response_mask", "old_log_probs", "advantages").to_padded_tensor()
    columns, local = all_rows({name: padded[name] for name in padded.keys()}, group)
    mask, log_prob, advantage = columns["response_mask"].bool(), columns["old_log_probs"], columns["advantages"]
    seed = next(_draws)
    loss_plan = plan(method, log_prob, log_prob, advantage, response_mask=mask, seed=seed, **settings)
    return loss_plan, local, step_metrics(log_prob, advantage, response_mask=mask)


def _planning(train_batch: Callable[..., Any]) -> Callable[..., Any]:
    """An engine's step over a mini-batch, after the plan if the loss asks for one."""

    @functools.wraps(train_batch)
    def planned(self: Any, data: Any, loss_function: Callable[..., Any]) -> Any:
        config = getattr(loss_function, "keywords", {}).get("config")
        name = getattr(getattr(config, "policy_loss", None), "loss_mode", None)
        if name not in _METHODS:
            return train_batch(self, data, loss_function)
        method, settings = _METHODS[name]
        loss_plan, local, metrics = _plan_of(data, method, settings(config), self.get_data_parallel_group())
        data[_ROW] = torch.arange(local.start, local.stop, device=data.device)

        def of_micro_batch(*, data: Any, **rest: Any) -> Any:
            before = _micro_batch.set((loss_plan, data[_ROW].tolist()))
            try:
                return loss_function(data=data, **rest)
            finally:
                _micro_batch.reset(before)

        outputs = train_batch(self, data, of_micro_batch)
        if self.is_mp_src_rank_with_outputs():
            named = {f"entropy_rl/{name}": value for name, value in metrics.items()}
            outputs["metrics"].update(Metric.from_dict(named, AggregationType.MEAN))
        return outputs

    return planned


@functools.lru_cache(maxsize=None)
def _plan_in_engines() -> None:
    # Imported late: it brings every engine with it.
    from verl.workers.engine.base import BaseEngine

    # The only place where verl has a rank's whole mini-batch together with its loss.
    BaseEngine.train_batch = _planning(BaseEngine.train_batch)


def _watching(post_init: Callable[[Any], None]) -> Callable[[Any], None]:
    """The end of an actor's configuration, which comes before any step."""

    @functools.wraps(post_init)
    def watched(self: Any) -> None:
        post_init(self)
        if self.policy_loss.get("loss_mode") in _METHODS:
            _plan_in_engines()

    return watched


ActorConfig.__post_init__ = _watching(ActorConfig.__post_init__)
