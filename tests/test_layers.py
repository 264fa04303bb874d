"""The direction of imports, the purity of the pure modules, the homes of the libraries, and the size of modules.

Read from the syntax trees, so an import inside a function or for the type checker counts like any other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "exporter"

LEVELS: list[set[str]] = [
    {"lossless_json", "errors", "clock", "text", "settings", "__init__"},
    {"model"},
    {"http", "service", "archive", "html"},
    {"crawl", "export", "site", "search", "demo"},
    {"fleet"},
    {"library"},
    {"cli"},
    {"__main__"},
]
"""From the ground up; a module may import from its own part, from lower levels, and on the ground from its level."""

LEVEL = {part: level for level, parts in enumerate(LEVELS) for part in parts}

LIBRARY_HOMES = {
    "orjson": ("lossless_json",),
    "tenacity": ("http.retry",),
    "aiohttp": ("http", "demo"),
    "arro3": ("export.parquet",),
}

PURE = (
    "lossless_json",
    "text",
    "model",
    "html",
    "service.pagination",
    "archive.layout",
    "archive.lines",
    "crawl.completeness",
    "crawl.assets.upload_rule",
    "export",
)
WRITERS = ("export.folder",)
"""What stands in a pure place and is not pure, since somebody must write what the others make."""
IMPURE = {
    "os", "pathlib", "io", "socket", "time", "random", "asyncio", "tempfile", "subprocess", "shutil", "ssl", "secrets",
    "threading", "multiprocessing", "urllib.request", "http.client", "sqlite3", "glob", "signal", "select", "uuid",
}  # fmt: skip
MOST_LINES = 700


@dataclass(frozen=True)
class Import:
    """One import: the module it stands in, what it names, and whether only the type checker sees it."""

    importer: str
    target: str
    for_types: bool


def modules(package: Path) -> dict[str, Path]:
    """Give the modules below a package by their names without the package's own."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)] = path
    return found


def imports(name: str, path: Path) -> Iterator[Import]:
    """Yield the imports of a module, wherever in it they stand."""
    tree = ast.parse(path.read_text("utf-8"))
    typed = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            targets = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for target in targets:
            yield Import(name, target, id(node) in typed)


def part_of(name: str) -> str:
    """Give the part of the house a module belongs to."""
    return name.split(".", maxsplit=1)[0]


def within(name: str, places: tuple[str, ...]) -> bool:
    """Tell whether a module is one of the places or inside one."""
    return any(name == place or name.startswith(place + ".") for place in places)


def wrong(package: Path) -> list[str]:
    """Say every import of a package that goes against the design."""
    known = modules(package)
    found = [f"{name} belongs to no level" for name in known if part_of(name) not in LEVEL]
    for name, path in known.items():
        if part_of(name) in LEVEL:
            found += [sentence for made in imports(name, path) if (sentence := wrong_import(made, known)) is not None]
    return found


def wrong_import(made: Import, known: dict[str, Path]) -> str | None:
    """Say what is wrong with one import, or nothing."""
    top, _, rest = made.target.partition(".")
    if top == "exporter":
        theirs = part_of(rest) if part_of(rest) in {part_of(name) for name in known} else "__init__"
        mine = part_of(made.importer)
        ground = LEVEL[mine] == 0
        if theirs not in LEVEL:
            return f"{made.importer} imports {theirs}, which belongs to no level"
        if mine != theirs and (LEVEL[theirs] > LEVEL[mine] or (LEVEL[theirs] == LEVEL[mine] == 2)):
            return f"{made.importer} -> {made.target} goes the wrong way"
        if ground and theirs != "__init__" and LEVEL[theirs] > 0:
            return f"{made.importer} -> {made.target} leaves the ground"
        return None
    if top in LIBRARY_HOMES and not within(made.importer, LIBRARY_HOMES[top]):
        return f"{made.importer} imports {top}, whose home is {' and '.join(LIBRARY_HOMES[top])}"
    pure = within(made.importer, PURE) and not within(made.importer, WRITERS) and not made.for_types
    if pure and any(made.target == name or made.target.startswith(name + ".") for name in IMPURE):
        return f"{made.importer} is pure and imports {made.target}"
    return None


