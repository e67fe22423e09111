# Calls the function that sys.argv names with the rows of each batch, a list of dicts, and writes its numbers.
import importlib
import json
import os
import sys

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # What the function prints is no reward.
module, _, name = sys.argv[1].partition(":")
reward = importlib.import_module(module)
for part in name.split("."):
    reward = getattr(reward, part)
rows = []
for line in sys.stdin:
    rows.append(json.loads(line))
    if len(rows) == rows[0]["rows"]:
        numbers = [float(number) for number in reward(rows)]
        if len(numbers) != len(rows):
            sys.exit(f"{sys.argv[1]} returned {len(numbers)} rewards of {len(rows)} rows")
        answers.writelines(repr(number) + "\n" for number in numbers)
        answers.flush()
        rows = []
