"""The tree in the docstring equals the class tree, and every exit code belongs to one class."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from exporter import errors
from exporter.errors import ApiError, BlogExporterError, RetryableStatus

_ROW = re.compile(r"^(?P<indent>[ │├└─]*)(?P<name>[A-Z]\w+)(?:\s+(?P<code>\d+))?(?:\s{2,}.*)?$")

EXIT_CODES = {0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 20, 28, 130, 143}
"""The documented exit codes; 0 means success and belongs to no error."""

Drawn = dict[str, tuple[str | None, int | None]]


def drawn(document: str) -> Drawn:
    """Read the tree in a docstring: the parent and exit code of each class."""
    found: Drawn = {}
    path: list[tuple[int, str]] = []
    for line in inspect.cleandoc(document).split("::", 1)[1].splitlines():
        row = _ROW.match(line.removeprefix("    "))
        if row is None or not line.startswith("    "):
            continue
        depth = len(row["indent"])
        while path and path[-1][0] >= depth:
            path.pop()
        found[row["name"]] = (path[-1][1] if path else None, int(row["code"]) if row["code"] else None)
        path.append((depth, row["name"]))
    return found


TREE = drawn(errors.__doc__ or "")
CLASSES: dict[str, type[BlogExporterError]] = {
    name: value
    for name, value in vars(errors).items()
    if inspect.isclass(value) and issubclass(value, BlogExporterError)
}


def parent_of(name: str) -> str | None:
    """Return the name of a class's parent in the tree."""
    base = CLASSES[name].__bases__[0]
    return None if base is Exception else base.__name__


def test_the_tree_has_exactly_the_existing_classes() -> None:
    assert set(TREE) == set(CLASSES)
    assert len(TREE) >= 20


def test_the_tree_shows_the_parent_and_the_code(subtests: pytest.Subtests) -> None:
    for name in sorted(CLASSES):
        with subtests.test(name=name):
            parent, code = TREE[name]
            assert parent_of(name) == parent
            assert len(CLASSES[name].__bases__) == 1
            if code is not None:
                assert CLASSES[name].exit_code == code
            else:
                assert "exit_code" not in vars(CLASSES[name])


def test_a_class_owns_its_code_or_inherits_it() -> None:
    owners: dict[int, list[str]] = {}
    for name, made in CLASSES.items():
        if "exit_code" in vars(made):
            owners.setdefault(made.exit_code, []).append(name)
    assert {code: names for code, names in owners.items() if len(names) > 1} == {}
    assert set(owners) == EXIT_CODES - {0}


def test_one_code_is_shared_only_within_one_branch() -> None:
    for code in EXIT_CODES - {0, 1}:
        sharing = [made for made in CLASSES.values() if made.exit_code == code]
        assert [made for made in sharing if all(issubclass(other, made) for other in sharing)]


def test_every_leaf_exits_with_a_code_of_its_branch() -> None:
    leaves = [made for made in CLASSES.values() if not made.__subclasses__()]
    assert {made.exit_code for made in leaves} == EXIT_CODES - {0, 1, 130}
    assert all(made.__doc__ for made in CLASSES.values())


@pytest.mark.parametrize(
    "document",
    [
        "The tree::\n\n    Base    1\n    ├── One    2\n    │   └── Two\n    └── Three  3   words\n\nThe end.",
    ],
)
def test_different_trees_are_read_differently(document: str) -> None:
    assert drawn(document) == {
        "Base": (None, 1),
        "One": ("Base", 2),
        "Two": ("One", None),
        "Three": ("Base", 3),
    }
    assert drawn(document.replace("│   └── Two", "├── Two")) != drawn(document)


class TestApiError:
    def test_it_has_the_request_and_the_response(self) -> None:
        error = ApiError("entry/get", {"id": "a.example", "entry_id": "42"}, 404, "no such entry", "x" * 900)
        assert str(error) == "entry/get?id=a.example&entry_id=42 answered 404: no such entry"
        assert (error.operation, error.params, error.status, error.message) == (
            "entry/get",
            {"id": "a.example", "entry_id": "42"},
            404,
            "no such entry",
        )
        assert error.body == "x" * 500

    def test_an_answer_without_a_message_says_so(self) -> None:
        assert str(ApiError("user", {}, 500, "")) == "user? answered 500: no message"

    def test_it_does_not_share_the_callers_parameters(self) -> None:
        params: dict[str, Any] = {"id": "a"}
        error = ApiError("user", params, 200, "")
        params["id"] = "b"
        assert error.params == {"id": "a"}


def test_a_retryable_status_says_how_long_to_wait() -> None:
    error = RetryableStatus("user answered 503", 503, 7.5)
    assert (str(error), error.status, error.retry_after) == ("user answered 503", 503, 7.5)
    assert RetryableStatus("user answered 500", 500).retry_after is None
