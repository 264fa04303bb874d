from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest

from exporter import __version__, lossless_json
from exporter.archive.archive import Archive
from exporter.archive.documents import append_run
from exporter.archive.layout import Layout
from exporter.archive.lock import BACKUP, ArchiveLock
from exporter.cli.main import COMMANDS, cli, main
from exporter.model.kinds import Kind
from tests.archive.builder import Built, entry, record
from tests.cli.conftest import Program
from tests.support.records import entry_record

DELETED_ENTRY, EDITED_ENTRY, NEW_ENTRY = 66, 50, 90


def test_help_names_every_command_and_each_has_its_own(program: Program) -> None:
    assert all(name in program("--help").out for name in COMMANDS)
    for name, line in COMMANDS.items():
        shown = program(name, "--help")
        assert shown.code == 0
        command = cli.get_command(click.Context(cli), name)
        parts = command.list_commands(click.Context(command)) if isinstance(command, click.Group) else []
        assert all("--json" in each.out for each in [program(name, part, "--help") for part in parts] or [shown])
        assert line


def test_version(program: Program) -> None:
    assert __version__ in program("--version").out


def test_without_a_command_the_help_is_shown(program: Program) -> None:
    shown = program()
    assert shown.code == 2
    assert "Back up:" in shown.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["bakup"], 2, "There is no command 'bakup' (did you mean backup?)"),
        (["backup"], 2, "Name what to back up"),
        (["status"], 2, "Missing argument"),
        (["status", "nowhere"], 10, "no archive.json"),
        (["log", "nowhere"], 10, "no archive"),
        (["show", "nowhere", "entry", "1"], 10, "no archive"),
        (["verify", "nowhere"], 10, "no archive"),
        (["rebuild", "nowhere"], 10, "no archive"),
        (["backup", "x.example"], 2, "--base-url or --profile"),
        (["backup", "x.example", "--base-url", "ftp://x"], 2, "ftp"),
        (["backup", "../x", "--base-url", "http://127.0.0.1:1"], 10, "does not exist"),
        (["backup", "x.example", "--rate", "x"], 2, "--rate"),
        (["capture", "x.example", "--max-pages", "0"], 2, "option --max-pages is '0'"),
        (["backup", "x.example", "--retries", "1", "--base-url", "http://127.0.0.1:1"], 20, "cannot connect"),
    ],
)
@pytest.mark.sample(6)
def test_every_failure_is_one_line_and_its_code(
    program: Program, arguments: list[str], code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    failed = program(*arguments)
    assert failed.code == code
    assert said in failed.err
    assert failed.err.count("\n") == 1
    assert failed.err.startswith("blog-exporter: error: ")
    assert "Traceback" not in failed.err
    assert list(tmp_path.iterdir()) == []
    as_json = program(*arguments, "--json")
    assert as_json.code == code
    assert as_json.json["error"]["exit_code"] == code


def test_status(program: Program, made: Path) -> None:
    shown = program("status", made)
    assert shown.code == 0
    assert "shiodamari.blog.example.jp: 2 versions" in shown.out
    assert "Complete" in shown.out
    found = program("status", made, "--json").json
    assert found["versions"] == 2
    assert found["newest"]["version"] == 2
    assert found["complete"] is True
    assert found["stale"] is False
    assert found["interrupted_run"] is False
    assert found["records"]["entries"] == 60


def test_status_reports_an_old_backup_to_a_monitor(program: Program, made: Path) -> None:
    stale = program("status", made, "--max-age", "2d")
    assert stale.code == 6
    assert f"Back up: blog-exporter backup {made}\n" in stale.err
    quiet = program("status", made, "--max-age", "2d", "-q")
    assert (quiet.code, quiet.out, quiet.err) == (6, "", stale.err)
    assert program("status", made, "--max-age", "2d", "--json").answer_before_error["stale"] is True
    assert program("status", made, "--max-age", "99w" * 1).code in {0, 6}
    assert program("status", made, "--max-age", "5000w").code == 0
    assert program("status", made, "--max-age", "tomorrow").code == 2


def test_status_reports_an_interrupted_run_and_a_writer(program: Program, archive: Path) -> None:
    work = archive / ".work"
    (work / "checkpoint").mkdir()
    with ArchiveLock(Layout(archive).lock) as lock:
        lock.acquire(datetime.now(UTC), work=BACKUP)
        shown = program("status", archive)
    assert shown.code == 0
    assert "A run did not finish" not in shown.out
    assert f"process {os.getpid()}" in shown.out
    (work / "lock").write_text('{"pid":7,"host":"h","since":"2026-01-01T00:00:00Z","work":"backup"}', encoding="utf-8")
    dead = program("status", archive)
    assert dead.code == 7
    assert "did not finish. The next backup resumes it:" in dead.err
    assert "did not finish" not in dead.out
    assert "process 7" not in dead.out
    (work / "lock").unlink()
    alone = program("status", archive)
    assert alone.code == 7
    assert f"The next backup resumes it: blog-exporter backup {archive}\n" in alone.err
    assert "process 7" not in alone.out


def test_a_quiet_status_prints_nothing_if_all_is_well(program: Program, made: Path) -> None:
    quiet = program("status", made, "-q", "--max-age", "5000w")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_log(program: Program, made: Path) -> None:
    rows = program("log", made).out.splitlines()
    assert len(rows) == 2
    assert "entries +60" in rows[0]
    assert "entries +1 ~1 -1" in rows[1]
    found = program("log", made, "--json").json
    assert [row["version"] for row in found["versions"]] == [1, 2]
    assert found["versions"][1]["counts"]["entries"] == {"total": 60, "new": 1, "changed": 1, "gone": 1}


def test_show_a_record_as_it_is_and_as_it_was(program: Program, made: Path) -> None:
    reader = Archive.open(made)
    old, new = reader.state(1), reader.state(2)
    edited = next(
        key
        for key in old.ids(Kind.ENTRIES)
        if new.identity(Kind.ENTRIES, key) not in (None, old.identity(Kind.ENTRIES, key))
    )
    now = program("show", made, "entry", edited, "--json").json
    then = program("show", made, "entry", edited, "--at", 1, "--json").json
    assert (now["version"], then["version"]) == (2, 1)
    assert now["data"] != then["data"]
    assert list(now) == ["id", "version", "sha256", "data"]
    line = (made / "latest" / "entries.jsonl").read_bytes().splitlines()
    assert lossless_json.dumps(now) in line
    text = program("show", made, "entry", edited, "--raw")
    assert "entry_text" in text.out
    assert "list item" in text.out


def test_an_entry_is_shown_as_a_post_without_any_control_character(program: Program, tmp_path: Path) -> None:
    built = Built(tmp_path / "archive")
    fields = {"title": "海\x1b[2J", "entry_text": "<p>青い<b>海</b></p><script>x</script><p>\u202e波\x07</p>"}
    raw = entry_record("sea.example", 1, "t", "", datetime(2020, 1, 2), user_id="1", open_flg="1")  # noqa: DTZ001
    built.commit(
        {
            Kind.ENTRIES: {"1": record(**{**raw, **fields, "is_private": "t"})},
            Kind.COMMENTS: {
                str(number): record(cm_id=str(number), entry_id="1", name=name, cm_text="や<br>あ", delete_flg=flag)
                for number, (name, flag) in enumerate((("ねこ\x1b]0;x\x07", "f"), ("", "t")), 1)
            },
        }
    )
    shown = program("show", built.root, "entries", "1")
    title, facts, empty, *body = shown.out.splitlines()
    assert (title, empty) == ("海\\x1b[2J", "")
    assert facts == "2020-01-02 00:00 · Private · open_flg 1 · entry 1, from version 1"
    assert body[:5] == ["青い海", "\\u202e波\\x07", "", "2 comments", ""]
    assert [line.strip() for line in body[5:]] == [
        "ねこ\\x1b]0;x\\x07",
        "や",
        "あ",
        "",
        "(no name) · delete_flg t",
        "や",
        "あ",
    ]
    one = program("show", built.root, "comment", "2").out.splitlines()
    assert one == ["Comment on entry 1  海\\x1b[2J", "(no name) · delete_flg t", "や", "あ"]


def test_a_diff_names_its_versions_and_shows_a_change_once(program: Program, tmp_path: Path) -> None:
    built = Built(tmp_path / "archive")
    flags = {"open_flg": "1", "is_private": "f", "period_flg": "f"}
    for titles, count in ((("海", "山"), "1"), (("波", "山", "川"), "2")):
        rows = {str(number): {"title": title, **flags} for number, title in enumerate(titles, 1)}
        built.commit(
            {
                Kind.ENTRIES: {key: record(entry_id=key, **row) for key, row in rows.items()},
                Kind.ENTRY_LIST: {key: record(entry_id=key, comment_count=count, **row) for key, row in rows.items()},
            }
        )
    heading, *lines = program("diff", built.root).out.splitlines()
    assert re.fullmatch(r"From version 1 \(\d{4}-\d\d-\d\d\) to version 2 \(\d{4}-\d\d-\d\d\):", heading)
    assert lines == [
        "~ entry 1  波", "    Title: [-海-]{+波+}", "+ entry 3  川", "~ list item 1  波", "    comment_count: [-1-]{+2+}",
        "~ list item 2  山", "    comment_count: [-1-]{+2+}",
    ]  # fmt: skip
    kinds = [each["kind"] for each in program("diff", built.root, "--json").json["changes"]]
    assert kinds.count("entry_list") == 3


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (("export", "DIR", "wxr", "OUT", "--force"), "export wxr DIR OUT --force"),
        (("export", "DIR", "hatena"), "export hatena DIR DIR-hatena"),
        (("export", "DIR", "wacz", "OUT"), "export wacz DIR OUT"),
        (("move", "DIR", "wordpress", "--to", "https://x.example"), "move wordpress DIR --to https://x.example"),
        (("compare", "https://x.example", "DIR"), "compare DIR https://x.example"),
    ],
)
def test_swapped_arguments_end_with_the_right_command(
    program: Program, arguments: tuple[str, ...], command: str
) -> None:
    refused = program(*arguments)
    (line,) = refused.err.splitlines()
    assert (refused.code, line.endswith(f": blog-exporter {command}")) == (2, True), line


