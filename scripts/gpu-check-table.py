"""Collects what scripts/gpu-check.sh measured: rows of parity and steps, the table, and gpu-check.json. Standard library only."""

import datetime
import json
import sys
from pathlib import Path


# What names a row.
LABEL = ("model", "dtype", "what", "lengths", "kept")


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line.startswith("{")] if path.exists() else []


def parity(out, device):
    """Largest differences of log-probabilities and entropies, in nats, from those on the CPU in f32; exits with 1 where one is too large."""
    all_within = True
    for name in ("tiny_qwen2_tied", "tiny_qwen2_untied", "tiny_qwen3", "tiny_qwen3_moe", "tiny_mistral", "tiny_qwen2_long"):
        exact = json.loads((out / f"parity-{name}-cpu-f32.json").read_text().splitlines()[0])
        # Rounded to bf16, a router of random weights sends a token to other experts: 0.5 nats.
        for kind in ("f32",) if name.endswith("moe") else ("f32", "bf16"):
            found = json.loads((out / f"parity-{name}-{kind}.json").read_text().splitlines()[0])
            row = {"model": name, "dtype": kind, "device": device}
            for column in ("log_prob", "entropy"):
                assert len(exact[column]) == len(found[column]) > 0
                row[f"{column}_difference"] = max(abs(a - b) for a, b in zip(exact[column], found[column]))
            # transformers' own bf16 is 0.18 nats from its f32 on this text and these models of random weights (logits up to 11).
            row["tolerance"] = 1e-3 if kind == "f32" else 0.2
            row["within"] = max(row["log_prob_difference"], row["entropy_difference"]) <= row["tolerance"]
            all_within &= row["within"]
            print(json.dumps(row))
    sys.exit(0 if all_within else 1)


def doctor(out):
    """Self-tests, the attention kernels and our own, as `llm-trainer doctor` says."""
    for line in (out / "doctor.txt").read_text().splitlines():
        name, _, said = line.partition(" ")
        if name in ("self-test", "attention", "kernel"):
            where, _, outcome = said.strip().partition(": ")
            print(json.dumps({"what": name, "on": where, "outcome": outcome}))


def compared(measured):
    """Of each `genN` beside a `plainN`: how many times as fast it decodes."""
    key = lambda row, what: (row["model"], row["dtype"], row.get("lengths"), what)
    rates = {key(row, row["what"]): row["decode_tok_s"] for row in measured if "decode_tok_s" in row}
    for (model, dtype, lengths, what), rate in rates.items():
        plain = rates.get((model, dtype, lengths, what.replace("gen", "plain")))
        if what.startswith("gen") and plain:
            place = {"lengths": lengths} if lengths else {}
            yield {"model": model, "dtype": dtype, "what": f"{what} against plain", **place, "times_as_fast": rate / plain}


def planned_bytes(plan):
    """Peak memory that the allocator of a device sees, by `llm-trainer plan --json`: `MemoryPlan::overhead_bytes` without driver and libtorch."""
    held = lambda items: sum(item["bytes"] for item in items)
    memory = plan["memory"]
    phase = max(held(phase["items"]) for phase in memory["phases"])
    return held(memory["resident"]) + phase + memory["largest_tensor_bytes"]


def step(out, name, model):
    """The last step of a run, as the first warms up; memory of the device, planned and measured."""
    last = rows(out / "run" / name / "metrics.jsonl")[-1]
    wanted = ("timing_s/gen", "timing_s/old_log_prob", "timing_s/update_actor", "timing_s/probe", "timing_s/step", "rollout/mismatch_kl", "perf/max_memory_bytes")
    planned = planned_bytes(json.loads((out / f"{name}-plan.json").read_text()))
    print(json.dumps({"model": model, **{key: last[key] for key in wanted if key in last}, "planned_bytes": planned}))


def table(out, device, model, commit, gpu):
    sections = rows(out / "sections.jsonl")
    about = {"device": device, "gpu": gpu, "model": model, "commit": commit, "date": datetime.date.today().isoformat()}
    report = {**about, "sections": {}}
    for section in sections:
        name = section["section"]
        measured = rows(out / f"{name}.jsonl")
        report["sections"][name] = {**section, "rows": measured + list(compared(measured))}
    (out / "gpu-check.json").write_text(json.dumps(report, indent=1) + "\n")
    where = "on the CPU: says nothing about a GPU" if device == "cpu" else f"on {device}"
    print(f"\n| section | {where} | |\n|---|---|---|")
    for name, section in report["sections"].items():
        took = f", {section['seconds']} s" if "seconds" in section else ""
        print(f"| {name} | {section['status']}{took} | |")
        for row in section["rows"]:
            label = " ".join(str(row[key]) for key in LABEL if key in row)
            shown = ", ".join(
                f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
                for key, value in row.items()
                if key not in (*LABEL, "device")
            )
            print(f"| | {label} | {shown} |")
    print(f"\nwritten: {out / 'gpu-check.json'}")
    outside = [row for section in report["sections"].values() for row in section["rows"] if row.get("within") is False]
    failed = [name for name, section in report["sections"].items() if section["status"].startswith(("exit", "cut"))]
    sys.exit(1 if outside or failed else 0)


if __name__ == "__main__":
    what, first, *rest = sys.argv[1:]
    {"doctor": doctor, "parity": parity, "step": step, "table": table}[what](Path(first), *rest)
