"""Runs of llm-trainer on emulated CUDA against the same runs on the CPU; started by scripts/test-cuda-rehearsal.sh.

Emulated CUDA checks like a device: it refuses operators on tensors of two devices, its fresh memory is NaN, a host that follows a
pointer of it ends by a signal, and copies to pinned memory arrive at the next synchronisation only.
"""

import json
import math
import subprocess
import threading
import unittest

from runs import BF16, EMULATED, FIXTURES, RANKS, SINGLE, TRAINER, Rehearsal, environment, free_port, metrics, run


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
# Counts of a device that a mistake must not leave as they are.
TRANSFERS = (
    "operators", "copies on a device", "copies to a device", "bytes to a device", "copies to the host", "bytes to the host", "synchronisations",
)
SPLIT = SINGLE["bf16-split"]
# Without checkpoints, whose tensors are read after the last of them has arrived.
MISTAKEN = [*SPLIT, "checkpoint.every=0"]


class Emulated(Rehearsal):
    def compare(self, name, settings, ranks=1):
        """The run on emulated devices draws the CPU's tokens and computes its numbers, each rank on its own device."""
        saved = lambda of: ["--save-rollouts", str(self.folder / f"{name}-{of}-rollouts")]
        narrow = name.startswith("bf16")
        self.run_or_fail(f"{name}-cpu", settings, ranks=ranks, arguments=saved("cpu"))
        replayed = ["--replay-rollouts", str(self.folder / f"{name}-cpu-rollouts")]
        arguments = replayed if narrow else saved("cuda")
        counts = self.run_or_fail(f"{name}-cuda", settings, ranks=ranks, where="emulated", arguments=arguments)
        cpu, cuda = (metrics(self.folder / f"{name}-{device}") for device in ("cpu", "cuda"))
        if narrow:
            for step, (a, b) in enumerate(zip(cpu, cuda, strict=True), start=1):
                for number, bound in BF16_NUMBERS.items():
                    if number in a:
                        self.assertLessEqual(abs(a[number] - b[number]), bound * abs(a[number]), f"{number} of step {step}")
            # And it samples: decoding and training round apart.
            sampled = self.run_or_fail(f"{name}-sampled", settings, ranks=ranks, where="emulated")
            counts += sampled
            for line in metrics(self.folder / f"{name}-sampled"):
                self.assertLessEqual(line.get("rollout/mismatch_kl", 0.0), 5e-3)
        else:
            drawn = [tokens(self.folder / f"{name}-{device}-rollouts") for device in ("cpu", "cuda")]
            self.assertEqual(len(drawn[0]), 2)
            self.assertEqual(*drawn)
            off, where = difference(cpu, cuda)
            self.assertLessEqual(off, 1e-12 if "f64" in name else 2e-4, where)
        devices = sorted({count for of_rank in counts for count in of_rank if count.startswith("allocations on")})
        self.assertEqual(devices, [f"allocations on device {rank}" for rank in range(ranks)])
        for of_rank in counts:
            self.assertEqual(sum(count.startswith("allocations on") for count in of_rank), 1, of_rank)
        return counts

    def test_one_device(self):
        for name, settings in SINGLE.items():
            with self.subTest(name):
                counts = self.compare(name, settings)[0]
                if name.startswith("bf16"):
                    self.assertGreater(counts["aten::_flash_attention_forward"], 0)
                if "offload" in name and "inputs" not in name:
                    self.assertGreater(counts["pinned allocations"], 0)

    def test_two_devices(self):
        for name, settings in RANKS.items():
            with self.subTest(name):
                for counts in self.compare(name, settings, ranks=2):
                    self.assertGreater(counts["collectives"], 0)

    def test_own_kernels_are_used(self):
        counts = self.run_or_fail("kernels", [BF16], where="emulated")[0]
        for kernel in ("rotate", "rotate_and_store", "add_and_normalise", "gate", "gate_backward", "draw", "adamw", "squares", "head"):
            self.assertGreater(counts.get(f"kernel {kernel}", 0), 16, kernel)

    def test_resumed(self):
        for name in ("f32", "lora", "prime", "offload", "bf16", "bf16-split", "bf16-none", "bf16-lora"):
            with self.subTest(name):
                self.resume(name, SINGLE[name], 1)
        for name in ("zero-1", "bf16-zero-3", "tensor-2"):
            with self.subTest(name):
                self.resume(name, RANKS[name], 2)

    def resume(self, name, settings, ranks):
        """A run of two parts computes the numbers of one that is not interrupted."""
        self.run_or_fail(f"{name}-whole", settings, where="emulated", ranks=ranks)
        self.run_or_fail(f"{name}-parts", [*settings, "training.steps=1", "evaluation.every=0"], where="emulated", ranks=ranks)
        self.run_or_fail(f"{name}-parts", settings, where="emulated", ranks=ranks)
        whole, parts = (metrics(self.folder / f"{name}-{part}")[-1] for part in ("whole", "parts"))
        self.assertEqual(whole["step"], 2)
        self.assertEqual(whole, parts)

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
                for cuda in (False, True):
                    device = ["--device", "cuda" if cuda else "cpu"]
                    finished = subprocess.run([TRAINER, *command, *device], env=environment("emulated" if cuda else "cpu"), capture_output=True, text=True)
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

    def test_mistakes_are_refused(self):
        names = "host-tensor host-index host-parameter other-device no-device pointer uninitialised read-too-early written-too-early"
        made = subprocess.run([EMULATED / "mistakes", *names.split()], env=environment("emulated", ranks=2), capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stdout)
        self.assertEqual(made.stdout.count(": caught, "), len(names.split()), made.stdout)

    def planted(self, what, number):
        """Exit code, counts and numbers of the run with a mistake at `number`."""
        folder = self.folder / f"{what}-{number}"
        plant = {f"EMULATED_CUDA_PLANT_{what}": str(number), "EMULATED_CUDA_DEVICES": "2"}
        code, _, counts = run(folder, MISTAKEN, where="emulated", variables=plant)
        return (code, counts[0], metrics(folder)) if code == 0 else (code, {}, [])

    def test_a_tensor_in_the_wrong_place_is_noticed(self):
        counts = self.run_or_fail("right", MISTAKEN, where="emulated")[0]
        right = metrics(self.folder / "right")
        for what, total, places in (("HOST", counts["new tensors"], 12), ("DEVICE", counts["results"], 6)):
            for place in range(places):
                number = int(total * (place + 0.5) / places) + 1
                with self.subTest(what, number=number):
                    code, found, numbers = self.planted(what, number)
                    same = all(found.get(name) == counts.get(name) for name in TRANSFERS)
                    self.assertFalse(code == 0 and same and numbers == right, "nobody notices")

    def test_a_copy_that_nobody_waits_for_is_noticed(self):
        counts = self.run_or_fail("right", MISTAKEN, where="emulated")[0]
        right = metrics(self.folder / "right")
        places, failed = 8, 0
        for place in range(places):
            number = int(counts["copies to the host"] * place / places) + 1
            with self.subTest(number=number):
                code, found, numbers = self.planted("COPY", number)
                if code == 0 and numbers == right:
                    # Another copy was waited for before anybody read this one, so that it is right on a device too.
                    self.assertLess(found["synchronisations"], counts["synchronisations"])
                else:
                    failed += 1
        self.assertGreaterEqual(failed, places // 2)

    def test_two_ranks_on_one_device_are_refused(self):
        store = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
        outcomes = [None, None]

        def rank(index):
            both_first = {**store, "RANK": str(index), "LOCAL_RANK": "0", "EMULATED_CUDA_DEVICES": "2"}
            (self.folder / str(index)).mkdir()
            settings = [f"output_directory={self.folder}/shared", "parallel.timeout_seconds=20"]
            outcomes[index] = run(self.folder / str(index) / "run", settings, where="emulated", variables=both_first)

        threads = [threading.Thread(target=rank, args=(index,)) for index in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertTrue(all(code != 0 for code, _, _ in outcomes), outcomes)
        self.assertIn("Duplicate GPU", outcomes[0][1] + outcomes[1][1])


if __name__ == "__main__":
    unittest.main()
