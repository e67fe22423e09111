"""SkyRL's trainer as `skyrl/train/trainer.py` of 0.4.0 has it: `_normalize_advantages` scales advantages by mini-batch.

SkyRL itself imports vLLM, so that its modules are stand-ins here.
"""

import importlib
import sys
import types
from typing import Any

import entropy_rl as er
import pytest
from stand_in import stand_in

torch = pytest.importorskip("torch", reason="torch is not installed")

ROWS, LENGTH, BOUNDARIES = 8, 12, [(0, 4), (4, 8)]
SETTINGS = dict(fraction=0.1, covariance_low=0.2, covariance_high=5.0)


class RayPPOTrainer:
    """Its constructor's arguments, and its scaling with `loss_reduction=token_mean`."""

    def __init__(self, **parts: Any) -> None:
        vars(self).update(parts)

    def _normalize_advantages(self, data: Any, mini_batch_boundaries: Any, prompt_boundaries: Any = None) -> Any:
        scaled = torch.zeros_like(data["advantages"])
        for start, end in mini_batch_boundaries:
            scaled[start:end] = data["advantages"][start:end] / data["loss_mask"][start:end].sum().clamp(min=1)
        data["advantages"] = scaled
        return data


class BasePPOExp:
    """An experiment, of which `run` makes the trainer by keywords."""

    def __init__(self, cfg: Any) -> None:
        self.cfg = cfg

    def run(self) -> None:
        ran.append(self.get_trainer(cfg=self.cfg, tracker=None))  # type: ignore[attr-defined]


ran: list[Any] = []


class SkyRLTrainConfig:
    from_cli_overrides = staticmethod(lambda words: types.SimpleNamespace(words=words))


def remote(**options: Any) -> Any:
    return lambda function: types.SimpleNamespace(remote=function)


@pytest.fixture
def skyrl(monkeypatch: Any) -> Any:
    stand_in(monkeypatch, "ray", remote=remote, get=lambda result: result)
    stand_in(monkeypatch, "skyrl.train.utils.utils", initialize_ray=lambda config: None)
    monkeypatch.setattr(sys.modules["skyrl.train.utils"], "validate_cfg", lambda config: None, raising=False)
    stand_in(monkeypatch, "skyrl.train.config", SkyRLTrainConfig=SkyRLTrainConfig)
    stand_in(monkeypatch, "skyrl.train.trainer", RayPPOTrainer=RayPPOTrainer)
    stand_in(monkeypatch, "skyrl.train.entrypoints.main_base", BasePPOExp=BasePPOExp)
    monkeypatch.delitem(sys.modules, "entropy_rl.skyrl", raising=False)
    return importlib.import_module("entropy_rl.skyrl")


def trainer(skyrl: Any, advantage_batch_normalize: bool = False) -> Any:
    clip_cov = types.SimpleNamespace(clip_ratio=0.1, clip_cov_lb=0.2, clip_cov_ub=5.0)
    algorithm = types.SimpleNamespace(clip_cov=clip_cov, advantage_batch_normalize=advantage_batch_normalize)
    config = types.SimpleNamespace(trainer=types.SimpleNamespace(algorithm=algorithm, seed=42))
    return skyrl.ClipCovTrainer(cfg=config, all_metrics={}, global_step=5)


def batch() -> dict[str, Any]:
    generator = torch.Generator().manual_seed(4)
    log_prob = -torch.empty(ROWS, LENGTH).exponential_(generator=generator)
    mask = (torch.rand(ROWS, LENGTH, generator=generator) < 0.9).int()
    advantage = torch.randn(ROWS, 1, generator=generator).expand(ROWS, LENGTH).clone()
    return dict(action_log_probs=log_prob, loss_mask=mask, response_mask=mask, advantages=advantage)


def test_each_mini_batch_drops_its_own_choice(skyrl: Any) -> None:
    found, before, made = batch(), batch(), trainer(skyrl)
    returned = made._normalize_advantages(found, BOUNDARIES)
    assert returned is found
    mask, share = before["loss_mask"].bool(), []
    for start, end in BOUNDARIES:
        rows = slice(start, end)
        log_prob, advantage = before["action_log_probs"][rows], before["advantages"][rows]
        dropped = er.clip_cov_mask(log_prob, log_prob, advantage, response_mask=mask[rows], seed=47, **SETTINGS)
        assert dropped.sum() == int(0.1 * mask[rows].sum()) > 2
        share.append(dropped)
        expected = torch.where(dropped, 0.0, advantage / mask[rows].sum())
        torch.testing.assert_close(found["advantages"][rows], expected, rtol=1e-6, atol=0)
    selected = float(torch.cat(share).sum() / mask.sum())
    assert made.all_metrics["entropy_rl/selected"] == pytest.approx(selected)
    assert "entropy_rl/covariance/mean" in made.all_metrics


def test_covariances_that_would_move_are_refused(skyrl: Any) -> None:
    with pytest.raises(ValueError, match="advantage_batch_normalize"):
        trainer(skyrl, advantage_batch_normalize=True)._normalize_advantages(batch(), BOUNDARIES)


def test_the_entry_point_trains_with_this_trainer(skyrl: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(sys, "argv", ["main", "trainer.override_entrypoint=entropy_rl.skyrl", "trainer.seed=1"])
    skyrl.main()
    assert isinstance(ran[-1], skyrl.ClipCovTrainer) and ran[-1].cfg.words == ["trainer.seed=1"]
