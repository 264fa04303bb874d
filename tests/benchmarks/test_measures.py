from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import BY_NAME, MEASURES, SHORT, check, fallen_behind, main
from benchmarks.measure import Bench, Sample, run
from benchmarks.table import Goal, Row, recorded, table, write_results

# Others run the same lines; measuring them here too would more than double the time.
pytestmark = [pytest.mark.bench, pytest.mark.no_cover]


@pytest.mark.parametrize("name", [*MEASURES, *BY_NAME])
def test_every_measure_measures(bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(Bench, "size", lambda _self, _full, _small: 12)
    bench.rounds = 1
    rows = list({**MEASURES, **BY_NAME}[name](bench))
    assert len(rows) > 0
    assert all(row.cpu is None or row.cpu > 0 for row in rows)
    assert [line.count(" | ") for line in table(rows)] == [7, 0, *[7] * len(rows)]
    assert list(bench.place.iterdir()) == [] or name == "latency"


def test_what_is_not_installed_is_left_out(bench: Bench) -> None:
    bench.small = False
    assert bench.peer("Nowhere", "no-such-program") is None
    assert bench.missing == {"Nowhere"}
    bench.small = True
    assert bench.peer("sh", "sh") is None
    assert bench.peer("sh", "sh", everywhere=True) is not None
    assert bench.missing == {"Nowhere"}


def test_steps_take_turns(bench: Bench) -> None:
    order = []

    def step(name: str) -> Sample:
        order.append(name)
        return Sample(1, 1, 1)

    bench.rounds = 3
    samples = bench.turns({"a": lambda: step("a"), "b": lambda: step("b")})
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert {name: len(taken) for name, taken in samples.items()} == {"a": 3, "b": 3}


def test_ratios_are_of_the_same_round_or_of_the_least(bench: Bench) -> None:
    samples = {
        "one": [Sample(2.0, 1.0, 0), Sample(40.0, 4.0, 0), Sample(3.0, 1.5, 0)],
        "two": [Sample(1.0, 1.0, 0), Sample(10.0, 1.0, 0), Sample(1.0, 0.5, 0)],
    }
    assert bench.ratio(samples, "one", "two", "cpu") == pytest.approx(2.0)
    bench.small = False
    assert bench.ratio(samples, "one", "two", "wall") == pytest.approx(3.0)
    row = bench.row(samples, "one", "two")
    assert (row.wall, row.cpu, row.wall_s, row.cpu_s) == (3.0, 3.0, 3.0, 1.5)


def test_a_command_that_fails_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="ended with 3"):
        run([sys.executable, "-c", "raise SystemExit(3)"])


def test_the_memory_of_a_command_is_measured() -> None:
    held = bytearray(250_000_000)
    sample = run([sys.executable, "-c", "block = bytearray(80_000_000); print('{\"requests\": 5}')"])
    assert sample.json["requests"] == 5
    assert 80_000_000 < sample.peak < 200_000_000 < len(held)
    assert sample.wall >= 0 < sample.cpu


def test_a_goal_that_is_missed_is_marked() -> None:
    met = Row("one", "two", 1.0, 1.754, 3.0, 2.0, 50_000_000, Goal(cpu=1.75, peak_mb=60), "note")
    missed = Row("longer", "two", 1.5, goal=Goal(wall=1.4))
    lines = list(table([met, missed]))
    cells = [cell.strip(" |") for cell in lines[2].split(" | ")]
    assert cells == ["one", "two", "1.00", "1.75 (≤ 1.75)", "3.00", "2.00", "50 (≤ 60)", "note"]
    assert "**1.50** (≤ 1.4)" in lines[3]


def test_results_are_kept_with_versions_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "results.md"
    rows = [Row("a", "b", 1.2, 3.4567, 1, 1, 1), Row("in virtual time", "c", 1.0)]
    write_results(rows, rows, {"Hugo", "Scrapy"}, path)
    text = path.read_text("utf-8")
    assert f"Python {sys.version.split()[0]}; aiohttp " in text
    assert "Left out, as not installed: Hugo, Scrapy" in text
    assert recorded(path) == {("a", "b"): 3.457}
    write_results(None, [Row("a", "b", cpu=2.0)], path=path)
    assert path.read_text("utf-8").partition("## ")[0] == text.partition("## ")[0]
    assert recorded(path) == {("a", "b"): 2.0}


def test_only_what_grew_by_a_quarter_falls_behind() -> None:
    known = {("a", "b"): 2.0, ("c", "d"): 1.0}
    rows = [Row("a", "b", cpu=2.4), Row("c", "d", cpu=1.5), Row("new", "e", cpu=9.0), Row("a", "e", cpu=9.0)]
    assert fallen_behind(rows, known) == {("c", "d"): 1.5}


def test_a_check_fails_for_what_is_slower_twice(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ratios = iter([2.0, 1.0, 2.0, 1.6])
    path = tmp_path / "results.md"
    write_results([], [Row("one", "two", cpu=1.2)], path=path)
    monkeypatch.setattr("benchmarks.table.RESULTS", path)
    monkeypatch.setattr("benchmarks.__main__.MEASURES", {"it": lambda _: iter([Row("one", "two", cpu=next(ratios))])})
    assert check(bench, ["it"]) == 0
    assert check(bench, ["it"]) == 1
    assert not list(ratios)
    assert "one, against two: 1.33 times the CPU that results.md has" in capsys.readouterr().err


def test_the_whole_prints_one_table_and_keeps_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "results.md"
    monkeypatch.setattr("benchmarks.table.RESULTS", path)
    monkeypatch.setattr("benchmarks.__main__.MEASURES", {"it": lambda _: iter([Row("one", "two", cpu=1.5)])})
    monkeypatch.setattr("benchmarks.__main__.SHORT", ("it",))
    assert main(["--small", "it"]) == 0
    assert not path.exists()
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0].strip("| -") for line in lines] == ["measure", "", "one"] * 2
    assert all(line.rstrip() in path.read_text("utf-8").splitlines() for line in lines)
    assert main(["--check"]) == 0
    ratios = iter([1.7, 9.0, 1.0])
    monkeypatch.setattr(
        "benchmarks.__main__.MEASURES", {"it": lambda _: iter([Row("one", "two", cpu=next(ratios)), Row("a", "b")])}
    )
    assert main(["--record"]) == 0
    assert recorded(path) == {("one", "two"): 1.7}


def test_an_unknown_measure_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["nothing"])
    assert "there is no measure nothing" in capsys.readouterr().err


def test_the_short_form_has_measures_that_exist() -> None:
    assert set(SHORT) <= set(MEASURES)
