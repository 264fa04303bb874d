"""A site that two processes make equals the one that one process makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from exporter.export.interface import ViewFile
from exporter.library import views
from exporter.library.views import with_help
from exporter.service.registry import DEFAULT_SERVICE
from exporter.site import SiteOptions
from exporter.site.history import ArchiveHistory
from exporter.site.view import SiteView
from exporter.worker import Worker
from tests.archive.builder import Built
from tests.site.crowded_blog import crowded_blog
from tests.site.picture_blog import picture_blog


@pytest.fixture(scope="session")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return crowded_blog(tmp_path_factory.mktemp("crowded"), 60, 120)


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return picture_blog(tmp_path_factory.mktemp("pictures"), months=4)


@pytest.mark.parametrize(
    "name", ["demo", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("crowded", "pictures"))]
)
def test_all_files_are_equal(name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "processors", lambda: 2)
    monkeypatch.setattr(Worker, "has_room", True)
    archive: Built = request.getfixturevalue(name)
    reader = archive.reader
    version = reader.newest()
    assert version is not None
    options = SiteOptions(entry_addresses=("https://{blog_id}/Entry/{entry_id}/",))
    sent: list[str] = []

    def files(*, helped: bool) -> dict[str, tuple[bytes, bytes]]:
        view = SiteView(DEFAULT_SERVICE, ArchiveHistory(reader, DEFAULT_SERVICE), options)
        state = reader.state(version)
        made = (
            with_help(map(_noted(sent), view.files(state)), lambda _: False, alone=0) if helped else view.files(state)
        )
        found = {file.path: (file.fingerprint, file.render()) for file in made}
        state.close()
        return found

    alone = files(helped=False)
    assert list(files(helped=True).items()) == list(alone.items())
    assert sent == [path for path in alone if path.startswith("entry/")]


def _noted(sent: list[str]) -> Callable[[ViewFile], ViewFile]:
    """Return a function that notes the pages whose bodies another process made."""

    def noted(file: ViewFile) -> ViewFile:
        if file.remote is None:
            return file
        finish = file.remote.finish

        def finished(made: object) -> bytes:
            sent.append(file.path)
            return finish(made)

        return replace(file, remote=replace(file.remote, finish=finished))

    return noted
