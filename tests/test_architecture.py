"""Imports follow the table in CONTRIBUTING.md: their order, pure modules, the places of libraries, and no cycles.

The tests read syntax trees, so an import inside a function or for the type checker counts like any other.
"""

from __future__ import annotations

import ast
import gc
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from exporter.service.blog_v1 import BlogV1
from exporter.service.declarations import BLOG_V1

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "exporter"
MAP = ROOT / "CONTRIBUTING.md"
ROW = re.compile(r"^\| `(\w+)` \|([^|]*)\|([^|]*)\|([^|]*)\|$", re.MULTILINE)
WORD = re.compile(r"\w+")
FACE = {"__init__", "__main__"}
"""The package's interface and its entry point, above all rooms."""

IMPURE = {
    "os", "pathlib", "io", "socket", "time", "random", "asyncio", "tempfile", "subprocess", "shutil", "ssl", "secrets",
    "threading", "multiprocessing", "urllib.request", "http.client", "sqlite3", "glob", "signal", "select", "uuid",
}  # fmt: skip
HOMED = {
    "PIL",
    "aiohttp",
    "arro3",
    "boto3",
    "botocore",
    "click",
    "distributed",
    "fontTools",
    "jinja2",
    "keyring",
    "markdown_it",
    "mcp",
    "mcp_types",
    "minisign",
    "nh3",
    "oauthlib",
    "orjson",
    "protego",
    "pydyf",
    "pygments",
    "pyrage",
    "rfc3161_client",
    "rich",
    "selectolax",
    "tenacity",
    "trafilatura",
    "weasyprint",
    "yaml",
}
"""Libraries that only the rooms which name them may import."""

MOST_LINES = 700

PAGING = {"prev_no", "next_no", "page_no", "all_page", "filenum", "totalsize", "max_size"}
NEUTRAL = {
    "blog_id", "category", "day", "extension", "height", "hour", "id", "min", "mon", "name", "sec", "title", "url",
    "width", "year",
}  # fmt: skip
"""Fields of the first service that are common words."""
OUTPUT = {
    "cli": {"nickname"},
    "export": {"entry_id", "cm_id", "last_update", "category_id", "period_date"},
    "fleet": {"entry_id", "cm_id", "file_id", "last_update", "category_id"},
    "html": {"category_id", "period_date"},
    "search": {"entry_id", "explanation"},
    "serve": {"entry_id"},
}
"""Names in the program's output (JSON, tables, front matter) that equal fields of the first service."""


@dataclass(frozen=True)
class Room:
    """A room, which is a row of the table.

    Attributes:
        name: a package, or a top-level module.
        pure: whether it uses no files, network, clock or randomness.
        writers: its modules that use these nevertheless.
        libraries: the libraries that it may import, some only in one of its modules.
    """

    name: str
    pure: bool = False
    writers: frozenset[str] = frozenset()
    libraries: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Import:
    """One import: the importing module, the target, and whether only the type checker sees it."""

    importer: str
    target: str
    for_types: bool


def read_map(text: str) -> list[Room]:
    """Read the table's rows from top to bottom."""
    return [
        Room(
            name,
            pure="pure" in pure,
            writers=frozenset(re.findall(r"`([\w.]+)`", pure)),
            libraries=frozenset(re.findall(r"`([\w.:]+)`", libraries)),
        )
        for name, _, pure, libraries in ROW.findall(text)
    ]


@cache
def parsed(text: str) -> ast.Module:
    """Return a module's syntax tree, made once for all tests."""
    return ast.parse(text)


@cache
def walked(text: str) -> tuple[ast.AST, ...]:
    """Return all nodes of a module."""
    return tuple(ast.walk(parsed(text)))


@cache
def text_of(path: Path) -> str:
    """Return the text of a file, which no test changes after it was read."""
    return path.read_text("utf-8")


