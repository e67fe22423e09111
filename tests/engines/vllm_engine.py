"""Runs of llm-trainer whose responses vLLM samples on the CPU; started by scripts/test-engines.sh.

The model is the tests' tiny one with heads of 32, the smallest that vLLM's CPU attention takes.
"""

import http.server
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRAINER = os.environ["LLM_TRAINER"]
FIXTURES = ROOT / "crates/llm-trainer/tests/fixtures"
CONFIG = """
name = "tiny"
seed = 3
output_directory = "{root}/run"
model = {{ path = "{model}", device = "cpu", threads = 1 }}
[data]
train = {{ arithmetic = {{ operations = ["add"], digits = [1, 1], count = 30, seed = 1 }} }}
evaluation = {{ arithmetic = {{ operations = ["add"], digits = [1, 1], count = 5, seed = 1 }} }}
prompt = {{ chat = false }}
max_prompt_tokens = 8
[rollout]
{engine}
prompts_per_step = 4
group_size = 3
max_response_tokens = 6
[reward]
values = {{ right = 1.0, wrong = 0.25, unparsed = 0.0 }}
grading = {{ last_number = true }}
[algorithm]
mini_batch_prompts = 2
policy_loss = {{ kl-cov = {{ fraction = 0.1, coefficient = 1.0 }} }}
[optimizer]
learning_rate = 1e-3
[training]
steps = 4
micro_batch_tokens = 64
[evaluation]
every = 2
questions = 5
temperature = 1.0
[checkpoint]
every = 2
"""


class Port:
    """A port that the system gives to nobody else: an end of a closed connection holds it, yet a server may listen there."""

    def __init__(self) -> None:
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            self.number = listener.getsockname()[1]
            self.ends = [socket.create_connection(("127.0.0.1", self.number)), listener.accept()[0]]


