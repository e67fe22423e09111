"""An environment of PyPI verifiers: the policy writes, a tool counts the digits, the policy writes again. Digits are rewarded."""

import json
import os

import verifiers.v1 as vf
from openai import AsyncOpenAI

__all__ = ["DigitsHarness", "DigitsTaskset"]


def digits(text):
    return sum(letter.isascii() and letter.isdigit() for letter in text)


class DigitsTask(vf.Task[vf.TaskData]):
    @vf.reward
    async def share(self, trace: vf.Trace) -> float:
        texts = [message.content or "" for message in trace.assistant_messages]
        return sum(digits(text) for text in texts) / max(1, sum(map(len, texts)))


class DigitsTaskset(vf.Taskset[DigitsTask, vf.TasksetConfig]):
    def load(self):
        return []


class DigitsHarness(vf.Harness[vf.HarnessConfig]):
    """Two turns and a tool in this process, over the address that verifiers has opened for the rollout."""

    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data, tool_interception_url=None):
        client = AsyncOpenAI(base_url=endpoint, api_key=secret, max_retries=0)
        messages = [{"role": "user", "content": data.prompt}]
        log = open(os.environ["SERVED"], "a")
        for turn in range(2):
            answer = await client.chat.completions.create(
                model=ctx.model, messages=messages, logprobs=True, extra_body={"return_token_ids": True})
            choice = answer.model_dump()["choices"][0]
            log.write(json.dumps({
                "rollout": data.id, "prompt_ids": choice["prompt_token_ids"], "ids": choice["token_ids"],
                "log_probs": [token["logprob"] for token in choice["logprobs"]["content"]]}) + "\n")
            content = choice["message"]["content"]
            tool = {"role": "tool", "tool_call_id": f"count-{turn}", "content": str(digits(content))}
            messages += [{"role": "assistant", "content": content}, tool]
        log.close()
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")
