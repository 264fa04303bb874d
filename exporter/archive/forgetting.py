"""Remove single records from an archive for good: from every version, the runs' log, ``assets/`` and ``.work/``.

The plan is written to ``.work/forgetting.json`` before anything changes, and removed when everything is done. So after
a kill the next writer finishes the work, from any point:

1. The new sets of versions and captures are built, and the note about them is added to the plan. Until then, nothing
   outside ``.work/`` has changed.
2. ``forgotten.jsonl`` gets the note.
3. The new sets replace ``versions/`` and ``captures/``. From the first changed version or capture on, all hashes
   differ.
4. ``runs.jsonl`` is rewritten. The files in ``assets/`` that only removed records named are deleted, and so is
   everything in ``.work/`` that can be made again.
5. A line in ``runs.jsonl`` names the newest manifest and the note, and seals both.

The caller then makes ``latest/`` anew and calls :func:`finish`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.assets import stored_files
from exporter.archive.captures import without_addresses
from exporter.archive.checks import file_sha256
from exporter.archive.documents import append_run, run_lines, seal
from exporter.archive.forgotten import ForgettingNote, mark, new_salt, read_notes, write_notes
from exporter.archive.layout import (
    CAPTURE_RUNS,
    capture_name,
    capture_sha256,
    clear_replaced,
    manifest_name,
    manifest_sha256,
    segment_name,
)
from exporter.archive.lines import RecordLine, put_line, split
from exporter.archive.manifest import FORGOTTEN, FORGOTTEN_SHA256, PREVIOUS, forgotten_fault, line_digest, run_of
from exporter.archive.prune import named_assets
from exporter.archive.rewriting import VersionRewriting, replacing_versions
from exporter.archive.safe_files import MAX_CACHE_BYTES
from exporter.archive.segments import checked_line, line_positions
from exporter.errors import ArchiveDamaged
from exporter.frozen import frozen
from exporter.message import message, suggested
from exporter.model.asset import Asset, AssetState
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from exporter.archive.layout import Layout
    from exporter.archive.reader import ArchiveReader
    from exporter.archive.safe_files import InnerPath

Exchanges = Mapping[int, Mapping[str, list[int]]]
"""The recorded exchanges to remove: by capture and file, where their records begin, in bytes."""
RewriteCaptures = Callable[["Layout", Exchanges, Collection[str], "InnerPath"], list[dict[str, Any]]]
"""Builds all captures without these exchanges and addresses in a folder, and returns the hashes that changed."""
Sign = Callable[[bytes], str]
"""Signs the line of a note."""
_KEPT_IN_WORK: Final = frozenset(
    {
        "lock", "copies.json", "copies.lock", "copy-checks.json", "copy-id", "object-lock.json", "notified.json",
        "damaged.json", "forgetting.json", "latest.json",
    }
)  # fmt: skip
"""Files of ``.work/`` that stay: they cannot be made again, and hold no text of a record."""


@frozen
class Forgetting:
    """A requested removal.

    Attributes:
        at: the time of the request.
        records: the removed ids by kind.
        counted: the number of records by kind, for the note.
        signs: by kind, the signs by which these records are found again, see :func:`~exporter.archive.forgotten.mark`.
        assets: the hashes of the files that the removed records of assets name.
        runs: the lines of ``runs.jsonl`` that change, by number from 1.
        exchanges: the recorded exchanges that go.
        addresses: what captures state about these addresses goes as well.
        shown: ``{"entry", "comments"}`` for each entry whose page states the number of removed comments.
        note: the note; ``None`` until the new versions and captures are built.
        run: the line for ``runs.jsonl``; ``None`` as long as the note.
    """

    at: str
    records: Mapping[Kind, frozenset[str]]
    counted: Mapping[str, int]
    signs: Mapping[Kind, frozenset[str]] = field(default_factory=dict)
    assets: frozenset[str] = frozenset()
    runs: Mapping[int, str] = field(default_factory=dict)
    exchanges: Exchanges = field(default_factory=dict)
    addresses: frozenset[str] = frozenset()
    shown: tuple[dict[str, Any], ...] = ()
    note: ForgettingNote | None = None
    run: Mapping[str, Any] | None = None

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "at": self.at,
            "records": {str(kind): sorted(ids) for kind, ids in self.records.items()},
            "counted": dict(self.counted),
            "signs": {str(kind): sorted(signs) for kind, signs in self.signs.items()},
            "assets": sorted(self.assets),
            "runs": {str(number): line for number, line in self.runs.items()},
            "exchanges": {str(number): dict(files) for number, files in self.exchanges.items()},
            "addresses": sorted(self.addresses),
            "shown": list(self.shown),
            "note": None if self.note is None else self.note.line().decode(),
            "run": self.run,
        }

    @classmethod
    def of(cls, data: bytes) -> Forgetting:
        """Read the result of :meth:`document`.

        Raises:
            KeyError, TypeError, ValueError: it is damaged.
        """
        found = lossless_json.loads(data)
        note = None if found["note"] is None else lossless_json.loads(found["note"].encode())
        if (note is not None and forgotten_fault(note)) or not isinstance(found["run"], dict | None):
            raise ValueError(found["at"])
        if not all(run_of(line.encode()) and line.find("\n") == len(line) - 1 for line in found["runs"].values()):
            raise ValueError(found["at"])
        return cls(
            at=str(found["at"]),
            records={Kind(kind): frozenset(map(str, ids)) for kind, ids in found["records"].items()},
            counted={str(kind): int(number) for kind, number in found["counted"].items()},
            signs={Kind(kind): frozenset(map(str, signs)) for kind, signs in found["signs"].items()},
            assets=frozenset(map(str, found["assets"])),
            runs={int(number): str(line) for number, line in found["runs"].items()},
            exchanges={
                int(number): {str(name): [int(offset) for offset in offsets] for name, offsets in files.items()}
                for number, files in found["exchanges"].items()
            },
            addresses=frozenset(map(str, found.get("addresses", ()))),
            shown=tuple(found["shown"]),
            note=None if note is None else ForgettingNote(**note),
            run=found["run"],
        )


def pending(layout: Layout) -> Forgetting | None:
    """Return the unfinished removal, if there is one.

    Raises:
        ArchiveDamaged: its plan cannot be read.
    """
    try:
        return Forgetting.of(layout.forgetting.read_bytes(MAX_CACHE_BYTES))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise atomic.translate(error, layout.forgetting) from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ArchiveDamaged(
            "{path} is damaged, so a removal of records cannot be finished. Remove the file, and run forget again.",
            path=layout.forgetting,
        ) from error


def require_finished(layout: Layout) -> None:
    """Refuse an archive with an unfinished removal.

    Raises:
        ArchiveDamaged: there is one.
    """
    if layout.forgetting.kind() is not None:
        raise ArchiveDamaged(
            "A removal of records from {root} was interrupted. Finish it first: {command}",
            root=layout.root,
            command=suggested("forget", layout.root),
        )


def removable(layout: Layout) -> list[str]:
    """Return the names in ``.work/`` to remove: all that can be made again, and the readings of an unfinished run."""
    return [] if layout.work.kind() is None else [name for name in layout.work.names() if name not in _KEPT_IN_WORK]


def begin(layout: Layout, plan: Forgetting) -> None:
    """Write the plan durably; the caller holds the lock, and calls :func:`execute`."""
    with atomic.translated(layout.forgetting):
        atomic.make_folder(layout.work)
        atomic.write_file(layout.forgetting, lossless_json.dumps(plan.document()) + b"\n")


def execute(
    reader: ArchiveReader, plan: Forgetting, rewrite_captures: RewriteCaptures, sign: Sign | None = None
) -> ForgettingNote:
    """Carry out a plan, except for ``latest/``, and return the note. The caller holds the lock.

    It may be called again after a kill at any point.

    Raises:
        ArchiveDamaged: a file does not match its hash; nothing was changed.
        NoSpace: the disk is full; another call continues.
    """
    layout = reader.layout
    with atomic.translated(layout.root):
        clear_replaced(layout)
        captures = _Captures(layout, plan, rewrite_captures)
        note, run = plan.note, plan.run
        if note is None or run is None:
            try:
                note, run = _prepared(reader, plan, captures, sign)
            except BaseException:
                clear_replaced(layout)
                captures.discard()
                finish(layout)
                raise
            begin(layout, replace(plan, note=note, run=run))
        notes = read_notes(layout) if layout.forgotten.kind() is not None else []
        if note not in notes:
            write_notes(layout, [*notes, note])
        if not _is_done(note.versions, lambda each: manifest_sha256(layout, each["version"])):
            with replacing_versions(layout):
                if layout.building.kind() is None:
                    _Omission(reader, plan).build()
        if not _is_done(note.captures, lambda each: capture_sha256(layout, each["capture"])):
            captures.replace()
        _write_runs(layout, plan.runs, note)
        _write_capture_runs(layout, plan.addresses)
        seal(layout, anew=_renamed(layout, note))
        _remove_assets(layout, plan.assets)
        for name in removable(layout):
            atomic.remove_folder(layout.work / name)
        if next(reader.newest_runs(), {}).get(FORGOTTEN_SHA256) != file_sha256(layout.forgotten):
            append_run(layout, run)
        seal(layout)
    return note


def finish(layout: Layout) -> None:
    """Remove the plan. The caller has made ``latest/`` again before."""
    with atomic.translated(layout.forgetting):
        layout.forgetting.remove()
        atomic.sync_folder(layout.work)


def _is_done(changes: list[dict[str, Any]], present: Callable[[dict[str, Any]], str | None]) -> bool:
    return not changes or present(changes[-1]) == changes[-1]["after"]


def _renamed(layout: Layout, note: ForgettingNote) -> list[str]:
    """Return the names of the sealed files that change."""
    names = [layout.runs.name, CAPTURE_RUNS]
    names += [manifest_name(each["version"]) for each in note.versions[-1:]]
    return names + [capture_name(each["capture"]) for each in note.captures[-1:]]


class _Captures:
    """The new set of captures, in ``.work/``."""

    def __init__(self, layout: Layout, plan: Forgetting, rewrite: RewriteCaptures) -> None:
        self._layout = layout
        self._plan = plan
        self._rewrite = rewrite
        self._new, self._old = layout.work / "new-captures", layout.work / "old-captures"
        if layout.captures.kind() is None and self._old.kind() is not None:
            # This system cannot exchange two folders in one step, and a kill came between the two renames.
            self._old.rename(layout.captures)
        self.discard()

    def discard(self) -> None:
        """Remove an unfinished set."""
        atomic.remove_folder(self._new)

    def build(self) -> list[dict[str, Any]]:
        """Build the new set; return number and hashes of each capture that changed."""
        plan = self._plan
        if not plan.exchanges and not plan.addresses:
            return []
        return self._rewrite(self._layout, plan.exchanges, plan.addresses, self._new)

    def replace(self) -> None:
        """Replace ``captures/`` by the new set."""
        if self._new.kind() is None:
            self.build()
        atomic.swap_folder(self._new, self._layout.captures, self._old)


def _prepared(
    reader: ArchiveReader, plan: Forgetting, captures: _Captures, sign: Sign | None
) -> tuple[ForgettingNote, dict[str, Any]]:
    """Build the new versions and captures; return the note, and the line of ``runs.jsonl``."""
    layout = reader.layout
    notes = read_notes(layout)
    omission = _Omission(reader, plan)
    versions = omission.build()
    salt = notes[0].salt if notes else new_salt()
    marks = {mark(bytes.fromhex(salt), kind, sign) for kind, signs in plan.signs.items() for sign in signs}
    atomic.cut_torn_tail(layout.runs)
    note = ForgettingNote(
        at=plan.at,
        records=dict(plan.counted),
        files=len(plan.assets),
        exchanges=sum(len(offsets) for files in plan.exchanges.values() for offsets in files.values()),
        salt=salt,
        marks=sorted(marks.difference(*(each.marks for each in notes))),
        versions=versions,
        captures=captures.build(),
        runs=[
            {"before": before, "after": after} for before, after in _changed_runs(layout, plan.runs) if before != after
        ],
        shown=list(plan.shown),
        previous=line_digest(notes[-1].line()) if notes else None,
    )
    if sign is not None:
        note = replace(note, signature=sign(note.unsigned()))
    return note, omission.run_line(note)


class _Omission(VersionRewriting):
    """Builds the versions without the records of a plan."""

    def __init__(self, reader: ArchiveReader, plan: Forgetting) -> None:
        super().__init__(reader, message("Nothing was forgotten."))
        self._reader = reader
        self._plan = plan
        self._present: dict[Kind, dict[str, bytes]] = {kind: {} for kind in Kind}
        self._identities: dict[str, bytes] = {}
        self._states: dict[str, AssetState] = {}
        self._rewritten: set[tuple[int, str]] = set()
        self._refs = [b'{"entry":%b}' % lossless_json.text(each) for each in plan.records.get(Kind.ENTRIES, ())]

    def build(self) -> list[dict[str, Any]]:
        """Write every version; return number and hashes of each version that changed."""
        changed = []
        for number in self._reader.versions():
            folder = self.new_folder(number)
            document = self.checked(number)
            for kind in Kind:
                self._segment(number, kind, folder, document)
            self._clean(document)
            before, after = manifest_sha256(self.layout, number), self.finish(document)
            if before != after:
                changed.append({"version": number, "before": before, "after": after})
        return changed

    def run_line(self, note: ForgettingNote) -> dict[str, Any]:
        """Return the removal's line for ``runs.jsonl``, with the newest backup's statements about all other records."""
        last: Mapping[str, Any] = next((run for run in self._reader.newest_runs() if run.get("completeness")), {})
        line: dict[str, Any] = {
            "started_at": note.at,
            "finished_at": note.at,
            "outcome": "unchanged",
            "exit_code": 0,
            "error": None,
            "version": None,
            FORGOTTEN: {"records": dict(note.records), "files": note.files, "exchanges": note.exchanges},
        }
        stated = {name: last[name] for name in ("completeness", "problems") if name in last}
        if stated:
            self._clean(stated)
        return {**line, **stated}

    def _segment(self, number: int, kind: Kind, folder: InnerPath, document: dict[str, Any]) -> None:
        """Write a segment without the records, and correct its numbers in the manifest."""
        name = segment_name(kind)
        wanted = self._plan.records.get(kind, frozenset())
        path = self.layout.segment(number, kind)
        counts = document["counts"].get(str(kind))
        follows_refs = kind is Kind.ASSETS and bool(self._refs)
        if not follows_refs and (not wanted or not any(True for _ in line_positions(path, wanted))):
            self.link(number, name)
        else:
            lines = 0
            with atomic.hashing(folder / name) as file:
                for text in self._kept(path, kind, counts):
                    file.write(text)
                    lines += 1
                document["files"][name] = {"lines": lines, "bytes": file.size, "sha256": file.close()}
            self._rewritten.add((number, name))
        if counts is not None:
            counts["total"] -= len(self._present[kind])

    def _kept(self, path: InnerPath, kind: Kind, counts: dict[str, int] | None) -> Iterator[bytes]:
        """Yield the lines of a segment that stay."""
        wanted, present = self._plan.records.get(kind, frozenset()), self._present[kind]
        with path.open("rb") as file:
            for text in file:
                line = checked_line(path, text)
                known = present if line.record_id in wanted else self._identities
                before = known.get(line.record_id)
                if line.record_id in wanted:
                    if kind is Kind.ASSETS:
                        self._note_state(line)
                    what = "gone" if line.removed else "new" if before is None else "changed"
                    _count_less(counts, what, differs=before != (b"" if line.removed else line.identity))
                elif kind is not Kind.ASSETS or not self._refs:
                    yield text
                    continue
                else:
                    kept = text if line.removed else self._without_refs(text)
                    line = split(kept)
                    if line.removed or line.identity != before:
                        yield kept
                    else:
                        _count_less(counts, "changed", differs=True)
                if line.removed:
                    known.pop(line.record_id, None)
                else:
                    known[line.record_id] = line.identity

    def _note_state(self, line: RecordLine) -> None:
        """Note the state of a removed picture whose address the version needs."""
        self._states.pop(line.record_id, None)
        if not line.removed and (asset := Asset.from_raw(line.record())).refs:
            self._states[line.record_id] = asset.state

    def _without_refs(self, text: bytes) -> bytes:
        """Return an asset's line without the removed entries in its list of users."""
        if not any(each in text for each in self._refs):
            return text
        line = split(text)
        record = line.record()
        gone, refs = self._plan.records[Kind.ENTRIES], record.get("refs")
        if not isinstance(refs, list):
            return text
        record["refs"] = [each for each in refs if not names_entry(each, gone)]
        return put_line(line.record_id, lossless_json.freeze(record))

    def _clean(self, document: dict[str, Any]) -> None:
        """Take the removed records out of the lists and counts in a manifest or a run's line."""
        problems = document.get("problems")
        if problems:
            document["problems"] = [each for each in problems if not self._names(each["kind"], each["id"])]
        completeness = document.get("completeness") or {}
        if problems and not document["problems"] and "complete" in completeness:
            completeness["complete"] = True
        for kind in (Kind.ENTRIES, Kind.COMMENTS):
            _move_to_choice(completeness.get(str(kind)), len(self._present[kind]))
        _take_out(completeness.get(str(Kind.ASSETS)), self._states.values())
        if document.get("healed") is not None:
            document["healed"] = [
                {**row, "id": None} if self._names(row["file"].removesuffix(".jsonl"), row["id"]) else row
                for row in document["healed"]
                if (row["version"], row["file"]) not in self._rewritten
            ]

    def _names(self, kind: str, record_id: str | None) -> bool:
        return any(kind == str(each) and record_id in ids for each, ids in self._plan.records.items())


