"""Starts TensorBoard on a folder of runs and asks it what its page asks: `python serve.py RUNS`."""
import json
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request

command = [sys.executable, "-m", "tensorboard.main", "--logdir", sys.argv[1], "--host", "127.0.0.1", "--port", "0"]
server = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
open_url = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
try:
    for line in server.stderr:
        if address := re.search(r"http://127\.0\.0\.1:\d+", line):
            break
    else:
        sys.exit("tensorboard did not start")

    def ask(path, **query):
        with open_url(f"{address[0]}/data/{path}?{urllib.parse.urlencode(query)}") as reply:
            return json.load(reply)

    # It reads in the background.
    for _ in range(300):
        tags = ask("plugin/scalars/tags")
        if len(tags) == 2:
            break
        time.sleep(0.1)
    scalars = ask("plugin/scalars/scalars", run="KL-Cov/events", tag="actor/entropy")
    print(json.dumps({"runs": sorted(ask("runs")), "tags": tags, "scalars": scalars}))
finally:
    server.terminate()
    server.wait()
