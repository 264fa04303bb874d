"""Metrics as Prometheus' own parser reads them."""

from __future__ import annotations

from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from exporter.notify.prometheus import metrics

DOCUMENT: dict[str, Any] = {
    "blog_id": "whole.blog.example.jp",
    "archive": '/home/you/"ブログ"\\\n#',
    "versions": 3,
    "last_run": {"finished_at": "2026-11-02T18:17:30Z", "exit_code": 20},
    "last_success": "2026-11-01T18:17:30Z",
    "complete": True,
    "completeness": {
        "assets": {"saved": 47, "left_out": {"pending": 0, "lost": 1, "by_choice": 0}},
        "entries": {"saved": 300},
        "comments": "?",
    },
    "problems": [{}, {}],
    "writer": None,
}


def read(text: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    families = list(text_string_to_metric_families(text))
    assert {family.type for family in families} == {"gauge"}
    assert all(family.documentation.endswith(".") for family in families)
    return {
        family.name.removeprefix("blog_exporter_"): [(sample.labels, sample.value) for sample in family.samples]
        for family in families
    }


def test_the_parser_of_prometheus_reads_the_facts_of_status() -> None:
    found = read(metrics(DOCUMENT, 7))
    common = {"blog": "whole.blog.example.jp", "archive": '/home/you/"ブログ"\\\n#'}
    assert found["status"] == [(common, 7)]
    assert found["last_success_timestamp_seconds"] == [(common, 1793557050)]
    assert found["last_run_timestamp_seconds"] == [(common, 1793643450)]
    assert found["last_run_exit_code"] == [(common, 20)]
    assert (found["complete"], found["problems"], found["running"]) == ([(common, 1)], [(common, 2)], [(common, 0)])
    assert found["saved"] == [({**common, "kind": "entries"}, 300), ({**common, "kind": "assets"}, 47)]
    assert ({**common, "kind": "assets", "reason": "lost"}, 1) in found["left_out"]


def test_unknown_values_are_left_out() -> None:
    document = {
        **DOCUMENT,
        "last_run": None,
        "last_success": None,
        "completeness": {},
        "writer": {"pid": 7, "work": "backup"},
    }
    found = read(metrics(document, 3))
    assert {"last_success_timestamp_seconds", "last_run_exit_code", "saved"} & found.keys() == set()
    assert found["running"][0][1] == 1
