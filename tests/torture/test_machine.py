"""Service changes, faults, kills and prunes in any order: after every step the archive is valid and complete."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections import defaultdict
from contextlib import ExitStack
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from aiohttp import web
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from exporter.demo.content import fields
from exporter.model.kinds import Kind
from tests.support import faults
from tests.support.demo_service import DemoService, ServiceOptions
from tests.support.generated import generated_blog
from tests.support.records import comment_record, entry_record, file_record
from tests.support.runs import Done, Runs, State, Zygote, findings, folded, held

# Other tests run the same lines; measuring them here would more than double the time.
pytestmark = pytest.mark.no_cover

DAY = datetime(2030, 1, 1)  # noqa: DTZ001  the service sends times without an offset
LISTS = (Kind.ENTRY_LIST, Kind.COMMENTS, Kind.FILES)
Record = tuple[Kind, str]


def flat(state: State) -> dict[Record, bytes]:
    return {(kind, record_id): data for kind, records in state.items() for record_id, data in records.items()}


class Archive(RuleBasedStateMachine):
    """The model: all past service states; the records unchanged since the run began; the archive's last state."""

    def __init__(self, zygote: Zygote) -> None:
        super().__init__()
        self._open = ExitStack()
        self.folder = Path(tempfile.mkdtemp(prefix="machine-"))
        self.root = self.folder / "archive"
        self.blog = generated_blog(6, 7, 5)
        options = ServiceOptions(entry_page_size=3, comment_page_size=3, file_page_size=2, etag=True)
        self.service = self._open.enter_context(DemoService(self.blog, options).run_in_thread())
        self.runs = self._open.enter_context(Runs(self.folder, zygote))
        self.number = 100
        self.refused: set[str] = set()
        self.ever: dict[Record, set[bytes]] = defaultdict(set)
        self.stood: dict[Record, bytes] = {}
        self.shown: State | None = None
        self.changed()
        self.stood = flat(held(self.blog))

    def teardown(self) -> None:
        self._open.close()
        shutil.rmtree(self.folder)

    def changed(self) -> None:
        """Record the service's current state."""
        now = flat(held(self.blog))
        for record, data in now.items():
            self.ever[record].add(data)
        self.stood = {record: data for record, data in self.stood.items() if now.get(record) == data}

    def moment(self) -> datetime:
        self.number += 1
        return DAY + timedelta(minutes=self.number)

    # Changes by the writer and the readers of the blog

    @rule(times=st.integers(1, 4))
    def insert(self, times: int) -> None:
        for _ in range(times):
            date = self.moment()
            number = self.number
            self.blog.entries[number] = entry_record(
                self.blog.blog_id, number, f"追加 {number}", "<p>新</p>", date, user_id="u"
            )
            self.blog.comments.append(comment_record(number, number, "だれか", "はやい！", date))
            self.blog.files.append(file_record(number, f"{number}.gif", b"GIF", (1, 1), user_id="u", mtime=number))
        self.changed()

    @precondition(lambda self: self.blog.entries)
    @rule(at=st.integers(0, 99), listed=st.booleans())
    def edit_entry(self, at: int, listed: bool) -> None:
        key = list(self.blog.entries)[at % len(self.blog.entries)]
        field = "title" if listed else "entry_text"
        self.blog.entries[key] = {**fields(self.blog.entries[key]), field: f"改 {self.moment()}"}
        self.changed()

    @precondition(lambda self: self.blog.entries)
    @rule(at=st.integers(0, 99))
    def delete_entry(self, at: int) -> None:
        key = list(self.blog.entries)[at % len(self.blog.entries)]
        del self.blog.entries[key]
        self.blog.comments[:] = [each for each in self.blog.comments if fields(each)["entry_id"] != str(key)]
        self.changed()

    @precondition(lambda self: self.blog.comments)
    @rule(at=st.integers(0, 99), delete=st.booleans())
    def touch_comment(self, at: int, delete: bool) -> None:
        at %= len(self.blog.comments)
        if delete:
            del self.blog.comments[at]
        else:
            self.blog.comments[at] = {**fields(self.blog.comments[at]), "cm_text": f"改 {self.moment()}"}
        self.changed()

    @precondition(lambda self: self.blog.files)
    @rule()
    def delete_file(self) -> None:
        del self.blog.files[0]
        self.changed()

    @precondition(lambda self: self.blog.entries)
    @rule(at=st.integers(0, 99))
    def refuse_entry(self, at: int) -> None:
        """From now on the service lists an entry and refuses to send it."""
        self.refused.add(str(list(self.blog.entries)[at % len(self.blog.entries)]))

    @rule()
    def refuse_none(self) -> None:
        self.refused.clear()

    # Commands, faults and kills

    def command(self) -> tuple[object, ...]:
        return (
            "backup", self.blog.blog_id, "--base-url", self.service.base_url, "--archive", self.root, "--json",
            "--assets", "files", "--file-url", self.service.base_url + "/v1/blog/user/{user_id}/{mtime}",
            "--allow-private-network", "--no-site",
        )  # fmt: skip

    async def refuse(self, request: web.Request) -> web.StreamResponse | None:
        return web.Response(status=404) if request.query.get("entry_id") in self.refused else None

    def run(self, *options: object, fault: faults.Fault | None = None, **how: Any) -> Done:
        self.service.before = faults.first_of(self.refuse, fault) if fault is not None else self.refuse
        return self.runs.run(*self.command(), *options, **how)

    @rule(accept=st.booleans(), refresh=st.sampled_from(["all", "all", "changed"]))
    def back_up(self, accept: bool, refresh: str) -> None:
        options = ["--refresh", refresh, *(["--accept-removals"] if accept else [])]
        done = self.run(*options)
        if done.code in {0, 3} and done.document["resumed_from"] is not None:
            # Records that were read before the kill may have changed since: the archive shows their state at that time.
            self.check_plausible()
            done = self.run(*options)
        self.check_saved(done, accept=accept, all_read=refresh == "all")

    @rule(seed=st.integers(0, 9))
    def back_up_through_faults(self, seed: int) -> None:
        done = self.run("--accept-removals", fault=faults.quarter_faulty(seed, 0.1, in_a_row=2))
        if done.code in {0, 3} and done.document["resumed_from"] is None:
            # A page received in place of a picture is not stored. An immediate second try would not help.
            pictures = done.document["assets"]["left_out"]["pending"] > 0
            self.check_saved(done, accept=True, all_read=True, pictures_wait=pictures)
        else:
            self.check_plausible()

    @rule(at=st.integers(1, 160), accept=st.booleans())
    def back_up_killed_before_a_call(self, at: int, accept: bool) -> None:
        done = self.run(*(["--accept-removals"] if accept else []), kill_at=at)
        self.check_after_kill(done)

    def signalled(self, requests: int, number: signal.Signals) -> Done:
        """Send a signal to a backup once the service has had some more requests."""
        self.service.before = self.refuse
        before = len(self.service.requests)
        run = self.runs.start(*self.command())
        run.goes_on_until(lambda: len(self.service.requests) >= before + requests)
        run.signal(number)
        return run.wait()

    @rule(after=st.integers(1, 40))
    def back_up_killed_after_a_request(self, after: int) -> None:
        self.check_after_kill(self.signalled(after, signal.SIGKILL))

    @rule(after=st.integers(1, 40), number=st.sampled_from([signal.SIGINT, signal.SIGTERM]))
    def back_up_interrupted(self, after: int, number: signal.Signals) -> None:
        done = self.signalled(after, number)
        assert done.code in {0, 3, 4, 130, 143, -signal.SIGTERM}, done
        self.check_plausible()

    @rule(at=st.integers(0, 60))
    def prune(self, at: int) -> None:
        # No precondition: the state after a kill depends on timing, and examples must not depend on that.
        if self.shown is None:
            return
        done = self.runs.run("prune", self.root, "--keep-last", 2, kill_at=at or None)
        assert done.code in {0, -signal.SIGKILL}, done
        if not self.runs.run("prune", self.root, "--keep-last", 2).code:
            assert folded(self.root) == self.shown

    # Checks

    def check_after_kill(self, done: Done) -> None:
        assert done.code in {0, 3, 4, -signal.SIGKILL}, done
        self.check_plausible()

    def check_plausible(self) -> None:
        """The archive shows only states that the service had, and every record that did not change."""
        if not self.has_version():
            return
        found = folded(self.root)
        if found == self.shown:
            return
        now = flat(found)
        for record, data in now.items():
            assert data in self.ever[record], record
        missing = [record for record, data in self.stood.items() if now.get(record) != data]
        assert [record for record in missing if record[0] is not Kind.ENTRIES or record[1] not in self.refused] == []
        self.shown = found

    def check_saved(self, done: Done, *, accept: bool, all_read: bool, pictures_wait: bool = False) -> None:
        """A run that ended normally shows exactly the service's records, or says why not."""
        there = held(self.blog)
        before = self.shown or {kind: {} for kind in there}
        gone = {kind: len(before[kind].keys() - there[kind].keys()) for kind in LISTS}
        if not accept and any(count > 5 and count > 0.3 * len(before[kind]) for kind, count in gone.items()):
            assert done.code == 4, done
            assert self.shown is None or folded(self.root) == self.shown
            return
        listed = {record_id for record_id in there[Kind.ENTRIES] if record_id in self.refused}
        # An unchanged entry is only requested if all are read, so a refusal of it may go unnoticed.
        codes = {3} if pictures_wait or (listed and all_read) else {0, 3} if listed else {0}
        assert done.code in codes, done
        found = folded(self.root)
        expected = dict(there)
        expected[Kind.ENTRIES] = {
            record_id: before[Kind.ENTRIES].get(record_id, b"") if record_id in listed else data
            for record_id, data in there[Kind.ENTRIES].items()
        }
        expected[Kind.ENTRIES] = {record_id: data for record_id, data in expected[Kind.ENTRIES].items() if data}
        if not all_read:
            for record_id, data in before[Kind.ENTRIES].items():
                if (
                    record_id in there[Kind.ENTRIES]
                    and before[Kind.ENTRY_LIST].get(record_id) == there[Kind.ENTRY_LIST][record_id]
                ) and found[Kind.ENTRIES].get(record_id) == data:
                    expected[Kind.ENTRIES][record_id] = data
        assert found == expected
        self.shown = found
        self.stood = flat(there)

    def has_version(self) -> bool:
        return (self.root / "archive.json").exists() and any((self.root / "versions").glob("[0-9]*"))

    @invariant()
    def valid(self) -> None:
        if (self.root / "archive.json").exists():
            assert findings(self.root) == []


def check(zygote: Zygote, examples: int, steps: int, *, same_each_time: bool = False) -> None:
    run_state_machine_as_test(
        partial(Archive, zygote),  # type: ignore[arg-type]  # anything that makes one is accepted
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
            derandomize=same_each_time,
            # A kill at another moment is another example, so shrinking would not work.
            phases=[Phase.generate],
        ),
    )


@pytest.mark.thorough
def test_anything_in_any_order(zygote: Zygote) -> None:
    check(zygote, 5, 10, same_each_time=True)


@pytest.mark.slow
def test_anything_in_any_order_for_long(zygote: Zygote) -> None:
    check(zygote, 60, 25)
