"""Ceph's S3 service on this machine: a monitor, one disk in a file, and the gateway, running during a test."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.copies.s3_servers import Service

PROGRAMS = ("ceph", "ceph-mon", "ceph-osd", "monmaptool", "radosgw", "radosgw-admin")
PATIENCE_SECONDS = 300
SETTINGS = """[global]
fsid = {fsid}
mon_initial_members = a
mon_host = v1:127.0.0.1:{monitor}
ms_bind_msgr2 = false
public_network = 127.0.0.0/8
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
keyring = {folder}/keyring
run_dir = {folder}/run
admin_socket = {folder}/run/$name.$pid.asok
log_file = {folder}/log/$name.log
crash_dir = {folder}/log
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 4
osd_pool_default_pgp_num = 4
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_allow_pool_size_one = true
mon_max_pg_per_osd = 1000
paxos_propose_interval = 0.05
paxos_min_wait = 0.01
[mon]
mon_data = {folder}/mon
mon_cluster_log_file = {folder}/log/cluster.log
mon_data_avail_crit = 1
mon_data_avail_warn = 2
[osd]
osd_data = {folder}/osd
osd_objectstore = bluestore
osd_memory_target = 939524096
bluestore_block_size = 10737418240
osd_class_update_on_start = false
osd_class_default_list = *
osd_class_load_list = *
[client.rgw.a]
rgw_data = {folder}/rgw
rgw_frontends = beast endpoint=127.0.0.1:{gateway} tcp_nodelay=1
rgw_rados_pool_pg_num_min = 4
rgw_dns_name = localhost
rgw_enable_usage_log = false
rgw_run_sync_thread = false
rgw_enable_lc_threads = false
rgw_enable_gc_threads = false
rgw_thread_pool_size = 64
rgw_enable_ops_log = false
"""


@contextmanager
def radosgw(folder: Path) -> Iterator[Service]:
    """Run the service with its data in a folder, and one user."""
    for name in PROGRAMS:
        if shutil.which(name, path=_places()) is None:
            pytest.fail(f"{name} is not installed; .ci/install gets it")
    monitor, gateway = _free_ports(2)
    for name in ("mon", "osd", "rgw", "log", "run"):
        (folder / name).mkdir(parents=True)
    (folder / "keyring").touch()
    fsid = str(uuid.uuid4())
    (folder / "ceph.conf").write_text(SETTINGS.format(fsid=fsid, monitor=monitor, gateway=gateway, folder=folder))
    running: list[_Daemon] = []
    try:
        address = f"[v1:127.0.0.1:{monitor}]"
        monmap = folder / "monmap"
        _run(folder, "monmaptool", "--create", "--clobber", "--addv", "a", address, "--fsid", fsid, str(monmap))
        _run(folder, "ceph-mon", "-i", "a", "--mkfs", "--monmap", str(monmap))
        running.append(_Daemon(folder, "ceph-mon", "-i", "a"))
        disk = str(uuid.uuid4())
        _until(lambda: _said(folder, "ceph", "osd", "new", disk), running)
        _run(folder, "ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", disk)
        running.append(_Daemon(folder, "ceph-osd", "-i", "0"))
        _until(lambda: "1 up" in _said(folder, "ceph", "osd", "stat"), running)
        running.append(_Daemon(folder, "radosgw", "-n", "client.rgw.a"))
        endpoint = f"http://127.0.0.1:{gateway}"
        _until(lambda: _answers(endpoint), running)
        user = json.loads(
            _run(folder, "radosgw-admin", "-n", "client.rgw.a", "user", "create", "--uid=writer", "--display-name=w")
        )
        (key,) = user["keys"]
        yield Service(endpoint, key["access_key"], key["secret_key"])
    finally:
        for daemon in reversed(running):
            daemon.end()


class _Daemon:
    """A program of Ceph that is restarted when it exits, as by systemd: some exit while others start."""

    def __init__(self, folder: Path, name: str, *arguments: str) -> None:
        self.log = folder / "log" / f"{name}.out"
        self.starts = 0
        self._command = [*_command(folder, name, arguments), "-f"]
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        self.starts += 1
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def keep_running(self) -> None:
        """Restart the program if it has exited."""
        if self._process.poll() is not None:
            self._process = self._start()

    def end(self) -> None:
        """Kill the program."""
        self._process.kill()
        self._process.wait()


def _places() -> str:
    return os.pathsep.join([os.environ["PATH"], "/usr/local/sbin", "/usr/sbin", "/sbin"])


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _command(folder: Path, name: str, arguments: tuple[str, ...]) -> list[str]:
    settings = [] if name == "monmaptool" else ["--conf", str(folder / "ceph.conf")]
    return [shutil.which(name, path=_places()) or name, *settings, *arguments]


def _run(folder: Path, name: str, *arguments: str) -> str:
    done = subprocess.run(_command(folder, name, arguments), capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert done.returncode == 0, f"{name} failed: {done.stderr[-2000:]}"
    return done.stdout


def _said(folder: Path, name: str, *arguments: str) -> str:
    """Return a program's output, or an empty string if it fails or waits for a monitor that is still starting."""
    try:
        done = subprocess.run(_command(folder, name, arguments), capture_output=True, text=True, timeout=20)
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout if done.returncode == 0 else ""


def _answers(endpoint: str) -> bool:
    try:
        with urllib.request.urlopen(endpoint, timeout=5):
            return True
    except (OSError, urllib.error.URLError):
        return False


def _until(done: Callable[[], object], running: list[_Daemon]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not done():
        for daemon in running:
            daemon.keep_running()
        if time.monotonic() > end:
            said = (f"{each.log.name}, {each.starts} starts:\n{each.log.read_text()[-2000:]}" for each in running)
            pytest.fail("Ceph did not start\n" + "\n".join(said))
        time.sleep(0.1)
