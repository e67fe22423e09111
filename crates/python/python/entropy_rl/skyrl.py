"""SkyRL: Clip-Cov over the whole mini-batch, as `trainer.override_entrypoint=entropy_rl.skyrl`.

SkyRL's registry hands a policy loss one micro-batch. So the tokens are chosen where the trainer scales the advantages of a
mini-batch, over all its sequences, and an advantage of 0 drops them. The settings are SkyRL's own,
`trainer.algorithm.clip_cov`; the loss is `trainer.algorithm.policy_loss_type=regular`, its clip `eps_clip_low` and `_high`.
"""

from __future__ import annotations

import sys
from typing import Any, Optional

import ray
import torch
from skyrl.train.config import SkyRLTrainConfig
from skyrl.train.entrypoints.main_base import BasePPOExp
from skyrl.train.trainer import RayPPOTrainer
from skyrl.train.utils import validate_cfg
from skyrl.train.utils.utils import initialize_ray

from entropy_rl._native import clip_cov_mask
from entropy_rl.metrics import step_metrics

_ENTRYPOINT = "trainer.override_entrypoint="


class ClipCovTrainer(RayPPOTrainer):  # type: ignore[misc, unused-ignore]
    """SkyRL's trainer, whose advantages are 0 at the tokens that Clip-Cov drops."""

    @torch.no_grad()
    def _normalize_advantages(self, data: Any, mini_batch_boundaries: Any, prompt_boundaries: Optional[Any] = None) -> Any:
        algorithm = self.cfg.trainer.algorithm
        if algorithm.advantage_batch_normalize:
            raise ValueError("`trainer.algorithm.advantage_batch_normalize` must be false: it would move covariances")
        settings = dict(
            fraction=algorithm.clip_cov.clip_ratio,
            covariance_low=algorithm.clip_cov.clip_cov_lb,
            covariance_high=algorithm.clip_cov.clip_cov_ub,
        )
        dropped = torch.zeros_like(data["loss_mask"], dtype=torch.bool)
        for start, end in mini_batch_boundaries:
            log_prob, advantage = data["action_log_probs"][start:end], data["advantages"][start:end]
            mask = data["loss_mask"][start:end].bool()
            seed = self.cfg.trainer.seed + self.global_step
            dropped[start:end] = clip_cov_mask(
                log_prob, log_prob, advantage, response_mask=mask, seed=seed, **settings
            )
        mask = data["loss_mask"].bool()
        metrics = step_metrics(data["action_log_probs"], data["advantages"], response_mask=mask)
        metrics["selected"] = float(dropped.sum() / mask.sum())
        self.all_metrics.update({f"entropy_rl/{name}": value for name, value in metrics.items()})
        data = super()._normalize_advantages(data, mini_batch_boundaries, prompt_boundaries)
        data["advantages"] = data["advantages"] * ~dropped
        return data


class ClipCovExp(BasePPOExp):  # type: ignore[misc, unused-ignore]
    """SkyRL's experiment with this trainer."""

    def get_trainer(self, *args: Any, **kwargs: Any) -> ClipCovTrainer:
        """Make the trainer of the arguments that SkyRL passes to its own."""
        return ClipCovTrainer(*args, **kwargs)


@ray.remote(num_cpus=1)  # type: ignore[untyped-decorator, unused-ignore]
def _run(config: Any) -> None:
    ClipCovExp(config).run()


def main() -> None:
    """Train by the overrides of the command line."""
    config = SkyRLTrainConfig.from_cli_overrides([word for word in sys.argv[1:] if not word.startswith(_ENTRYPOINT)])
    validate_cfg(config)
    initialize_ray(config)
    ray.get(_run.remote(config))
