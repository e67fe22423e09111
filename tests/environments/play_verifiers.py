"""Harness of llm-trainer that plays an environment of verifiers: a rollout a line in, a reward a line out.

    play_verifiers.py TASKSET HARNESS
"""

import asyncio
import json
import os
import sys

import verifiers.v1 as vf
from verifiers.v1.utils.loaders import load_taskset

# Lines of the protocol alone go to standard output.
ANSWERS, sys.stdout = sys.stdout, sys.stderr


async def main(taskset, harness):
    config = vf.SingleAgentEnvConfig(taskset={"id": taskset}, agent={"harness": {"id": harness}, "runtime": {"type": "subprocess"}})
    env = vf.SingleAgentEnv(config)
    task_type = type(load_taskset(config.taskset)).task_type()
    async with env.serving():
        while line := await asyncio.to_thread(sys.stdin.readline):
            rollout = json.loads(line)
            os.environ["POLICY_API_KEY"] = rollout["api_key"]
            client = vf.EvalClientConfig(base_url=rollout["base_url"], api_key_var="POLICY_API_KEY")
            data = vf.TaskData(id=rollout["rollout"], prompt=rollout["question"]["problem"])
            context = vf.ModelContext(model=rollout["model"], client=client)
            episode = await env.run_episode(task_type(data), context)
            if not episode.ok:
                faults = [error.message for trace in episode.traces for error in trace.errors]
                raise SystemExit(f"{rollout['rollout']}: {[error.message for error in episode.errors] + faults}")
            print(json.dumps({"reward": episode.traces[0].reward}), file=ANSWERS, flush=True)


asyncio.run(main(*sys.argv[1:]))
