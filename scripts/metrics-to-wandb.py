#!/usr/bin/env python3
"""Sends the metrics of a run to Weights & Biases by the package `wandb`.

As a run's command:   metrics.sink = { command = ["python3", "scripts/metrics-to-wandb.py"] }
After a run:          python3 scripts/metrics-to-wandb.py runs/NAME

WANDB_PROJECT, WANDB_ENTITY, WANDB_MODE and the other variables of wandb apply. The id of its run and the last step sent are kept in the
run's wandb.json: a resumed run goes on in the same one, and steps that were sent are not sent again.
"""

import json
import os
import sys
import uuid

import wandb


def kept(record):
    """The id of the wandb run and the last step sent."""
    if os.path.exists(record):
        with open(record, encoding="utf-8") as file:
            return json.load(file)
    return {"id": uuid.uuid4().hex[:8], "step": -1}


def keep(record, state):
    with open(record + ".new", "w", encoding="utf-8") as file:
        json.dump(state, file)
    os.replace(record + ".new", record)


def main():
    if len(sys.argv) > 1:
        folder = sys.argv[1]
        with open(os.path.join(folder, "resolved.json"), encoding="utf-8") as file:
            config = json.load(file)
        header = {"run": config["name"], "directory": folder, "config": config}
        lines = open(os.path.join(folder, "metrics.jsonl"), encoding="utf-8")
    else:
        header, lines = json.loads(sys.stdin.readline()), sys.stdin
    record = os.path.join(header["directory"], "wandb.json")
    state = kept(record)
    keep(record, state)
    with wandb.init(
        id=state["id"], resume="allow", name=header["run"], config=header["config"], dir=header["directory"]
    ) as run:
        for line in lines:
            # A run that was killed leaves a torn line.
            row = json.loads(line) if line.endswith("\n") else {"step": -1}
            step = row.pop("step")
            if step > state["step"]:
                run.log(row, step=step)
                state["step"] = step
                keep(record, state)


if __name__ == "__main__":
    main()
