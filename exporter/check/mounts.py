"""The file systems of this machine: which one holds a folder, and which ones are not mounted now."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import Final, NamedTuple

MOUNTS: Final = Path("/proc/self/mountinfo")
FSTAB: Final = Path("/etc/fstab")
NETWORK: Final = frozenset(
    {
        "9p", "afs", "ceph", "cifs", "davfs", "fuse.davfs2", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs",
        "nfs", "nfs4", "smb3", "smbfs",
    }
)  # fmt: skip
WITHOUT_PERMISSIONS: Final = frozenset({"9p", "drvfs", "exfat", "fuseblk", "msdos", "ntfs", "ntfs3", "vfat"})
"""File systems that show one mode for all files, unless their options say otherwise."""
_OWN_LOCKS: Final = frozenset({"nolock", "local_lock=all", "local_lock=flock", "nobrl"})
"""Options with which locks exclude only the processes of this machine: nfs(5), mount.cifs(8)."""
_ALWAYS_OWN_LOCKS: Final = frozenset({"9p", "davfs", "fuse.davfs2", "fuse.rclone", "fuse.s3fs", "fuse.sshfs"})
_OCTAL: Final = re.compile(r"\\([0-7]{3})")
_REMOVABLE: Final = (("/", "media"), ("/", "run", "media"), ("/", "mnt"), ("/", "Volumes"))


class Mount(NamedTuple):
    """A mounted file system: its folder, type, and options."""

    point: Path
    type: str
    options: frozenset[str] = frozenset()

    @property
    def is_remote(self) -> bool:
        """Whether another machine holds the files, or Windows those of its Linux."""
        return self.type in NETWORK

    @property
    def locks_stay_here(self) -> bool:
        """Whether other machines do not see its locks."""
        return self.is_remote and (self.type in _ALWAYS_OWN_LOCKS or bool(_OWN_LOCKS & self.options))


def mounted() -> list[Mount]:
    """Return the mounted file systems, the newest last, from ``/proc/self/mountinfo`` (proc_pid_mountinfo(5)).

    Empty on systems without this file.
    """
    try:
        lines = MOUNTS.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []
    return [mount for mount in map(_read_mount, lines) if mount is not None]


def mount_of(path: Path) -> Mount | None:
    """Return the file system that holds a path; ``None`` on systems without a list of them."""
    place = Path(os.path.realpath(path))
    found: Mount | None = None
    for mount in mounted():
        # Of several file systems at one folder, the last one is visible.
        if place.is_relative_to(mount.point) and (found is None or len(mount.point.parts) >= len(found.point.parts)):
            found = mount
    return found


def _read_mount(line: str) -> Mount | None:
    before, mark, after = line.partition(" - ")
    fields, more = before.split(" "), after.split(" ")
    if not mark or len(fields) < 6 or len(more) < 3:
        return None
    options = frozenset(",".join((fields[5], more[2])).split(","))
    return Mount(Path(_unescaped(fields[4])), more[0], options)


def _unescaped(text: str) -> str:
    return _OCTAL.sub(lambda found: chr(int(found[1], 8)), text)


def unmounted_above(path: Path) -> Path | None:
    """Return the folder at or above ``path`` that ``/etc/fstab`` (fstab(5)) names and that has no disk now."""
    lines: list[str] = []
    with contextlib.suppress(OSError):
        lines = FSTAB.read_text("utf-8", "surrogateescape").splitlines()
    for line in lines:
        fields = line.split()
        if len(fields) >= 3 and not fields[0].startswith("#") and fields[1].startswith("/"):
            point = Path(_unescaped(fields[1]))
            if path.is_relative_to(point) and not os.path.ismount(point):
                return point
    return None


def removable_disk_of(path: Path) -> Path | None:
    """Return the folder at which systems show the disk that ``path`` names, if it is not mounted now."""
    if os.name == "nt":
        return Path(path.anchor) if path.anchor and not Path(path.anchor).exists() else None
    for parts in _REMOVABLE:
        if path.parts[: len(parts)] == parts:
            # Linux names the user before the disk.
            levels = len(parts) + (2 if parts[-1] == "media" else 1)
            disk = Path(*path.parts[:levels])
            return disk if len(path.parts) > levels and not os.path.ismount(disk) else None
    return None


def removable_disks() -> list[Path]:
    """Return the folders at which systems show removable disks that are mounted."""
    found = []
    for parts in _REMOVABLE:
        pattern = "*/*" if parts[-1] == "media" else "*"
        with contextlib.suppress(OSError):
            found += [each for each in Path(*parts).glob(pattern) if os.path.ismount(each)]
    return sorted(found)


def is_wsl() -> bool:
    """Return whether this is Linux in Windows."""
    with contextlib.suppress(OSError):
        return "microsoft" in Path("/proc/sys/kernel/osrelease").read_text("ascii", "replace").lower()
    return False
