"""Measures our side of the questions in docs/benchmarks/*.json and writes the numbers into the rows of this machine.

`make benchmarks` calls it and then renders docs/benchmarks.md. ONLY="losses verifier" picks files, RUNS=3 records the range of three
calls. A row is measured if it has an `id` and its file a command with `reads`; peers keep their numbers. Standard library only.

`benchmarks.py FILE` takes over the numbers of a GPU that scripts/gpu-check.sh has written to gpu-check.json.
"""

import datetime
import json
import os
import re
import string
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "benchmarks"
MACHINES = FOLDER / "machines.json"
# Order of a row's fields in the file.
FIELDS = (
    *("case", "column", "id", "ours", "peers", "peers_date", "memory"),
    *("machine", "commit", "date", "note"),
)
# Units of gpu.json, by the fields of gpu-check's rows.
UNITS = {
    "launch_us": "µs a launch",
    "decode_ms_per_step": "ms a token",
    "tok_s": "tokens/s",
    "timing_s/step": "s a step",
    "perf/max_memory_bytes": "bytes",
    "planned_bytes": "bytes by the plan",
}
SECONDS = {"ps": 1e-12, "ns": 1e-9, "µs": 1e-6, "us": 1e-6, "ms": 1e-3, "s": 1.0}
# `ID   time:   [LOW UNIT MIDDLE UNIT HIGH UNIT]`; an ID longer than 23 characters has the line before for itself.
TIME = re.compile(r"(?P<id>.*?)\s*time:\s+\[[\d.]+ \w+ (?P<value>[\d.]+) (?P<unit>\w+) [\d.]+ \w+\]")


def fail(message):
    print(f"error: {message}", file=sys.stderr)
    sys.exit(2)


def criterion(text, unit):
    heading = ""
    for line in text.splitlines():
        match = TIME.match(line)
        if match:
            yield match["id"] or heading, float(match["value"]) * SECONDS[match["unit"]] / SECONDS[unit], None
        elif line.strip() and not line.startswith(" "):
            heading = line.strip()


def loss_bench(text, _):
    for row in json.loads(text)["results"]:
        yield f"{row['loss']}:{row['n']}", row["median_ms"], None


def softmax_sim(text, _):
    for row in json.loads(text)["results"]:
        yield f"{row['S']}x{row['A']}:{row['alg']}", row["steps_per_s"], None


def lm_bench(text, _):
    for row in (json.loads(line) for line in text.splitlines() if line.startswith("{")):
        name = ":".join(row[part] for part in ("model", "dtype", "what", "lengths", "kept") if part in row)
        yield name, row.get("decode_ms_per_step", row.get("tok_s")), row.get("peak_rss_mb")


READERS = {
    "criterion": criterion,
    "loss_bench": loss_bench,
    "lm_bench": lm_bench,
    "softmax_sim": softmax_sim,
}


def output(*command):
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def measure(question, runs):
    """Numbers and peak memories by id, one a call, and whether all commands succeeded."""
    measured, succeeded = {}, True
    for command in question["commands"]:
        for _ in range(runs if "reads" in command else 0):
            print(f"$ {command['run']}", flush=True)
            run = subprocess.run(["bash", "-c", command["run"]], cwd=ROOT, stdout=subprocess.PIPE, text=True)
            print(run.stdout, end="", flush=True)
            if run.returncode != 0:
                print(f"error: exit code {run.returncode}: {command['run']}", file=sys.stderr)
                succeeded = False
            # What a failed command has measured before counts.
            if run.stdout.strip():
                for name, value, memory in READERS[command["reads"]](run.stdout, question["unit"]):
                    measured.setdefault(name, []).append((value, memory))
    return measured, succeeded


def rounded(value):
    """Three significant digits, without a point where none is needed."""
    value = float(f"{value:.3g}")
    return int(value) if value.is_integer() else value


def span(values):
    least, most = rounded(min(values)), rounded(max(values))
    return least if least == most else [least, most]


def place(rows, name, machine):
    """The row of this measurement and machine: the one there is, or a new one behind the machine's others."""
    alike = [row for row in rows if row.get("id") == name]
    if not alike:
        return None
    for row in alike:
        if row["machine"] == machine:
            return row
    row = {field: alike[0][field] for field in ("case", "column", "id") if field in alike[0]}
    last = max((index for index, other in enumerate(rows) if other["machine"] == machine), default=len(rows) - 1)
    rows.insert(last + 1, row)
    return row


def update(question, measured, stamp):
    """Writes what was measured into the rows, and returns how many rows changed."""
    count = 0
    for name, calls in measured.items():
        row = place(question["rows"], name, stamp["machine"])
        if row is None:
            continue
        # A ratio is of the number that it was measured with.
        peers = {peer: value for peer, value in row.pop("peers", {}).items() if not isinstance(value, dict)}
        if peers:
            row["peers"] = peers
            row.setdefault("peers_date", row["date"])
        memories = [memory for _, memory in calls if memory is not None]
        if memories:
            row["memory"] = [max(memories), *row.get("memory", [])[1:]]
        # It was of the former measurement.
        row.pop("note", None)
        row.update(stamp, ours=span([value for value, _ in calls]))
        count += 1
    question["rows"] = [{field: row[field] for field in FIELDS if field in row} for row in question["rows"]]
    return count


