"""Serve archives forged by an attacker: the server reveals and changes no file outside, and answers every request."""

from __future__ import annotations

import http.client
import sys
from pathlib import Path

import pytest

from exporter.errors import BlogExporterError
from tests.hostile.building import SECRET, Outside
from tests.hostile.conftest import Whole
from tests.hostile.test_archives import ATTACKS
from tests.serve.serving import served

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="its devices and sockets are made"),
]

_PATHS = (
    "latest/site/index.html", "latest/site/entry/1.html", "latest/site/search.html?q=%E6%B5%B7", "api", "api/versions",
    "api/entries", "api/records/entry/1", "api/records/entry/1?at=1", "api/search?q=%E6%B5%B7",
)  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_no_file_outside_is_served(whole: Whole, archive: Path, tmp_path: Path, name: str) -> None:
    outside = Outside.made(tmp_path / "docs")
    ATTACKS[name](archive, outside)
    before = outside.state()
    pictures = [path.relative_to(whole.root).as_posix() for path in (whole.root / "assets").rglob("*.*")]
    try:
        with served(archive) as running:
            for path in (*_PATHS, *pictures):
                answer = running.get(path)
                assert answer.status in {200, 400, 404, 500}, path
                assert SECRET[:20] not in answer.body
    except BlogExporterError:
        pass  # a file that cannot be opened is not served
    except http.client.HTTPException as error:
        raise AssertionError(f"{name}: {error!r}") from error
    assert outside.state() == before
