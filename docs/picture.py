"""Draw docs/demo.svg: the demo's output on a terminal. Run with ``python docs/picture.py``."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
WORDS = ("demo", "--fixed-clock", "--lang", "en")


def said() -> str:
    """Run the demo in an empty folder and return its messages."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "exporter", *WORDS]
        messages = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stderr
        return messages.replace(f"{folder}/", "")


def drawn(said: str) -> str:
    """Return messages of the demo as a picture, the same every time."""
    # The words that start the program depend on the shell; make demo prints these.
    said = re.sub(r" (?:\S+ -m exporter|\S*blog-exporter) (?=log |show |files )", " .venv/bin/blog-exporter ", said)
    said = re.sub(r"127\.0\.0\.1:[0-9]+", "127.0.0.1:8080", said)
    said = re.sub(r"\b[0-9]+(\.[0-9])? s\b", "0.7 s", said)
    # After ten seconds a backup prints how far it is, which happens on a slow machine only.
    said = re.sub(r"^[0-9]+ list pages?.* read\n", "", said, flags=re.MULTILINE)
    console = Console(record=True, width=94, file=StringIO())
    console.print(Text("$ make demo", style="bold"))
    console.print(Text(said.rstrip()))
    picture = console.export_svg(title="blog-exporter")
    return re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)


def main() -> None:
    """Write docs/demo.svg."""
    (HERE / "demo.svg").write_text(drawn(said()), encoding="utf-8")


if __name__ == "__main__":
    main()
