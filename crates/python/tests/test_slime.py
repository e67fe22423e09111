"""The hooks of slime as `slime/backends/megatron_utils/actor.py` and `slime/rollout/rm_hub` of 624b824a8 call them."""

import asyncio
import importlib
import types
from typing import Any

import entropy_rl as er
import pytest
from stand_in import stand_in

torch = pytest.importorskip("torch", reason="torch is not installed")

LENGTHS = [9, 4, 12, 7]
SETTINGS = dict(fraction=0.1, covariance_low=0.2, covariance_high=5.0)


@pytest.fixture
def slime(monkeypatch: Any) -> Any:
    stand_in(monkeypatch, "megatron.core.mpu", get_data_parallel_group=lambda: None)
    # slime imports the module by its name: `load_function`.
    return importlib.import_module("entropy_rl.slime")


def arguments(**others: Any) -> Any:
    return types.SimpleNamespace(seed=1234, context_parallel_size=1, entropy_rl_clip_cov=SETTINGS, **others)


def rollout_data() -> dict[str, Any]:
    generator = torch.Generator().manual_seed(1)
    log_probs = [-torch.empty(length).exponential_(generator=generator) for length in LENGTHS]
    masks = [(torch.rand(length, generator=generator) < 0.9).int() for length in LENGTHS]
    advantages = [torch.full((length,), value) for length, value in zip(LENGTHS, (1.5, -0.5, 0.7, -1.2))]
    return dict(log_probs=log_probs, loss_masks=masks, advantages=advantages, returns=advantages, response_lengths=LENGTHS)


def test_dropped_tokens_have_no_advantage_and_the_rest_its_own(slime: Any) -> None:
    data, before = rollout_data(), rollout_data()
    slime.clip_cov(arguments(), 3, data)
    flat = {name: torch.cat(before[name]) for name in ("log_probs", "advantages", "loss_masks")}
    trained = flat["loss_masks"].bool()
    columns = (flat["log_probs"][trained], flat["advantages"][trained])
    dropped = er.clip_cov_mask(columns[0], columns[0], columns[1], seed=1237, **SETTINGS)
    assert dropped.sum() == int(0.1 * trained.sum())
    after = torch.cat(data["advantages"])
    assert (after[trained] == torch.where(dropped, 0.0, columns[1])).all()
    assert (after[~trained] == flat["advantages"][~trained]).all()
    assert [len(row) for row in data["advantages"]] == LENGTHS
    assert data["entropy_rl/selected"] == [pytest.approx(float(dropped.float().mean()))]


def test_other_stages_and_log_probs_of_the_rollout(slime: Any) -> None:
    stage: dict[str, Any] = {"response_lengths": LENGTHS}
    slime.clip_cov(arguments(), 0, stage)
    assert stage == {"response_lengths": LENGTHS}
    data, renamed = rollout_data(), rollout_data()
    renamed["rollout_log_probs"] = renamed.pop("log_probs")
    slime.clip_cov(arguments(), 0, data)
    slime.clip_cov(arguments(), 0, renamed)
    assert all((a == b).all() for a, b in zip(data["advantages"], renamed["advantages"]))
    parallel = arguments()
    parallel.context_parallel_size = 2
    with pytest.raises(ValueError, match="`context_parallel_size` must be 1"):
        slime.clip_cov(parallel, 0, rollout_data())


def test_the_verifier_is_a_reward_of_one_sample_and_of_many(slime: Any) -> None:
    samples = [types.SimpleNamespace(response=text, label="7") for text in (r"\boxed{7}", r"\boxed{8}", "?")]
    assert asyncio.run(slime.accuracy(arguments(), samples[0])) == 1.0
    assert asyncio.run(slime.accuracy(arguments(), samples)) == [1.0, 0.0, 0.0]
