"""Check an archive's folder: whether a backup can write there, who may read it, and which programs change its files."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shlex
import shutil
import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from exporter.archive.layout import SUMS, Layout, segment_name
from exporter.archive.lock import ArchiveLock
from exporter.archive.safe_files import InnerPath
from exporter.check.facts import CheckFinding
from exporter.check.mounts import WITHOUT_PERMISSIONS, Mount, is_wsl, mount_of
from exporter.errors import ArchiveDamaged, ArchiveLocked, BlogExporterError, Incomplete, NoSpace, UsageError
from exporter.message import message, message_n, said, suggested, system_reason
from exporter.model.kinds import Kind
from exporter.text import printable

_SPARE_BYTES: Final = 20_000_000
"""The space in bytes for a checkpoint and a small version, in addition to a new ``latest/``."""
_EFFECTIVE: Final = os.access in os.supports_effective_ids
_NOT_PERMITTED: Final = frozenset({errno.EACCES, errno.EPERM})
_NO_LOCKS: Final = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL})
_NAMES_SEARCHED: Final = 20_000
_SYNCED: Final = (
    ("Dropbox", re.compile(r"Dropbox(?: \(.*\))?")),
    ("iCloud Drive", re.compile(r"com~apple~CloudDocs|iCloud ?Drive")),
    ("OneDrive", re.compile(r"OneDrive(?:[ -].*)?")),
    ("Google Drive", re.compile(r"Google ?Drive(?:-.*)?|My Drive|マイドライブ")),
)
"""The folders that these programs synchronise, by a part of their path."""
_STEMS: Final = "|".join(
    re.escape(name.partition(".")[0])
    for name in ("archive.json", "manifest.json", "runs.jsonl", SUMS, *map(segment_name, Kind))
)
_CONFLICT: Final = re.compile(
    rf"(?:{_STEMS}|[0-9a-f]{{64}})(?: \(.+\)| [0-9]+|\.sync-conflict-.+|-[A-Za-z0-9-]{{3,}})(?:\.[a-z0-9]+)?"
)
"""Names that synchronising programs make of ours if two machines changed a file."""
_PLACEHOLDER: Final = re.compile(r"\..+\.icloud")
_DATALESS: Final = 0x40000000
"""``SF_DATALESS`` of macOS, ``stat(2)``: reading the file downloads it."""
_MARKED: Final = any(hasattr(os.stat_result, name) for name in ("st_flags", "st_file_attributes"))
_RECALLED: Final = 0x00001000 | 0x00400000
"""``FILE_ATTRIBUTE_OFFLINE`` and ``FILE_ATTRIBUTE_RECALL_ON_DATA_ACCESS`` of Windows."""


def storage_findings(layout: Layout, now: datetime) -> Iterator[CheckFinding]:
    """Yield the problems of an archive's folder.

    It writes one small file into ``.work/``, takes two locks on it and removes it.
    """
    root = Path(os.path.abspath(layout.root))  # noqa: PTH100 - the path that the user knows
    mount = mount_of(root)
    owner = _of_another_owner(layout, root)
    if owner is not None:
        yield owner
    refused = _probe(layout, root, now)
    if refused is not None and (owner is None or refused.name not in {"not_writable", owner.name}):
        yield refused
    if refused is None:
        full = _of_space(layout, root)
        if full is not None:
            yield full
    if mount is not None:
        yield from _of_mount(root, mount)
    yield from _of_readers(layout, root, mount)
    yield from _of_cloud(layout, root)


def _probe(layout: Layout, root: Path, now: datetime) -> CheckFinding | None:
    """Write and lock a file as a backup does; return the finding if that fails."""
    path = layout.work / f"doctor.{os.urandom(8).hex()}"
    made = layout.work.kind() is None
    try:
        with ArchiveLock(path) as first, ArchiveLock(path) as second:
            first.acquire(now)
            with contextlib.suppress(ArchiveLocked):
                second.acquire(now)
                return _no_locks(root, message("two processes can hold one lock"))
    except ArchiveDamaged as error:
        return CheckFinding(
            "damaged", said(error), message("For the possible repairs:"), error.exit_code, suggested("verify", root)
        )
    except BlogExporterError as error:
        return _refusal(root, error)
    finally:
        with contextlib.suppress(OSError):
            path.remove()
        if made:
            with contextlib.suppress(OSError):
                layout.work.rmdir()
    return None


def _refusal(root: Path, error: BlogExporterError) -> CheckFinding:
    cause = error.__cause__
    reason = system_reason(cause) if isinstance(cause, OSError) else said(error)
    number = cause.errno if isinstance(cause, OSError) else None
    if isinstance(error, NoSpace):
        return _full(message("The disk of {path} is full: {reason}.", path=root, reason=reason))
    if number == errno.EROFS:
        return CheckFinding(
            "read_only",
            message("{path} is on a read-only disk. It can be read, but no backup can be saved there.", path=root),
            message("Mount the disk for writing, or copy the archive to another one and back up there."),
            UsageError.exit_code,
        )
    if number in _NOT_PERMITTED:
        return CheckFinding(
            "not_writable",
            message("You may not write in {path}: {reason}.", path=root, reason=reason),
            message("Allow it:"),
            UsageError.exit_code,
            shlex.join(["chmod", "-R", "u+rwX", str(root)]),
        )
    if number in _NO_LOCKS:
        return _no_locks(root, reason)
    return CheckFinding("not_writable", said(error), exit_code=error.exit_code)


def _no_locks(root: Path, reason: str) -> CheckFinding:
    home = Path.home() / root.name
    movable = os.name == "posix" and not home.exists() and not root.is_relative_to(Path.home())
    return CheckFinding(
        "no_locks",
        message(
            "The disk of {path} has no locks ({reason}), so no backup can be saved there.", path=root, reason=reason
        ),
        message("Keep the archive on a disk of this machine, and copy it to this place with blog-exporter sync."),
        UsageError.exit_code,
        shlex.join(["mv", str(root), str(home)]) if movable else "",
    )


def _full(sentence: str) -> CheckFinding:
    return CheckFinding(
        "disk_full", sentence, message("Free space on it, or move the archive to a larger disk."), NoSpace.exit_code
    )


def _of_space(layout: Layout, root: Path) -> CheckFinding | None:
    """Return a finding if a backup that writes a new ``latest/`` would not fit."""
    needed = _SPARE_BYTES
    for kind in Kind:
        with contextlib.suppress(OSError):
            needed += layout.latest_segment(kind).lstat().st_size
    try:
        free = shutil.disk_usage(root).free
    except OSError:
        return None
    if free >= needed:
        return None
    return _full(
        message(
            "The disk of {path} is nearly full: a backup may need {needed:,} MB, and {free:,} MB are free.",
            path=root,
            needed=-(-needed // 1_000_000),
            free=free // 1_000_000,
        )
    )


def _of_another_owner(layout: Layout, root: Path) -> CheckFinding | None:
    """Return a finding if another user owns files of the archive, such as after one backup with sudo."""
    if os.name != "posix" or os.geteuid() == 0:
        return None
    newest = max((each for each in _names(layout.versions) if each.isdigit()), default="")
    paths: list[InnerPath] = [
        layout.root,
        *layout.folders(),
        layout.runs,
        layout.lock,
        layout.info,
        layout.latest_record,
    ]
    for path in (*paths, *([layout.versions / newest] if newest else [])):
        try:
            found = path.lstat()
        except OSError:
            continue
        if found.st_uid != os.geteuid() and not os.access(path, os.W_OK, effective_ids=_EFFECTIVE):
            return CheckFinding(
                "wrong_owner",
                message(
                    "{path} belongs to {owner}, and you are {user}: no backup of yours can be saved there.",
                    path=path,
                    owner=user_name(found.st_uid),
                    user=user_name(os.geteuid()),
                ),
                message("Make the archive yours:"),
                UsageError.exit_code,
                shlex.join(["sudo", "chown", "-R", user_name(os.geteuid()), str(root)]),
            )
    return None


def user_name(number: int) -> str:
    """Return a user's name on this machine; the number if it has none."""
    import pwd  # noqa: PLC0415 - Windows has none

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _of_mount(root: Path, mount: Mount) -> Iterator[CheckFinding]:
    if mount.type in {"9p", "drvfs"} and is_wsl():
        yield CheckFinding(
            "wsl",
            message(
                "{path} is on a disk of Windows, used from WSL: there locks do not exclude programs of Windows, and "
                "large blogs are slow.",
                path=root,
            ),
            message("Use the archive from WSL or from Windows, not from both. A folder in your Linux home is faster."),
        )
    elif mount.locks_stay_here:
        yield CheckFinding(
            "network_folder",
            message(
                "{path} is on a network folder ({type}) whose locks other machines do not see.",
                path=root,
                type=mount.type,
            ),
            message("Let one machine alone back up into it."),
        )
    elif mount.is_remote:
        yield CheckFinding(
            "network_folder",
            message("{path} is on a network folder ({type}).", path=root, type=mount.type),
            message("If several machines use it, check that each of them says the same here."),
        )