def test_show_every_kind(program: Program, made: Path) -> None:
    state = Archive.open(made).state()
    for name, kind in (
        ("item", Kind.ENTRY_LIST),
        ("comment", Kind.COMMENTS),
        ("file", Kind.FILES),
        ("user", Kind.USER),
    ):
        record_id = state.ids(kind)[0]
        assert program("show", made, name, record_id, "--json").json["id"] == record_id
        assert program("show", made, str(kind), record_id).code == 0


def test_show_a_missing_record(program: Program, made: Path) -> None:
    absent = program("show", made, "entry", "999999")
    assert (absent.code, absent.out, absent.err.count("\n")) == (5, "", 1)
    assert "has no entry 999999 in version 2 or before" in absent.err
    assert program("show", made, "entry", "999999", "--json").json["error"]["exit_code"] == 5
    assert program("show", made, "entry", "1", "--at", 99).code == 5
    assert program("show", made, "poem", "1").code == 2


def test_show_user_needs_no_id(program: Program, made: Path) -> None:
    first = Archive.open(made).state().ids(Kind.USER)[0]
    assert program("show", made, "user", "--json").json["id"] == first
    which = program("show", made, "comment")
    assert which.code == 2
    assert "Which comment? Name its ID: show DIR comment ID" in which.err


