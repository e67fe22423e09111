"""Runs of llm-trainer on the CPU, on emulated CUDA, on null CUDA, or on a GPU."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRAINER = os.environ["LLM_TRAINER"]
REHEARSAL = Path(os.environ.get("CUDA_REHEARSAL", "target/cuda-rehearsal"))
EMULATED, NULL = REHEARSAL / "emulated", REHEARSAL / "null"
LIBTORCH = Path(os.environ["LIBTORCH"]) / "lib"
FIXTURES = Path(os.environ.get("FIXTURES", ROOT / "crates/llm-trainer/tests/fixtures"))
CONFIG = """
name = "rehearsal"
seed = 5
model = {{ path = "{model}", dtype = "f32", threads = 1 }}
[data]
train = {{ arithmetic = {{ operations = ["add"], digits = [1, 1], count = 30, seed = 1 }} }}
evaluation = {{ arithmetic = {{ operations = ["add"], digits = [1, 1], count = 5, seed = 1 }} }}
prompt = {{ chat = false }}
max_prompt_tokens = 8
[rollout]
prompts_per_step = 8
group_size = 4
max_response_tokens = 16
[reward]
values = {{ right = 1.0, wrong = 0.25, unparsed = 0.0 }}
grading = {{ last_number = true }}
[algorithm]
mini_batch_prompts = 4
drop_uninformative_groups = false
[optimizer]
learning_rate = 1e-3
[training]
steps = 2
micro_batch_tokens = 128
[evaluation]
every = 2
questions = 5
temperature = 1.0
[checkpoint]
every = 1
"""
KL_COV = "algorithm.policy_loss={kl-cov={fraction=0.1,coefficient=1.0}}"
BF16 = "model.dtype=bf16"
# Settings by name. Those of f32 draw the CPU's tokens; those of f64 make its numbers.
SINGLE = {
    "f32": [],
    "f64": ["model.dtype=f64"],
    "untied": ["model.path={untied}"],
    "truncated": ["rollout.top_p=0.9", "rollout.top_k=12", "rollout.min_p=0.02", "rollout.temperature=0.8"],
    "kl-cov-reference": [KL_COV, "algorithm.reference_kl={coefficient={fixed=0.01}}"],
    "clip-cov": ["algorithm.policy_loss={clip-cov={fraction=0.1}}"],
    "epochs-bonus": ["algorithm.epochs=2", "algorithm.entropy_coefficient=0.01"],
    "lora": ["lora.rank=4"],
    "prime": ["algorithm.advantage={prime={beta=0.05}}"],
    "kept": ["training.activation_bytes=10000000"],
    "offload-optimizer": ["parallel.offload_optimizer=true"],
    "offload-inputs": ["parallel.offload_block_inputs=true"],
    "offload": ["parallel.offload_optimizer=true", "parallel.offload_block_inputs=true"],
    "repeatable": ["training.repeatable=true", "algorithm.advantage={prime={beta=0.05}}"],
    "bf16": [BF16],
    "bf16-untied": [BF16, "model.path={untied}", KL_COV],
    "bf16-split": [BF16, "optimizer.master=split", "optimizer.moments=bf16"],
    "bf16-repeatable": [BF16, "training.repeatable=true", "optimizer.master=split", "optimizer.moments=bf16"],
    "bf16-none": [BF16, "optimizer.master=none", "optimizer.moments=bf16"],
    "bf16-truncated": [BF16, "rollout.top_p=0.9", "rollout.top_k=12"],
    "bf16-lora": [BF16, "lora.rank=4"],
    "bf16-prime": [BF16, "algorithm.advantage={prime={beta=0.05}}"],
    "bf16-offload": [BF16, "parallel.offload_optimizer=true", "parallel.offload_block_inputs=true"],
}
RANKS = {
    "zero-0": ["parallel.zero=0"],
    "zero-1": ["parallel.zero=1"],
    "zero-2": ["parallel.zero=2"],
    "zero-3": ["parallel.zero=3"],
    "tensor-2": ["parallel.tensor=2"],
    "f64-zero-3": ["model.dtype=f64", "parallel.zero=3"],
    "f64-tensor-2": ["model.dtype=f64", "parallel.tensor=2"],
    "zero-3-lora": ["parallel.zero=3", "lora.rank=4"],
    "zero-3-offload": ["parallel.zero=3", "parallel.offload_optimizer=true", "parallel.offload_block_inputs=true"],
    "bf16-zero-2": [BF16, "parallel.zero=2", "optimizer.master=split", "optimizer.moments=bf16"],
    "bf16-zero-3": [BF16, "parallel.zero=3", "optimizer.master=split", "optimizer.moments=bf16"],
    "bf16-tensor-2": [BF16, "parallel.tensor=2", KL_COV],
}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def environment(where, ranks=1, report=""):
    """Environment of a process `where`: on the "cpu", on "emulated" or on "null" devices, one a rank, or on the machine's own "device"."""
    if where == "device":
        return os.environ | {"LD_LIBRARY_PATH": str(LIBTORCH), "TORCH_CPP_LOG_LEVEL": "ERROR"}
    chosen = {"LD_LIBRARY_PATH": str(LIBTORCH), "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"}
    if where == "emulated":
        chosen |= {
            "LD_LIBRARY_PATH": f"{EMULATED}:{LIBTORCH}",
            "LD_PRELOAD": str(EMULATED / "libcuda.so.1"),
            "CUDA_VISIBLE_DEVICES": "0,1",
            "EMULATED_CUDA_DEVICES": str(ranks),
            "EMULATED_CUDA_KERNELS": str(ROOT / "crates/torch-ext/cuda"),
        }
        chosen |= {"EMULATED_CUDA_REPORT": report} if report else {}
    if where == "null":
        chosen |= {
            "LD_LIBRARY_PATH": f"{NULL}:{NULL}/nvidia/cu13/lib:{LIBTORCH}",
            "LD_PRELOAD": f"{NULL}/libcudart.so.13:{NULL}/libnull_cuda.so",
            "CUDA_VISIBLE_DEVICES": "0,1,2,3",
            "NULL_CUDA_DEVICES": str(ranks),
        }
        chosen |= {"NULL_CUDA_REPORT": report} if report else {}
    return os.environ | chosen


