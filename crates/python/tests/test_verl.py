"""The plug-in in verl's own loss and engine interface; the model is a table of log-probabilities."""

import functools
import pathlib
import subprocess
import sys
from typing import Any

import entropy_rl as er
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("verl", reason="verl is not installed")

from verl.utils import tensordict_utils as tu  # noqa: E402
from verl.workers.config import FSDPActorConfig, PolicyLossConfig  # noqa: E402
from verl.workers.engine.base import BaseEngine  # noqa: E402
from verl.workers.engine.utils import prepare_micro_batches  # noqa: E402
from verl.workers.utils.losses import ppo_loss  # noqa: E402

PROMPT, LENGTHS = 3, [9, 4, 12, 7, 10, 5, 11, 8]
ROWS, LENGTH, TOKENS = len(LENGTHS), max(LENGTHS), sum(LENGTHS)
MASK = torch.arange(LENGTH) < torch.tensor(LENGTHS)[:, None]
GENERATOR = torch.Generator().manual_seed(5)
OLD = -torch.empty(ROWS, LENGTH, dtype=torch.float64).exponential_(1.0, generator=GENERATOR)
# As in GRPO, one advantage for all tokens of a response.
ADVANTAGE = torch.randn(ROWS, 1, generator=GENERATOR, dtype=torch.float64).expand(ROWS, LENGTH)
# The policy after some updates of the rollout.
NOW = OLD + 0.3 * torch.randn(ROWS, LENGTH, generator=GENERATOR, dtype=torch.float64)
CLIP_COV = dict(fraction=0.1, covariance_low=0.3, covariance_high=5.0)


class Table(BaseEngine):  # type: ignore[misc]
    """An engine that splits and accumulates as FSDP's does, over a table of log-probabilities."""

    def __init__(self, table: Any, ranks: int) -> None:
        self.table = torch.zeros(ROWS, PROMPT + LENGTH, dtype=torch.float64)
        self.table[:, PROMPT - 1 : -1] = table
        self.table.requires_grad_()
        self.ranks = ranks

    def forward_backward_batch(self, data: Any, loss_function: Any, forward_only: bool = False) -> Any:
        tu.assign_non_tensor(data, batch_num_tokens=TOKENS, dp_size=self.ranks, global_batch_size=ROWS)
        for micro_batch in prepare_micro_batches(data)[0]:
            rows = micro_batch["row"].tolist()
            table = [self.table[row, : PROMPT + LENGTHS[row]] for row in rows]
            output = {"log_probs": torch.nested.as_nested_tensor(table, layout=torch.jagged)}
            loss, self.metrics = loss_function(model_output=output, data=micro_batch, dp_group=None)
            loss.backward()
        return {"metrics": {}}

    def get_data_parallel_group(self) -> Any:
        return torch.distributed.group.WORLD if self.ranks > 1 else None

    def is_mp_src_rank_with_outputs(self) -> bool:
        return True

    def optimizer_zero_grad(self) -> None:
        self.table.grad = None

    def optimizer_step(self) -> float:
        return 0.0


def mini_batch(micro_batch: int, rows: range) -> Any:
    def nested(columns: Any) -> Any:
        return torch.nested.as_nested_tensor([columns[row][: LENGTHS[row]] for row in rows], layout=torch.jagged)

    tensors = {
        "prompts": torch.nested.as_nested_tensor([torch.zeros(PROMPT)] * len(rows), layout=torch.jagged),
        "responses": nested(torch.zeros(ROWS, LENGTH)),
        "response_mask": nested(MASK.long()),
        "old_log_probs": nested(OLD),
        "advantages": nested(ADVANTAGE),
        "row": torch.tensor(list(rows)),
    }
    settings = dict(use_dynamic_bsz=False, micro_batch_size_per_gpu=micro_batch)
    return tu.get_tensordict(tensors, settings)


def actor(loss_mode: str, clip: float = 1.0) -> Any:
    loss = PolicyLossConfig(
        loss_mode=loss_mode, clip_cov_ratio=0.1, clip_cov_lb=0.3, clip_cov_ub=5.0, kl_cov_ratio=0.1, ppo_kl_coef=2.0
    )
    return FSDPActorConfig(
        strategy="fsdp", rollout_n=4, ppo_micro_batch_size_per_gpu=1, clip_ratio_low=clip, clip_ratio_high=clip, policy_loss=loss
    )  # fmt: skip


