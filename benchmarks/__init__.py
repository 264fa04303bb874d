"""Measurements of the program against what else could do the same work. See README.md beside this file."""

from pathlib import Path
from typing import Final

PEERS: Final = Path(__file__).parents[1] / ".venv-peers"
"""Where ``make peers`` puts the programs of PyPI and npm that are measured beside ours."""
SCRIPTS: Final = Path(__file__).with_name("peers")
"""What drives them, and the short scripts that ours is measured against."""
