"""slime: Clip-Cov as `--rollout-data-postprocess-path entropy_rl.slime.clip_cov`, the verifier as `--custom-rm-path`.

slime's loss sees one micro-batch. So the tokens are chosen before training, over the rollout of all ranks, and an
advantage of 0 drops them: with one update a rollout this is the published loss. The hook runs after advantages have been
normalised, which `--custom-advantage-function-path` would not: there a dropped token's 0 would become another number.
"""

from __future__ import annotations

from typing import Any, Union

from megatron.core import mpu
from torch.nn.utils.rnn import pad_sequence

from entropy_rl._native import clip_cov_mask, grade, verify
from entropy_rl.metrics import step_metrics
from entropy_rl.ranks import all_rows


async def accuracy(args: Any, sample: Any, **_: Any) -> Union[float, list[float]]:
    """Reward by the verifier, for `--custom-rm-path entropy_rl.slime.accuracy`; of a list of samples, a list."""
    if not isinstance(sample, list):
        return 1.0 if verify(sample.response, sample.label) else 0.0
    rewards: list[float] = grade([one.response for one in sample], [one.label for one in sample]).tolist()
    return rewards


def clip_cov(args: Any, rollout_id: int, rollout_data: dict[str, Any]) -> None:
    """Set the advantages of the tokens that Clip-Cov drops to 0.

    Settings are those of `entropy_rl.clip_cov_mask`, under `entropy_rl_clip_cov` in the file of `--custom-config-path`.
    slime's own clip stays: set `--eps-clip 1 --eps-clip-high 1` as published.
    """
    if "advantages" not in rollout_data:
        return  # Only the last pipeline stage has them.
    if args.context_parallel_size > 1:
        raise ValueError("`context_parallel_size` must be 1: a rank has a part of each response")
    lists = {
        # slime leaves the first out where the loss has the log-probabilities anyway.
        "log_prob": rollout_data.get("log_probs") or rollout_data["rollout_log_probs"],
        "advantage": rollout_data["advantages"],
        "mask": rollout_data["loss_masks"],
    }
    padded = {name: pad_sequence(list(parts), batch_first=True) for name, parts in lists.items()}
    columns, local = all_rows(padded, mpu.get_data_parallel_group())
    log_prob, advantage, mask = columns["log_prob"], columns["advantage"], columns["mask"].bool()
    settings = getattr(args, "entropy_rl_clip_cov", {})
    dropped = clip_cov_mask(
        log_prob, log_prob, advantage, response_mask=mask, seed=args.seed + rollout_id, **settings
    )
    rows = zip(lists["advantage"], dropped[local])
    rollout_data["advantages"] = [row * ~marks[: len(row)].to(row.device) for row, marks in rows]
    # slime logs lists of numbers.
    metrics = {**step_metrics(log_prob, advantage, response_mask=mask), "selected": float(dropped.sum() / mask.sum())}
    rollout_data.update({f"entropy_rl/{name}": [value] for name, value in metrics.items()})
