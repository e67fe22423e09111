"""A short run of llm-trainer on the CPU whose rollouts a harness plays and logs: the tests that every such run must pass."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# A turn ends with the end-of-sequence token, a zero byte.
TEMPLATE = "{% for m in messages %}{{ m.role[0] }}:{{ m.content }}\0{% endfor %}a:"
STEPS = int(os.environ.get("STEPS", "6"))
CONFIG = """
name = "environment"
output_directory = "{root}/run"
model = {{ path = "{root}/model", device = "cpu", threads = 1 }}
[data]
train = {{ arithmetic = {{ operations = ["add"], digits = [1, 1], count = 64, seed = 1 }} }}
prompt = {{ chat = false }}
[rollout]
prompts_per_step = 4
group_size = 8
max_response_tokens = 8
cpu_kernels = true
[rollout.environment]
command = {command}
workers = 4
context_tokens = 160
[algorithm]
mini_batch_prompts = 4
[optimizer]
learning_rate = 1e-2
[training]
steps = {steps}
micro_batch_tokens = 4096
[evaluation]
every = 0
[checkpoint]
every = 0
"""


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


class RecordedRun:
    """Base of a test case; its harness appends to `SERVED` a line for each answer, as the server gave it."""

    @classmethod
    def command(cls):
        """The harness and its arguments."""
        raise NotImplementedError

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        root = cls.root = Path(cls.folder.name)
        cls.served = root / "served.jsonl"
        shutil.copytree(ROOT / "crates/llm-trainer/tests/fixtures/tiny_qwen2_tied", root / "model")
        (root / "model/chat_template.jinja").write_text(TEMPLATE)
        config = CONFIG.format(root=root, command=json.dumps([str(word) for word in cls.command()]), steps=STEPS)
        (root / "run.toml").write_text(config)
        environment = {**os.environ, "SERVED": str(cls.served), "PYTHONPATH": str(HERE)}
        command = [os.environ["LLM_TRAINER"], "train", root / "run.toml", "--save-rollouts", root / "rollouts"]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        cls.steps = [step for step in lines(root / "run/metrics.jsonl") if "critic/rewards/mean" in step]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def turns(self):
        """The logged answers of each rollout."""
        served = {}
        for turn in lines(self.served):
            served.setdefault(turn["rollout"], []).append(turn)
        return served

    def test_the_reward_rises(self):
        rewards = [step["critic/rewards/mean"] for step in self.steps]
        print("reward of each step:", [round(reward, 3) for reward in rewards])
        self.assertEqual(len(rewards), STEPS)
        self.assertGreater(sum(rewards[-2:]) / 2, sum(rewards[:2]) / 2 + 0.3)

    def test_trained_ids_are_the_served_ones(self):
        served, compared = self.turns(), 0
        for step in range(1, STEPS + 1):
            saved = lines(self.root / f"rollouts/step-{step}.jsonl")
            groups = [line["responses"]["samples"] for line in saved if "responses" in line]
            for group, samples in enumerate(groups):
                for member, sample in enumerate(samples):
                    self.check(sample, served[f"{step}-{group}-{member}"])
                    compared += 1
        self.assertEqual(compared, 32 * STEPS)
        self.assertEqual({step["rollout/split_sequences"] for step in self.steps}, {0})
        self.assertEqual({step["rollout/dropped_groups"] for step in self.steps}, {0})

    def check(self, sample, turns):
        """Compares a trained sequence with the answers that it is made of, and with their prompts."""
        sequence = sample["sequence"]
        self.assertEqual(sequence["prompt"], turns[0]["prompt_ids"])
        self.assertEqual(sequence["response"], [token for turn in turns for token in turn["ids"]])
        self.assertEqual(sample["rollout_log_prob"], [value for turn in turns for value in turn["log_probs"]])
        given = sequence.get("given", [])
        self.assertEqual(len(given), len(turns) - 1)
        text, drawn = list(turns[0]["prompt_ids"]), 0
        for before, tokens, after in zip(turns, given, turns[1:]):
            drawn += len(before["ids"])
            text += before["ids"] + tokens["token_ids"]
            self.assertEqual((tokens["before"], tokens["restarts"]), (drawn, False))
            self.assertEqual(text, after["prompt_ids"])