def stepped(loss_mode: str, micro_batch: int, table: Any = OLD, rows: range = range(ROWS), clip: float = 1.0) -> tuple[Any, Any]:
    """Gradient of a mini-batch by log-probability, [rows, length], and what the engine reports."""
    # As in verl, the configuration is there before the first step.
    loss = functools.partial(ppo_loss, config=actor(loss_mode, clip))
    engine = Table(table, ranks=ROWS // len(rows))
    outputs = engine.train_batch(mini_batch(micro_batch, rows), loss)
    assert engine.table.grad is not None
    return engine.table.grad[:, PROMPT - 1 : -1], outputs["metrics"]


def gradient(*args: Any, **kwargs: Any) -> Any:
    return stepped(*args, **kwargs)[0]


def dropped(seed: int) -> Any:
    marks = er.clip_cov_mask(OLD, OLD, ADVANTAGE, response_mask=MASK, seed=seed, **CLIP_COV)
    assert marks.sum() == int(0.1 * TOKENS)
    return marks


def clip_cov(table: Any, marks: Any, clip: float) -> Any:
    """Gradient of the published loss by hand."""
    log_prob = table.clone().requires_grad_()
    ratio = (log_prob - OLD).exp()
    loss = torch.maximum(-ratio * ADVANTAGE, -ratio.clamp(1 - clip, 1 + clip) * ADVANTAGE)
    (gradient,) = torch.autograd.grad((loss * ~marks)[MASK].sum() / TOKENS, log_prob)
    return gradient


def kl_cov(table: Any) -> Any:
    """Gradient of the published loss by hand, its tokens chosen over the whole."""
    log_prob = table.clone().requires_grad_()
    covariance = (OLD - OLD[MASK].mean()) * (ADVANTAGE - ADVANTAGE[MASK].mean())
    largest = covariance.masked_fill(~MASK, -torch.inf).flatten().topk(int(0.1 * TOKENS)).indices
    penalised = torch.zeros(ROWS * LENGTH).index_fill(0, largest, 1.0).view(ROWS, LENGTH)
    loss = -(log_prob - OLD).exp() * ADVANTAGE + 2.0 * penalised * (log_prob - OLD).abs()
    (gradient,) = torch.autograd.grad(loss[MASK].sum() / TOKENS, log_prob)
    return gradient


def set_draws(monkeypatch: Any, seed: int) -> None:
    import entropy_rl.verl

    monkeypatch.setattr(entropy_rl.verl, "_draws", iter([seed]))


def test_the_names_are_there_after_an_import_of_verl_alone() -> None:
    program = (
        "import verl; from verl.trainer.ppo.core_algos import get_policy_loss_fn as get;"
        "assert get('entropy_rl_clip_cov') is get('entropy_rl_kl_cov')"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


@pytest.mark.parametrize("micro_batch", [1, 2, 8])
@pytest.mark.parametrize("table, clip", [(OLD, 1.0), (NOW, 0.2)], ids=["first_update", "later_update"])
def test_clip_cov_of_micro_batches_has_the_gradient_of_the_whole(monkeypatch: Any, micro_batch: int, table: Any, clip: float) -> None:
    set_draws(monkeypatch, 7)
    found = gradient("entropy_rl_clip_cov", micro_batch, table, clip=clip)
    torch.testing.assert_close(found, clip_cov(table, dropped(7), clip), rtol=0, atol=1e-12)


@pytest.mark.parametrize("micro_batch", [1, 2, 8])
def test_kl_cov_of_micro_batches_has_the_gradient_of_the_whole(micro_batch: int) -> None:
    found = gradient("entropy_rl_kl_cov", micro_batch, NOW)
    torch.testing.assert_close(found, kl_cov(NOW), rtol=0, atol=1e-12)


def of_rank(rank: int, folder: str) -> None:
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    half = ROWS // 2
    torch.save(gradient("entropy_rl_kl_cov", 1, NOW, range(rank * half, (rank + 1) * half)), f"{folder}/{rank}")
    torch.distributed.destroy_process_group()


def test_two_ranks_have_the_gradient_of_the_whole(tmp_path: pathlib.Path) -> None:
    torch.multiprocessing.spawn(of_rank, (str(tmp_path),), nprocs=2)
    # The average of the ranks, as data parallelism takes it.
    found = (torch.load(tmp_path / "0") + torch.load(tmp_path / "1")) / 2
    torch.testing.assert_close(found, kl_cov(NOW), rtol=0, atol=1e-12)


def test_verls_own_function_drops_nothing_from_micro_batches_of_one(monkeypatch: Any) -> None:
    assert (gradient("clip_cov", 1)[MASK] != 0).all()
    assert (gradient("clip_cov", 8)[MASK] == 0).sum() == int(0.1 * TOKENS)
    set_draws(monkeypatch, 3)
    assert ((gradient("entropy_rl_clip_cov", 1) == 0) == (dropped(3) | ~MASK)).all()


def test_other_losses_are_left_alone() -> None:
    found, metrics = stepped("vanilla", 2)
    torch.testing.assert_close(found[MASK], (-ADVANTAGE / TOKENS)[MASK], rtol=0, atol=1e-12)
    assert not any("entropy_rl" in name for name in metrics)


def test_the_step_is_measured() -> None:
    metrics = stepped("entropy_rl_kl_cov", 2)[1]
    covariance = (OLD - OLD[MASK].mean()) * (ADVANTAGE - ADVANTAGE[MASK].mean())
    assert abs(metrics["entropy_rl/covariance/mean"].aggregate() - covariance[MASK].mean().item()) < 1e-12


def test_a_loss_without_its_plan_says_so() -> None:
    from entropy_rl.verl import planned_loss

    with pytest.raises(RuntimeError, match="no plan of the mini-batch"):
        planned_loss(OLD, OLD, ADVANTAGE, MASK, config=actor("entropy_rl_kl_cov"))


def test_the_verifier_is_a_score() -> None:
    from verl.utils.import_utils import load_extern_object

    compute_score = load_extern_object("pkg://entropy_rl.verl", "compute_score")
    assert [compute_score("math", text, "7") for text in (r"\boxed{7}", r"\boxed{8}", "?")] == [1.0, 0.0, 0.0]
