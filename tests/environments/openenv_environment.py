"""Trains with an environment of PyPI openenv-core, and plays others with scripted answers; started by scripts/test-environments.sh."""

import importlib.util
import json
import subprocess
import sys
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from openenv_servers import TURNS, serving
from recorded_run import ROOT, RecordedRun

HARNESS = ROOT / "scripts/play-openenv.py"


class Guessing(RecordedRun, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with serving("guess") as cls.url:
            super().setUpClass()

    @classmethod
    def command(cls):
        return [sys.executable, HARNESS, cls.url, "--log", cls.served]

    def test_rollouts_have_several_turns(self):
        turns = [len(turns) for turns in self.turns().values()]
        print("rollouts of 1, 2 and 3 turns:", [turns.count(count) for count in range(1, TURNS + 1)])
        self.assertLessEqual(set(turns), set(range(1, TURNS + 1)))
        self.assertGreater(turns.count(TURNS), 0)


class Policy:
    """A server that gives answers one after the other, and keeps the requests."""

    def __init__(self, answers):
        policy = self
        self.requests, answers = [], iter(answers)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                policy.requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                answer = next(answers)
                status = 403 if "error" in answer else 200
                body = answer if "error" in answer else {"choices": [{"index": 0, "message": {"role": "assistant", **answer}}]}
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def rollout(self, problem):
        return {"rollout": "1-0-0", "base_url": "http://127.0.0.1:%d/v1" % self.server.server_port, "api_key": "none",
                "model": "policy", "question": {"id": "q", "problem": problem, "answer": "", "source": ""}}


def played(kind, answers, problem="Begin."):
    """The harness's output, and the requests that it made of a policy with these answers."""
    policy = Policy(answers)
    with serving(kind) as url:
        line = json.dumps(policy.rollout(problem)) + "\n"
        command = [sys.executable, str(HARNESS), url]
        output = subprocess.run(command, input=line, capture_output=True, text=True, timeout=120)
    policy.server.shutdown()
    policy.server.server_close()
    return output, policy.requests


def called(number, place):
    function = {"name": "double", "arguments": json.dumps({"number": number})}
    return {"content": "", "tool_calls": [{"id": f"call-{place}", "type": "function", "function": function}]}


class Actions(unittest.TestCase):
    def reward(self, output):
        self.assertEqual(output.returncode, 0, output.stderr)
        return json.loads(output.stdout)["reward"]

    def test_fields_are_read_as_json_and_rewards_added(self):
        answers = ['{"left": 1, "right": 2}', "no JSON", '{"left": "one"}', '{"left": 4, "right": 6}']
        output, requests = played("sum", [{"content": answer} for answer in answers])
        self.assertEqual(self.reward(output), 0.5)
        told = [message["content"] for message in requests[-1]["messages"] if message["role"] == "user"]
        self.assertEqual(told[0], 'Begin.\n\n{"total": 0, "question": "Begin."}')
        self.assertEqual(told[1], '{"total": 3, "question": "Begin."}')
        self.assertIn("Invalid action: ", told[2])
        self.assertIn("Invalid action: ", told[3])

    def test_one_field_is_the_text_if_it_takes_one(self):
        spec = importlib.util.spec_from_file_location("play_openenv", HARNESS)
        harness = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(harness)
        optional = {"anyOf": [{"type": "string"}, {"type": "null"}]}
        self.assertEqual(harness.action_of("7", {"move": {"type": "string"}}), {"move": "7"})
        self.assertEqual(harness.action_of("7", {"move": optional}), {"move": "7"})
        self.assertEqual(harness.action_of("7", {"move": {"type": "integer"}}), {"move": 7})
        with self.assertRaises(ValueError):
            harness.action_of("seven", {"move": {"type": "integer"}})

    def test_tools_are_offered_and_called(self):
        output, requests = played("tool", [called(1, 0), called(4, 1)])
        self.assertEqual(self.reward(output), 1.0)
        (tool,) = requests[0]["tools"]
        self.assertEqual(tool["function"]["name"], "double")
        self.assertEqual(list(tool["function"]["parameters"]["properties"]), ["number"])
        result = requests[1]["messages"][-1]
        self.assertEqual((result["role"], result["tool_call_id"]), ("tool", "call-0"))
        self.assertIn("2", result["content"])

    def test_an_answer_without_a_call_ends(self):
        output, requests = played("tool", [{"content": "I cannot."}])
        self.assertEqual((self.reward(output), len(requests)), (0.0, 1))

    def test_used_turns_end_a_rollout_and_other_refusals_the_harness(self):
        valid = {"content": '{"left": 1, "right": 2}'}
        output, _ = played("sum", [valid, {"error": {"message": "no more", "code": "turns_used"}}])
        self.assertEqual(self.reward(output), 0.25)
        output, _ = played("sum", [valid, {"error": {"message": "another key", "code": "invalid_api_key"}}])
        self.assertNotEqual(output.returncode, 0)
        self.assertIn("another key", output.stderr)


if __name__ == "__main__":
    unittest.main()
