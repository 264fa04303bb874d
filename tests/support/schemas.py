"""What ``--json`` prints, against docs/schemas/: one compiled validator for each command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

SCHEMAS = Path(__file__).parent.parent.parent / "docs" / "schemas"


@cache
def validator(name: str) -> Draft202012Validator | None:
    """Return the validator of a command's message, or of ``error``; ``None`` where there is no schema."""
    path = SCHEMAS / f"{name}.schema.json"
    if not path.is_file():
        return None
    schema = json.loads(path.read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def check_json(arguments: Sequence[object], printed: str) -> None:
    """Check all that a command printed under ``--json``, where it has a schema."""
    words = [str(argument) for argument in arguments]
    if "--json" not in words:
        return
    for line in printed.splitlines():
        try:
            found: Any = json.loads(line)
        except ValueError:
            return  # a stream that was cut short, or no JSON: what the test is about
        known = validator("error" if isinstance(found, dict) and list(found) == ["error"] else words[0])
        if known is not None:
            known.validate(found)
