"""Graders of other projects beside reward-math: what `reward-math bench --peers` runs.

A line of input is `["response", "ground truth", label or null, verdict of reward-math, its seconds]`. The output is a table, then
each row on which the graders differ.
"""

import json
import logging
import multiprocessing
import sys
import time
import warnings

LIMIT = 10.0  # seconds for one verdict
SHOWN = 60  # characters of an answer


def math_verify():
    from math_verify import parse, verify

    return lambda response, truth: verify(parse(f"${truth}$"), parse(response))


def oat():
    from oat.utils.math_grader import boxed_reward_fn

    return lambda response, truth: boxed_reward_fn(response, truth)[1] > 0.0


GRADERS = {
    "Math-Verify": (math_verify, "pip install math-verify==0.9.0"),
    "oat": (
        oat,
        "pip install math-verify==0.9.0 pylatexenc && "
        "pip install --no-deps --ignore-requires-python oat-llm==0.2.4",
    ),
}


def work(load, pipe):
    grader = load()
    while True:
        row = pipe.recv()
        start = time.perf_counter()
        try:
            verdict = bool(grader(*row))
        except Exception:
            verdict = False
        pipe.send([verdict, time.perf_counter() - start])


class Worker:
    """A grader in a process of its own, which is replaced when a row takes too long."""

    def __init__(self, load):
        self.load = load
        self.start()

    def start(self):
        self.pipe, other = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=work, args=(self.load, other), daemon=True)
        self.process.start()
        other.close()

    def grade(self, row):
        try:
            self.pipe.send(row)
            if self.pipe.poll(LIMIT):
                return self.pipe.recv()
        except (EOFError, OSError):
            pass
        self.process.kill()
        self.start()
        return [None, LIMIT]


def installed():
    """Returns the graders that this Python has, and says how to install the others."""
    workers = {}
    for name, (load, install) in GRADERS.items():
        try:
            load()
            workers[name] = Worker(load)
        except ImportError:
            print(f"{name} is not installed for {sys.executable}: {install}", file=sys.stderr)
    return workers


def summary(name, labels, graded):
    verdicts = [verdict for verdict, _ in graded]
    pairs = [(label, verdict is True) for label, verdict in zip(labels, verdicts) if label is not None]
    counts = [
        verdicts.count(True),
        sum(label == right for label, right in pairs),
        pairs.count((False, True)),
        pairs.count((True, False)),
        verdicts.count(None),
    ]
    mean = 1e3 * sum(seconds for _, seconds in graded) / max(len(graded), 1)
    return f"{name:<13}" + "".join(f"{count:>8}" for count in counts) + f"{mean:>9.3f} ms"


def end_of(text):
    text = "".join(c if c.isprintable() else " " for c in text.strip())
    return text if len(text) <= SHOWN else "…" + text[-SHOWN:]


def main():
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    multiprocessing.set_start_method("fork")
    rows = [json.loads(line) for line in sys.stdin]
    workers = installed()
    if not workers:
        sys.exit("error: none of the graders is installed")
    graded = {"reward-math": [[verdict, seconds] for *_, verdict, seconds in rows]}
    for name, worker in workers.items():
        graded[name] = [worker.grade(row[:2]) for row in rows]
    labels = [row[2] for row in rows]
    print(f"{len(rows)} rows, {len(labels) - labels.count(None)} of them labelled")
    print("                right   agree   false  misses  silent     mean")
    for name, verdicts in graded.items():
        print(summary(name, labels, verdicts))
    words = {True: "right", False: "wrong", None: "-"}
    print("\nrow     label   " + "".join(f"{name:<13}" for name in graded) + "response | ground truth")
    for place, (response, truth, label, *_) in enumerate(rows):
        verdicts = [verdicts[place][0] for verdicts in graded.values()]
        if len(set(verdicts)) > 1:
            cells = "".join(f"{words[verdict]:<13}" for verdict in verdicts)
            print(f"{place + 1:<8}{words[label]:<8}{cells}{end_of(response)} | {end_of(truth)}")


main()
