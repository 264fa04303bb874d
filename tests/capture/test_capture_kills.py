"""The real program is killed at any moment of a capture: no torn record, and nothing asked again that was recorded."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from exporter.archive.captures import captures
from exporter.archive.layout import Layout
from tests.capture.running import answers, records
from tests.support.runs import Runs
from tests.support.styled_blog import StyledBlog, styled_blog

pytestmark = [pytest.mark.no_cover]

ELSEWHERE = "pictures.example.jp,video.example.com"


@contextmanager
def served(count: int) -> Iterator[StyledBlog]:
    blog = styled_blog(count, validators=False)
    blog.server.delay = 0.003
    with blog.serving_in_thread():
        yield blog


def command(blog: StyledBlog, root: Path, concurrency: int) -> tuple[object, ...]:
    return (
        "capture", f"{blog.origin}/", "--archive", root, "--service", "public-site", "--concurrency", concurrency, "--rate",
        10_000, "--skip-asset-hosts", ELSEWHERE,
    )  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("concurrency", [1, 4])
def test_30_kills_lose_nothing_and_ask_nothing_twice(runs: Runs, tmp_path: Path, concurrency: int) -> None:
    chance = random.Random(concurrency)
    kills = 0
    with served(150) as blog:
        asked = blog.server.asked
        options = command(blog, tmp_path / "archive", concurrency)
        done = runs.start(*options, "--dry-run").wait()  # the exploration of the address asks pages too
        assert done.code == 0, done.err
        explored = set(asked)
        asked.clear()
        whole = 640
        while kills < 30:
            before = asked.total()
            wait = chance.randrange(1, max(2, whole // 30))
            run = runs.start(*options)
            deadline = time.monotonic() + 60
            while asked.total() < before + wait and time.monotonic() < deadline and not _ended(run.pid):
                time.sleep(0.001)
            time.sleep(chance.random() * 0.01)
            run.signal(signal.SIGKILL)
            if run.wait().code != -signal.SIGKILL:
                break
            kills += 1
            work = tmp_path / "archive" / ".work" / "capture" / "segments"
            if work.exists():
                assert all(path.stat().st_size for path in work.iterdir())
        done = runs.run(*options)
        assert done.code == 0, done.err
        assert kills >= 25
        found = answers(tmp_path / "archive" / "captures")  # each record is compared with its digests
        assert all(len(each) == 1 for each in found.values())
        assert all(blog.address(number) in found for number in blog.posts)
        again = sum(count - 1 for path, count in asked.items() if path not in explored)
        assert again <= kills * concurrency, (again, kills, {path: count for path, count in asked.items() if count > 1})
        assert {record.kind for record in records(tmp_path / "archive")} <= {
            "warcinfo",
            "response",
            "request",
            "revisit",
        }
        assert len(captures(Layout(tmp_path / "archive"))) == 1


def _ended(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


@pytest.mark.thorough
def test_a_kill_before_any_write_of_the_end_is_harmless(runs: Runs, tmp_path: Path) -> None:
    with served(3) as blog:
        blog.server.delay = 0
        options = command(blog, tmp_path / "archive", 4)
        done = runs.run(*options)
        assert done.code == 0
        calls = done.calls
        for number in range(calls - 24, calls + 1, 3):
            root = tmp_path / str(number)
            killed = runs.run(*command(blog, root, 4), kill_at=number)
            done = runs.run(*command(blog, root, 4))
            assert done.code == 0, (killed, done)
            found = answers(root / "captures")
            assert all(len(each) == 1 for each in found.values()), number
            assert all(blog.address(each) in found for each in blog.posts)
            assert len(captures(Layout(root))) == 1
