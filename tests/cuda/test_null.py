"""Runs of llm-trainer on null CUDA; started by scripts/test-cuda-rehearsal.sh.

The CUDA half of libtorch is the real one: its checks of tensors, choice of kernels, caching allocator and NCCL process groups, at full
shapes. Its kernels are counted and compute nothing, so numbers of runs mean nothing.
"""

import collections
import ctypes
import json
import os
import re
import resource
import runpy
import shutil
import signal
import struct
import subprocess
import sys
import unittest
from pathlib import Path

import roofline
from runs import BF16, FIXTURES, LIBTORCH, NULL, RANKS, ROOT, SINGLE, TRAINER, Rehearsal, environment, reports, run

BENCH = os.environ["LM_BENCH"]
BUDGETS = json.loads((Path(__file__).parent / "budgets.json").read_text())
HARDWARE = ROOT / "docs/hardware.md"
TABLE = runpy.run_path(str(ROOT / "scripts/gpu-check-table.py"))
# Of Qwen2.5: hidden size, blocks, intermediate size, heads, key-value heads, vocabulary, tied embeddings.
SHAPES = {
    "0.5b": (896, 24, 4864, 14, 2, 151936, True),
    "1.5b": (1536, 28, 8960, 12, 2, 151936, True),
    "7b": (3584, 28, 18944, 28, 4, 152064, False),
}
GIB = 1 << 30
# What the plan assumes that driver and libtorch take.
DRIVER = 3 * GIB // 2


def model(folder, size):
    """A model of that size whose weights are a hole in a file."""
    hidden, blocks, intermediate, heads, shared, vocabulary, tied = SHAPES[size]
    width = hidden // heads
    shapes = {"model.embed_tokens.weight": [vocabulary, hidden], "model.norm.weight": [hidden]}
    if not tied:
        shapes["lm_head.weight"] = [vocabulary, hidden]
    for block in range(blocks):
        name = f"model.layers.{block}"
        for part, rows in (("q", heads * width), ("k", shared * width), ("v", shared * width)):
            shapes |= {f"{name}.self_attn.{part}_proj.weight": [rows, hidden], f"{name}.self_attn.{part}_proj.bias": [rows]}
        shapes |= {
            f"{name}.self_attn.o_proj.weight": [hidden, heads * width],
            f"{name}.mlp.gate_proj.weight": [intermediate, hidden],
            f"{name}.mlp.up_proj.weight": [intermediate, hidden],
            f"{name}.mlp.down_proj.weight": [hidden, intermediate],
            f"{name}.input_layernorm.weight": [hidden],
            f"{name}.post_attention_layernorm.weight": [hidden],
        }
    table, end = {}, 0
    for name, shape in shapes.items():
        bytes_of = 2
        for size_of in shape:
            bytes_of *= size_of
        table[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + bytes_of]}
        end += bytes_of
    folder.mkdir()
    header = json.dumps(table).encode()
    header += b" " * (-len(header) % 8)
    # Without the limit of checkpoints.
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + end)
    resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    config = json.loads((FIXTURES / "tiny_qwen2_tied/config.json").read_text())
    del config["layer_types"]
    config |= {
        "hidden_size": hidden, "num_hidden_layers": blocks, "intermediate_size": intermediate, "num_attention_heads": heads,
        "num_key_value_heads": shared, "vocab_size": vocabulary, "tie_word_embeddings": tied, "max_position_embeddings": 4096,
        "torch_dtype": "bfloat16", "max_window_layers": blocks,
    }
    (folder / "config.json").write_text(json.dumps(config))
    for name in ("tokenizer.json", "generation_config.json"):
        (folder / name).write_bytes((FIXTURES / "tiny_qwen2_tied" / name).read_bytes())
    return folder


