"""Check a built program: ``python app/check.py FOLDER PROGRAM…``. It needs nothing but Python itself.

PROGRAM may have words before it that start it elsewhere, such as ``chroot ROOT``; FOLDER is empty, and has this path
for both. Everything runs in the locale C, with Japanese file names, and without a PATH.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen

WAIT_SECONDS = 600


def environment(folder: Path) -> dict[str, str]:
    """Return the environment: an empty home, no settings and no Python."""
    kept = {name: value for name, value in os.environ.items() if name in {"SYSTEMROOT", "TEMP", "TMP"}}
    return {**kept, "HOME": str(folder), "USERPROFILE": str(folder), "LC_ALL": "C", "BLOG_EXPORTER_LANG": "en"}


def check(folder: Path, program: list[str]) -> dict[str, float]:
    """Run the program's main commands; return how many seconds each took.

    Raises:
        AssertionError: one of them failed.
    """
    environ, seconds = environment(folder), dict[str, float]()

    def run(*words: str) -> str:
        started = time.monotonic()
        done = subprocess.run(
            [*program, *words], env=environ, capture_output=True, stdin=subprocess.DEVNULL, check=False
        )
        seconds[words[0]] = time.monotonic() - started
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout.decode("utf-8")

    archive, out = str(folder / "潮だまり日記"), str(folder / "書き出し")
    assert run("--version").startswith("blog-exporter, version ")
    run("demo", archive, "--quiet")
    assert json.loads(run("verify", archive, "--json"))["intact"] is True
    assert (folder / "潮だまり日記" / "latest" / "site" / "index.html").is_file()
    run("search", archive, "海")
    run("export", "markdown", archive, out, "--all-as-draft")
    assert list((folder / "書き出し").rglob("*.md"))
    line = run("schedule", "print", archive, "--for", "cron", "--base-url", "https://api.example.jp")
    assert Path(program[-1]).name in line, line
    assert "-m exporter" not in line, line
    started = time.monotonic()
    _check_window(folder, [*program, "app", "--no-open", "--json"], environ, str(folder / "窓"))
    seconds["app"] = time.monotonic() - started
    return seconds


def _check_window(folder: Path, words: list[str], environ: dict[str, str], archive: str) -> None:
    """Open the window, start a job in it by a form, and close it."""
    window = subprocess.Popen(words, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        assert window.stdout is not None
        address = json.loads(window.stdout.readline())["url"]
        with urlopen(address, timeout=WAIT_SECONDS) as page:
            assert b"<h1>" in page.read()
        # Windows takes the folder for a program's state from the account, not from a variable.
        state = Path(os.environ["LOCALAPPDATA"], "blog-exporter") if sys.platform == "win32" else folder
        (note,) = state.rglob("window.json")
        job = note.parent / "jobs" / "1"
        job.mkdir(parents=True)
        about = {"words": ["demo", archive, "--quiet"], "about": "demo", "place": archive, "language": "en"}
        (job / "job.json").write_text(json.dumps(about), "utf-8")
        origin = address.split("/", 3)[2]
        form = Request(f"{address}job/1/again", urlencode({"a": "1"}).encode(), {"Origin": f"http://{origin}"})
        with urlopen(form, timeout=WAIT_SECONDS) as page:
            assert page.url != f"{address}job/1"
        ends = time.monotonic() + WAIT_SECONDS
        while not (ended := [json.loads(each.read_bytes()) for each in job.parent.rglob("exit.json")]):
            assert time.monotonic() < ends
            time.sleep(0.2)
        assert ended == [{"exit_code": 0}], [each.read_bytes() for each in job.parent.rglob("said.jsonl")]
        with urlopen(Request(f"{address}quit", b"", {"Origin": f"http://{origin}"}), timeout=WAIT_SECONDS) as page:
            assert page.status == 200
        assert window.wait(WAIT_SECONDS) == 0
    finally:
        if window.poll() is None:
            window.send_signal(signal.SIGTERM)
            window.wait()


if __name__ == "__main__":
    for what, took in check(Path(sys.argv[1]).resolve(), sys.argv[2:]).items():
        sys.stdout.write(f"{what}: {took:.2f} s\n")
