"""Run a command in a process of its own, and measure its peak memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

_MEASURED: Final = """
import sys
from pathlib import Path
from exporter.cli.main import main
code = main(sys.argv[2:])
status = Path("/proc/self/status").read_text()
Path(sys.argv[1]).write_text(status.split("VmHWM:")[1].split()[0])
sys.exit(code)
"""


class Measured(NamedTuple):
    """The result of a command.

    Attributes:
        code: its exit code.
        megabytes: its peak memory; 0 if it did not end by itself.
        printed: its output and messages.
    """

    code: int
    megabytes: int
    printed: str


def run_measured(folder: Path, command: Sequence[object]) -> Measured:
    """Run a command of the program; ``folder`` takes a file with the peak.

    The peak in ``rusage`` would begin with the memory of this process, so the command reads its own.
    """
    peak = folder / "peak"
    words = [sys.executable, "-c", _MEASURED, str(peak), *map(str, command)]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True)
    megabytes = int(peak.read_text()) // 1024 if peak.is_file() else 0
    return Measured(done.returncode, megabytes, (done.stdout + done.stderr).decode("utf-8", "replace"))
