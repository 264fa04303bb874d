"""What the owner of a blog said about its flags: from the settings, or kept from an earlier export.

Answers given as options are kept for each blog in ``exports.json``, in the user's configuration folder. Options,
variables and the settings file go before them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import platformdirs

from exporter.archive import atomic
from exporter.cli.output import Output
from exporter.cli.settings import SETTINGS, Settings
from exporter.errors import BlogExporterError, UsageError
from exporter.model.publication import Declared

NAMES: Final = ("public_open_flg", "period_flg_public", "visible_delete_flg")
FILE_NAME: Final = "exports.json"


def answers_path() -> Path:
    """Return where answers are kept."""
    return Path(platformdirs.user_config_dir("blog-exporter", appauthor=False)) / FILE_NAME


def declared(settings: Settings, blog_id: str, *, all_as_draft: bool) -> Declared:
    """Return what was said about a blog's flags.

    Raises:
        UsageError: the file of answers cannot be read.
    """
    kept = _read(answers_path()).get(blog_id, {})
    said: dict[str, Any] = {}
    for name in NAMES:
        said[name] = settings[name]
        if said[name] is None and isinstance(kept.get(name), str):
            try:
                said[name] = SETTINGS[name].read(kept[name])
            except ValueError as error:
                raise UsageError(f"{answers_path()}: {name} of {blog_id} is {kept[name]!r}: {error}.") from error
    return Declared(
        open_flgs=said["public_open_flg"],
        period_public=bool(said["period_flg_public"]),
        visible_delete_flgs=said["visible_delete_flg"] or frozenset(),
        all_as_draft=all_as_draft,
    )


def keep(given: dict[str, str | None], blog_id: str, out: Output) -> Path | None:
    """Keep the answers given as options, so that they need not be given again; returns where, if there was any news."""
    new = {name: text for name, text in given.items() if text is not None}
    path = answers_path()
    answers = _read(path)
    known = answers.get(blog_id, {})
    if not new or {**known, **new} == known:
        return None
    answers[blog_id] = {**known, **new}
    text = json.dumps(answers, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
    lines = ", ".join(f'{name} = "{value}"' for name, value in sorted(new.items()))
    try:
        with atomic.translated(path):
            atomic.make_folder(path.parent)
            atomic.write_file(path, text.encode())
    except BlogExporterError as error:
        out.warn(f"The answers could not be kept: {error} Put them into the settings file: {lines}")
        return None
    return path


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read ({error}); repair or remove it.") from error
    if not isinstance(document, dict) or not all(isinstance(answers, dict) for answers in document.values()):
        raise UsageError(f"{path} must hold an object for each blog; repair or remove it.")
    return document
