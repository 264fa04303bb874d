"""``backup --all``: the blogs of the settings file in turn, where none that fails keeps another from its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from exporter.cli.main import known
from exporter.cli.output import Output, report
from exporter.cli.target import BlogTarget, find_target, named_archive
from exporter.errors import BlogExporterError, Interrupted, UsageError
from exporter.library.backup import recording_refusal
from exporter.message import message, said
from exporter.settings import own_config_path, read_config

ORDER: Final = (1, 28, 13, 14, 2, 12, 10, 11, 4, 20, 3, 0)
"""Exit codes, the worst first: what is wrong with this machine, with an archive, with a setting, with a service."""


@dataclass(frozen=True, slots=True)
class _OutputOfOne(Output):
    """Prints of one blog among several: its documents say which."""

    name: str = ""

    def document(self, value: dict[str, Any]) -> None:
        Output.document(self, {"name": self.name, **value})


def back_up_all(
    options: Mapping[str, Any],
    config: Path | None,
    out: Output,
    back_up: Callable[[BlogTarget, Output], int],
    *,
    dry_run: bool,
) -> int:
    """Back up every ``[blogs.NAME]`` of the settings file in the order of the file, and return the worst exit code.

    Args:
        options: what the command line gave, for each of them.
        config: the settings file asked for.
        out: where they are told of.
        back_up: backs up one and returns its exit code.
        dry_run: whether nothing may be written.

    Raises:
        UsageError: the file names no blog.
        Interrupted: one was interrupted; the blogs behind it have no turn.
    """
    blogs = read_config(config).blogs
    if not blogs:
        path = own_config_path(config)
        raise UsageError(message("{path} names no blog: add a table [blogs.NAME], or name a blog.", path=path))
    ends: dict[str, str] = {}
    codes = []
    for name, table in blogs.items():
        out.say(message("{name}: {blog_id}", name=name, blog_id=table.blog_id))
        codes.append(_one(name, options, config, out, back_up, ends, dry_run=dry_run))
        out.say()
    for name, end in ends.items():
        out.say(message("{name}: {end}", name=name, end=end))
    return min(codes, key=lambda code: ORDER.index(code) if code in ORDER else -1)


def _one(
    name: str,
    options: Mapping[str, Any],
    config: Path | None,
    out: Output,
    back_up: Callable[[BlogTarget, Output], int],
    ends: dict[str, str],
    *,
    dry_run: bool,
) -> int:
    own = _OutputOfOne(out.as_json, out.verbosity, name)
    try:
        with recording_refusal(named_archive(name, None, config), unattended=out.verbosity < 0, dry_run=dry_run):
            code = back_up(find_target(name, options, config=config, warn=out.warn), own)
    except (Interrupted, KeyboardInterrupt):
        raise
    except Exception as failure:  # noqa: BLE001 - whatever it is, the other blogs have their turn
        error = known(failure)
        if not error.reported:
            report(BlogExporterError(message("{name}: {reason}", name=name, reason=said(error))), as_json=False)
        detail = {"type": type(error).__name__, "message": str(error), "exit_code": error.exit_code}
        own.document({"error": detail})
        ends[name] = said(error)
        return error.exit_code
    ends[name] = message("saved, but not all of it") if code else message("saved")
    return code
