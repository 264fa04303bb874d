"""Entry point of ``python -m exporter``."""

from exporter.cli.main import run

run()
