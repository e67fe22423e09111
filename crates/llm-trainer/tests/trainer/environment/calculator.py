"""Plays two turns of a calculator: a rollout a line in, a reward a line out. Logs what it was served, and fails if it is asked to."""

import http.client
import json
import os
import sys
import time

LOG = open(sys.argv[1], "a")
# As of clients that are made for each rollout and never closed.
OPEN = []


def log(**fields):
    LOG.write(json.dumps(fields) + "\n")
    LOG.flush()


def post(task, path, body, base=None, key=None):
    address, prefix = (base or task["base_url"]).removeprefix("http://").split("/", 1)
    headers = {"content-type": "application/json", "authorization": f"Bearer {key or task['api_key']}"}
    connection = http.client.HTTPConnection(address)
    OPEN.append(connection)
    connection.request("POST", f"/{prefix}{path}", json.dumps(body), headers)
    return connection.getresponse()


def refused(task, about, path="/chat/completions", base=None, key=None, **fields):
    body = {"model": task["model"], "messages": [{"role": "user", "content": "1"}], **fields}
    log(rollout="probes", about=about, status=post(task, path, body, base, key).status)


def ask(task, messages):
    body = {"model": task["model"], "messages": messages, "logprobs": True, "return_token_ids": True}
    response = post(task, "/chat/completions", body)
    choice = json.load(response)["choices"][0]
    content = choice["message"]["content"]
    # Some content is an answer alone; others end in the middle of a character.
    reward = sum(letter.isdigit() for letter in content) + len(content) / 16
    log_probs = [token["logprob"] for token in choice["logprobs"]["content"]]
    log(rollout=task["rollout"], prompt_ids=choice["prompt_token_ids"], ids=choice["token_ids"], log_probs=log_probs,
        content=content, reward=reward, closes=response.will_close)
    return choice["message"], reward


def probe(task):
    refused(task, "temperature", temperature=0.5)
    refused(task, "seed", seed=1)
    refused(task, "n", n=2)
    server = task["base_url"].split("/rollouts/")[0]
    refused(task, "other rollout", base=server + "/rollouts/1-0-99/v1")
    refused(task, "no rollout", base=server + "/v1")
    refused(task, "key", key="another")


def play(task):
    fails = os.environ.get("FAILS") if task["rollout"].startswith(os.environ.get("FAILING", "?")) else None
    if fails == "nothing":
        return {"reward": 1.0}
    is_first = os.environ.get("PROBES") and task["rollout"] == "1-0-0"
    if is_first:
        probe(task)
    messages = [{"role": "user", "content": task["question"]["problem"]}]
    answer, _ = ask(task, messages)
    if fails == "exit":
        sys.exit(3)
    if fails == "hang":
        time.sleep(60)
    tool = {"role": "tool", "content": str(len(answer["content"]))}
    _, reward = ask(task, messages + [answer, tool])
    if is_first:
        refused(task, "third turn")
    return {} if fails == "silence" else {"reward": reward}


for line in sys.stdin:
    print(json.dumps(play(json.loads(line))), flush=True)