def reports(prefix):
    """What devices counted, by process in the order of their ids."""
    paths = sorted(prefix.parent.glob(prefix.name + ".*"), key=lambda path: int(path.suffix[1:]))
    return [report for report in (json.loads(path.read_text()) for path in paths) if report]


def run(folder, settings, where="cpu", ranks=1, variables=None, arguments=(), config=None):
    """Trains in `folder`. Returns the exit code, what was printed, and the devices' counts of each rank."""
    file = folder.parent / f"{folder.name}.toml"
    file.write_text(config or CONFIG.format(model=FIXTURES / "tiny_qwen2_tied"))
    command = [TRAINER, "train", str(file), *arguments]
    device = "cpu" if where == "cpu" else "cuda"
    for setting in [f"output_directory={folder}", f"model.device={device}", *settings]:
        command += ["--set", setting.replace("{untied}", str(FIXTURES / "tiny_qwen2_untied"))]
    if ranks > 1:
        command = [TRAINER, "launch", "-n", str(ranks), "--master-port", str(free_port()), "--", *command]
    report = folder.parent / f"{folder.name}-report"
    chosen = environment(where, ranks, str(report)) | (variables or {})
    finished = subprocess.run(command, env=chosen, capture_output=True, text=True, timeout=400, restore_signals=False)
    return finished.returncode, finished.stdout + finished.stderr, reports(report)


def metrics(folder):
    """Numbers of each step, without those that depend on time, memory or the number of ranks."""
    lines = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    skipped = ("timing_s/", "perf/", "parallel/")
    return [{name: value for name, value in line.items() if not name.startswith(skipped)} for line in lines]


class Rehearsal(unittest.TestCase):
    """A test with a folder, in which runs must end well."""

    maxDiff = None

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="cuda-rehearsal-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_or_fail(self, folder, settings, **options):
        code, output, counts = run(self.folder / folder, settings, **options)
        self.assertEqual(code, 0, output[-4000:])
        return counts
