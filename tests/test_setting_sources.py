"""The service that a secret belongs to, by statements in the same place, in the command and elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from exporter.settings import Remembered, resolve
from exporter.wordpress import new_home_credentials

API, STRANGER, NINJA = "https://api.example.jp", "https://stranger.example", "https://api.shinobi.jp"
NINJAS_BLOG = "name.blog.shinobi.jp"
VARIABLE = {"BLOG_EXPORTER_TOKEN": "t"}
FILE = 'token = "t"\n'
TABLE = '[blogs.mine]\nblog_id = "mine.example"\narchive = "mine"\n'
FOUND = {"base_url": STRANGER, "service": "wordpress"}


def sent(
    tmp_path: Path,
    text: str = "",
    environ: Mapping[str, str] | None = None,
    options: Mapping[str, str | None] | None = None,
    *,
    found: Mapping[str, str | None] | None = None,
    blog_id: str = "mine.example",
    archive: Mapping[str, str] | None = None,
) -> bool:
    """Return whether the service of the settings receives the token."""
    config = tmp_path / "my.toml"
    config.write_text(text, "utf-8")
    config.chmod(0o600)
    settings = resolve(
        options or {},
        found=found,
        config=config,
        blog_id=blog_id,
        blog="mine" if "[blogs.mine]" in text else None,
        remembered=None if archive is None else Remembered(tmp_path / "settings.toml", archive),
        environ=environ or {},
    )
    assert settings.base_url is not None
    assert bool(settings.token or settings.token_command) != bool(settings.withheld), settings
    return not settings.withheld


@pytest.mark.parametrize("base_url", [API, f"{API}/", f"{API}:443/path", "HTTPS://API.example.jp"])
def test_a_token_in_the_environment_goes_to_the_address_in_the_command(tmp_path: Path, base_url: str) -> None:
    assert sent(tmp_path, "", VARIABLE, {"base_url": base_url})
    assert sent(tmp_path, "", {**VARIABLE, "BLOG_EXPORTER_BASE_URL": base_url})


def test_a_token_goes_to_the_profile_in_its_own_place_or_of_the_blogs_own_name(tmp_path: Path) -> None:
    assert sent(tmp_path, "", VARIABLE, {"profile": "ninja"})
    assert sent(tmp_path, "", VARIABLE, blog_id=NINJAS_BLOG)
    assert sent(tmp_path, f'profile = "ninja"\n{FILE}')
    own = f'profile = "mine"\n{FILE}[profiles.mine]\nbase_url = "{API}"\n'
    assert sent(tmp_path, own)
    assert not sent(tmp_path, own, found=FOUND)


@pytest.mark.parametrize(
    ("text", "environ", "options"),
    [
        ("", VARIABLE, {}),
        ("", {**VARIABLE, "BLOG_EXPORTER_USER": "me"}, {}),
        (FILE, {}, {}),
        (f'{FILE}profile = "ninja"\n', {}, {}),
        (f'{FILE}base_url = "{API}"\n', {}, {}),
        (f'{FILE}token_for = "{API}"\n', {}, {}),
        ('token_command = "echo t"\nprofile = "ninja"\n', {}, {}),
        ("", VARIABLE, {"profile": "ninja"}),
        ("", VARIABLE, {"token_for": API}),
        ("", VARIABLE, {"service": "wordpress", "user": "me"}),
    ],
)
def test_an_address_that_was_found_gets_no_token(
    tmp_path: Path, text: str, environ: dict[str, str], options: dict[str, str | None]
) -> None:
    assert not sent(tmp_path, text, environ, options, found=FOUND)
    assert not sent(tmp_path, text, environ, options, found={**FOUND, "base_url": f"{API}.stranger.example"})
    assert sent(tmp_path, text, environ, {**options, "token_for": STRANGER}, found=FOUND) == (text in {"", FILE})


def test_a_token_is_for_one_origin(tmp_path: Path) -> None:
    stated = {**VARIABLE, "BLOG_EXPORTER_TOKEN_FOR": f"{API}, https://b.example:8443"}
    for base_url, is_sent in {
        API: True,
        "https://b.example:8443": True,
        "https://b.example": False,
        "http://api.example.jp": False,
        "https://api.example.jp:444": False,
        "https://api.example.jp@stranger.example": False,
        "https://www.api.example.jp": False,
    }.items():
        assert sent(tmp_path, "", stated, {"base_url": base_url}) == is_sent, base_url


def test_a_table_does_not_get_the_token_above_the_tables_nor_that_of_another_address(tmp_path: Path) -> None:
    elsewhere = f'{TABLE}base_url = "{STRANGER}"\n'
    assert not sent(tmp_path, FILE + elsewhere)
    assert not sent(tmp_path, f'profile = "ninja"\n{FILE}{elsewhere}')
    assert not sent(tmp_path, elsewhere, VARIABLE)
    assert sent(tmp_path, f'{elsewhere}token_for = "{STRANGER}"\n', VARIABLE)
    assert sent(tmp_path, f'{elsewhere}token_command = "echo t"\n')
    assert not sent(tmp_path, f'{elsewhere}token_command = "echo t"\n', {}, {"base_url": API})


def test_an_archive_remembers_whose_the_token_is_and_its_address_alone_says_nothing(tmp_path: Path) -> None:
    assert not sent(tmp_path, "", VARIABLE, archive={"base_url": STRANGER})
    assert sent(tmp_path, "", VARIABLE, archive={"base_url": API, "token_for": API})
    key = tmp_path / "key"
    key.write_text("t", "utf-8")
    key.chmod(0o600)
    assert not sent(tmp_path, archive={"base_url": STRANGER, "token_file": str(key)})
    assert sent(tmp_path, archive={"base_url": API, "token_file": str(key), "token_for": API})
    assert not sent(
        tmp_path, "", {}, {"base_url": STRANGER}, archive={"base_url": API, "token_file": str(key), "token_for": API}
    )


def test_public_pages_get_no_token_even_if_it_is_stated(tmp_path: Path) -> None:
    public = {"base_url": API, "service": "public-site", "token_for": API}
    assert not sent(tmp_path, "", VARIABLE, public)


def test_a_user_name_beside_the_token_stays_with_it(tmp_path: Path) -> None:
    environ = {**VARIABLE, "BLOG_EXPORTER_USER": "me"}
    assert resolve({}, found=FOUND, environ=environ).user is None
    assert resolve({"user": "me"}, found=FOUND, environ=VARIABLE).user is None
    assert resolve({"base_url": API}, environ=environ).user == "me"


def test_the_password_of_a_new_home_goes_to_the_home_in_the_command_or_to_the_stated_one(tmp_path: Path) -> None:
    key, config = tmp_path / "key", tmp_path / "my.toml"
    key.write_text("p", "utf-8")
    key.chmod(0o600)

    def goes(home: str, text: str = "", **environ: str) -> bool:
        config.write_text(f'new_home_user = "me"\n{text}', "utf-8")
        return bool(new_home_credentials(home, resolve({}, config=config, environ=environ)).token)

    in_file = f'new_home_token_file = "{key}"\n'
    assert goes(API, BLOG_EXPORTER_NEW_HOME_TOKEN="p")
    assert not goes(STRANGER, BLOG_EXPORTER_NEW_HOME_TOKEN="p", BLOG_EXPORTER_NEW_HOME_TOKEN_FOR=API)
    assert not goes(STRANGER, in_file)
    assert not goes(STRANGER, f'{in_file}new_home_token_for = "{API}"\n')
    assert goes(f"{API}/blog", f'{in_file}new_home_token_for = "{API}"\n')