def test_show_user_without_one_or_with_two(program: Program, tmp_path: Path) -> None:
    built = Built(tmp_path / "archive")
    built.commit({Kind.ENTRIES: {"1": entry(1, "海")}})
    none = program("show", built.root, "user")
    assert (none.code, "has no user in version 1" in none.err) == (5, True)
    built.commit({Kind.USER: {key: record(id=key) for key in ("3", "5")}})
    two = program("show", built.root, "user")
    assert (two.code, "Which user? Name one of these: 3, 5." in two.err) == (2, True)
    assert program("show", built.root, "user", "--at", 1).code == 5


def test_show_user_with_a_long_id(program: Program, tmp_path: Path) -> None:
    built, long = Built(tmp_path / "archive"), f"https://blog.example.jp/{'user/' * 10}"
    built.commit({Kind.USER: {long: record(id=long)}})
    for words in ([], [long]):
        assert program("show", built.root, "user", *words, "--json").json["id"] == long


def test_verify_answers_both_questions(program: Program, made: Path) -> None:
    good = program("verify", made)
    assert good.code == 0
    assert "Intact: 2 versions" in good.out
    assert "Complete" in good.out
    found = program("verify", made, "--json").json
    assert found["intact"] is True
    assert found["complete"] is True
    assert found["findings"] == []


