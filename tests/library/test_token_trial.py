"""A token is tried with real requests before it is stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from exporter.library.token_trial import TokenState, try_token
from exporter.settings import Settings
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.runs import Runs, backup_command, serving

BLOG_ID = "generated.blog.example.jp"
TOKEN = "right-token-1"


@pytest.fixture
def service() -> Iterator[DemoService]:
    with serving(generated_blog(3, 1, 1), require_token=TOKEN, log_requests=True) as served:
        yield served


def with_token(service: DemoService, token: str) -> Settings:
    return Settings(base_url=service.base_url, token=token)


async def test_a_right_token_names_its_account(service: DemoService) -> None:
    trial = await try_token(BLOG_ID, with_token(service, TOKEN))
    assert (trial.state, len(service.requests)) == (TokenState.ACCEPTED, 2)
    assert trial.user is not None
    assert f"{trial.user.name} (user {trial.user.id})" in trial.sentence


async def test_a_wrong_token_is_refused_by_one_request(service: DemoService) -> None:
    trial = await try_token(BLOG_ID, with_token(service, "wr0ng-token"))
    assert (trial.state, trial.user, len(service.requests)) == (TokenState.REFUSED, None, 1)
    assert trial.sentence == "The service refuses this token."
    impossible = await try_token(BLOG_ID, with_token(service, "two\nlines"))
    assert (impossible.state, len(service.requests)) == (TokenState.REFUSED, 1)
    assert "two" not in impossible.sentence


@pytest.mark.parametrize("status", [403, 404])
async def test_an_account_that_may_not_read_the_blog_is_named(service: DemoService, status: int) -> None:
    async def before(request: web.Request) -> web.StreamResponse | None:
        return web.json_response({}, status=status) if request.path == "/blog/v1/entry/list" else None

    service.before = before
    trial = await try_token(BLOG_ID, with_token(service, TOKEN))
    assert trial.state is TokenState.OTHER_ACCOUNT
    assert trial.user is not None
    assert trial.user.name in trial.sentence
    assert f"but may not read {BLOG_ID}" in trial.sentence


async def test_another_account_than_that_of_the_archive_is_named(
    service: DemoService, runs: Runs, tmp_path: Path
) -> None:
    root = tmp_path / "archive"
    made = runs.run(
        *backup_command(service, root, "--no-site", "--assets", "none"), environ={"BLOG_EXPORTER_TOKEN": TOKEN}
    )
    assert made.code == 0, made.err
    same = await try_token(BLOG_ID, with_token(service, TOKEN), root)
    assert same.state is TokenState.ACCEPTED

    async def before(request: web.Request) -> web.StreamResponse | None:
        other = {"id": "ffff0000", "nickname": "別の人"}
        return web.json_response(other) if request.path == "/v1/user" else None

    service.before = before
    trial = await try_token(BLOG_ID, with_token(service, TOKEN), root)
    assert trial.state is TokenState.OTHER_ACCOUNT
    assert trial.sentence.startswith(
        "The account 別の人 (user ffff0000) owns this token, but the archive was made with"
    )
    elsewhere = await try_token(BLOG_ID, with_token(service, TOKEN), tmp_path / "nothing")
    assert elsewhere.state is TokenState.ACCEPTED


async def test_a_failing_service_says_nothing_about_a_token(service: DemoService) -> None:
    async def before(_: web.Request) -> web.StreamResponse | None:
        return web.Response(status=503)

    service.before = before
    trial = await try_token(BLOG_ID, with_token(service, TOKEN))
    assert trial.state is TokenState.UNTRIED
    assert trial.sentence.startswith("The token could not be tried: ")
    nobody = replace(with_token(service, TOKEN), base_url="http://127.0.0.1:9")
    assert (await try_token(BLOG_ID, nobody)).state is TokenState.UNTRIED
