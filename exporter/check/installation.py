"""This program on this machine: its copies on PATH, how to upgrade it, and every place where it keeps something."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import platformdirs

from exporter import __version__
from exporter.check.facts import CheckFinding
from exporter.errors import UsageError
from exporter.message import PROGRAM, listed, message
from exporter.schedule import schedulers
from exporter.schedule.plan import is_temporary, name_of
from exporter.settings import config_folder, own_config_path
from exporter.text import printable

_VERSION_SECONDS: Final = 20
_PIP: Final = ("-m", "pip", "install", "--upgrade", PROGRAM)


@dataclass(frozen=True, slots=True)
class KeptPlace:
    """A place where the program keeps something.

    Attributes:
        name: a word for programs.
        what: a label for people.
        where: its path, or a name in a scheduler or keyring.
        exists: whether it exists now; ``None`` if that is unknown.
    """

    name: str
    what: str
    where: str
    exists: bool | None


def kept_places(root: Path, config: Path | None) -> list[KeptPlace]:
    """Return every place of this machine where the program keeps something, for one archive."""
    place = Path(os.path.abspath(root))  # noqa: PTH100 - links are not resolved
    data, cache = (
        Path(folder(PROGRAM, appauthor=False)) for folder in (platformdirs.user_data_dir, platformdirs.user_cache_dir)
    )
    paths = [
        ("archive", message("Archive"), place),
        ("settings", message("Settings file"), own_config_path(config)),
        ("configuration", message("Notes and tokens"), config_folder()),
        ("sign_ins", message("Sign-ins"), data),
        ("cache", message("Caches"), cache),
        ("program", message("Program"), Path(sys.prefix)),
    ]
    found = [KeptPlace(name, what, str(path), _exists(path)) for name, what, path in paths]
    schedule = KeptPlace("schedule", message("Nightly schedule"), *_schedule(place))
    return [*found[:-1], schedule, found[-1]]


def _exists(path: Path) -> bool | None:
    try:
        return path.exists()
    except OSError:
        return None


def _schedule(place: Path) -> tuple[str, bool | None]:
    """Return where an archive's schedule is stored, and whether it exists."""
    name = name_of(place)
    own = schedulers.SCHEDULERS[schedulers.usual()].where(name)
    try:
        known = schedulers.find(place)
    except UsageError:
        return own, None
    return (own, False) if known is None else (schedulers.SCHEDULERS[known.scheduler].where(name), True)


def installation_findings() -> Iterator[CheckFinding]:
    """Yield remarks about several installed programs, and about one that runs from a cache."""
    found: dict[Path, Path] = {}
    # A relative folder could be inside a stranger's archive, whose programs must not run.
    for folder in filter(os.path.isabs, os.get_exec_path()):
        path = Path(folder) / (f"{PROGRAM}.exe" if os.name == "nt" else PROGRAM)
        with contextlib.suppress(OSError):
            if path.is_file() and os.access(path, os.X_OK):
                found.setdefault(path.resolve(), path)
    if len(found) > 1:
        first, *others = found.values()
        names = [message("{path} ({version})", path=path, version=_version_of(path)) for path in (first, *others)]
        yield CheckFinding(
            "several_programs",
            message("Several copies of the program are installed: {names}.", names=listed(names)),
            message("Your shell starts the first. Uninstall the others, as you installed them: uv, pipx or pip."),
        )
    if is_temporary():
        yield CheckFinding(
            "temporary_program",
            message("The program runs from a cache that may be emptied."),
            message("For a nightly schedule, install it:"),
            command=f"uv tool install {PROGRAM}" if "uv" in Path(sys.prefix).parts else f"pipx install {PROGRAM}",
        )


def _version_of(path: Path) -> str:
    if path.resolve().parent == Path(sys.executable).resolve().parent or path.parent == Path(sys.executable).parent:
        return __version__
    try:
        done = subprocess.run(  # noqa: S603 - a program of this name on the user's own PATH
            [path, "--version"], capture_output=True, timeout=_VERSION_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return message("it does not start")
    words = done.stdout.decode("utf-8", "replace").split()
    return printable(words[-1], 40) if done.returncode == 0 and words else message("it does not start")


def upgrade_command() -> str:
    """Return the command that upgrades this program, the way it was installed; empty for the program as one folder."""
    parts = Path(sys.prefix).parts
    if getattr(sys, "frozen", False):
        return ""
    if "pipx" in parts:
        return f"pipx upgrade {PROGRAM}"
    if "uv" in parts and "tools" in parts:
        return f"uv tool upgrade {PROGRAM}"
    return shlex.join([sys.executable, *_PIP])
