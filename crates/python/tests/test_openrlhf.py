"""The reward file of OpenRLHF, loaded as `openrlhf/utils/agent.py` of 0.11.2 does it."""

import importlib.util
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")


def test_the_file_has_a_reward_function() -> None:
    command = [sys.executable, "-m", "entropy_rl.openrlhf"]
    file = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout.strip()
    assert file.endswith(".py")
    spec = importlib.util.spec_from_file_location("reward_func", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    prompt = r"Put the answer into \boxed{7}."
    queries = [prompt + r" \boxed{7}", prompt + " I give up.", r"<s>Another \boxed{8}"]
    found = module.reward_func(queries, [prompt] * 3, ["7"] * 3)
    # The answer in the prompt does not count.
    assert found["rewards"].tolist() == found["scores"].tolist() == [1.0, 0.0, 0.0]
    assert abs(found["extra_logs"]["accuracy"].item() - 1 / 3) < 1e-6