def _of_readers(layout: Layout, root: Path, mount: Mount | None) -> Iterator[CheckFinding]:
    """Yield a remark if other users of this machine can read private entries."""
    if os.name != "posix":
        return
    try:
        mode = stat.S_IMODE(layout.root.lstat().st_mode)
    except OSError:
        return
    if not mode & 0o077:
        return
    if mount is not None and mount.type in WITHOUT_PERMISSIONS:
        yield CheckFinding(
            "no_permissions",
            message(
                "The disk of {path} ({type}) keeps no permissions: all users of this machine may read private entries.",
                path=root,
                type=mount.type,
            ),
            message("Mount it with umask=077, or keep the archive on another disk."),
        )
        return
    yield CheckFinding(
        "open_to_others",
        message("Other users of this machine may read {path}, with its private entries.", path=root),
        message("If they should not:"),
        command=shlex.join(["chmod", "-R", "go=", str(root)]),
    )


def _of_cloud(layout: Layout, root: Path) -> Iterator[CheckFinding]:
    service = next((name for name, form in _SYNCED if any(map(form.fullmatch, root.parts))), None)
    if service is not None:
        yield CheckFinding(
            "cloud_folder",
            message(
                "{path} is in a folder of {service}, which may copy a half-written backup, or move files off this "
                "machine.",
                path=root,
                service=service,
            ),
            message("Better keep the archive outside, and copy it into this folder with blog-exporter sync."),
        )
    conflicts, absent = [], []
    for number, path in enumerate(_files(layout)):
        if number >= _NAMES_SEARCHED:
            break
        if _CONFLICT.fullmatch(path.name):
            conflicts.append(path)
        elif _is_absent(path):
            absent.append(path)
    if absent:
        yield CheckFinding(
            "only_in_the_cloud",
            message_n(
                "{n:,} file of the archive is only in the cloud: {path}.",
                "{n:,} files of the archive are only in the cloud, such as {path}.",
                len(absent),
                path=_inner(layout, absent[0]),
            ),
            message("Have the program of the cloud keep the whole folder on this machine, and wait until it has."),
            Incomplete.exit_code,
        )
    if conflicts:
        yield CheckFinding(
            "conflict_copies",
            message_n(
                "{n:,} file is a copy that a synchronising program made of a conflict: {path}.",
                "{n:,} files are copies that a synchronising program made of conflicts, such as {path}.",
                len(conflicts),
                path=_inner(layout, conflicts[0]),
            ),
            message("Two machines wrote this archive. Move these copies out of it, and then check it:"),
            ArchiveDamaged.exit_code,
            suggested("verify", root),
        )


def _inner(layout: Layout, path: Path) -> str:
    return printable(str(path.relative_to(layout.root)), 120)


def _files(layout: Layout) -> Iterator[InnerPath]:
    """Yield the paths in the folders that a backup writes, without the pages of views."""
    folders = [layout.root, layout.latest]
    folders += [layout.versions / name for name in reversed(_names(layout.versions))]
    folders += [layout.assets / name for name in _names(layout.assets)]
    for folder in folders:
        yield from (folder / name for name in _names(folder))


def _names(folder: InnerPath) -> list[str]:
    try:
        return folder.names()
    except OSError:
        return []


def _is_absent(path: InnerPath) -> bool:
    """Return whether a file is a placeholder for a file in the cloud."""
    if _PLACEHOLDER.fullmatch(path.name):
        return True
    if not _MARKED:
        return False
    try:
        found = path.lstat()
    except OSError:
        return False
    flags = getattr(found, "st_flags", 0) & _DATALESS
    return bool(flags or getattr(found, "st_file_attributes", 0) & _RECALLED)
