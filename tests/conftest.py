"""Fixtures for all tests."""

from tests.cli.conftest import archive, made, program

__all__ = ["archive", "made", "program"]