def written(document):
    """JSON with a line for each field of the document, and for each element of a list."""
    fields = []
    for key, value in document.items():
        text = json.dumps(value, ensure_ascii=False)
        if isinstance(value, list) and value:
            text = "[\n" + ",\n".join(f"    {json.dumps(one, ensure_ascii=False)}" for one in value) + "\n  ]"
        fields.append(f"  {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(fields) + "\n}\n"


def machine_of(description, machines):
    """Letter of the machine with that description, which gets an entry if it is new."""
    for letter, machine in machines.items():
        if machine["description"] == description:
            return letter
    letter = next(letter for letter in string.ascii_uppercase if letter not in machines)
    machines[letter] = {"description": description}
    MACHINES.write_text(written(machines))
    return letter


def take_over(path):
    """Replaces the machine's rows of gpu.json by those of a report of scripts/gpu-check.sh."""
    report = json.loads(path.read_text())
    if report["device"] == "cpu":
        fail(f"{path}: measured on the CPU, expected a GPU")
    if not re.fullmatch("[0-9a-f]{7}", report["commit"]):
        fail(f"{path}: commit is `{report['commit']}`, expected one without changes, packed by scripts/gpu-check.sh")
    machine = machine_of(report["gpu"], json.loads(MACHINES.read_text()))
    file = FOLDER / "gpu.json"
    question = json.loads(file.read_text())
    stamp = {"machine": machine, "commit": report["commit"], "date": report["date"]}
    taken = []
    for section in report["sections"].values():
        for row in section["rows"]:
            case = " ".join(row[part] for part in ("model", "dtype", "what", "lengths", "kept") if part in row)
            memory = {"memory": [row["peak_device_mb"]]} if "peak_device_mb" in row else {}
            for field, unit in UNITS.items():
                if field in row:
                    taken.append({"case": f"{case}, {unit}", "ours": rounded(row[field]), **memory, **stamp})
    order = list(UNITS.values())
    taken.sort(key=lambda row: order.index(row["case"].rsplit(", ", 1)[1]))
    question["method"] = ["By `scripts/gpu-check.sh`, taken over by `scripts/benchmarks.py`."]
    question["rows"] = [row for row in question["rows"] if row["machine"] != machine]
    question["rows"] += [{field: row[field] for field in FIELDS if field in row} for row in taken]
    file.write_text(written(question))
    print(f"gpu: {len(taken)} rows of machine {machine}")


def this_machine():
    """Letter of this machine in machines.json, which gets an entry for a new one."""
    listed = os.environ | {"LC_ALL": "C"}
    lines = subprocess.run(["lscpu"], env=listed, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    said = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    # A hypervisor may hide the name, so that numbers tell processors apart.
    parts = [said.get("Vendor ID", said.get("Model name", "unknown"))]
    parts += [f"{label} {said[key]}" for key, label in (("CPU family", "family"), ("Model", "model")) if key in said]
    cpu = ", ".join([*parts, f"{said['CPU(s)']} cores"])
    machines = json.loads(MACHINES.read_text())
    for letter, machine in machines.items():
        if machine.get("cpu") == cpu:
            return letter
    letter = next(letter for letter in string.ascii_uppercase if letter not in machines)
    memory = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    system = output("sh", "-c", '[ -r /etc/os-release ] && . /etc/os-release; echo "${PRETTY_NAME:-$(uname -sr)}"')
    parts = [f"{said['CPU(s)']} cores of {said.get('Model name', cpu)}, {memory} GiB", system, output("rustc", "--version")]
    machines[letter] = {"description": ", ".join(parts), "cpu": cpu}
    MACHINES.write_text(written(machines))
    return letter


def main():
    if len(sys.argv) == 2 and sys.argv[1].endswith(".json"):
        return take_over(Path(sys.argv[1]))
    if len(sys.argv) > 1:
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1] in ("-h", "--help") else 2)
    questions = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json")) if path != MACHINES}
    measurable = [
        name for name, question in questions.items() if any("reads" in command for command in question["commands"])
    ]
    chosen = os.environ.get("ONLY", "").split() or measurable
    for name in chosen:
        if name not in measurable:
            fail(f"ONLY: nothing measures `{name}`, expected some of {', '.join(measurable)}")
    runs = os.environ.get("RUNS", "1")
    if not runs.isdigit() or int(runs) == 0:
        fail(f"RUNS is `{runs}`, expected a number of calls from 1 on")
    if output("git", "status", "--porcelain", "--", "crates", "Cargo.toml", "Cargo.lock"):
        fail("uncommitted changes in crates/ or Cargo.*: a number belongs to a commit")
    stamp = {
        "machine": this_machine(),
        "commit": output("git", "rev-parse", "--short=7", "HEAD"),
        "date": datetime.date.today().isoformat(),
    }
    all_succeeded = True
    for name in sorted(chosen, key=lambda name: questions[name]["order"]):
        question = questions[name]
        measured, succeeded = measure(question, int(runs))
        all_succeeded &= succeeded
        ids = {row["id"] for row in question["rows"] if "id" in row}
        for missing in sorted(ids - measured.keys()):
            print(f"{name}: {missing} was not measured", file=sys.stderr)
        count = update(question, measured, stamp)
        if count:
            (FOLDER / f"{name}.json").write_text(written(question))
        print(f"{name}: {count} rows of machine {stamp['machine']}")
    sys.exit(0 if all_succeeded else 1)


if __name__ == "__main__":
    main()
