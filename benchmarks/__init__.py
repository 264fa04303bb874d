"""Measurements of the program against other programs that do the same work. See README.md in this folder."""

from pathlib import Path
from typing import Final

PEERS: Final = Path(__file__).parents[1] / ".venv-peers"
"""The folder in which ``make peers`` installs the programs from PyPI and npm for comparison."""
SCRIPTS: Final = Path(__file__).with_name("peers")
"""The scripts that run those programs, and the short scripts that the program is compared with."""
