"""The doctor page: all problems that ``doctor`` finds, and their solutions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporter.check.doctor import Diagnosis, diagnose
from exporter.message import suggested
from exporter.translation import translated

if TYPE_CHECKING:
    from exporter.window.pages import Answer, Asked
    from exporter.window.window import Window


def doctor(window: Window, asked: Asked, archive: Path) -> Answer:
    """Answer a request for ``blog/KEY/doctor``: show all problems. The form also asks the blog's service.

    The archive may be missing or damaged.
    """
    asks_service = asked.method == "POST"
    found = diagnose(archive, config=window.config, offline=not asks_service)
    return window.page(
        "doctor.html",
        key=asked.parts[1],
        blog_id=found.blog_id or archive.name,
        asked_service=asks_service,
        problems=len(found.problems),
        findings=list(_findings(window, found)),
        places=[(translated(each.what, window.language), each.where, each.exists) for each in found.places],
        command=suggested("doctor", archive, *([] if asks_service else ["--offline"])),
    )


def _findings(window: Window, found: Diagnosis) -> list[dict[str, Any]]:
    """Return the facts about each finding for the page, the worst first."""
    return [
        {
            "said": translated(each.said, window.language),
            "advice": translated(each.advice, window.language),
            "command": each.command,
            "is_problem": each.exit_code != 0,
        }
        for each in found.findings
    ]
