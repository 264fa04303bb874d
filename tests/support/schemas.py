"""The output of ``--json``, checked against docs/schemas/: one compiled validator for each command.

``python -m tests.support.schemas`` writes a schema for each new command, from its output for the sample archive. It
leaves existing schemas alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from exporter.cli.main import COMMANDS

ROOT = Path(__file__).parent.parent.parent
SCHEMAS = ROOT / "docs" / "schemas"
TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}


@cache
def validator(name: str) -> Draft202012Validator:
    """Return the validator for a command's message, or for ``error``."""
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def check_json(arguments: Sequence[object], printed: str) -> None:
    """Check the output of a command with ``--json``. An incomplete last line is not checked.

    Raises:
        ValidationError: a line does not match the schema.
        ValueError: a line is not JSON.
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
    """Read an integer. If Python refuses it as too long, keep only its sign."""
    return int(digits[:4000])


def inferred(value: Any) -> dict[str, Any]:
    """Return the schema of all values with the structure of this one."""
    if isinstance(value, dict):
        members = {name: inferred(each) for name, each in value.items()}
        return {"type": "object", "properties": members, "required": [*members], "additionalProperties": False}
    if isinstance(value, list):
        return {"type": "array", "items": inferred(value[0])} if value else {"type": "array"}
    return {"type": TYPES[type(value)]}


def write_missing() -> None:
    """Write a schema for each command that has none."""
    for name in COMMANDS:
        path = SCHEMAS / f"{name}.schema.json"
        if not path.exists():
            command = [sys.executable, "-m", "exporter", name, str(ROOT / "sample_output"), "--json"]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"Write {path.relative_to(ROOT)} by hand: {name} needs more arguments than an archive.")
            found = inferred(json.loads(done.stdout.splitlines()[0]))
            schema = {
                "$schema": Draft202012Validator.META_SCHEMA["$id"],
                "title": f"blog-exporter {name} --json",
                "oneOf": [found],
            }
            path.write_text(json.dumps(schema, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_missing()
