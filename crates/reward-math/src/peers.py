"""Graders of other projects on rows of standard input: what `reward-math bench --peers` runs.

A row is `["response", "ground truth"]`. The first line of output names the graders that are installed, and how to install the
others. Each further line holds, for one row and in their order, the verdict (null: no answer in LIMIT seconds) and the seconds.
"""

import json
import logging
import multiprocessing
import sys
import time
import warnings

LIMIT = 10.0


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


def main():
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    multiprocessing.set_start_method("fork")
    rows = [json.loads(line) for line in sys.stdin]
    workers, missing = {}, {}
    for name, (load, install) in GRADERS.items():
        try:
            load()
            workers[name] = Worker(load)
        except ImportError:
            missing[name] = install
    print(json.dumps({"graders": list(workers), "missing": missing}), flush=True)
    for row in rows if workers else []:
        print(json.dumps([worker.grade(row) for worker in workers.values()]), flush=True)


main()
