#!/usr/bin/env python3
"""Sends the metrics of a run to MLflow through its REST interface; the standard library suffices.

As a run's command:   metrics.sink = { command = ["python3", "scripts/metrics-to-mlflow.py"] }
After a run:          python3 scripts/metrics-to-mlflow.py runs/NAME

MLFLOW_TRACKING_URI is the address of the server. MLFLOW_EXPERIMENT_NAME names the experiment ("Default" without it);
MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, are what it asks for. The id of the MLflow run is kept in
the run's mlflow.json: a resumed run goes on in the same one, and steps that the server has are not sent again.
"""

import base64
import json
import os
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

# Bounds of `runs/log-batch`.
MOST_METRICS = 1000
MOST_PARAMETERS = 100
LONGEST_PARAMETER = 6000
# An unreachable server is waited for so long, in seconds; what is then not sent goes with the next start.
PATIENCE = float(os.environ.get("METRICS_PATIENCE_SECONDS", "600"))


def ask(method, path, body=None):
    """One request; the answer of the server, None if it has no such thing. A server that is not reached or busy is waited for."""
    address = os.environ["MLFLOW_TRACKING_URI"].rstrip("/") + "/api/2.0/mlflow/" + path
    headers = {"Content-Type": "application/json"}
    if token := os.environ.get("MLFLOW_TRACKING_TOKEN"):
        headers["Authorization"] = "Bearer " + token
    elif user := os.environ.get("MLFLOW_TRACKING_USERNAME"):
        both = f"{user}:{os.environ.get('MLFLOW_TRACKING_PASSWORD', '')}"
        headers["Authorization"] = "Basic " + base64.b64encode(both.encode()).decode()
    data = None if body is None else json.dumps(body).encode()
    deadline, wait = time.monotonic() + PATIENCE, 1.0
    while True:
        try:
            request = urllib.request.Request(address, data=data, headers=headers, method=method)
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            if error.code < 500 and error.code != 429:
                raise SystemExit(f"{path}: {error.code} {error.read(500).decode(errors='replace')}")
            problem = error
        except OSError as error:
            problem = error
        if time.monotonic() + wait > deadline:
            raise SystemExit(f"{path}: {problem}")
        time.sleep(wait)
        wait = min(2 * wait, 60.0)


def experiment():
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME", "Default")
    known = ask("GET", "experiments/get-by-name?" + urllib.parse.urlencode({"experiment_name": name}))
    if known:
        return known["experiment"]["experiment_id"]
    return ask("POST", "experiments/create", {"name": name})["experiment_id"]


def parameters(table, prefix=""):
    """The fields of a configuration by their dotted paths."""
    for name, value in table.items():
        if isinstance(value, dict) and value:
            yield from parameters(value, f"{prefix}{name}.")
        else:
            text = value if isinstance(value, str) else json.dumps(value)
            yield {"key": allowed(prefix + name)[:250], "value": text[:LONGEST_PARAMETER]}


def allowed(name):
    """MLflow takes letters, digits and `_-. :/` in a name."""
    return re.sub(r"[^\w\-. :/]", "_", name.replace("@", "_at_"), flags=re.ASCII)


def begin(header):
    """The id of the run, and the last step that the server has; -1 of a new run."""
    record = os.path.join(header["directory"], "mlflow.json")
    if os.path.exists(record):
        with open(record, encoding="utf-8") as file:
            run_id = json.load(file)["run_id"]
        known = ask("GET", "runs/get?" + urllib.parse.urlencode({"run_id": run_id}))
        if known is None:
            raise SystemExit(f"{record}: the server has no run {run_id} (remove the file to send it as a new one)")
        ask("POST", "runs/update", {"run_id": run_id, "status": "RUNNING"})
        steps = [int(metric.get("step", 0)) for metric in known["run"].get("data", {}).get("metrics", [])]
        return run_id, max(steps, default=-1)
    now = int(time.time() * 1000)
    new = {"experiment_id": experiment(), "run_name": header["run"], "start_time": now}
    run_id = ask("POST", "runs/create", new)["run"]["info"]["run_id"]
    with open(record + ".new", "w", encoding="utf-8") as file:
        json.dump({"run_id": run_id}, file)
    os.replace(record + ".new", record)
    fields = list(parameters(header["config"]))
    for start in range(0, len(fields), MOST_PARAMETERS):
        part = fields[start : start + MOST_PARAMETERS]
        ask("POST", "runs/log-batch", {"run_id": run_id, "params": part})
    return run_id, -1


def send(run_id, row):
    step, now = row.pop("step"), int(time.time() * 1000)
    metrics = [
        {"key": allowed(name), "value": value, "timestamp": now, "step": step}
        for name, value in row.items()
    ]
    for start in range(0, len(metrics), MOST_METRICS):
        part = metrics[start : start + MOST_METRICS]
        ask("POST", "runs/log-batch", {"run_id": run_id, "metrics": part})


def main():
    if len(sys.argv) > 1:
        folder = sys.argv[1]
        with open(os.path.join(folder, "resolved.json"), encoding="utf-8") as file:
            config = json.load(file)
        header = {"run": config["name"], "directory": folder, "config": config}
        lines = open(os.path.join(folder, "metrics.jsonl"), encoding="utf-8")
    else:
        header, lines = json.loads(sys.stdin.readline()), sys.stdin
    run_id, last = begin(header)
    for line in lines:
        # A run that was killed leaves a torn line.
        row = json.loads(line) if line.endswith("\n") else {"step": -1}
        if row["step"] > last:
            send(run_id, row)
    ask("POST", "runs/update", {"run_id": run_id, "status": "FINISHED", "end_time": int(time.time() * 1000)})


if __name__ == "__main__":
    main()
