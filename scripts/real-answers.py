#!/usr/bin/env python3
"""Write the public responses of seven models with a label each, for `reward-math bench FILE --peers`.

The responses are those that NovaSky-AI/SkyThought published (Apache-2.0), of which each boxes an answer. A label is the
score that stands beside the response, by the grader of Qwen2.5-Math, unless real-answers.tsv corrects it. Our author read
the responses on which that grader, Math-Verify 0.9.0 and reward-math differ, with the verdicts beside them.

    python3 scripts/real-answers.py target/real-answers.jsonl

clones the repository into target/skythought.git, without the files that are not needed; SKYTHOUGHT names a clone that is
there already.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = "https://github.com/NovaSky-AI/SkyThought"
COMMIT = "dff54f122054a124670c9f85456765b0fc539ac6"
FOLDER = "skythought/Qwen2.5-Math/evaluation"
RUN = "test_{}_-1_seed0_t0.0_s0_e-1.jsonl"
# Folder of a model, the name of its prompt, and the sets that it answered.
MODELS = [
    ("Qwen/Qwen2.5-14B-Instruct", "qwen25-math-cot", "aime24 amc23 math500 minerva_math olympiadbench"),
    ("Qwen/Qwen2.5-Math-7B", "qwen25-math-cot", "aime24 amc23 math500 minerva_math"),
    ("google/gemma-2-27b-it", "qwen25-math-cot", "aime24 amc23 math500 minerva_math olympiadbench"),
    ("meta-llama/Llama-3.1-8B", "qwen25-math-cot", "aime24 amc23"),
    ("home/ubuntu/skyov1-dl/Sky-T1-math-correct-5K-27B", "Sky-T1", "aime24 amc23 math500 minerva_math"),
    ("home/ubuntu/skyov1-dl/Sky-T1-math-wrong-5K-27B", "Sky-T1", "aime24 amc23 minerva_math"),
    ("icml_models/Sky-T1-math-correct-5K-32B-short-ckpts", "Sky-T1", "aime24 amc23 math500 olympiadbench"),
]


def clone():
    given = os.environ.get("SKYTHOUGHT")
    if given:
        return Path(given)
    folder = Path(__file__).parent.parent / "target" / "skythought.git"
    if not folder.exists():
        partial = folder.with_suffix(".part")
        shutil.rmtree(partial, ignore_errors=True)
        command = ["git", "clone", "--quiet", "--bare", "--filter=blob:none", REPOSITORY, str(partial)]
        subprocess.run(command, check=True)
        partial.rename(folder)
    return folder


def rows(repository, path):
    shown = subprocess.run(
        ["git", "-C", str(repository), "show", f"{COMMIT}:{FOLDER}/{path}"], check=True, stdout=subprocess.PIPE
    )
    return [json.loads(line) for line in shown.stdout.decode().split("\n") if line.strip()]


def boxed(solution):
    """Return the content of the last box of a solution."""
    start = solution.index("{", solution.rindex("\\boxed"))
    depth = 0
    for place in range(start, len(solution)):
        depth += {"{": 1, "}": -1}.get(solution[place], 0)
        if depth == 0:
            return solution[start + 1 : place].strip()
    raise ValueError(f"unclosed box in {solution[-80:]!r}")


def ground_truths(repository):
    """Return the ground truths of the sets whose responses hold them without spaces."""
    minerva = rows(repository, "data/minerva_math/test.jsonl")
    olympiad = rows(repository, "data/olympiadbench/test.jsonl")
    return {
        "minerva_math": [boxed(row["solution"]) for row in minerva],
        "olympiadbench": [row["final_answer"][0] for row in olympiad],
    }


def corrections():
    lines = Path(__file__).with_suffix(".tsv").read_text().splitlines()
    return {row: label == "right" for row, label in (line.split("\t") for line in lines)}


def main(path):
    repository = clone()
    truths, corrected = ground_truths(repository), corrections()
    written = []
    for folder, prompt, sets in MODELS:
        for name in sets.split():
            run = f"outputs/{folder}/{name}_eval/{name}/{RUN.format(prompt)}"
            for row in rows(repository, run):
                response, index = row["code"][0], int(row["idx"])
                if not re.search(r"\\(?:boxed|fbox)\s*\{\s*[^}\s]", response):
                    continue
                key = f"{folder.split('/')[-1]}/{name}/{index}"
                truth = truths[name][index] if name in truths else str(row["answer"])
                label = corrected.get(key, bool(row["score"][0]))
                fields = {"id": key, "question": row["question"], "response": response}
                written.append(fields | {"answer": truth, "label": label})
    partial = Path(f"{path}.part")
    partial.parent.mkdir(parents=True, exist_ok=True)
    with partial.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in written)
    partial.rename(path)
    print(f"{path}: {len(written)} responses, {sum(row['label'] for row in written)} right")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        main(sys.argv[1])
    except subprocess.CalledProcessError as error:
        sys.exit(f"real-answers.py: {' '.join(error.cmd)} failed, see above")
    except OSError as error:
        sys.exit(f"real-answers.py: {error}")
