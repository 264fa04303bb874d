from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import platformdirs
import pytest

from exporter.cli.settings import SETTINGS, resolve
from exporter.errors import UsageError
from exporter.model import assumptions
from exporter.model.assumptions import Assumptions


def write(path: Path, text: str, mode: int = 0o600) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def test_every_assumption_is_a_setting_with_the_same_default() -> None:
    for name in Assumptions.__slots__:
        assert SETTINGS[name].default == getattr(assumptions.DEFAULT, name)


def test_sources_are_asked_in_the_order_of_the_design(tmp_path: Path) -> None:
    config = write(
        tmp_path / "my.toml",
        'retries = 3\nrate = "2.5"\nconcurrency = 3\nprofile = "mine"\n'
        '[profiles.mine]\nretries = 4\nconcurrency = 4\nrate = 4\nbase_url = "https://profile.example"\n',
    )
    environ = {"BLOG_EXPORTER_RETRIES": "2", "BLOG_EXPORTER_CONCURRENCY": "2", "PATH": "/bin"}
    found = resolve({"retries": "1", "rate": None}, config=config, environ=environ)
    assert found["retries"] == 1
    assert found["concurrency"] == 2
    assert found["rate"] == 2.5
    assert found["base_url"] == "https://profile.example"
    assert found["read_timeout"] == timedelta(seconds=30)
    assert found.config == config


def test_the_profile_of_a_known_domain_is_picked_by_the_blog_id() -> None:
    found = resolve({}, blog_id="someone.blog.shinobi.jp", environ={})
    assert found["base_url"] == "https://api.shinobi.jp"
    assert found["timezone"] == ZoneInfo("Asia/Tokyo")
    assert resolve({}, blog_id="someone.blog.example.jp", environ={})["base_url"] is None
    assert resolve({"profile": "ninja"}, environ={})["base_url"] == "https://api.shinobi.jp"
    assert resolve({"base_url": "http://other.example"}, blog_id="a.blog.shinobi.jp", environ={})["base_url"] == (
        "http://other.example"
    )


def test_the_users_own_settings_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platformdirs, "user_config_dir", lambda *_, **__: str(tmp_path))
    assert resolve({}, environ={})["retries"] == 8
    write(tmp_path / "blog-exporter.toml", "retries = 5\n")
    assert resolve({}, environ={})["retries"] == 5
    other = write(tmp_path / "other.toml", "retries = 6\n")
    assert resolve({}, environ={"BLOG_EXPORTER_CONFIG": str(other)})["retries"] == 6


@pytest.mark.parametrize(
    ("options", "environ", "text", "said"),
    [
        ({"retries": "many"}, {}, "", "option --retries is 'many': a whole number from 0 to 100"),
        ({"give_up_after": "0s"}, {}, "", "option --give-up-after is '0s': a duration longer than 0s is expected"),
        ({"concurrency": "0"}, {}, "", "a whole number from 1 to 256"),
        ({"rate": "fast"}, {}, "", "requests per second"),
        ({"rate": "0"}, {}, "", "requests per second"),
        ({"refresh": "al"}, {}, "", "did you mean all?"),
        ({"refresh": "never"}, {}, "", "one of all, changed, auto"),
        ({"max_age": "soon"}, {}, "", "a duration such as"),
        ({"resume_max_age": "9999w"}, {}, "", "at most 100 years"),
        ({"timezone": "Asia/Tokio"}, {}, "", "a time zone such as"),
        ({"base_url": " "}, {}, "", "some text is expected"),
        ({"profile": "nenja"}, {}, "", "There is no profile 'nenja' (did you mean ninja?)"),
        ({}, {"BLOG_EXPORTER_RETRYS": "1"}, "", "variable BLOG_EXPORTER_RETRYS is no setting (did you mean retries?)"),
        ({}, {"BLOG_EXPORTER_MAX_BODY": "big"}, "", "variable BLOG_EXPORTER_MAX_BODY is 'big': a size such as"),
        ({}, {}, "concurency = 3", "concurency is no setting (did you mean concurrency?)"),
        ({}, {}, "xyzzy = 3", "xyzzy is no setting."),
        ({}, {}, "retries = true", "a whole number from 0 to 100"),
        ({}, {}, "retries = [1]", "retries must be text, a number, true or false"),
        ({}, {}, "retries = ", "is not right"),
        ({}, {}, "profile = 1", "There is no profile 1"),
        ({}, {}, "[profiles]\nmine = 1", "profiles must hold a table"),
        ({}, {}, "profiles = 1", "profiles must hold a table"),
        ({}, {}, "token = 1", "token must be text"),
    ],
)
def test_what_cannot_be_right_is_named(
    tmp_path: Path, options: dict[str, str], environ: dict[str, str], text: str, said: str
) -> None:
    config = write(tmp_path / "my.toml", text)
    with pytest.raises(UsageError) as caught:
        resolve(options, config=config, environ=environ)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value).strip() or "is not right" in said


def test_a_settings_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        resolve({}, config=tmp_path / "missing.toml", environ={})
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="is not right"):
        resolve({}, config=tmp_path / "binary.toml", environ={})


def test_the_token_comes_from_the_environment_a_settings_file_or_a_file(tmp_path: Path) -> None:
    warned: list[str] = []
    config = write(tmp_path / "my.toml", 'token = "from-settings"\n')
    assert resolve({}, config=config, environ={}, warn=warned.append).token == "from-settings"
    environ = {"BLOG_EXPORTER_TOKEN": " from-environment\n"}
    assert resolve({}, config=config, environ=environ, warn=warned.append).token == "from-environment"
    token = write(tmp_path / "token", "from-file\n")
    assert resolve({"token_file": str(token)}, environ={}, warn=warned.append).token == "from-file"
    assert resolve({}, environ={}).token is None
    assert warned == []


def test_a_token_that_others_can_read_gets_a_warning_that_does_not_show_it(tmp_path: Path) -> None:
    warned: list[str] = []
    config = write(tmp_path / "my.toml", 'token = "sesame"\n', 0o644)
    resolve({}, config=config, environ={}, warn=warned.append)
    token = write(tmp_path / "token", "sesame", 0o640)
    resolve({"token_file": str(token)}, environ={}, warn=warned.append)
    assert len(warned) == 2
    assert all("chmod 600" in text and "sesame" not in text for text in warned)


def test_a_token_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="token file"):
        resolve({"token_file": str(tmp_path / "none")}, environ={})
