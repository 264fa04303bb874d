"""Run the command in the arguments after the first, and write its cost to the file descriptor in the first."""

import json
import os
import resource
import subprocess
import sys
import time

begun = time.perf_counter()
code = subprocess.call(sys.argv[2:])
wall = time.perf_counter() - begun
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
cost = {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "peak": usage.ru_maxrss}
os.write(int(sys.argv[1]), json.dumps(cost).encode())
sys.exit(code)
