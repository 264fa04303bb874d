"""Draw docs/demo.svg: what the demo says on a terminal. Run with ``python docs/picture.py``."""

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


def main() -> None:
    """Run the demo in an empty folder and keep what it says as a picture."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "exporter", "demo"]
        said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stderr
        said = said.replace(f"{folder}/", "")
    console = Console(record=True, width=94, file=StringIO())
    console.print(Text("$ make demo", style="bold"))
    console.print(Text(said.rstrip()))
    picture = console.export_svg(title="blog-exporter")
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
    (HERE / "demo.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
