"""Sequences of one optimiser step, brought together from all ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Optional

import torch
import torch.distributed as dist
from torch.nn.functional import pad

Columns = dict[str, torch.Tensor]


def all_rows(columns: Mapping[str, torch.Tensor], group: Optional[dist.ProcessGroup] = None) -> tuple[Columns, slice]:
    """Gather columns, each [rows, length], from all ranks of a group, and give this rank's rows among them.

    Every rank gets the same columns, rank after rank, and so chooses the same tokens from them. Ranks may differ
    in rows and in length. Without a process group the columns are returned as they are.
    """
    local = {name: column.detach() for name, column in columns.items()}
    rows = len(next(iter(local.values())))
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size(group) == 1:
        return local, slice(0, rows)
    parts: list[Columns] = [{} for _ in range(dist.get_world_size(group))]
    dist.all_gather_object(parts, {name: column.cpu() for name, column in local.items()}, group=group)
    sizes = [len(next(iter(part.values()))) for part in parts]
    start = sum(sizes[: dist.get_rank(group)])
    return concatenated(parts), slice(start, start + rows)


def concatenated(parts: Sequence[Mapping[str, torch.Tensor]]) -> Columns:
    """Lay the rows of all parts one after another, padded by zeros to the longest."""
    length = max(column.shape[1] for part in parts for column in part.values())
    padded = [{name: pad(column, (0, length - column.shape[1])) for name, column in part.items()} for part in parts]
    return {name: torch.cat([part[name] for part in padded]) for name in padded[0]}
