"""TRL: `GRPOTrainer` with any policy loss of `entropy_rl`, chosen over the whole optimiser step."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from typing import Any, Optional

import torch
from trl import GRPOTrainer

from entropy_rl._native import grade, plan
from entropy_rl.metrics import RunLaw, step_metrics
from entropy_rl.ranks import all_rows, concatenated

_LOSS_TYPES = ("dapo", "grpo", "bnpo", "dr_grpo")


def accuracy(completions: list[Any], answer: list[str], **_: Any) -> list[float]:
    """Reward of each completion by the verifier, against the data set's column `answer`."""
    texts = [text if isinstance(text, str) else text[-1]["content"] for text in completions]
    rewards: list[float] = grade(texts, answer).tolist()
    return rewards


class EntropyGRPOTrainer(GRPOTrainer):
    """GRPO whose advantages, one per token, make TRL's own loss follow a policy loss of `entropy_rl`.

    At the start of each optimiser step, a forward pass without gradient measures the log-probabilities of all its
    sequences, over accumulation and ranks. The plan over them fixes the advantages, so that micro-batches do not
    matter: Clip-Cov drops its tokens by an advantage of 0, KL-Cov's penalty is in the advantage of its tokens.
    TRL's clip is off: the method has its own. What TRL adds to the loss stays, and `loss_type` weighs the tokens.

    policy_loss: name of the method, one of `entropy_rl.methods()`.
    policy_loss_settings: keys of its table in a configuration.
    """

    def __init__(
        self,
        *args: Any,
        policy_loss: str = "clip-cov",
        policy_loss_settings: Optional[Mapping[str, object]] = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        if self.loss_type not in _LOSS_TYPES or self.importance_sampling_level != "token":
            raise ValueError(
                f"`loss_type` is {self.loss_type!r}, `importance_sampling_level` {self.importance_sampling_level!r}, "
                f"expected one of {_LOSS_TYPES} and 'token'"
            )
        # Both look at the ratio or at the sign of an advantage.
        if self.args.delta is not None or self.off_policy_mask_threshold is not None:
            raise ValueError("`delta` and `off_policy_mask_threshold` must be None")
        # In older versions it stands for a fused loss.
        if getattr(self, "use_liger_kernel", False):
            raise ValueError("`use_liger_kernel` must be False")
        if self.args.steps_per_generation % self.args.gradient_accumulation_steps:
            raise ValueError("`steps_per_generation` must be a multiple of `gradient_accumulation_steps`")
        self.epsilon_low = self.epsilon_high = math.inf
        self._policy_loss = policy_loss
        self._policy_loss_settings = dict(policy_loss_settings or {})
        self._step_advantages: list[torch.Tensor] = []
        self._law = RunLaw()

    def _prepare_inputs(self, generation_batch: Any) -> Any:
        inputs = super()._prepare_inputs(generation_batch)
        if not self.model.training:
            return inputs
        if not self._step_advantages:
            first = self._step % self.args.steps_per_generation
            step = self._buffered_inputs[first : first + self.current_gradient_accumulation_steps]
            self._step_advantages = self._advantages_of(step)
        return {**inputs, "advantages": self._step_advantages.pop(0)}

    def _advantages_of(self, step: list[dict[str, Any]]) -> list[torch.Tensor]:
        """Advantages [batch, length] of each micro-batch of an optimiser step."""
        with torch.no_grad(), self.compute_loss_context_manager():
            columns, local = all_rows(concatenated([self._columns(inputs) for inputs in step]))
        mask = columns.pop("response_mask")
        if self._step % (self.args.steps_per_generation * self.num_iterations) == 0:
            # No update since the rollout: rounding between two passes would give KL-Cov's penalty a slope.
            columns["old_log_prob"] = columns["log_prob"]
        loss_plan = plan(
            self._policy_loss,
            **columns,
            response_mask=mask,
            seed=self.args.seed + self.state.global_step,
            **self._policy_loss_settings,
        )
        advantages = loss_plan.evaluate(**columns, response_mask=mask).advantages[local]
        three = {name: columns[name] for name in ("log_prob", "advantage", "entropy")}
        metrics = {**step_metrics(**three, response_mask=mask), "selected": loss_plan.selected / loss_plan.tokens}
        rewards = self._metrics["train"].get("reward")
        if rewards:
            metrics |= self._law.add(columns["entropy"][mask.bool()].mean().item(), rewards[-1])
        for name, value in metrics.items():
            self._metrics["train"][f"entropy_rl/{name}"].append(value)
        device, dtype = step[0]["advantages"].device, columns["log_prob"].dtype
        return list(advantages.to(device, dtype).split([len(inputs["advantages"]) for inputs in step]))

    def _columns(self, inputs: dict[str, Any]) -> dict[str, torch.Tensor]:
        """Columns of a micro-batch under the current policy, each [batch, length]."""
        completion_ids, mask = inputs["completion_ids"], inputs["completion_mask"]
        forward = self._get_per_token_logps_and_entropies
        extra = {name: inputs[name] for name in inspect.signature(forward).parameters if name in inputs}
        log_prob, entropy, _ = forward(
            self.model,
            torch.cat([inputs["prompt_ids"], completion_ids], dim=1),
            torch.cat([inputs["prompt_mask"], mask], dim=1),
            completion_ids.size(1),
            compute_entropy=True,
            **extra,
        )
        columns = {
            "log_prob": log_prob,
            "old_log_prob": inputs.get("old_per_token_logps", log_prob),
            "advantage": inputs["advantages"].reshape(len(mask), -1).expand_as(log_prob),
            "entropy": entropy,
            "response_mask": mask * inputs.get("tool_mask", 1),
        }
        optional = {"reference_log_prob": "ref_per_token_logps", "rollout_log_prob": "sampling_per_token_logps"}
        return columns | {name: inputs[key] for name, key in optional.items() if key in inputs}
