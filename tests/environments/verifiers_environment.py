"""A run of llm-trainer whose rollouts an environment of PyPI verifiers plays; started by scripts/test-environments.sh."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
FIXTURES = HERE.parents[1] / "crates/llm-trainer/tests/fixtures"
# A turn ends with the end-of-sequence token, a zero byte.
TEMPLATE = "{% for m in messages %}{{ m.role[0] }}:{{ m.content }}\0{% endfor %}a:"
STEPS = int(os.environ.get("STEPS", "6"))
CONFIG = """
name = "digits"
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
command = ["{python}", "{here}/play_verifiers.py", "digits_v1", "digits_v1"]
workers = 4
context_tokens = 96
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


class Digits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        root = cls.root = Path(cls.folder.name)
        shutil.copytree(FIXTURES / "tiny_qwen2_tied", root / "model")
        (root / "model/chat_template.jinja").write_text(TEMPLATE)
        config = CONFIG.format(root=root, python=sys.executable, here=HERE, steps=STEPS)
        (root / "digits.toml").write_text(config)
        environment = {**os.environ, "SERVED": str(root / "served.jsonl"), "PYTHONPATH": str(HERE)}
        command = [os.environ["LLM_TRAINER"], "train", root / "digits.toml", "--save-rollouts", root / "rollouts"]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        cls.steps = [step for step in lines(root / "run/metrics.jsonl") if "critic/rewards/mean" in step]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_the_reward_rises(self):
        rewards = [step["critic/rewards/mean"] for step in self.steps]
        print("reward of each step:", [round(reward, 3) for reward in rewards])
        self.assertEqual(len(rewards), STEPS)
        self.assertGreater(sum(rewards[-2:]) / 2, sum(rewards[:2]) / 2 + 0.3)

    def test_trained_ids_are_the_served_ones(self):
        served = {}
        for turn in lines(self.root / "served.jsonl"):
            served.setdefault(turn["rollout"], []).append(turn)
        compared = 0
        for step in range(1, STEPS + 1):
            saved = lines(self.root / f"rollouts/step-{step}.jsonl")
            groups = [line["responses"]["samples"] for line in saved if "responses" in line]
            for group, samples in enumerate(groups):
                for member, sample in enumerate(samples):
                    first, second = served[f"{step}-{group}-{member}"]
                    sequence = sample["sequence"]
                    self.assertEqual(sequence["prompt"], first["prompt_ids"])
                    self.assertEqual(sequence["response"], first["ids"] + second["ids"])
                    (given,) = sequence["given"]
                    self.assertEqual(first["prompt_ids"] + first["ids"] + given["token_ids"], second["prompt_ids"])
                    self.assertEqual((given["before"], given["restarts"]), (len(first["ids"]), False))
                    self.assertEqual(sample["rollout_log_prob"], first["log_probs"] + second["log_probs"])
                    compared += 1
        self.assertEqual(compared, 32 * STEPS)
        self.assertEqual({step["rollout/split_sequences"] for step in self.steps}, {0})
        self.assertEqual({step["rollout/dropped_groups"] for step in self.steps}, {0})


if __name__ == "__main__":
    unittest.main()
