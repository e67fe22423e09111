"""OpenRLHF: the verifier as `--reward.remote_url FILE`, the file of this module: `python -m entropy_rl.openrlhf` prints it."""

from __future__ import annotations

from typing import Any

import torch

from entropy_rl._native import grade


def reward_func(queries: list[str], prompts: list[str], labels: list[str]) -> dict[str, Any]:
    """Reward each response, the query after its prompt, against its label."""
    responses = [query[len(prompt) :] if query.startswith(prompt) else query for query, prompt in zip(queries, prompts)]
    rewards = torch.from_numpy(grade(responses, labels)).float()
    return {"rewards": rewards, "scores": rewards, "extra_logs": {"accuracy": rewards.mean()}}


if __name__ == "__main__":
    print(__file__)
