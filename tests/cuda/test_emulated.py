"""Runs of llm-trainer on emulated CUDA against the same runs on the CPU; started by scripts/test-cuda-rehearsal.sh.

Emulated CUDA checks like a device: it refuses operators on tensors of two devices, its fresh memory is NaN, a host that follows a
pointer of it ends by a signal, and copies to pinned memory arrive at the next synchronisation only.
"""

import subprocess
import threading
import unittest

import test_device
from runs import BF16, EMULATED, RANKS, SINGLE, environment, free_port, metrics, run


# Counts of a device that a mistake must not leave as they are.
TRANSFERS = (
    "operators", "copies on a device", "copies to a device", "bytes to a device", "copies to the host", "bytes to the host", "synchronisations",
)
SPLIT = SINGLE["bf16-split"]
# Without checkpoints, whose tensors are read after the last of them has arrived.
MISTAKEN = [*SPLIT, "checkpoint.every=0"]


class Emulated(test_device.Device):
    where = "emulated"
    bounds = {"f64": 1e-12, "f32": 2e-4, "resumed": 0.0}

    def compare(self, name, settings, ranks=1):
        counts = super().compare(name, settings, ranks)
        devices = sorted({count for of_rank in counts for count in of_rank if count.startswith("allocations on")})
        self.assertEqual(devices, [f"allocations on device {rank}" for rank in range(ranks)])
        for of_rank in counts:
            self.assertEqual(sum(count.startswith("allocations on") for count in of_rank), 1, of_rank)
            if name.startswith("bf16"):
                self.assertGreater(of_rank["aten::_flash_attention_forward"], 0)
            if "offload" in name and "inputs" not in name:
                self.assertGreater(of_rank["pinned allocations"], 0)
            if ranks > 1:
                self.assertGreater(of_rank["collectives"], 0)
        return counts

    def test_two_devices(self):
        self.each(RANKS, lambda name: self.compare(name, RANKS[name], ranks=2))

    def test_own_kernels_are_used(self):
        counts = self.run_or_fail("kernels", [BF16], where="emulated")[0]
        for kernel in ("rotate", "rotate_and_store", "add_and_normalise", "gate", "gate_backward", "draw", "adamw", "squares", "head"):
            self.assertGreater(counts.get(f"kernel {kernel}", 0), 16, kernel)

    def test_resumed_on_two_devices(self):
        self.each(("zero-1", "bf16-zero-3", "tensor-2"), lambda name: self.resume(name, RANKS[name], 2))

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
