"""The custom loss of prime-rl as `src/prime_rl/trainer/rl/loss.py` of 559b44772 calls it, once a sequence."""

import dataclasses
import importlib
from typing import Any, Optional

import entropy_rl as er
import pytest
from stand_in import stand_in

torch = pytest.importorskip("torch", reason="torch is not installed")


@dataclasses.dataclass
class LossInputs:
    trainer_logprobs: Any
    inference_logprobs: Any
    ref_logprobs: Any
    advantages: Any
    loss_mask: Any
    loss_weights: Optional[Any] = None


@dataclasses.dataclass
class LossOutputs:
    loss: Any
    metrics: dict[str, Any]


@pytest.fixture
def prime_rl(monkeypatch: Any) -> Any:
    stand_in(monkeypatch, "prime_rl.trainer.rl.loss", LossOutputs=LossOutputs)
    return importlib.import_module("entropy_rl.prime_rl")


def batch() -> tuple[Any, Any, Any, Any]:
    generator = torch.Generator().manual_seed(2)
    old = -torch.empty(4, 11, dtype=torch.float64).exponential_(generator=generator)
    now = (old + 0.3 * torch.randn(4, 11, generator=generator, dtype=torch.float64)).requires_grad_()
    advantage = torch.randn(4, 1, generator=generator, dtype=torch.float64).expand(4, 11)
    return now, old, advantage, torch.rand(4, 11, generator=generator) < 0.8


def test_sequences_add_up_to_the_loss_of_the_batch(prime_rl: Any) -> None:
    now, old, advantage, mask = batch()
    for method in prime_rl.METHODS:
        outputs = [prime_rl.loss(LossInputs(*row), method) for row in zip(now, old, [None] * 4, advantage, mask)]
        (found,) = torch.autograd.grad(sum(output.loss for output in outputs), now)
        plan = er.plan(method, now, old, advantage, response_mask=mask, aggregation="seq-mean-token-sum", seed=0)
        expected = plan.evaluate(now, old, advantage, response_mask=mask)
        torch.testing.assert_close(found, 4 * expected.gradient, rtol=1e-12, atol=1e-14)
        assert abs(sum(output.loss.item() for output in outputs) - 4 * expected.value) < 1e-12
        # prime-rl stacks the metrics of all sequences.
        assert all(number.dim() == 0 for output in outputs for number in output.metrics.values())


def test_the_clip_is_that_of_ppo(prime_rl: Any) -> None:
    now, old, advantage, mask = batch()
    settings = dict(clip_ratio_low=0.1, clip_ratio_high=0.1)
    outputs = [prime_rl.loss(LossInputs(*row), **settings) for row in zip(now, old, [None] * 4, advantage, mask)]
    ratio = (now - old).exp()
    by_hand = torch.maximum(-ratio * advantage, -ratio.clamp(0.9, 1.1) * advantage)[mask].sum()
    assert abs(sum(output.loss for output in outputs) - by_hand).item() < 1e-12


def test_methods_that_choose_are_refused(prime_rl: Any) -> None:
    now, old, advantage, mask = (column[0] for column in batch())
    with pytest.raises(ValueError, match="`method` is 'clip-cov', expected one of"):
        prime_rl.loss(LossInputs(now, old, None, advantage, mask), "clip-cov")
    with pytest.raises(ValueError, match="`loss_weights` must be 1"):
        prime_rl.loss(LossInputs(now, old, None, advantage, mask, 2.0 * mask))