def test_verify_names_the_damage_and_the_repair(program: Program, archive: Path) -> None:
    segment = archive / "versions" / "000001" / "comments.jsonl"
    segment.write_bytes(
        segment.read_bytes().replace(b"comment", b"commant", 1).replace(b"\xe3\x81\x82", b"\xe3\x81\x84", 1)
    )
    bad = program("verify", archive)
    assert bad.code == 13
    assert "versions/000001/comments.jsonl" in bad.out
    assert "verify --repair" in bad.out
    found = program("verify", archive, "--json")
    assert found.code == 13
    first = lossless_json.loads(found.out.splitlines()[0].encode())
    assert first["intact"] is False
    assert first["findings"][0]["damage"] is True


def test_verify_prints_the_head_and_expects_it_later(program: Program, archive: Path, tmp_path: Path) -> None:
    older = tmp_path / "older"
    shutil.copytree(archive, older)
    first = str(program("verify", archive, "--json").json["head"])
    assert f"Head: {first}\n" in program("verify", archive).out
    last = next(Archive.open(archive).newest_runs())
    append_run(Layout(archive), {**last, "outcome": "unchanged", "version": None})
    found = program("verify", archive, "--quick", "--expect", first, "--json").json
    assert (found["expected"], found["intact"]) == (True, True)
    assert found["head"] != first
    assert program("verify", archive, "--quick", "--expect", first[:8].upper()).code == 0
    back = program("verify", older, "--expect", found["head"])
    assert back.code == 13
    assert back.err == (
        f"blog-exporter: error: {older} never had the head {found['head']}: "
        "it is an older state, or another archive. Use the newest copy.\n"
    )
    answer = program("verify", older, "--expect", found["head"], "--json").answer_before_error
    assert (answer["expected"], answer["intact"], answer["head"]) == (False, True, first)
    for text in ("", "1234567", "g" * 64, f"{first}0", first[:20] + " " + first[20:]):
        assert program("verify", archive, "--expect", text).code == 2


def test_verify_expects_nothing_that_is_ambiguous(program: Program, archive: Path) -> None:
    runs = Layout(archive).runs
    runs.write_bytes(runs.read_bytes().splitlines(keepends=True)[0] * 2)
    digits = hashlib.sha256(runs.read_bytes().splitlines()[0]).hexdigest()
    found = program("verify", archive, "--expect", digits[:10])
    assert found.code == 2
    assert "with which 2 heads of this archive begin: give more digits" in found.err


def test_an_archive_that_was_never_sealed_has_no_head(program: Program, archive: Path) -> None:
    runs = archive / "runs.jsonl"
    lines = [json.loads(line) for line in runs.read_bytes().splitlines()]
    old = [{name: line[name] for name in line if name not in {"previous", "manifest_sha256"}} for line in lines]
    runs.write_text("".join(json.dumps(line) + "\n" for line in old), encoding="utf-8")
    (archive / "SHA256SUMS").unlink()
    found = program("verify", archive)
    assert found.code == 0
    assert "Head: none yet, the next backup seals this archive\n" in found.out
    assert program("verify", archive, "--json").json["head"] is None


def test_verify_says_intact_but_incomplete(program: Program, archive: Path) -> None:
    last = next(Archive.open(archive).newest_runs())
    last["completeness"]["complete"] = False
    last["problems"] = [{"kind": "entries", "id": "\x1b[31m7", "reason": "it \u202ewould not"}]
    append_run(Layout(archive), last)
    found = program("verify", archive)
    assert found.code == 3
    assert "Intact" in found.out
    assert "INCOMPLETE" in found.out
    assert "\x1b" not in found.out
    assert "\u202e" not in found.out


