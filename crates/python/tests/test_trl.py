"""The adapter in TRL's own `GRPOTrainer`, on a random model of the demo's architecture."""

import functools
import pathlib
from typing import Any

import entropy_rl as er
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("trl", reason="trl is not installed")

from datasets import Dataset  # noqa: E402
from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: E402
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM, TrainerCallback  # noqa: E402
from trl import GRPOConfig  # noqa: E402

from entropy_rl.trl import EntropyGRPOTrainer, accuracy  # noqa: E402

CLIP_COV = dict(fraction=0.1, covariance_low=0.02, covariance_high=5.0)


def tokenizer() -> Any:
    words = ["<pad>", "<eos>", "<unk>", *"0123456789+=?abcdefghij"]
    inner = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>", padding_side="left"
    )


class DoubleTrainer(EntropyGRPOTrainer):
    """Log-probabilities in double precision; TRL's own are of single precision, whatever the model's."""

    def _get_per_token_logps_and_entropies(
        self, model: Any, input_ids: Any, attention_mask: Any, logits_to_keep: int, compute_entropy: bool = False, **_: Any
    ) -> tuple[Any, Any, None]:
        logits = model(input_ids=input_ids, attention_mask=attention_mask).logits[:, -logits_to_keep - 1 : -1]
        every = logits.log_softmax(-1)
        chosen = every.gather(-1, input_ids[:, -logits_to_keep:].unsqueeze(-1)).squeeze(-1)
        return chosen, -(every.detach().exp() * every.detach()).sum(-1), None


def normalised(norm: Any, hidden: Any) -> Any:
    """Root mean square norm in the precision of its input; that of transformers is in single precision."""
    return norm.weight * hidden * torch.rsqrt(hidden.pow(2).mean(-1, keepdim=True) + norm.variance_epsilon)


def model() -> Any:
    torch.manual_seed(0)
    shape = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2)
    config = Qwen2Config(vocab_size=26, pad_token_id=0, eos_token_id=1, bos_token_id=None, **shape)
    # Logits far apart, so that tokens differ in probability.
    config.initializer_range = 0.3
    policy = Qwen2ForCausalLM(config).double()
    for module in policy.modules():
        if type(module).__name__ == "Qwen2RMSNorm":
            module.forward = functools.partial(normalised, module)
    return policy


def letters(completions: list[str], **_: Any) -> list[float]:
    """Reward without meaning that differs within a group."""
    return [sum(character in "0123456789" for character in text) / 12 for text in completions]


class Observer(TrainerCallback):  # type: ignore[misc]
    """Gradient, advantages and dropped tokens of each optimiser step, and what the published loss has there."""

    def __init__(self, oracle: Any) -> None:
        self.oracle = oracle
        self.trainer: Any = None
        self.steps: list[dict[str, Any]] = []

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        parameters = list(self.trainer.model.parameters())
        found = [parameter.grad.clone() for parameter in parameters]
        batch = merged(self.trainer._buffered_inputs)
        with torch.enable_grad():
            expected = torch.autograd.grad(self.oracle(self.trainer, batch), parameters)
        self.steps.append(dict(found=found, expected=expected))


def merged(parts: list[dict[str, Any]]) -> dict[str, Any]:
    names = [name for name, value in parts[0].items() if torch.is_tensor(value) and value.dim() > 0]
    return {name: torch.cat([part[name] for part in parts]) for name in names}


def log_probs(trainer: Any, batch: dict[str, Any]) -> Any:
    """Log-probabilities of the completions, by the model alone."""
    ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
    mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)
    length = batch["completion_ids"].shape[1]
    logits = trainer.model(input_ids=ids, attention_mask=mask).logits[:, -length - 1 : -1]
    return logits.log_softmax(-1).gather(-1, batch["completion_ids"].unsqueeze(-1)).squeeze(-1)


def covariances(log_prob: Any, advantage: Any, mask: Any) -> Any:
    numbers = log_prob.detach()
    return (numbers - numbers[mask].mean()) * (advantage - advantage[mask].mean())


def parts_of(trainer: Any, batch: dict[str, Any]) -> tuple[Any, ...]:
    log_prob, mask = log_probs(trainer, batch), batch["completion_mask"].bool()
    old = batch.get("old_per_token_logps", log_prob.detach())
    advantage = batch["advantages"].double().unsqueeze(1).expand_as(log_prob)
    return log_prob, old, advantage, mask


def clip_cov(trainer: Any, batch: dict[str, Any]) -> Any:
    """The published loss, over the whole mini-batch at once, with the tokens that the package drops."""
    log_prob, old, advantage, mask = parts_of(trainer, batch)
    seed = trainer.args.seed + trainer.state.global_step
    dropped = er.clip_cov_mask(log_prob, old, advantage, response_mask=mask, seed=seed, **CLIP_COV)
    within = covariances(log_prob, advantage, mask)[dropped]
    assert len(within) == max(1, int(0.1 * mask.sum())) and ((0.02 < within) & (within < 5)).all()
    ratio = (log_prob - old).exp()
    loss = torch.maximum(-ratio * advantage, -ratio.clamp(0.0, 2.0) * advantage)
    return (loss * ~dropped)[mask].mean()


