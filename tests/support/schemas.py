"""What ``--json`` prints, against docs/schemas/: one compiled validator for each command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from jsonschema import Draft202012Validator

from exporter.cli.main import COMMANDS

SCHEMAS = Path(__file__).parent.parent.parent / "docs" / "schemas"


@cache
def validator(name: str) -> Draft202012Validator:
    """Return the validator of a command's message, or of ``error``."""
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def check_json(arguments: Sequence[object], printed: str) -> None:
    """Check all that a command printed under ``--json``; a last line that was cut short is what its test is about.

    Raises:
        ValidationError: it is not what the schema says.
        ValueError: it is no JSON at all.
    """
    words = [str(argument) for argument in arguments]
    name = next((word for word in words if word in COMMANDS), None)
    if name is None or "--json" not in words or {"-h", "--help"} & set(words):
        return
    for line in printed.splitlines(keepends=True):
        if not line.endswith("\n"):
            return
        found = json.loads(line, parse_int=_number)
        validator("error" if isinstance(found, dict) and list(found) == ["error"] else name).validate(found)


def _number(digits: str) -> int:
    """Read an integer by its sign alone where it is longer than Python reads it."""
    return int(digits[:4000])
