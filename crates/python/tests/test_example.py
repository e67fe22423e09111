"""The example runs from nothing, with its own assertions on."""

import pathlib
import subprocess
import sys

EXAMPLE = pathlib.Path(__file__).parents[1] / "examples" / "theory.py"


def test_the_theory_holds_from_lemma_1_to_the_law() -> None:
    run = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    for words in ("Lemma 1: ", "Theorem 1: ", "Theorem 2: ", "kl-cov: entropy ", "law of ppo-clip: R = "):
        assert words in run.stdout, run.stdout
