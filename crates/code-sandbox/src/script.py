# Runs program.py as a script, with nothing open but the three streams.
import os, sys

os.closerange(3, 4096)
import runpy

sys.argv = ["program.py"]
runpy.run_path("program.py", run_name="__main__")