def kl_cov(trainer: Any, batch: dict[str, Any]) -> Any:
    log_prob, old, advantage, mask = parts_of(trainer, batch)
    ranked = covariances(log_prob, advantage, mask).masked_fill(~mask, -torch.inf).flatten()
    penalised = torch.zeros_like(ranked).index_fill(0, ranked.topk(int(0.1 * mask.sum())).indices, 1.0).view_as(mask)
    log_ratio = log_prob - old
    # In the first update the ratio is 1, and the penalty has no slope; what is left of it is rounding.
    penalty = torch.where(log_ratio.abs() < 1e-10, 0.0, log_ratio.abs())
    return (-log_ratio.exp() * advantage + 2.0 * penalised * penalty)[mask].mean()


def trained(folder: pathlib.Path, oracle: Any, batch: int, name: str, settings: Any, **arguments: Any) -> Any:
    options: dict[str, Any] = dict(num_iterations=1, max_steps=1, learning_rate=1e-2)
    config = GRPOConfig(
        output_dir=str(folder), per_device_train_batch_size=batch, gradient_accumulation_steps=8 // batch, seed=3,
        num_generations=4, max_completion_length=12, max_grad_norm=0.0, beta=0.0, temperature=1.0, use_cpu=True,
        report_to=[], logging_steps=1, save_strategy="no", gradient_checkpointing=False, bf16=False,
        **{**options, **arguments},
    )  # fmt: skip
    rows = [f"{a}+{b}=?" for a in range(4) for b in range(4)]
    data = Dataset.from_dict({"prompt": rows, "answer": [str(len(row)) for row in rows]})
    observer = Observer(oracle)
    trainer = DoubleTrainer(
        model=model(), reward_funcs=[letters], args=config, train_dataset=data, processing_class=tokenizer(),
        callbacks=[observer], policy_loss=name, policy_loss_settings=settings,
    )  # fmt: skip
    observer.trainer = trainer
    trainer.train()
    return trainer, observer.steps


def largest_difference(one: Any, other: Any) -> float:
    return max(float((a - b).abs().max()) for a, b in zip(one, other))


def test_batches_of_1_2_and_8_have_the_gradient_of_the_whole(tmp_path: pathlib.Path) -> None:
    runs = {batch: trained(tmp_path / str(batch), clip_cov, batch, "clip-cov", CLIP_COV)[1] for batch in (1, 2, 8)}
    for (step,) in runs.values():
        assert largest_difference(step["found"], step["expected"]) < 1e-12
        assert largest_difference(step["found"], runs[8][0]["found"]) < 1e-12
        assert max(float(gradient.abs().max()) for gradient in step["found"]) > 1e-3


@pytest.mark.parametrize(
    "name, settings, oracle", [("clip-cov", CLIP_COV, clip_cov), ("kl-cov", dict(fraction=0.1, coefficient=2.0), kl_cov)]
)
def test_five_steps_follow_the_published_loss(tmp_path: pathlib.Path, name: str, settings: Any, oracle: Any) -> None:
    trainer, steps = trained(tmp_path, oracle, 2, name, settings, num_iterations=2, max_steps=5)
    assert len(steps) == 5
    for step in steps:
        assert largest_difference(step["found"], step["expected"]) < 1e-12
    logged = [row for row in trainer.state.log_history if "entropy_rl/selected" in row]
    assert len(logged) == 5 and all(abs(row["entropy_rl/selected"] - 0.1) < 0.02 for row in logged)
    assert "entropy_rl/law/ceiling" in logged[-1] and "entropy_rl/covariance/top_0.002" in logged[0]


def test_settings_that_do_not_fit_are_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="`loss_type` is 'cispo'"):
        trained(tmp_path, clip_cov, 2, "clip-cov", {}, loss_type="cispo")
    with pytest.raises(ValueError, match="`importance_sampling_level` 'sequence'"):
        trained(tmp_path, clip_cov, 2, "clip-cov", {}, loss_type="grpo", importance_sampling_level="sequence")
    with pytest.raises(ValueError, match="`delta` and `off_policy_mask_threshold` must be None"):
        trained(tmp_path, clip_cov, 2, "clip-cov", {}, delta=2.0)
    with pytest.raises(ValueError, match="multiple of `gradient_accumulation_steps`"):
        trained(tmp_path, clip_cov, 2, "clip-cov", {}, steps_per_generation=6)


def test_the_verifier_is_a_reward() -> None:
    chat = [[{"role": "assistant", "content": r"\boxed{7}"}]]
    assert accuracy(chat, ["7"]) == [1.0] and accuracy([r"\boxed{7}", "?"], ["8", "8"], extra=1) == [0.0, 0.0]
