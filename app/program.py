"""Entry point of the built program. Its child processes start it with the words that they would give to Python."""

import os
import sys
from multiprocessing import freeze_support

if __name__ == "__main__":
    # Browsers and schedulers that the program starts must use the system's libraries, not its own.
    for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"):
        if f"{name}_ORIG" in os.environ:
            os.environ[name] = os.environ.pop(f"{name}_ORIG")
        else:
            os.environ.pop(name, None)
    # So its own child processes must set them again.
    os.environ["PYINSTALLER_RESET_ENVIRONMENT"] = "1"
    freeze_support()
    if sys.argv[1:] == ["-P", "-m", "exporter.worker"]:
        from exporter.worker import serve

        serve(sys.stdin.buffer, sys.stdout.buffer)
    else:
        from exporter.cli.main import run

        run()
