#!/usr/bin/env python3
"""Harness of llm-trainer that plays an environment of OpenEnv, which a server of the package `openenv-core` offers at URL.

As a run's harness:   rollout.environment.command = ["python3", "scripts/play-openenv.py", "URL"]

The policy is told the question and the first observation, acts, is told the next observation, and so on until the environment is
done. The reward of a rollout is the sum of its steps' rewards. `reset` gets `seed`, the same number for all rollouts of a question,
and `question`, if the environment takes it. An answer becomes an action by the environment's schema:

    tools (MCP)       the calls of the answer, one step each; an answer without a call ends the rollout
    one field         the text of the answer, as JSON if the field takes no text
    several fields    the answer as a JSON object

An observation of one text is told as it is, any other as JSON. An answer that is no action is told so, and has reward 0. A rollout
also ends where `context_tokens` or `max_turns` leave no further turn.

--log FILE appends a JSON object for each answer: token ids, log-probabilities and text.
"""

import argparse
import json
import sys
import zlib

import openai
import requests
from openenv.core import GenericEnvClient

# Longest wait for the environment, in seconds: the trainer stops a rollout of rollout.environment.timeout_seconds.
LONGEST_WAIT = 86_400.0


class Policy:
    """The policy's side of one rollout."""

    def __init__(self, rollout, tools, log):
        self.client = openai.OpenAI(
            base_url=rollout["base_url"], api_key=rollout["api_key"], max_retries=0, timeout=LONGEST_WAIT)
        self.rollout, self.log = rollout, log
        self.more = {"tools": tools} if tools else {}
        if log:
            self.more |= {"logprobs": True, "extra_body": {"return_token_ids": True}}
        self.messages = []

    def told(self, content, **fields):
        self.messages.append({"role": "user", "content": content, **fields})

    def answer(self):
        """Content and calls of the next answer; None where the rollout may have no further one."""
        try:
            answer = self.client.chat.completions.create(model=self.rollout["model"], messages=self.messages, **self.more)
        except openai.APIStatusError as error:
            if len(self.messages) > 1 and error.code in ("context_length_exceeded", "turns_used"):
                return None
            raise
        choice = answer.model_dump()["choices"][0]
        content, calls = choice["message"]["content"] or "", choice["message"]["tool_calls"] or []
        self.messages.append({"role": "assistant", "content": content} | ({"tool_calls": calls} if calls else {}))
        if self.log:
            line = {"rollout": self.rollout["rollout"], "prompt_ids": choice["prompt_token_ids"], "ids": choice["token_ids"],
                    "log_probs": [token["logprob"] for token in choice["logprobs"]["content"]], "content": content}
            self.log.write(json.dumps(line) + "\n")
            self.log.flush()
        return content, calls


class Episode:
    """The environment's side of one rollout."""

    def __init__(self, environment):
        self.environment, self.reward, self.done = environment, 0.0, False

    def take(self, result):
        """Counts the reward; the observation as text."""
        self.reward += float(result.reward or 0)
        self.done = result.done
        values = list(result.observation.values())
        return values[0] if len(values) == 1 and isinstance(values[0], str) else json.dumps(result.observation)

    def reset(self, rollout):
        question = rollout["question"]
        seed = zlib.crc32(str(question["id"]).encode())
        return self.take(self.environment.reset(seed=seed, episode_id=rollout["rollout"], question=question))

    def step(self, action):
        """The observation, or the reason why this is no action."""
        try:
            return self.take(self.environment.step(action))
        except RuntimeError as error:
            if "VALIDATION_ERROR" in str(error):
                return f"Invalid action: {error}"
            raise


def fields_of_action(url):
    """The fields of the environment's action, as JSON schemas by their names."""
    schema = requests.get(url.rstrip("/") + "/schema", timeout=60)
    schema.raise_for_status()
    fields = schema.json()["action"]["properties"]
    return {name: field for name, field in fields.items() if name != "metadata"}


def tools_of(environment):
    """The environment's tools, as OpenAI's interface has them."""
    tools = environment.step({"type": "list_tools"}).observation["tools"]
    return [{"type": "function", "function": {
        "name": tool["name"], "description": tool["description"], "parameters": tool["input_schema"]}} for tool in tools]


def action_of(content, fields):
    """The action that an answer is.

    Raises ValueError if it is none.
    """
    if len(fields) > 1:
        action = json.loads(content)
        if not isinstance(action, dict):
            raise ValueError("expected a JSON object")
        return action
    ((name, field),) = fields.items()
    is_text = any(choice.get("type") == "string" for choice in field.get("anyOf", [field]))
    return {name: content if is_text else json.loads(content)}


def play_calls(policy, episode, calls):
    for call in calls:
        function = call["function"]
        action = {"type": "call_tool", "tool_name": function["name"], "arguments": json.loads(function["arguments"])}
        policy.told(episode.step(action), role="tool", tool_call_id=call["id"])
        if episode.done:
            return


def play(rollout, url, fields, log):
    with GenericEnvClient(base_url=url, message_timeout_s=LONGEST_WAIT).sync() as environment:
        episode = Episode(environment)
        observation = episode.reset(rollout)
        has_tools = "tool_name" in fields
        policy = Policy(rollout, tools_of(environment) if has_tools else None, log)
        policy.told("\n\n".join(text for text in (rollout["question"]["problem"], observation) if text))
        while not episode.done and (answer := policy.answer()):
            content, calls = answer
            if has_tools:
                if not calls:
                    break
                play_calls(policy, episode, calls)
                continue
            try:
                policy.told(episode.step(action_of(content, fields)))
            except ValueError as error:
                policy.told(f"Invalid action: {error}")
    return episode.reward


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", metavar="URL")
    parser.add_argument("--log", metavar="FILE")
    arguments = parser.parse_args()
    # Lines of the protocol alone go to standard output.
    answers, sys.stdout = sys.stdout, sys.stderr
    fields = fields_of_action(arguments.url)
    log = open(arguments.log, "a", encoding="utf-8") if arguments.log else None
    for line in sys.stdin:
        print(json.dumps({"reward": play(json.loads(line), arguments.url, fields, log)}), file=answers, flush=True)


if __name__ == "__main__":
    main()