# Size, ranks and settings. The optimiser's state is offloaded at 0.5B alone: that of 1.5B takes 25 GB of the host's memory.
PLANNED = [
    ("0.5b", 1, []),
    ("0.5b", 1, ["parallel.offload_optimizer=true"]),
    ("0.5b", 1, ["parallel.offload_block_inputs=true"]),
    ("0.5b", 2, ["parallel.zero=3"]),
    ("0.5b", 2, ["parallel.zero=3", "parallel.offload_optimizer=true"]),
    ("0.5b", 2, ["parallel.zero=3", "parallel.offload_block_inputs=true"]),
    ("1.5b", 1, []),
    ("1.5b", 1, ["parallel.offload_block_inputs=true"]),
    ("1.5b", 2, ["parallel.zero=3"]),
    ("1.5b", 2, ["parallel.zero=3", "parallel.offload_block_inputs=true"]),
    ("7b", 1, []),
    ("7b", 1, ["parallel.offload_block_inputs=true"]),
    ("7b", 2, ["parallel.zero=3"]),
    ("7b", 2, ["parallel.zero=3", "parallel.offload_block_inputs=true"]),
]
PLANNED_RUN = """
name = "planned"
model = {{ path = "{model}", dtype = "bf16", threads = 1 }}
data = {{ train = {{ arithmetic = {{ operations = ["add"], digits = [1, 1], count = 40 }} }}, prompt = {{ chat = false }}, max_prompt_tokens = 16 }}
rollout = {{ prompts_per_step = 32, group_size = 8, max_response_tokens = 512, rows = 128 }}
reward = {{ grading = {{ last_number = true }} }}
algorithm = {{ mini_batch_prompts = 8, drop_uninformative_groups = false }}
training = {{ steps = 1 }}
checkpoint = {{ every = 0 }}
"""


