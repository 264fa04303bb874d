from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.archive import safe_files
from exporter.archive.safe_files import newest_lines

LINES = st.lists(st.binary(max_size=9).filter(lambda line: b"\n" not in line), max_size=20)


@given(lines=LINES, torn=st.binary(max_size=9).filter(lambda line: b"\n" not in line), block=st.integers(1, 12))
def test_lines_come_newest_first_for_any_block_size(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], torn: bytes, block: int
) -> None:
    path = tmp_path_factory.mktemp("tail") / "lines"
    path.write_bytes(b"".join(line + b"\n" for line in lines) + torn)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(safe_files, "_FIRST_BLOCK_BYTES", block)
        assert list(newest_lines(path)) == lines[::-1]


def test_only_the_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    with path.open("wb") as file:
        file.seek(1 << 29)
        file.write(b"\nold\nnew\n")
    lines = newest_lines(path)
    assert (next(lines), next(lines)) == (b"new", b"old")
    assert isinstance(lines, Generator)
    lines.close()


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        next(newest_lines(tmp_path / "nothing"))
