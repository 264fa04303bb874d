"""``scan.py FILE WORD`` counts the lines that have a word."""

import sys
from pathlib import Path

with Path(sys.argv[1]).open(encoding="utf-8") as lines:
    print(sum(sys.argv[2] in line for line in lines))
