"""Every block of docs/python.md runs, in order, as one program."""

import importlib.metadata
import importlib.util
import pathlib
import re

import pytest

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "python.md"
README = pathlib.Path(__file__).parents[1] / "README.md"


def blocks(page: pathlib.Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)


def test_the_example_of_the_package_index_runs() -> None:
    (program,) = blocks(README)
    exec(compile(program, str(README), "exec"), {})


@pytest.mark.parametrize("torch", [False, True], ids=["without_torch", "with_torch"])
def test_the_page_runs(torch: bool) -> None:
    if torch and importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed: the blocks of docs/python.md that import it did not run")
    program = [block for block in blocks(PAGE) if torch or "import torch" not in block]
    assert len(program) == 6 + torch
    names: dict[str, object] = {}
    for block in program:
        exec(compile(block, str(PAGE), "exec"), names)


def test_the_page_names_every_function() -> None:
    import entropy_rl

    page = PAGE.read_text(encoding="utf-8")
    functions = [name for name in dir(entropy_rl) if name.islower() and callable(getattr(entropy_rl, name)) and name[0] != "_"]
    assert len(functions) > 12
    spelled = {"extract", "explain", "token_covariances", "high_entropy_mask"}
    assert {name for name in functions if name not in page} <= spelled


def test_the_version_is_that_of_the_package() -> None:
    import entropy_rl

    assert entropy_rl.__version__ == importlib.metadata.version("entropy-rl")


def test_every_name_has_a_docstring() -> None:
    import entropy_rl

    for name in dir(entropy_rl):
        item = getattr(entropy_rl, name)
        if not name.startswith("_") and callable(item):
            assert item.__doc__, name
