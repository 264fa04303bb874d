"""What ``warcio check`` says about a WARC file, without starting it."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from warcio.bufferedreaders import BufferedReader
from warcio.cli import main


def warcio_check(path: Path) -> tuple[int, str]:
    """Return the exit code and the output of ``warcio check -v``."""
    said = io.StringIO()
    code: object = 0
    with patch.dict(BufferedReader.DECOMPRESSORS), redirect_stdout(said), redirect_stderr(said):
        BufferedReader.DECOMPRESSORS.pop("br", None)  # warcio 1.8 fails with the decoder of brotli 1.2
        try:
            main(["check", "-v", str(path)])
        except SystemExit as end:
            code = end.code or 0
    return int(str(code)), said.getvalue()
