"""Fixtures for all tests. Property tests are not timed: a busy machine is no defect."""

import signal

from hypothesis import settings

from tests.cli.conftest import archive, made, program

__all__ = ["archive", "made", "program"]

# A shell gives what it starts in the background a Ctrl-C that is ignored, and every process started here would have that.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