class Null(Rehearsal):
    def check(self, name, settings, ranks=1):
        processes = self.run_or_fail(name, settings, where="null", ranks=ranks)
        self.assertEqual(len(processes), ranks)
        devices = set()
        for process in processes:
            counts = process["process"]
            self.assertGreater(counts["launches"], 1000)
            for problem in ("launches that do not fit a device", "copies that name the wrong memory", "allocations that found no memory"):
                self.assertEqual(counts.get(problem, 0), 0, problem)
            devices.add(tuple(name for name in counts if name.startswith("launches on device")))
            if ranks > 1:
                self.assertGreater(counts["collectives"], 0)
        self.assertEqual(devices, {(f"launches on device {rank}",) for rank in range(ranks)})

    def test_one_device(self):
        for name, settings in SINGLE.items():
            with self.subTest(name):
                self.check(name, settings)

    def test_two_and_four_devices(self):
        for name, settings in RANKS.items():
            with self.subTest(name):
                self.check(name, settings, ranks=2)
        four = {"zero-3": ["parallel.zero=3"], "tensor-2-zero-3": [BF16, "parallel.tensor=2", "parallel.zero=3"]}
        for name, settings in four.items():
            with self.subTest(name, ranks=4):
                self.check(f"{name}-4", settings, ranks=4)

    def test_mistakes_are_refused(self):
        names = ["host-tensor", "host-index", "host-parameter", "other-device", "no-device"]
        made = subprocess.run([NULL / "mistakes", *names], env=environment("null", ranks=2), capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stdout + made.stderr)

    def test_budgets(self):
        """Counts and modelled times are within their budgets, and the book has them; UPDATE_DOCS=1 writes them there."""
        rows = []
        for name, budget in BUDGETS.items():
            with self.subTest(name):
                report = self.folder / name.replace(" ", "-")
                chosen = environment("null", report=str(report)) | {
                    "LM_BENCH_DEVICE": "cuda", "NULL_CUDA_BYTES": str(150 * GIB), "NULL_CUDA_MARK": budget["window ends with"],
                    "NULL_CUDA_WORK": "yes",
                }
                measured = subprocess.run([BENCH, budget["measurement"]], env=chosen, capture_output=True, text=True)
                self.assertEqual(measured.returncode, 0, measured.stderr[-2000:])
                window = reports(report)[-1]["window"]
                operators = roofline.work_of(window)
                window |= roofline.totals(operators)
                if "utilisation, modelled" not in budget.get("at least", {}):
                    # What is computed twice is no use.
                    window.pop("utilisation, modelled", None)
                rows += roofline.rows(name, window, operators)
                line = []
                for counted, most in budget["at most"].items():
                    line.append(f"{counted} {window.get(counted, 0)} (at most {most})")
                    self.assertLessEqual(window.get(counted, 0), most, counted)
                for counted, least in budget.get("at least", {}).items():
                    self.assertGreaterEqual(window.get(counted, 0), least, counted)
                print(f"\n{name}: {', '.join(line)}", flush=True)
        page = HARDWARE.read_text()
        before, table, after = re.split("(?<=<!-- launches -->\n)(.*)(?=<!-- end of launches -->)", page, flags=re.DOTALL)
        made = "\n".join([*roofline.HEAD, *rows, "\n"])
        if os.environ.get("UPDATE_DOCS"):
            HARDWARE.write_text(before + made + after)
        else:
            self.assertEqual(table, made, "UPDATE_DOCS=1 scripts/test-cuda-rehearsal.sh null writes the table anew")

    def test_own_kernels_spill_no_registers(self):
        folder = NULL / "nvidia/cu13/lib"
        ctypes.CDLL(str(next(folder.glob("libnvrtc-builtins.so.*"))))
        nvrtc = ctypes.CDLL(str(folder / "libnvrtc.so.13"))
        listed = (ROOT / "crates/torch-ext/src/kernels/source.rs").read_text()
        files = re.findall(r'file!\("(.*\.cu)"\),', listed)
        source = "".join((ROOT / "crates/torch-ext/cuda" / name).read_text() for name in files).encode()
        for architecture in ("sm_80", "sm_90", "sm_100", "sm_120"):
            with self.subTest(architecture):
                program, size = ctypes.c_void_p(), ctypes.c_size_t()
                nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"kernels.cu", 0, None, None)
                options = [f"--gpu-architecture={architecture}".encode(), b"--fmad=false", b"--ptxas-options=-v"]
                status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
                nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
                log = ctypes.create_string_buffer(size.value)
                nvrtc.nvrtcGetProgramLog(program, log)
                told = log.value.decode()
                self.assertEqual(status, 0, told)
                self.assertEqual(len(re.findall("0 bytes spill stores, 0 bytes spill loads", told)), told.count("Compiling entry function"), told)
                self.assertGreaterEqual(told.count("Compiling entry function"), 9)

    def test_gpu_check(self):
        """All rows of scripts/gpu-check.sh but those of numbers, of which there are none."""
        packed = self.folder / "gpu-check"
        packed.mkdir()
        (packed / "fixtures").symlink_to(FIXTURES)
        for script in ("gpu-check.sh", "gpu-check-table.py"):
            shutil.copy(ROOT / "scripts" / script, packed)
        # Tools of the system do without what is preloaded.
        null = environment("null")
        preloaded = " ".join(f"{name}='{null[name]}'" for name in ("LD_PRELOAD", "LD_LIBRARY_PATH"))
        programs = {
            "llm-trainer": f'exec env {preloaded} "{TRAINER}" "$@"',
            "lm_bench": f'exec env {preloaded} "{BENCH}" "$@"',
            "nvidia-smi": "case $1 in *name) echo a null card ;; *) echo 143771 ;; esac",
        }
        (packed / "commit").write_text("1234567\n")
        for name, command in programs.items():
            (packed / name).write_text(f"#!/bin/sh\n{command}\n")
            (packed / name).chmod(0o755)
        path = {"PATH": f"{packed}:{os.environ['PATH']}", "LIBTORCH_LIB": str(LIBTORCH), "NULL_CUDA_BYTES": str(143771 << 20)}
        chosen = {name: value for name, value in null.items() if name not in ("LD_PRELOAD", "LD_LIBRARY_PATH")} | path

        def run(*options):
            command = ["bash", str(packed / "gpu-check.sh"), "run", "--out", str(self.folder / "out"), *options]
            finished = subprocess.run(command, env=chosen, capture_output=True, text=True)
            return finished, json.loads((self.folder / "out/gpu-check.json").read_text())

        # The weights of grpo are written, and are 15 GB at 7b.
        finished, report = run("--sections", "grpo", "--model", "0.5b")
        self.assertEqual(finished.returncode, 0, finished.stdout)
        (row,) = report["sections"]["grpo"]["rows"]
        self.assertGreater(row["timing_s/step"], 0)
        self.assertLess(abs(row["planned_bytes"] / row["perf/max_memory_bytes"] - 1), 0.05, row)
        finished, report = run("--sections", "doctor,parity,step,rollout,update,peer")
        sections = report["sections"]
        self.assertEqual(report["device"], "cuda:0", finished.stdout)
        self.assertEqual({name for name, section in sections.items() if section["status"] == "ok"}, {"step", "rollout", "update"}, finished.stdout)
        # A device that computes nothing is told from one that is right.
        self.assertTrue(all(not row["within"] for row in sections["parity"]["rows"]))
        self.assertEqual(finished.returncode, 1)
        rows = lambda section: [(row["what"], row.get("lengths"), row.get("kept")) for row in sections[section]["rows"] if "peak_device_mb" in row]
        self.assertEqual([what for what, _, _ in rows("rollout")], ["gen1", "gen64", "plain64", "gen256", "plain256"])
        self.assertEqual(len(rows("update")), 7, rows("update"))
        # The book takes the numbers over: here a copy of it.
        book = self.folder / "book"
        shutil.copytree(ROOT / "docs/benchmarks", book / "docs/benchmarks")
        (book / "scripts").mkdir()
        taking = [sys.executable, shutil.copy(ROOT / "scripts/benchmarks.py", book / "scripts"), self.folder / "out/gpu-check.json"]
        taken = subprocess.run(taking, capture_output=True, text=True)
        self.assertEqual(taken.returncode, 0, taken.stderr)
        numbers = [row for row in json.loads((book / "docs/benchmarks/gpu.json").read_text())["rows"] if row["commit"] == "1234567"]
        by_unit = collections.Counter(row["case"].rsplit(", ", 1)[1] for row in numbers)
        self.assertEqual(by_unit, {"ms a token": 5, "tokens/s": 6, "µs a launch": 1, "s a step": 1, "bytes": 1, "bytes by the plan": 1})

    def test_repeatable(self):
        """libtorch adds in one order: attention's gradient in parts that it clears before, the embedding's sorted by token."""
        any_order = re.compile("flash_bwd_dot_do_o_kernelILb1|indexFunc.*ReduceAdd")
        for name, repeatable in (("bf16-split", False), ("bf16-repeatable", True)):
            counts = self.run_or_fail(name, SINGLE[name], where="null")[0]["process"]
            used = [kernel for kernel in counts if any_order.search(kernel)]
            self.assertEqual(len(used), 0 if repeatable else 2, used)

    def test_plan(self):
        # Checkpoints are as large as the models.
        resource.setrlimit(resource.RLIMIT_FSIZE, (100 << 20, resource.RLIM_INFINITY))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        for size in SHAPES:
            weights = model(self.folder / size, size)
            for of_size, ranks, settings in PLANNED:
                if of_size == size:
                    with self.subTest(size, ranks=ranks, settings=settings):
                        self.compare_plan(weights, ranks, settings)
            (weights / "model.safetensors").unlink()

    def compare_plan(self, weights, ranks, settings):
        config = PLANNED_RUN.format(model=weights)
        file = self.folder / "plan.toml"
        file.write_text(config)
        command = [TRAINER, "plan", "--config", str(file), "--gpu", "h200", "--gpus", str(ranks), "--json"]
        for setting in settings:
            command += ["--set", setting]
        planned = subprocess.run(command, env=environment("cpu"), capture_output=True, text=True)
        plan = TABLE["planned_bytes"](json.loads(planned.stdout))
        name = f"{weights.name}-{ranks}-{len(list(self.folder.iterdir()))}"
        device = {"NULL_CUDA_BYTES": str(plan + DRIVER)}
        code, output, processes = run(self.folder / name, settings, where="null", ranks=ranks, config=config, variables=device)
        # Updated on a device that has what the plan says, and refused to write a checkpoint of gigabytes; ranks cannot tell each other,
        # as collectives bring nothing.
        self.assertTrue(code == 2 and ("File too large" in output or "the checkpoint is written" in output), output[-4000:])
        peak = max(max(process["peak bytes"].values()) for process in processes)
        print(f"\n{weights.name} {ranks} {settings}: plan {plan / GIB:.2f} GiB, allocator {peak / GIB:.2f}", flush=True)
        self.assertLessEqual(abs(plan / peak - 1), 0.05)


if __name__ == "__main__":
    unittest.main()