def modules(package: Path) -> dict[str, Path]:
    """Return the modules below a package by their names without the package's own."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)] = path
    return found


@cache
def imports(name: str, path: Path) -> tuple[Import, ...]:
    """Return a module's imports at any depth."""
    text = text_of(path)
    typed = {
        id(inner)
        for node in walked(text)
        if isinstance(node, ast.If) and _asks_for_types(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    found = []
    for node in walked(text):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            targets = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        found += [Import(name, target, id(node) in typed) for target in targets]
    return tuple(found)


def _asks_for_types(test: ast.expr) -> bool:
    return isinstance(test, ast.Name | ast.Attribute) and ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def room_of(name: str) -> str:
    """Return the room of a module."""
    return name.split(".", maxsplit=1)[0]


def faults(package: Path, rooms: list[Room]) -> list[str]:
    """Return every import in a package that breaks the table's rules, each cycle, and each module without a room."""
    known = modules(package)
    places = {room.name: place for place, room in enumerate(rooms)}
    found = [f"{name} is in no room of the map" for name in known if room_of(name) not in places and name not in FACE]
    if found:
        return found
    known_rooms = {room_of(each) for each in known}
    for name, path in known.items():
        for made in imports(name, path):
            found += wrong_import(made, known_rooms, rooms, places)
    return found + [f"circle: {' -> '.join(circle)}" for circle in circles(known)]


def wrong_import(made: Import, known: set[str], rooms: list[Room], places: dict[str, int]) -> Iterator[str]:
    """Yield the errors of one import."""
    top, _, rest = made.target.partition(".")
    mine = room_of(made.importer)
    if top == "exporter":
        theirs = room_of(rest)
        if mine in FACE or theirs not in known or theirs == "__version__":
            return
        if theirs != mine and places[theirs] < places[mine]:
            yield f"{made.importer} -> {made.target} runs up"
        return
    if mine in FACE:
        return
    room = rooms[places[mine]]
    inside = made.importer.partition(".")[2]
    if top in HOMED and not room.libraries & {top, f"{inside}:{top}"}:
        yield f"{made.importer} imports {top}, which is not at home there"
    impure = any(made.target == name or made.target.startswith(name + ".") for name in IMPURE)
    if room.pure and impure and not made.for_types and inside not in room.writers:
        yield f"{made.importer} is pure and imports {made.target}"


def circles(known: dict[str, Path]) -> list[list[str]]:
    """Return the cycles of imports among modules, one for each group, in alphabetical order."""
    arrows: defaultdict[str, set[str]] = defaultdict(set)
    for name, path in known.items():
        for made in imports(name, path):
            rest = made.target.removeprefix("exporter.")
            target = rest if rest in known else rest.rpartition(".")[0]
            if made.target.startswith("exporter.") and target in known and target != name:
                arrows[name].add(target)
    found: list[list[str]] = []
    for start in sorted(in_or_between_circles(arrows)):
        if any(start in circle for circle in found):
            continue
        ways = [[start]]
        seen: set[str] = set()
        while ways:
            way = ways.pop(0)
            for following in sorted(arrows[way[-1]]):
                if following == start:
                    found.append([*way, start])
                    ways = []
                    break
                if following not in seen:
                    seen.add(following)
                    ways.append([*way, following])
    return found


def in_or_between_circles(arrows: dict[str, set[str]]) -> set[str]:
    """Return the modules that are left without those that import none of them, and so on."""
    left = set(arrows)
    while ends := {name for name in left if not arrows[name] & left}:
        left -= ends
    return left


def fields_of_the_service(name: str, text: str) -> Iterator[str]:
    """Yield each text and attribute of a module outside of ``service`` that names a field or a setting of BlogV1."""
    fields = {field for roles in BlogV1.roles.values() for field in roles} | PAGING | set(BLOG_V1.settings)
    banned = fields - NEUTRAL - OUTPUT.get(room_of(name), set())
    prose = {id(node.value) for node in walked(text) if isinstance(node, ast.Expr)}
    for node in walked(text):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            found = banned.intersection(WORD.findall(node.value))
        elif isinstance(node, ast.Attribute):
            found = {node.attr} & set(BLOG_V1.settings)
        else:
            continue
        yield from (f"{name}, line {node.lineno}: {field}" for field in sorted(found))


def undocumented(path: Path) -> list[str]:
    """Return the names of public things in a module that have no docstring, including the module."""
    tree = parsed(text_of(path))
    found = [] if ast.get_docstring(tree) or not tree.body else [path.name]

    def visit(node: ast.Module | ast.ClassDef, prefix: str) -> None:
        for inner in node.body:
            if not isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
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


@pytest.fixture(scope="module", autouse=True)
def _no_syntax_tree_is_kept() -> Iterator[None]:
    """Forget the trees after these tests: a million objects make each collection of garbage slow."""
    gc.disable()
    yield
    for cached in (parsed, walked, text_of, imports):
        cached.cache_clear()
    gc.enable()


class TestTheProgram:
    def test_imports_follow_the_table(self) -> None:
        assert faults(PACKAGE, read_map(MAP.read_text("utf-8"))) == []

    def test_the_table_has_exactly_the_rooms(self) -> None:
        rooms = [room.name for room in read_map(MAP.read_text("utf-8"))]
        assert sorted(rooms) == sorted({room_of(name) for name in modules(PACKAGE)} - FACE)

    def test_only_the_service_names_its_fields_and_settings(self) -> None:
        others = {name: path for name, path in modules(PACKAGE).items() if room_of(name) not in {"service", "demo"}}
        found = [each for name, path in others.items() for each in fields_of_the_service(name, text_of(path))]
        assert found == []

    def test_every_library_is_used_in_the_rooms_that_name_it(self) -> None:
        used = {
            (room_of(name), made.target.partition(".")[0])
            for name, path in modules(PACKAGE).items()
            for made in imports(name, path)
        }
        rooms = read_map(MAP.read_text("utf-8"))
        said = {(room.name, library.rpartition(":")[2]) for room in rooms for library in room.libraries}
        assert said - used == set()
        assert {library for _, library in said} == HOMED

    def test_no_public_class_has_the_name_of_another(self) -> None:
        homes: defaultdict[str, list[str]] = defaultdict(list)
        for name, path in modules(PACKAGE).items():
            for node in parsed(text_of(path)).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    homes[node.name].append(name)
        assert {name: places for name, places in homes.items() if len(places) > 1} == {}

    def test_no_module_is_too_long(self) -> None:
        sizes = {name: len(text_of(path).splitlines()) for name, path in modules(PACKAGE).items()}
        assert {name: size for name, size in sizes.items() if size > MOST_LINES} == {}

    def test_everything_public_has_a_docstring(self) -> None:
        assert [name for path in modules(PACKAGE).values() for name in undocumented(path)] == []

    def test_no_package_is_without_its_init(self) -> None:
        folders = {path.parent for path in PACKAGE.rglob("*.py")}
        assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


ROOMS = read_map(
    "| `cli` | commands | | `click` |\n"
    "| `export` | files | pure but `folder` | `parquet:arro3` |\n"
    "| `crawl` | reads | | |\n"
    "| `http` | asks | | `aiohttp` `retry:tenacity` |\n"
    "| `archive` | keeps | | |\n"
    "| `model` | records | pure | |\n"
    "| `lossless_json` | JSON | pure | `orjson` |\n"
    "| `errors` | errors | pure | |\n"
)


class TestWrongPackages:
    """Each kind of wrong import is found in a package made for the test."""

    def house(self, root: Path, files: dict[str, str]) -> Path:
        base = ("__init__", "lossless_json", "errors", "model/kinds", "http/client", "archive/state", "crawl/run")
        for name in (*base, "cli/main", "export/wxr"):
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
            ("model/a.py", "from exporter.archive import state", "model.a -> exporter.archive.state runs up"),
            ("archive/a.py", "import exporter.http.client", "archive.a -> exporter.http.client runs up"),
            ("archive/a.py", "from exporter import http", "archive.a -> exporter.http runs up"),
            ("crawl/a.py", "from exporter.export.wxr import f", "crawl.a -> exporter.export.wxr.f runs up"),
            ("errors.py", "from exporter import lossless_json", "errors -> exporter.lossless_json runs up"),
            ("http/a.py", "def f():\n    from exporter.crawl import run", "http.a -> exporter.crawl.run runs up"),
            (
                "archive/a.py",
                "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from exporter.crawl import run",
                "archive.a -> exporter.crawl.run runs up",
            ),
            ("model/a.py", "import orjson", "model.a imports orjson, which is not at home there"),
            ("http/a.py", "from tenacity import retry", "http.a imports tenacity, which is not at home there"),
            ("crawl/a.py", "import aiohttp.web", "crawl.a imports aiohttp, which is not at home there"),
            ("export/a.py", "import arro3.core", "export.a imports arro3, which is not at home there"),
            ("model/a.py", "from pathlib import Path", "model.a is pure and imports pathlib.Path"),
            ("model/a.py", "import os.path", "model.a is pure and imports os.path"),
            ("export/a.py", "def f():\n    import random", "export.a is pure and imports random"),
            ("garage/a.py", "", "garage.a is in no room of the map"),
        ],
    )
    def test_a_wrong_import_is_found(self, tmp_path: Path, name: str, text: str, complaint: str) -> None:
        assert faults(self.house(tmp_path, {name: text}), ROOMS) == [complaint]

    @pytest.mark.parametrize(
        ("name", "text", "field"),
        [
            ("crawl.a", 'raw["entry_text"]', "entry_text"),
            ("html.a", 'def f(raw):\n    """Read."""\n    return raw.get("mtime")', "mtime"),
            ("cli.a", "settings.public_open_flg", "public_open_flg"),
            ("archive.a", 'NAMES = ("base_url", "entry_list_page_param")', "entry_list_page_param"),
            ("check.a", 'message("{x} has no next_no", x=x)', "next_no"),
            ("serve.a", '{"cm_id": 1}', "cm_id"),
        ],
    )
    def test_a_field_of_the_service_is_found(self, name: str, text: str, field: str) -> None:
        assert [each.rpartition(": ")[2] for each in fields_of_the_service(name, text)] == [field]

    def test_words_of_the_program_are_not_fields(self) -> None:
        text = '"""It has entry_text."""\nrow = {"entry_id": post.category_id, "name": "entry"}'
        assert list(fields_of_the_service("export.a", text)) == []

    def test_a_cycle_inside_a_room_is_found(self, tmp_path: Path) -> None:
        files = {
            "http/a.py": "from exporter.http import b",
            "http/b.py": "from exporter.http.c import x",
            "http/c.py": "def f():\n    from exporter.http.a import y",
        }
        assert faults(self.house(tmp_path, files), ROOMS) == ["circle: http.a -> http.b -> http.c -> http.a"]

    def test_permitted_imports_are_not_reported(self, tmp_path: Path) -> None:
        types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pathlib import Path\n"
        files = {
            "cli/a.py": "from exporter.crawl import run\nimport time, click",
            "crawl/a.py": "from exporter.http import client\nfrom exporter.archive import state\nimport asyncio",
            "archive/a.py": "from exporter import __version__, lossless_json\nfrom exporter.archive.state import State",
            "model/b.py": types,
            "model/a.py": "from exporter.errors import X\nimport datetime",
            "lossless_json.py": "import orjson\nfrom exporter import errors",
            "http/retry.py": "import tenacity, aiohttp",
            "export/folder.py": "import os",
            "export/parquet.py": "import arro3.core",
        }
        assert faults(self.house(tmp_path, files), ROOMS) == []