def names_entry(ref: Any, entries: Collection[str]) -> bool:
    """Return whether an untrusted member of ``refs`` is one of these entries."""
    entry_id = ref.get("entry") if isinstance(ref, dict) else None
    return isinstance(entry_id, str) and entry_id in entries


def _count_less(counts: dict[str, int] | None, what: str, *, differs: bool) -> None:
    if counts is not None and differs and counts[what]:
        counts[what] -= 1


def _move_to_choice(tally: Any, number: int) -> None:
    """Move this number of records from the saved ones to those left out by choice."""
    if number and isinstance(tally, dict) and isinstance(tally.get("left_out"), dict):
        saved, chosen = tally.get("saved"), tally["left_out"].get("by_choice", 0)
        if type(saved) is int and type(chosen) is int and saved >= number:
            tally["saved"], tally["left_out"]["by_choice"] = saved - number, chosen + number


def _take_out(tally: Any, states: Iterable[AssetState]) -> None:
    """Take pictures out of the numbers by state: no record needs their addresses any more, as the next backup finds."""
    if not isinstance(tally, dict) or not isinstance(tally.get("left_out"), dict):
        return
    for state in states:
        numbers, name = tally["left_out"], {AssetState.LEFT_OUT: "by_choice"}.get(state, str(state))
        if state is AssetState.SAVED:
            numbers = tally
        if type(numbers.get(name)) is int and numbers[name] > 0 and type(tally.get("listed")) is int:
            numbers[name] -= 1
            tally["listed"] -= 1
        if state in {AssetState.REFUSED, AssetState.DOUBTFUL} and numbers.get(name) == 0:
            del numbers[name]


