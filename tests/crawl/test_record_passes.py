"""How often a changed entry is parsed and written until it is in the archive, in Markdown and on the site."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from exporter.demo.content import fields
from tests.support.generated import generated_blog
from tests.support.runs import ROOT, Runs, serving, unmeasured

MARK = '"entry_text":"<p>かぞえる'
MOST_PARSES = 2
MOST_WRITES = 3
"""The checkpoint, so that a killed run can resume; the version, in ID order so that archives are equal; latest/."""


def test_a_changed_entry_is_parsed_and_written_few_times(runs: Runs, tmp_path: Path) -> None:
    blog, report = generated_blog(6, 4, 2), tmp_path / "report.json"
    with serving(blog) as service:
        command = [
            "backup", blog.blog_id, "--base-url", service.base_url, "--archive", str(tmp_path / "archive"),
            "--assets", "none", "-q",
        ]  # fmt: skip
        assert runs.run(*command).code == 0
        fields(blog.entries[3])["entry_text"] = "<p>かぞえる</p>"
        subprocess.run(
            [sys.executable, "-m", "tests.support.passes", report, MARK, *command],
            cwd=ROOT, env={**unmeasured(), "XDG_CONFIG_HOME": str(tmp_path / "none")}, check=True,
        )  # fmt: skip
    found: dict[str, Any] = json.loads(report.read_text())
    assert found["code"] == 0
    shown = json.dumps({name: found[name] for name in ("parses", "writes")}, indent=1, ensure_ascii=False)
    assert 1 <= len(found["parses"]) <= MOST_PARSES, shown
    assert 2 <= len(found["writes"]) <= MOST_WRITES, shown
    for view in ("markdown", "site"):
        pages = [path.read_bytes() for path in (tmp_path / "archive/latest" / view).rglob("*") if path.is_file()]
        assert any("かぞえる".encode() in page for page in pages)
    # Check that the counters count: every written file is in the archive.
    assert all(str(tmp_path / "archive") in each[-1] for each in found["writes"])
