"""Runs of llm-trainer on a device against the same runs on the CPU: on the machine's GPU, started by scripts/gpu-check.sh, and by
test_emulated.py on emulated CUDA."""

import json
import math
import os
import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor

from runs import FIXTURES, SINGLE, TRAINER, Rehearsal, environment, metrics


def tokens(folder):
    """Tokens of all responses by step."""
    found = {}
    for path in sorted(folder.glob("step-*.jsonl")):
        lines = map(json.loads, path.read_text().splitlines())
        groups = [line["responses"]["samples"] for line in lines if "responses" in line]
        found[path.name] = [[sample["sequence"] for sample in group] for group in groups]
    return found


def difference(left, right):
    """Largest difference of two runs' numbers relative to the larger, and the number's name; numbers below 1e-3 count as those."""
    worst = (0.0, "none")
    for step, (a, b) in enumerate(zip(left, right, strict=True), start=1):
        assert a.keys() == b.keys(), a.keys() ^ b.keys()
        for name, value in a.items():
            if name.startswith(("rollout/mismatch", "entropy/measured_change")):
                continue
            other = b[name]
            off = abs(value - other) / max(abs(value), abs(other), 1e-3)
            worst = max(worst, (math.inf if math.isnan(off) else off, f"{name} of step {step}: {value} {other}"))
    return worst


# How far numbers of bf16 are from the CPU's, whose kernels round in other places; responses are the CPU's.
BF16_NUMBERS = {"actor/entropy": 5e-3, "actor/grad_norm": 5e-2, "critic/rewards/mean": 1e-9, "response_length/mean": 1e-9}


class Device(Rehearsal):
    where = "device"
    # How far numbers are from the CPU's, relative: a device adds in another order, and moments are of f32 at f64 too. On an H100 3.0e-7
    # and 1.5e-4. A resumed run differs as well: libtorch adds gradients of attention and of the embedding in any order.
    bounds = {"f64": 1e-6, "f32": 1e-3, "resumed": 1e-3}

    def each(self, names, check):
        """Calls `check` with each name, several at a time where the machine has cores for them."""
        with ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2)) as pool:
            outcomes = {name: pool.submit(check, name) for name in names}
        for name, outcome in outcomes.items():
            with self.subTest(name):
                outcome.result()

    def compare(self, name, settings, ranks=1):
        """The run on the device draws the CPU's tokens and computes its numbers, each rank on its own device."""
        saved = lambda of: ["--save-rollouts", str(self.folder / f"{name}-{of}-rollouts")]
        narrow = name.startswith("bf16")
        self.run_or_fail(f"{name}-cpu", settings, ranks=ranks, arguments=saved("cpu"))
        replayed = ["--replay-rollouts", str(self.folder / f"{name}-cpu-rollouts")]
        arguments = replayed if narrow else saved("cuda")
        counts = self.run_or_fail(f"{name}-cuda", settings, ranks=ranks, where=self.where, arguments=arguments)
        cpu, cuda = (metrics(self.folder / f"{name}-{device}") for device in ("cpu", "cuda"))
        if narrow:
            for step, (a, b) in enumerate(zip(cpu, cuda, strict=True), start=1):
                self.assert_near_in_bf16(a, b, step)
            # And it samples: decoding and training round apart.
            sampled = self.run_or_fail(f"{name}-sampled", settings, ranks=ranks, where=self.where)
            counts += sampled
            for line in metrics(self.folder / f"{name}-sampled"):
                self.assertLessEqual(line.get("rollout/mismatch_kl", 0.0), 5e-3)
        else:
            drawn = [tokens(self.folder / f"{name}-{device}-rollouts") for device in ("cpu", "cuda")]
            self.assertEqual(len(drawn[0]), 2)
            self.assertEqual(*drawn)
            off, number = difference(cpu, cuda)
            print(f"{name}: {off:.1e} of {number}", flush=True)
            self.assertLessEqual(off, self.bounds["f64" if "f64" in name else "f32"], number)
        return counts

    def assert_near_in_bf16(self, left, right, step):
        for number, bound in BF16_NUMBERS.items():
            if number in left:
                self.assertLessEqual(abs(left[number] - right[number]), bound * abs(left[number]), f"{number} of step {step}")

    def test_one_device(self):
        self.each(SINGLE, lambda name: self.compare(name, SINGLE[name]))

    def test_resumed(self):
        names = ("f32", "lora", "prime", "offload", "repeatable", "bf16", "bf16-split", "bf16-none", "bf16-lora", "bf16-repeatable")
        self.each(names, lambda name: self.resume(name, SINGLE[name], 1))

    def test_long_sequences_resumed(self):
        """Attention's gradient comes from several blocks of keys."""
        long = ["rollout.max_response_tokens=400", "training.micro_batch_tokens=2048", "rollout.prompts_per_step=4", "algorithm.mini_batch_prompts=2"]
        self.each(("repeatable", "bf16-repeatable"), lambda name: self.resume(f"{name}-long", [*SINGLE[name], *long], 1))

    def resume(self, name, settings, ranks):
        """A run of two parts computes the numbers of one that is not interrupted: to the bit where a device adds in one order."""
        self.run_or_fail(f"{name}-whole", settings, where=self.where, ranks=ranks)
        self.run_or_fail(f"{name}-parts", [*settings, "training.steps=1", "evaluation.every=0"], where=self.where, ranks=ranks)
        self.run_or_fail(f"{name}-parts", settings, where=self.where, ranks=ranks)
        whole, parts = (metrics(self.folder / f"{name}-{part}")[-1] for part in ("whole", "parts"))
        self.assertEqual(whole["step"], 2)
        if "repeatable" in name or not self.bounds["resumed"]:
            self.assertEqual(whole, parts)
        elif name.startswith("bf16"):
            self.assert_near_in_bf16(whole, parts, 2)
        else:
            off, number = difference([whole], [parts])
            self.assertLessEqual(off, self.bounds["resumed"], number)

    def test_commands(self):
        model = ["--model", str(FIXTURES / "tiny_qwen2_tied"), "--dtype", "f32"]
        texts = self.folder / "texts.jsonl"
        texts.write_text(json.dumps({"text": "What is 2 + 3? And then some more text to read."}) + "\n")
        for command in (
            ["score", *model, "--input", str(texts)],
            ["generate", *model, "--prompt", "2+3=", "--samples", "3", "--seed", "7", "--max-new-tokens", "20", "--entropy"],
        ):
            with self.subTest(command[0]):
                lines = []
                for where in ("cpu", self.where):
                    device = ["--device", "cpu" if where == "cpu" else "cuda"]
                    finished = subprocess.run([TRAINER, *command, *device], env=environment(where), capture_output=True, text=True)
                    self.assertEqual(finished.returncode, 0, finished.stderr)
                    lines.append([json.loads(line) for line in finished.stdout.splitlines()])
                self.assert_near(*lines)

    def assert_near(self, left, right):
        """Equal but for numbers, which may be rounded."""
        if isinstance(left, float) and isinstance(right, float):
            self.assertAlmostEqual(left, right, delta=1e-5)
        elif isinstance(left, list | dict):
            self.assertEqual(len(left), len(right))
            for key in left if isinstance(left, dict) else range(len(left)):
                self.assert_near(left[key], right[key])
        else:
            self.assertEqual(left, right)


if __name__ == "__main__":
    unittest.main()
