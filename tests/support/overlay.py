"""A folder whose changes only this process sees: an overlay in memory, in a mount namespace of its own."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Final

_NEWNS, _NEWUSER = 0x00020000, 0x10000000
_PRIVATE, _RECURSIVE = 1 << 18, 1 << 14
_LAYERS: Final = Path("/run")
"""Where the layers are mounted; in the new namespace only."""


def keep_unchanged(folder: Path) -> None:
    """Let this process, and those that it starts, change a folder without a trace.

    Raises:
        OSError: the system allows no such mount.
    """
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        _called("unshare", _NEWNS)
    else:
        _called("unshare", _NEWNS | _NEWUSER)
        Path("/proc/self/setgroups").write_text("deny", "ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", "ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", "ascii")
    _mount(None, Path("/"), None, _PRIVATE | _RECURSIVE, None)
    _mount("tmpfs", _LAYERS, "tmpfs", 0, None)
    for name in ("upper", "work"):
        (_LAYERS / name).mkdir()
    layers = f"lowerdir={folder},upperdir={_LAYERS / 'upper'},workdir={_LAYERS / 'work'},redirect_dir=on"
    _mount("overlay", folder, "overlay", 0, layers)


def _mount(source: str | None, target: Path, kind: str | None, flags: int, options: str | None) -> None:
    words = [None if each is None else each.encode() for each in (source, str(target), kind)]
    _called("mount", *words, ctypes.c_ulong(flags), None if options is None else options.encode())


def _called(name: str, *values: object) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*values) != 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
