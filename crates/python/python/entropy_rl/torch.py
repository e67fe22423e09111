"""Policy losses as functions of torch: value and gradient are those of `rl-losses`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

import torch

from entropy_rl._native import Evaluation, StepPlan
from entropy_rl._native import plan as plan_step


class _ValueAndGradient(torch.autograd.Function):
    """A number whose derivative by the log-probabilities is known."""

    @staticmethod
    def forward(ctx: Any, log_prob: torch.Tensor, evaluation: Evaluation[torch.Tensor]) -> torch.Tensor:
        ctx.save_for_backward(evaluation.gradient.to(log_prob.dtype))
        # Half precision would round a loss that is near 0 in every step.
        dtype = log_prob.dtype if log_prob.dtype == torch.float64 else torch.float32
        return torch.tensor(evaluation.value, dtype=dtype, device=log_prob.device)

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[misc, untyped-decorator, unused-ignore]
    def backward(ctx: Any, upstream: torch.Tensor) -> tuple[torch.Tensor, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * upstream.to(gradient.dtype), None


def policy_loss(
    method: Union[str, StepPlan],
    log_prob: torch.Tensor,
    old_log_prob: torch.Tensor,
    advantage: torch.Tensor,
    response_mask: Optional[torch.Tensor] = None,
    *,
    rows: Optional[Sequence[int]] = None,
    entropy: Optional[torch.Tensor] = None,
    old_entropy: Optional[torch.Tensor] = None,
    reference_log_prob: Optional[torch.Tensor] = None,
    rollout_log_prob: Optional[torch.Tensor] = None,
    aggregation: Union[str, Mapping[str, Mapping[str, float]], None] = None,
    micro_batches: Optional[Sequence[int]] = None,
    seed: Optional[int] = None,
    **settings: object,
) -> torch.Tensor:
    """Compute a policy loss, a scalar to call `backward` on.

    By the name of a method or preset, one of `entropy_rl.methods()` or `entropy_rl.presets()`, the tensors are the
    whole mini-batch of an optimiser step. By a plan of the mini-batch, from `entropy_rl.plan`, they are `rows` of it, and the losses of all parts
    add up to that of the whole: never average them.

    Only `log_prob` gets a gradient. Arguments as in `entropy_rl.plan`.
    """
    columns = dict(
        response_mask=response_mask,
        entropy=entropy,
        old_entropy=old_entropy,
        reference_log_prob=reference_log_prob,
        rollout_log_prob=rollout_log_prob,
    )
    three = (log_prob, old_log_prob, advantage)
    if isinstance(method, str):
        if rows is not None:
            raise ValueError("`rows` are those of a plan: pass the plan in place of the method's name")
        rules: dict[str, Any] = dict(aggregation=aggregation, micro_batches=micro_batches, seed=seed)
        method = plan_step(method, *three, **columns, **rules, **settings)
    elif settings or not (aggregation is None and micro_batches is None and seed is None):
        raise ValueError("`aggregation`, `micro_batches`, `seed` and settings of the method are those of the plan")
    evaluation = method.evaluate(*three, rows=rows, **columns)
    loss: torch.Tensor = _ValueAndGradient.apply(log_prob, evaluation)  # type: ignore[no-untyped-call]
    return loss