def test_rebuild_repairs_a_damaged_view(program: Program, archive: Path) -> None:
    page = next(archive.glob("latest/markdown/2*/*/*.md"))
    page.write_text("scribble", encoding="utf-8")
    assert program("verify", archive).code == 13
    assert program("rebuild", archive).code == 0
    assert program("verify", archive).code == 0
    assert "scribble" not in page.read_text(encoding="utf-8")


def test_rebuild_makes_the_same_bytes_from_the_versions_alone(
    program: Program, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {
        path.relative_to(archive): path.read_bytes() for path in (archive / "latest").rglob("*") if path.is_file()
    }
    shutil.rmtree(archive / "latest")
    shutil.rmtree(archive / ".work")
    monkeypatch.setenv("BLOG_EXPORTER_ENTRY_URL", "https://{blog_id}/Entry/{entry_id}/")
    found = program("rebuild", archive, "--json").json
    assert found["version"] == 2
    assert found["files_made"] > 60
    after = {path.relative_to(archive): path.read_bytes() for path in (archive / "latest").rglob("*") if path.is_file()}
    assert after == before
    assert program("rebuild", archive).code == 0
    again = {path.relative_to(archive): path.read_bytes() for path in (archive / "latest").rglob("*") if path.is_file()}
    assert again == before


def test_demo_names_the_next_steps_and_reads_no_user_settings(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "config" / "blog-exporter"
    folder.mkdir(parents=True)
    (folder / "blog-exporter.toml").write_text('ping_url = "http://127.0.0.1:9/"\nassets = "none"\n')
    first = program("demo", tmp_path / "demo")
    assert first.code == 0
    assert "Verified: 2 versions" in first.err
    assert "blog-exporter log" in first.err
    assert "became U+FFFD in the views" in first.err
    assert "49 pictures and files" in first.err
    assert "ping" not in first.err


def test_a_demo_can_be_repeated(program: Program, archive: Path) -> None:
    again = program("demo", archive, "--json")
    assert again.code == 0
    assert again.json["versions"] == 4
    assert "contains an earlier demo, and gets new versions" in again.err
    assert "--at 3" in again.err


@pytest.mark.thorough
def test_a_demo_can_be_repeated_after_a_prune(program: Program, archive: Path) -> None:
    assert program("prune", archive, "--keep-last", 1).code == 0
    again = program("demo", archive)
    assert (again.code, "--at 3" in again.err) == (0, True)


def test_demo_does_not_change_other_folders(program: Program, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("keep me")
    full = program("demo", tmp_path / "full")
    assert (full.code, full.err.count("\n")) == (10, 1)
    other = Built(tmp_path / "other")
    other.commit({Kind.ENTRIES: {"1": entry(1, "海")}})
    refused = program("demo", other.root)
    assert (refused.code, "is the archive of" in refused.err, refused.err.count("\n")) == (2, True, 1)
    assert "--archive" not in full.err + refused.err, "demo has no such option"
    assert Archive.open(other.root).versions() == [1]


def test_a_newer_format_is_refused(program: Program, archive: Path) -> None:
    info = archive / "archive.json"
    info.write_bytes(info.read_bytes().replace(b'"format_version": 1', b'"format_version": 99'))
    (archive / "versions").rename(archive / "set-aside")
    (archive / "SHA256SUMS").unlink()
    refused = program("log", archive)
    assert refused.code == 14
    assert "newer" in refused.err


@pytest.mark.thorough
def test_the_module_runs_as_a_program() -> None:
    done = subprocess.run([sys.executable, "-m", "exporter", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith(__version__)


def test_an_unexpected_error_is_one_line_and_a_traceback_only_on_demand(
    program: Program, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Archive, "versions", lambda _: 1 // 0)
    failed = program("log", made)
    assert failed.code == 1
    assert failed.err == (
        "blog-exporter: error: Unexpected: ZeroDivisionError: integer division or modulo by zero. Please report this "
        "with the output of -vv.\n"
    )
    assert "Traceback" in program("log", made, "-vv").err


def test_errors_of_the_system_are_translated(program: Program, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Archive) -> list[int]:
        raise OSError(28, "No space left on device", "some/file")

    monkeypatch.setattr(Archive, "versions", full)
    failed = program("log", made)
    assert failed.code == 28
    assert "some/file" in failed.err


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (SystemExit(5), 5), (SystemExit("x"), 1)])
def test_other_endings(
    program: Program, made: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    def end(_: Archive) -> list[int]:
        raise error

    monkeypatch.setattr(Archive, "versions", end)
    assert program("log", made).code == code


@pytest.mark.thorough
def test_a_terminal_without_japanese_does_not_end_the_program(made: Path) -> None:
    state = Archive.open(made).state()
    entry_id = state.ids(Kind.ENTRIES)[0]
    done = subprocess.run(
        [sys.executable, "-m", "exporter", "show", str(made), "entry", entry_id, "--raw"],
        capture_output=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )
    assert done.returncode == 0
    assert b"entry_text" in done.stdout
    assert done.stderr == b""


def test_main_returns_codes_instead_of_ending_the_process() -> None:
    assert main(["--version"]) == 0


def test_log_of_one_entry_is_its_life(program: Program, made: Path) -> None:
    edited = program("log", made, "--entry", EDITED_ENTRY)
    assert [row.split()[2] for row in edited.out.splitlines()] == ["new", "changed"]
    assert "entry_text" in edited.out
    gone = program("log", made, "--entry", DELETED_ENTRY, "--json").json
    assert [step["change"] for step in gone["steps"]] == ["new", "gone"]
    assert gone["steps"][1]["evidence"]["entry_get"]["status"] == 404
    assert program("log", made, "--entry", "999999").code == 5


def test_show_says_when_a_record_is_gone_and_shows_it_all_the_same(program: Program, made: Path) -> None:
    shown = program("show", made, "entry", DELETED_ENTRY, "--json")
    assert shown.code == 0
    assert shown.json["version"] == 1
    assert "is gone since version 2" in shown.err
    assert program("show", made, "entry", DELETED_ENTRY, "--at", 1).err == ""


def test_show_by_date(program: Program, made: Path) -> None:
    first = program("show", made, "entry", EDITED_ENTRY, "--at", "2026-01-02", "--json").json
    assert first["version"] == 1
    assert program("show", made, "entry", EDITED_ENTRY, "--at", "2020-01-01").code == 5
    assert program("show", made, "entry", EDITED_ENTRY, "--at", "yesterday").code == 2


def test_show_as_markdown_and_as_html(program: Program, made: Path) -> None:
    markdown = program("show", made, "entry", 5, "--markdown").out
    page = next(made.glob("latest/markdown/*/*/*-5.md"))
    assert markdown.encode() == page.read_bytes()
    comment = Archive.open(made).state().ids(Kind.COMMENTS)[0]
    assert program("show", made, "comment", comment, "--markdown").out.startswith("### ")
    assert program("show", made, "file", "1", "--markdown").code == 2
    html = program("show", made, "entry", EDITED_ENTRY, "--html").out
    assert "default-src 'none'" in html
    assert "<script" not in html


def test_diff_of_the_last_two_versions(program: Program, made: Path) -> None:
    text = program("diff", made).out
    assert f"~ entry {EDITED_ENTRY}" in text
    assert f"- entry {DELETED_ENTRY}" in text
    assert f"+ entry {NEW_ENTRY}" in text
    assert "\x1b[" not in text
    back = program("diff", made, 2, 1).out
    assert f"+ entry {DELETED_ENTRY}" in back
    assert program("diff", made, "2026-01-02", "2026-01-03").out == text


def test_diff_as_numbers_objects_and_a_page(program: Program, made: Path, tmp_path: Path) -> None:
    assert re.search("entries +1 new, 1 changed, 1 gone", program("diff", made, "--stat").out)
    found = program("diff", made, "--json").json
    assert (found["from"], found["to"]) == (1, 2)
    assert {change["change"] for change in found["changes"]} == {"new", "changed", "gone"}
    page = tmp_path / "diff.html"
    assert program("diff", made, "--html", page).code == 0
    assert b"<ins>" in page.read_bytes()
    assert program("diff", made, "--html", tmp_path / "none" / "diff.html").code == 2


def test_diff_replaces_a_page_only_when_asked_and_nothing_of_an_archive(
    program: Program, archive: Path, tmp_path: Path
) -> None:
    page = tmp_path / "novel.html"
    page.write_text("years")
    refused = program("diff", archive, "--html", page)
    assert (refused.code, page.read_text()) == (2, "years")
    assert f"{page} exists already. Add --force" in refused.err
    assert program("diff", archive, "--html", page, "--force").code == 0
    assert b"<ins>" in page.read_bytes()
    page.unlink()
    page.symlink_to(tmp_path / "nowhere")
    assert program("diff", archive, "--html", page).code == 2
    before = (archive / "archive.json").read_bytes()
    for inside in (archive / "archive.json", archive / "new.html"):
        assert "inside the archive" in program("diff", archive, "--html", inside, "--force").err
    assert (archive / "archive.json").read_bytes() == before
    assert "is a folder" in program("diff", archive, "--html", tmp_path, "--force").err


def test_diff_needs_two_versions(program: Program, archive: Path) -> None:
    assert program("prune", archive, "--keep-last", 1).code == 0
    alone = program("diff", archive)
    assert alone.code == 5
    assert "has no version before 2, so there is nothing to compare it with" in alone.err
    assert program("diff", archive, 1, 2).code == 5


def test_prune_shows_its_plan_and_carries_it_out(program: Program, archive: Path) -> None:
    before = program("show", archive, "entry", EDITED_ENTRY, "--at", 2, "--json").json
    would = program("prune", archive, "--keep-last", 1, "--dry-run", "--json").json
    assert would["dropped"] == [1]
    assert would["dry_run"] is True
    assert len(program("log", archive).out.splitlines()) == 2
    done = program("prune", archive, "--keep-last", 1)
    assert done.code == 0
    assert "Kept 1 version, removed 1." in done.out
    assert program("verify", archive).code == 0
    after = program("show", archive, "entry", EDITED_ENTRY, "--at", 2, "--json").json
    assert {**after, "version": 2} == before
    assert (archive / "latest" / "markdown" / "index.md").is_file()
    forgotten = program("show", archive, "entry", DELETED_ENTRY)
    assert forgotten.code == 5
    assert "is gone since version 2" in forgotten.err
    assert "a prune removed its content" in forgotten.err
    assert program("prune", archive, "--keep-daily", -1).code == 0
    assert program("prune", archive).code == 2
    assert program("prune", archive, "--keep-last", -2).code == 2


def test_search_finds_any_part_of_any_text(program: Program, made: Path) -> None:
    found = program("search", made, "猫")
    assert found.code == 0
    assert "[猫]" in found.out
    assert "7 hits." in found.err
    best = program("search", made, "ﾊﾟﾝ", "--kind", "entry", "--limit", 2, "--json").json
    assert best["found"] > 2
    assert len(best["hits"]) == 2
    first = best["hits"][0]
    start, end = first["marks"][0]
    assert first["excerpt"][start:end] == "パン"
    assert program("search", made, "[三四]合", "--regex").out.count("[三合]") == 1
    assert program("search", made, "ないことば").err == "0 hits.\n"
    assert program("search", made, "猫", "--since", "2020-01-01", "--json").json["found"] < 7
    newest = program("search", made, "猫", "--sort", "date", "--json").json
    assert [hit["date"] for hit in newest["hits"]] == sorted((hit["date"] for hit in newest["hits"]), reverse=True)
    assert (newest["similar_found"], newest["similar_hits"]) == (0, [])


def test_search_reports_other_spellings_separately(program: Program, made: Path) -> None:
    exact = program("search", made, "パン", "--json").json
    found = program("search", made, "ぱーん", "--json").json
    assert (found["found"], found["hits"], found["similar_found"]) == (0, [], 0)
    found = program("search", made, "ぱん", "--json", "--limit", 3).json
    assert found["found"] + found["similar_found"] == exact["found"] + exact["similar_found"]
    assert len(found["hits"]) + len(found["similar_hits"]) == 3
    said = program("search", made, "ぱん")
    assert "Similar spellings:\n" in said.out
    assert "[パン]" in said.out.partition("Similar spellings:\n")[2]
    assert f"{found['similar_found']} more in similar spellings" in said.err


def test_search_in_an_older_version(program: Program, made: Path) -> None:
    assert program("search", made, "九回目の初日の出", "--json").json["found"] > 0
    assert program("search", made, "九回目の初日の出", "--at", 1, "--json").json["found"] == 0


def test_a_lone_quotation_mark_is_searched(program: Program, made: Path) -> None:
    found = program("search", made, '"', "--json").json
    assert (found["found"], program("search", made, '"open').err) == (5, "0 hits.\n")
    assert all('"' in f"{hit['title']}{hit['excerpt']}" for hit in found["hits"])


@pytest.mark.parametrize("words", [["("], ["x", "--kind", "poem"], ["x", "--since", "then"], ["x", "--limit", "0"]])
def test_an_invalid_search_is_reported_in_one_line(program: Program, made: Path, words: list[str]) -> None:
    failed = program("search", made, *words, *(["--regex"] if words == ["("] else []))
    assert failed.code == 2
    assert failed.err.count("\n") == 1


def test_files_lists_uploads_and_pictures(program: Program, made: Path) -> None:
    found = program("files", made, "--json").json
    assert found["counts"] == {"stored": 49, "lost": 1}
    lost = program("files", made, "--missing")
    assert lost.out.splitlines() == [
        "lost                 kieta.jpg                         used by 87",
        "    https://pictures.example.jp/album/2016/kieta.jpg (it answered 404)",
    ]
    assert max(map(len, program("files", made).out.splitlines())) <= 80
    assert "    assets/" in program("files", made, "-v").out
    table = program("files", made, "--csv").out.splitlines()
    assert table[0].removeprefix("\ufeff").startswith("held,url,path")
    assert len(table) == 51
    assert program("files", made, "--csv", "--json").code == 2
    assert program("files", made, "--at", 1, "--json").json["counts"] == {"stored": 48, "lost": 1, "nameless": 1}


def test_verify_quick_reads_only_changed_files(program: Program, archive: Path) -> None:
    assert program("verify", archive).code == 0
    quick = program("verify", archive, "--quick", "--json").json
    assert quick["intact"] is True
    assert quick["quick"] is True
    picture = next(archive.glob("assets/*/*.png"))
    picture.write_bytes(picture.read_bytes()[:-1] + b"x")
    segment = archive / "versions" / "000002" / "entries.jsonl"
    segment.write_bytes(segment.read_bytes().replace(b"a", b"b", 1))
    found = program("verify", archive, "--quick")
    assert found.code == 13
    assert picture.name in found.out
    assert "versions/000002/entries.jsonl" in found.out


@pytest.mark.parametrize("left", [b"?", pytest.param(None, marks=pytest.mark.thorough)])
def test_a_damaged_picture_is_read_again_by_the_next_backup(
    program: Program, archive: Path, left: bytes | None
) -> None:
    picture = next(archive.glob("assets/*/*.png"))
    good = picture.read_bytes()
    picture.unlink()
    if left is not None:
        picture.write_bytes(good[:-1] + left)
    found = program("verify", archive)
    assert found.code == 13
    assert picture.name in found.out
    assert "run backup" in found.out
    assert program("demo", archive).code == 0
    assert picture.read_bytes() == good
    assert program("verify", archive).code == 0


def test_rebuild_shows_an_older_version_until_the_next_rebuild(program: Program, archive: Path) -> None:
    newest = (archive / "latest" / "entries.jsonl").read_bytes()
    assert program("rebuild", archive, "--at", 1, "--json").json["version"] == 1
    older = [lossless_json.loads(line) for line in (archive / "latest" / "entries.jsonl").read_bytes().splitlines()]
    state = Archive.open(archive).state(1)
    assert [line["id"] for line in older] == state.ids(Kind.ENTRIES)
    assert {line["version"] for line in older} == {1}
    stale = program("verify", archive)
    assert stale.code == 0
    assert "latest-stale" in stale.out
    assert program("rebuild", archive).code == 0
    assert (archive / "latest" / "entries.jsonl").read_bytes() == newest
