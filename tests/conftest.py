"""Fixtures for all tests. Property tests are not timed: a busy machine is no defect."""

from hypothesis import settings

from tests.cli.conftest import archive, made, program

__all__ = ["archive", "made", "program"]

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