def undocumented(path: Path) -> list[str]:
    """Name the public things of a module that have no docstring, the module included."""
    tree = ast.parse(path.read_text("utf-8"))
    found = [] if ast.get_docstring(tree) or not tree.body else [path.name]

    def visit(node: ast.Module | ast.ClassDef, prefix: str) -> None:
        for inner in node.body:
            if not isinstance(inner, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if inner.name.startswith("_") or any(
                ast.unparse(mark).endswith(".setter") for mark in inner.decorator_list
            ):
                continue
            if not ast.get_docstring(inner):
                found.append(f"{path.name}: {prefix}{inner.name}")
            if isinstance(inner, ast.ClassDef):
                visit(inner, f"{prefix}{inner.name}.")

    visit(tree, "")
    return found


class TestTheHouse:
    def test_no_import_goes_the_wrong_way(self) -> None:
        assert wrong(PACKAGE) == []

    def test_something_is_looked_at(self) -> None:
        known = modules(PACKAGE)
        assert len(known) > 50
        assert {part_of(name) for name in known} >= {
            "lossless_json",
            "model",
            "http",
            "archive",
            "crawl",
            "html",
            "cli",
        }
        assert sum(1 for name, path in known.items() for _ in imports(name, path)) > 200

    @pytest.mark.parametrize("place", PURE)
    def test_every_pure_place_exists(self, place: str) -> None:
        assert any(within(name, (place,)) for name in modules(PACKAGE))

    @pytest.mark.parametrize("library", LIBRARY_HOMES)
    def test_every_home_is_lived_in(self, library: str) -> None:
        users = {
            made.importer
            for name, path in modules(PACKAGE).items()
            for made in imports(name, path)
            if part_of(made.target) == library
        }
        assert users
        for home in LIBRARY_HOMES[library]:
            assert any(within(user, (home,)) for user in users), f"{home} does not use {library}"

    def test_no_module_is_too_long(self) -> None:
        sizes = {name: len(path.read_text("utf-8").splitlines()) for name, path in modules(PACKAGE).items()}
        assert {name: size for name, size in sizes.items() if size > MOST_LINES} == {}

    def test_everything_public_has_a_docstring(self) -> None:
        assert [name for path in modules(PACKAGE).values() for name in undocumented(path)] == []

    def test_no_package_is_without_its_init(self) -> None:
        folders = {path.parent for path in PACKAGE.rglob("*.py")}
        assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


class TestBadHouses:
    """Each wrong arrow, drawn on purpose, is found."""

    def house(self, root: Path, files: dict[str, str]) -> Path:
        for name in (
            "__init__",
            "lossless_json",
            "errors",
            "model/kinds",
            "http/client",
            "archive/state",
            "crawl/run",
            "cli/main",
        ):
            path = root / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text('"""Words."""\n', "utf-8")
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
        return root

    @pytest.mark.parametrize(
        ("name", "text", "complaint"),
        [
            (
                "model/a.py",
                "from exporter.archive import state",
                "model.a -> exporter.archive.state goes the wrong way",
            ),
            ("model/a.py", "import exporter.service.blog_v1", "model.a -> exporter.service.blog_v1 goes the wrong way"),
            (
                "http/a.py",
                "from exporter.archive.state import State",
                "http.a -> exporter.archive.state.State goes the wrong way",
            ),
            ("archive/a.py", "from exporter import http", "archive.a -> exporter.http goes the wrong way"),
            ("crawl/a.py", "from exporter.cli.main import run", "crawl.a -> exporter.cli.main.run goes the wrong way"),
            (
                "lossless_json.py",
                "from exporter.model import kinds",
                "lossless_json -> exporter.model.kinds goes the wrong way",
            ),
            (
                "http/a.py",
                "def f():\n    from exporter.crawl import run",
                "http.a -> exporter.crawl.run goes the wrong way",
            ),
            (
                "archive/a.py",
                "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from exporter.crawl import run",
                "archive.a -> exporter.crawl.run goes the wrong way",
            ),
            ("model/a.py", "import orjson", "model.a imports orjson, whose home is lossless_json"),
            ("http/client.py", "from tenacity import retry", "http.client imports tenacity, whose home is http.retry"),
            ("crawl/a.py", "import aiohttp.web", "crawl.a imports aiohttp, whose home is http and demo"),
            ("model/a.py", "from pathlib import Path", "model.a is pure and imports pathlib.Path"),
            ("model/a.py", "import os.path", "model.a is pure and imports os.path"),
            ("archive/lines.py", "def f():\n    import random", "archive.lines is pure and imports random"),
            ("export/a.py", "import sqlite3", "export.a is pure and imports sqlite3"),
            (
                "crawl/completeness.py",
                "from time import monotonic",
                "crawl.completeness is pure and imports time.monotonic",
            ),
            ("garage/a.py", "", "garage.a belongs to no level"),
        ],
    )
    def test_a_wrong_import_is_found(self, tmp_path: Path, name: str, text: str, complaint: str) -> None:
        assert wrong(self.house(tmp_path, {name: text})) == [complaint]

    def test_right_imports_are_no_fault(self, tmp_path: Path) -> None:
        types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pathlib import Path\n"
        files = {
            "cli/a.py": "from exporter.crawl import run\nimport time",
            "crawl/a.py": "from exporter.http import client\nfrom exporter.archive import state\nimport asyncio",
            "archive/a.py": "from exporter import __version__, lossless_json\nfrom exporter.archive.state import State\nimport os",
            "archive/layout.py": types,
            "model/a.py": "from exporter.errors import X\nimport datetime",
            "lossless_json.py": "import orjson\nfrom exporter import errors",
            "http/retry.py": "import tenacity, aiohttp",
            "export/folder.py": "import os",
        }
        assert wrong(self.house(tmp_path, files)) == []

    def test_a_relative_import_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(AssertionError, match="relative"):
            wrong(self.house(tmp_path, {"model/a.py": "from . import kinds"}))

    def test_missing_docstrings_are_named(self, tmp_path: Path) -> None:
        path = tmp_path / "a.py"
        path.write_text(
            'class A:\n    """Words."""\n    def b(self): ...\n    def _c(self): ...\ndef d(): ...\n', "utf-8"
        )
        assert undocumented(path) == ["a.py", "a.py: A.b", "a.py: d"]
