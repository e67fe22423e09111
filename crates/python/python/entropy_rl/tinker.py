"""Tinker: any policy loss of `entropy_rl` for `TrainingClient.forward_backward_custom`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable, Optional

import torch
from torch.nn.utils.rnn import pad_sequence

from entropy_rl._native import plan
from entropy_rl.torch import policy_loss

CustomLoss = Callable[[Sequence[Any], Sequence[torch.Tensor]], tuple[torch.Tensor, dict[str, float]]]


def custom_loss(method: str, *, seed: Optional[int] = None, **settings: Any) -> CustomLoss:
    """Make the loss of one optimiser step, to pass to `forward_backward_custom`.

    Each datum has `logprobs` as sampled, `advantages` and `mask` among its `loss_fn_inputs`, as those of
    tinker-cookbook's `rl.data_processing` have. All data of the optimiser step stand in one call: the method selects over them.
    Arguments as in `entropy_rl.plan`; another seed for each step.
    """

    def loss(data: Sequence[Any], logprobs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, dict[str, float]]:
        log_prob = pad_sequence(list(logprobs), batch_first=True)
        old_log_prob, advantage, mask = (_padded(data, name, log_prob) for name in ("logprobs", "advantages", "mask"))
        step = plan(method, log_prob, old_log_prob, advantage, response_mask=mask, seed=seed, **settings)
        # Tokens of `loss` and of `evaluate` are the same: the first has the gradient, the second the sums.
        sums = step.evaluate(log_prob, old_log_prob, advantage, response_mask=mask)
        metrics = {name: getattr(sums, name) / max(1, sums.tokens) for name in ("selected", "clipped", "altered")}
        metrics["ppo_kl"] = sums.neg_log_ratio / max(1, sums.tokens)
        value = policy_loss(step, log_prob, old_log_prob, advantage, mask)
        return value, {f"entropy_rl/{name}": number for name, number in metrics.items()}

    return loss


def _padded(data: Sequence[Any], name: str, like: torch.Tensor) -> torch.Tensor:
    """A column of the data, [data, length]."""
    columns = [datum.loss_fn_inputs[name].to_torch().to(like) for datum in data]
    return pad_sequence(columns, batch_first=True)