def tiny_model(folder: Path, name: str) -> Path:
    """The fixture with two heads of 32 in place of four of 16: the same weights in other shapes."""
    model = folder / name
    if not model.exists():
        shutil.copytree(FIXTURES / name, model)
        (model / "expected.safetensors").unlink()
        config = json.loads((model / "config.json").read_text())
        config |= {"num_attention_heads": 2, "num_key_value_heads": 1}
        (model / "config.json").write_text(json.dumps(config))
        tokenizer = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512}
        (model / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    return model


# Heads of 32 as above.
DRAWN = dict(
    hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=32,
    vocab_size=256, max_position_embeddings=512, eos_token_id=0, bos_token_id=1, pad_token_id=0, tie_word_embeddings=False,
)  # fmt: skip
ARCHITECTURES = {
    "Qwen3": {},
    "Mistral": {"sliding_window": 5},
    "Gemma3Text": dict(
        query_pre_attn_scalar=32, sliding_window=5, tie_word_embeddings=True,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"],
    ),
    "Qwen3Moe": dict(
        num_experts=8, num_experts_per_tok=2, moe_intermediate_size=32, norm_topk_prob=True, mlp_only_layers=[1]
    ),
}


def drawn_model(folder: Path, name: str) -> Path:
    """A model of random weights, written by transformers."""
    import torch
    import transformers

    torch.manual_seed(7)
    config = getattr(transformers, f"{name}Config")(**{**DRAWN, **ARCHITECTURES[name]})
    model = transformers.AutoModelForCausalLM.from_config(config).float()
    for parameter_name, parameter in model.named_parameters():
        draw = torch.randn(parameter.shape)
        one = 0 if name.startswith("Gemma") else 1
        parameter.data = one + 0.2 * draw if parameter_name.endswith("norm.weight") else 0.15 * draw
    target = folder / name
    model.save_pretrained(target)
    for text in ["tokenizer.json", "generation_config.json"]:
        shutil.copy(FIXTURES / "tiny_qwen2_tied" / text, target / text)
    tokenizer = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512}
    (target / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    return target


def scored(model: Path, sequences: list) -> list:
    """The trainer's log-probabilities of all tokens but the first, in f32."""
    done = subprocess.run(
        [TRAINER, "score", "--model", model, "--input", "-", "--device", "cpu", "--dtype", "f32"],
        input="".join(json.dumps({"token_ids": ids}) + "\n" for ids in sequences),
        text=True, check=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    return [json.loads(line)["log_prob"] for line in done.stdout.splitlines()]


def largest_difference(one: list, other: list) -> float:
    return max(abs(a - b) for row, more in zip(one, other, strict=True) for a, b in zip(row, more, strict=True))


class Vllm:
    """A server of vLLM."""

    def __init__(self, folder: Path, model: Path, *more: str, dtype: str = "float32"):
        self.port = Port()
        number = self.port.number
        self.url = f"http://127.0.0.1:{number}"
        self.log = folder / f"vllm-{number}.log"
        options = "--enforce-eager --max-model-len 256 --logprobs-mode processed_logprobs".split()
        self.command = [
            sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model),
            "--host", "127.0.0.1", "--port", str(number), "--dtype", dtype, *options, *more,
        ]  # fmt: skip
        self.start()

    def start(self) -> None:
        quiet = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "OMP_NUM_THREADS": "1"}
        cpu = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
        control = {"VLLM_SERVER_DEV_MODE": "1", "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1"}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdout=log, stderr=log, start_new_session=True,
                env=os.environ | quiet | cpu | control,
            )  # fmt: skip
        while True:
            try:
                urllib.request.urlopen(f"{self.url}/health", timeout=5)
                return
            except OSError:
                if self.process.poll() is not None:
                    raise RuntimeError(f"vLLM has ended:\n{self.log.read_text()[-3000:]}") from None
                time.sleep(0.5)

    def scored(self, sequences: list) -> list:
        """Its log-probabilities of all tokens but the first."""
        body = {"prompt": sequences, "max_tokens": 1, "prompt_logprobs": 0, "temperature": 1.0}
        body["model"] = self.command[self.command.index("--model") + 1]
        request = urllib.request.Request(f"{self.url}/v1/completions", json.dumps(body).encode())
        request.add_header("content-type", "application/json")
        with urllib.request.urlopen(request, timeout=60) as answer:
            choices = json.load(answer)["choices"]
        rows = [choice["prompt_logprobs"][1:] for choice in sorted(choices, key=lambda one: one["index"])]
        return [
            [place[str(token)]["logprob"] for place, token in zip(row, ids[1:], strict=True)]
            for row, ids in zip(rows, sequences, strict=True)
        ]

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Run:
    """A run in a folder of its own; without servers the trainer samples."""

    def __init__(self, folder: Path, model: Path, servers: list, *settings: str):
        self.root = Path(tempfile.mkdtemp(dir=folder))
        self.config = self.root / "run.toml"
        urls = json.dumps([server.url for server in servers])
        engine = f'engine = "vllm"\nservers = {{ urls = {urls} }}' if servers else ""
        self.config.write_text(CONFIG.format(root=self.root, model=model, engine=engine))
        self.settings = [word for setting in settings for word in ("--set", setting)]

    def command(self) -> list:
        return [TRAINER, "train", str(self.config), *self.settings]

    def begin(self) -> subprocess.Popen:
        return subprocess.Popen(
            self.command(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def train(self, *more: str, ranks: int = 1) -> str:
        """What a run that succeeds prints."""
        command = [*self.command(), *more]
        if ranks > 1:
            store = Port()
            launch = f"launch --processes {ranks} --master-port {store.number} --".split()
            command = [TRAINER, *launch, *command]
        done = subprocess.run(
            command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        if done.returncode != 0:
            raise AssertionError(f"exit {done.returncode}: {done.stdout}")
        return done.stdout

    def wait_for(self, process: subprocess.Popen, more: int) -> None:
        """Waits until so many further steps are done, and ends in the midst of the next."""
        metrics = self.root / "run/metrics.jsonl"

        def done() -> int:
            return metrics.read_bytes().count(b"\n") if metrics.exists() else 0

        end = done() + more
        while done() < end:
            assert process.poll() is None, f"ended by itself: {process.communicate()[0]}"
            time.sleep(0.01)

    def steps(self) -> list:
        rows = (self.root / "run/metrics.jsonl").read_text().splitlines()
        return [row for row in map(json.loads, rows) if row["step"] > 0]

    def column(self, name: str) -> list:
        return [row[name] for row in self.steps()]

    def tokens(self) -> list:
        """Prompt and response of each sample of each step."""
        drawn = []
        for step in range(1, len(self.steps()) + 1):
            rows = (self.root / f"run/samples/step-{step}.jsonl").read_text().splitlines()
            drawn += [(step, row["question"], row["response"]) for row in map(json.loads, rows)]
        return drawn


class Deaf(http.server.BaseHTTPRequestHandler):
    """Passes requests on to a server, but no reload: it answers that it has loaded the weights."""

    behind = ""

    def do_GET(self) -> None:
        self.pass_on(None)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/collective_rpc":
            self.say(b'{"results": [null]}')
        else:
            self.pass_on(body)

    def pass_on(self, body) -> None:
        request = urllib.request.Request(f"{self.behind}{self.path}", data=body)
        request.add_header("content-type", "application/json")
        with urllib.request.urlopen(request, timeout=60) as answer:
            self.say(answer.read())

    def say(self, text: bytes) -> None:
        self.send_response(200)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_) -> None:
        pass


class VllmEngine(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="engines-"))
        cls.model = tiny_model(cls.folder, "tiny_qwen2_untied")
        cls.server = Vllm(cls.folder, cls.model)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.kill()
        shutil.rmtree(cls.folder)

    def test_f32_is_the_trainer_s_policy_and_nothing_is_guessed(self) -> None:
        for staleness in (0, 1):
            run = Run(self.folder, self.model, [self.server], f"rollout.staleness={staleness}")
            run.train()
            self.assertLessEqual(max(run.column("rollout/mismatch_k3")), 1e-6)
            # A last step whose responses were drawn ahead draws none.
            drawn = run.steps()[: 4 - staleness]
            self.assertEqual({row["rollout/retokenised_fraction"] for row in drawn}, {0.0})
            self.assertGreater(min(run.column("actor/grad_norm")), 0.0)

    def test_checkpoints_of_every_architecture_are_served(self) -> None:
        draw = random.Random(5)
        sequences = [[draw.randrange(1, 256) for _ in range(length)] for length in (2, 9, 40)]
        for name in ARCHITECTURES:
            with self.subTest(name):
                model = drawn_model(self.folder, name)
                run = Run(self.folder, model, [])
                run.train()
                self.assertGreater(min(run.column("actor/grad_norm")), 0.0)
                checkpoint = run.root / "run/checkpoints/step-4"
                ours, before = scored(checkpoint, sequences), scored(model, sequences)
                server = Vllm(self.folder, checkpoint)
                self.addCleanup(server.kill)
                served = server.scored(sequences)
                server.kill()
                apart = largest_difference(served, ours)
                moved = largest_difference(before, ours)
                print(f"{name}: log-probabilities differ by {apart:.1e}; training moved them by {moved:.2f}")
                self.assertLess(apart, 1e-4)
                self.assertGreater(moved, 1e-2)

    def test_two_ranks_draw_the_tokens_of_one(self) -> None:
        one = Run(self.folder, self.model, [self.server], "rollout.servers.evaluations=true")
        one.train()
        for cut in ("parallel.zero=3", "parallel.tensor=2"):
            two = Run(self.folder, self.model, [self.server], cut)
            two.train(ranks=2)
            self.assertEqual(one.tokens(), two.tokens())

    def test_bf16_is_near_and_corrected(self) -> None:
        server = Vllm(self.folder, self.model, dtype="bfloat16")
        self.addCleanup(server.kill)
        run = Run(self.folder, self.model, [server], "model.dtype=bf16")
        run.train()
        self.assertLessEqual(max(run.column("rollout/mismatch_k3")), 1e-3)
        self.assertGreater(min(run.column("rollout/correction_effective_fraction")), 0.9)

    def test_an_adapter_is_sent_alone(self) -> None:
        server = Vllm(self.folder, self.model, "--enable-lora", "--max-lora-rank", "8")
        self.addCleanup(server.kill)
        run = Run(self.folder, self.model, [server], "lora.rank=4", "optimizer.learning_rate=1e-2")
        run.train()
        self.assertLessEqual(max(run.column("rollout/mismatch_k3")), 1e-6)
        [sent] = (run.root / "run/engine-weights").iterdir()
        self.assertTrue((sent / "adapter_model.safetensors").exists())
        self.assertFalse((sent / "model.safetensors").exists())

    def test_stale_weights_are_named_at_the_first_step_after_an_update(self) -> None:
        Deaf.behind = Vllm(self.folder, self.model)
        self.addCleanup(Deaf.behind.kill)
        Deaf.behind = Deaf.behind.url
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Deaf) as proxy:
            threading.Thread(target=proxy.serve_forever, daemon=True).start()
            proxy.url = f"http://127.0.0.1:{proxy.server_address[1]}"
            run = Run(self.folder, self.model, [proxy])
            with self.assertRaisesRegex(AssertionError, "weights of step 2.* it still serves all"):
                run.train()
            proxy.shutdown()

    def test_tied_embeddings_are_named_on_the_cpu(self) -> None:
        # vLLM's CPU build keeps a packed copy of the head, which a reload of the embedding leaves as it was.
        model = tiny_model(self.folder, "tiny_qwen2_tied")
        server = Vllm(self.folder, model)
        self.addCleanup(server.kill)
        run = Run(self.folder, model, [server])
        with self.assertRaisesRegex(AssertionError, "weights of step 2.* it still serves some"):
            run.train()

    def test_experts_are_named_on_the_cpu(self) -> None:
        # vLLM's CPU build packs the experts when it starts; after a reload they are neither the former nor the new ones.
        model = drawn_model(self.folder, "Qwen3Moe")
        server = Vllm(self.folder, model)
        self.addCleanup(server.kill)
        run = Run(self.folder, model, [server])
        with self.assertRaisesRegex(AssertionError, "weights of step 2.* it serves another model or other"):
            run.train()

    def test_responses_in_flight_go_on_over_a_reload(self) -> None:
        settings = ["rollout.staleness=2", "rollout.servers.in_flight=continue"]
        # Some responses are long enough to be drawn by two versions of the weights.
        settings += ["rollout.max_response_tokens=120", "training.micro_batch_tokens=512"]
        settings += ["training.steps=8", "optimizer.learning_rate=1e-4", "checkpoint.every=0"]
        run = Run(self.folder, self.model, [self.server], *settings, "evaluation.every=0")
        run.train("--save-rollouts", str(run.root / "rollouts"))
        drawn = []
        for file in (run.root / "rollouts").iterdir():
            for row in map(json.loads, file.read_text().splitlines()):
                for sample in row.get("responses", {}).get("samples", []):
                    self.assertEqual(len(sample["versions"]), len(sample["sequence"]["response"]))
                    self.assertEqual(sample["versions"], sorted(sample["versions"]))
                    drawn.append(len(set(sample["versions"])))
        self.assertEqual(len(drawn), 8 * 12)
        self.assertGreater(max(drawn), 1, "no response went on over a reload")

    def test_kills_of_trainer_and_servers_lose_nothing(self) -> None:
        steps, kills, chance = 400, 30, random.Random(7)
        other = Vllm(self.folder, self.model)
        self.addCleanup(other.kill)
        settings = [f"training.steps={steps}", "checkpoint.every=1", "evaluation.every=0"]
        settings += ["rollout.staleness=1", "rollout.servers.retries=1"]
        whole = Run(self.folder, self.model, [self.server, other], *settings)
        whole.train()
        killed = Run(self.folder, self.model, [self.server, other], *settings)
        for number in range(kills):
            with killed.begin() as process:
                killed.wait_for(process, chance.randrange(1, 12))
                if number % 10 == 9:
                    # The other server answers in its place.
                    other.kill()
                    killed.wait_for(process, 4)
                process.kill()
                text, _ = process.communicate()
            if number % 10 == 9:
                self.assertIn("is left out until it answers", text)
                other.start()
        killed.train()
        self.assertEqual(len(killed.steps()), steps)
        self.assertEqual(whole.tokens(), killed.tokens())


if __name__ == "__main__":
    # Ports are held to the end.
    unittest.main(warnings="ignore")
