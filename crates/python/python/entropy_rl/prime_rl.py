"""prime-rl: policy losses that choose no tokens, as `[trainer.loss] type = "custom"`, `import_path = "entropy_rl.prime_rl.loss"`.

prime-rl hands a loss one sequence at a time. Clip-Cov and KL-Cov choose over the mini-batch, and within one sequence
GRPO's advantages are constant, every covariance 0: they are refused.
"""

from __future__ import annotations

from typing import Any

import torch
from prime_rl.trainer.rl.loss import LossOutputs

from entropy_rl._native import plan
from entropy_rl.torch import policy_loss

# Of a sequence they are what they are of the batch.
METHODS = ("ppo-clip", "cispo", "gspo", "gmpo", "sapo", "dppo-tv", "dppo-kl", "dro", "ce-gppo", "sign-weight")


def loss(inputs: Any, method: str = "ppo-clip", **settings: Any) -> LossOutputs:
    """Sum of a method's loss over the tokens of a sequence; prime-rl divides by the number of tokens of the batch.

    method: one of METHODS. settings: keys of its table in a configuration. Both stand in `[trainer.loss.kwargs]`.
    """
    if method not in METHODS:
        raise ValueError(f"`method` is {method!r}, expected one of {METHODS}: the loss of a sequence alone")
    mask = inputs.loss_mask.unsqueeze(0)
    if inputs.loss_weights is not None and (inputs.loss_weights[inputs.loss_mask] != 1).any():
        raise ValueError("`loss_weights` must be 1")
    three = (inputs.trainer_logprobs, inputs.inference_logprobs, inputs.advantages)
    log_prob, old_log_prob, advantage = (column.unsqueeze(0) for column in three)
    sequence = plan(method, log_prob, old_log_prob, advantage, response_mask=mask, aggregation="seq-mean-token-sum", **settings)
    found = sequence.evaluate(log_prob, old_log_prob, advantage, response_mask=mask)
    sums = {"clipped": found.clipped, "altered": found.altered, "ppo_kl": found.neg_log_ratio}
    metrics = {f"entropy_rl/{name}": torch.tensor(value / max(1, found.tokens)) for name, value in sums.items()}
    return LossOutputs(loss=policy_loss(sequence, log_prob, old_log_prob, advantage, mask), metrics=metrics)
