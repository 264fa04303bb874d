"""The schemas in docs/schemas/ are linked, valid and strict, and match the commands' real output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import ValidationError

from exporter.cli.main import COMMANDS
from tests.cli.conftest import Program
from tests.support.schemas import SCHEMAS, check_json, validator

NAMES = sorted(path.name.removesuffix(".schema.json") for path in SCHEMAS.glob("*.schema.json"))
OFFLINE = {
    "status": (), "log": (), "diff": (), "show": ("entry", "50"), "search": ("海",), "files": (), "verify": (),
    "inspect": (), "rebuild": (), "site": (), "prune": ("--keep-last", "1", "--dry-run"),
    "export": ("csv", "ARCHIVE", "OUT", "--only", "all", "--public-open-flg", "1", "--visible-delete-flg", "f"),
}  # fmt: skip


def test_every_command_has_one_that_accepts_no_other_message() -> None:
    assert sorted([*COMMANDS, "error"]) == NAMES
    wrong: list[object] = [{}, [], None, {"unknown": 1}]
    assert [name for name in NAMES if any(validator(name).is_valid(each) for each in wrong)] == []


def test_no_message_has_a_member_that_its_schema_does_not_name(subtests: pytest.Subtests) -> None:
    for name in NAMES:
        with subtests.test(name=name):
            schema: Any = validator(name).schema
            for message in schema.get("oneOf", [schema]):
                assert message["additionalProperties"] is False
                assert message["required"]
                assert set(message["required"]) <= set(message["properties"])


@pytest.mark.parametrize("name", sorted(OFFLINE))
@pytest.mark.sample(3)
def test_the_output_of_a_command_matches_its_schema(program: Program, archive: Path, tmp_path: Path, name: str) -> None:
    places = {"ARCHIVE": str(archive), "OUT": str(tmp_path / "out")}
    words = [places.get(word, word) for word in OFFLINE[name]]
    words = words if name == "export" else [str(archive), *words]
    done = program(name, *words, "--json")
    assert done.code == 0, done.err
    check_json([name, "--json"], done.out)
    with pytest.raises(ValidationError):
        check_json([name, "--json"], done.out.replace('{"', '{"unknown":1,"', 1))
    with pytest.raises(ValidationError):
        check_json([name, "--json"], "{}\n")


def test_an_error_matches_its_schema(program: Program, tmp_path: Path) -> None:
    done = program("status", tmp_path / "nowhere", "--json")
    check_json(["status", "--json"], done.out)
    with pytest.raises(ValidationError):
        check_json(["status", "--json"], '{"error":{"message":"?"}}\n')
    with pytest.raises(ValueError, match="Expecting value"):
        check_json(["status", "--json"], "no JSON\n")
    check_json(["status"], "not looked at\n")
    check_json(["status", "--json"], '{"cut sho')