def _changed_runs(layout: Layout, changed: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    """Yield the hash of each line of ``runs.jsonl`` before and after the change."""
    for before, after in _new_runs(layout, changed):
        yield line_digest(before), line_digest(after)


def _new_runs(layout: Layout, changed: Mapping[int, str]) -> Iterator[tuple[bytes, bytes]]:
    """Yield each line of ``runs.jsonl`` as stored and as changed: its text, and its link to the line before."""
    linked: tuple[str, str] | None = None
    for number, line in enumerate(run_lines(layout.runs), 1):
        new = changed[number].encode() if number in changed else line
        if linked is not None and linked[0] != linked[1]:
            new = new.replace(f'"{PREVIOUS}":"{linked[0]}"'.encode(), f'"{PREVIOUS}":"{linked[1]}"'.encode())
        yield line, new
        linked = line_digest(line), line_digest(new)


def _write_runs(layout: Layout, changed: Mapping[int, str], note: ForgettingNote) -> None:
    """Write ``runs.jsonl`` with its changed lines, unless that was done before."""
    if not note.runs:
        return
    first = note.runs[0]["before"]
    if any(before == first for before, _ in _changed_runs(layout, {})):
        atomic.write_lines(layout.runs, (new for _, new in _new_runs(layout, changed)))


def _write_capture_runs(layout: Layout, addresses: Collection[str]) -> None:
    """Write ``captures/runs.jsonl`` without these addresses, if a line names one of them."""
    if not addresses or layout.capture_runs.kind() != "":
        return

    def lines() -> Iterator[tuple[bytes, bytes]]:
        return ((line, _capture_run_without(line, addresses)) for line in run_lines(layout.capture_runs))

    if any(line != kept for line, kept in lines()):
        atomic.write_lines(layout.capture_runs, (kept for _, kept in lines()))


def _capture_run_without(line: bytes, addresses: Collection[str]) -> bytes:
    try:
        run = lossless_json.loads(line)
    except lossless_json.NotJson:
        return line
    kept = without_addresses(run, addresses) if isinstance(run, dict) else run
    return line if kept == run else lossless_json.dumps(kept) + b"\n"


def _remove_assets(layout: Layout, digests: frozenset[str]) -> None:
    """Remove the files with these hashes that no record names any more."""
    if not digests:
        return
    named = named_assets(layout)
    for digest, stored in stored_files(layout.assets):
        if digest in digests and digest.encode("ascii") not in named:
            (layout.root / stored.path).unlink()
