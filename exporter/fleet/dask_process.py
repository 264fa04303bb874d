"""A scheduler or worker of Dask that ends when whoever started it does, however that ends: a worker in order.

``python -m exporter.fleet.dask_process scheduler|worker OPTIONS`` takes the options of ``dask scheduler`` and ``dask
worker``. Its standard input is a pipe that the starting process holds and never writes to: the system closes it with
that process, also after ``kill -9``.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from importlib import import_module


def main(kind: str, *options: str) -> None:
    """Be that process."""
    threading.Thread(target=_end_with_parent, name="parent's end", daemon=True).start()
    import_module(f"distributed.cli.dask_{kind}").main(list(options))


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    with contextlib.suppress(Exception):  # whatever is left to do, it ends
        for name in {"exporter.fleet.dask_task", "exporter.fleet.dask_work"} & sys.modules.keys():  # what it ever did
            import_module(name).part()
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
