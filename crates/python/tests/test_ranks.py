"""Rows of two ranks, brought together through a process group."""

import pathlib
from typing import Any

import entropy_rl as er
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from entropy_rl.ranks import all_rows, concatenated  # noqa: E402

WIDTHS = ((3, 7), (2, 5))


def columns(rank: int) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(rank)
    shape = WIDTHS[rank]
    mask = torch.rand(shape, generator=generator) < 0.8
    numbers = {name: torch.randn(shape, generator=generator).double() for name in ("log_prob", "advantage")}
    return {**numbers, "mask": mask}


def gather(rank: int, folder: str) -> None:
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    found, local = all_rows(columns(rank))
    torch.save((found, local), f"{folder}/{rank}")
    torch.distributed.destroy_process_group()


def test_every_rank_has_the_rows_of_all_and_knows_its_own(tmp_path: pathlib.Path) -> None:
    torch.multiprocessing.spawn(gather, (str(tmp_path),), nprocs=2)
    expected = concatenated([columns(0), columns(1)])
    for rank, rows in enumerate((slice(0, 3), slice(3, 5))):
        found, local = torch.load(tmp_path / str(rank), weights_only=False)
        assert local == rows and all((found[name] == expected[name]).all() for name in expected)
        inside = found["log_prob"][local, : WIDTHS[rank][1]]
        assert (inside == columns(rank)["log_prob"]).all()


def test_padding_is_outside_of_the_mask() -> None:
    whole = concatenated([columns(0), columns(1)])
    assert whole["mask"].dtype == torch.bool and whole["mask"].sum() == sum(columns(r)["mask"].sum() for r in (0, 1))
    found = er.kl_cov_mask(whole["log_prob"], whole["advantage"], response_mask=whole["mask"], fraction=0.2)
    assert not found[~whole["mask"]].any() and found.sum() == max(1, int(0.2 * whole["mask"].sum()))


def test_without_a_process_group_rows_are_as_they_are() -> None:
    found, local = all_rows(columns(0))
    assert local == slice(0, 3) and (found["log_prob"] == columns(0)["log_prob"]).all()
