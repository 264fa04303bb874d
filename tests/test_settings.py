from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import platformdirs
import pytest

from exporter.errors import UsageError
from exporter.service.blog_v1 import Options
from exporter.setting_types import duration, hosts, size, zone
from exporter.settings import SETTINGS, Remembered, Settings, read_config, resolve


def write(path: Path, text: str, mode: int = 0o600) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def test_every_option_of_the_service_is_a_setting_with_the_same_default() -> None:
    for name in Options._fields:
        assert Settings().get(name) == getattr(Options(), name)


def test_sources_are_read_in_the_documented_order(tmp_path: Path) -> None:
    config = write(
        tmp_path / "my.toml",
        'retries = 3\nrate = "2.5"\nconcurrency = 3\nprofile = "mine"\n'
        '[profiles.mine]\nretries = 4\nconcurrency = 4\nrate = 4\nbase_url = "https://profile.example"\n',
    )
    environ = {"BLOG_EXPORTER_RETRIES": "2", "BLOG_EXPORTER_CONCURRENCY": "2", "PATH": "/bin"}
    found = resolve({"retries": "1", "rate": None}, config=config, environ=environ)
    assert found.retries == 1
    assert found.concurrency == 2
    assert found.rate == 2.5
    assert found.base_url == "https://profile.example"
    assert found.read_timeout == timedelta(seconds=30)


def test_each_value_knows_where_it_came_from(tmp_path: Path) -> None:
    config = write(
        tmp_path / "my.toml",
        'rate = 2\nsite = false\ntoken = "t"\n[blogs.diary]\nblog_id = "d.blog.shinobi.jp"\narchive = "diary"\nsite = true\n',
    )
    memory = Remembered(tmp_path / "settings.toml", {"assets": "none", "rate": "7"})
    environ = {"BLOG_EXPORTER_MAX_AGE": "2d"}
    blog_id = "d.blog.shinobi.jp"
    found = resolve(
        {"retries": "1"}, config=config, blog_id=blog_id, blog="diary", remembered=memory, environ=environ
    )  # fmt: skip
    assert (found.rate, found.site, found.assets, found.concurrency) == (2, True, "none", 4)
    said = {name: source.place(name) for name, source in found.sources.items()}
    assert said["retries"] == "option --retries"
    assert said["max_age"] == "variable BLOG_EXPORTER_MAX_AGE"
    assert said["site"] == f"{config}, [blogs.diary]: site"
    assert said["rate"] == f"{config}: rate"
    assert said["assets"] == f"{memory.path}: assets"
    assert said["timezone"] == "profile ninja: timezone"
    assert said["max_body"] == "default of max_body"
    assert said["token"] == f"{config}: token"
    assert set(said) == {*SETTINGS, "token"}


def test_where_the_token_came_from(tmp_path: Path) -> None:
    token = write(tmp_path / "token", "t")
    by_variable = resolve({"token_file": str(token)}, environ={"BLOG_EXPORTER_TOKEN": "t"})
    assert by_variable.sources["token"].place("token") == "variable BLOG_EXPORTER_TOKEN"
    by_file = resolve({"token_file": str(token)}, environ={})
    assert by_file.sources["token"].place("token_file") == "option --token-file"
    assert "token" not in resolve({}, environ={}).sources


def test_the_addresses_of_signing_in_follow_the_service(tmp_path: Path) -> None:
    found = resolve({"profile": "ninja", "base_url": "https://api.example.jp/"}, environ={})
    assert found.oauth_authorize_url == "https://api.example.jp/oauth"
    assert found.oauth_token_url == "https://api.example.jp/oauth/token"
    config = write(tmp_path / "my.toml", '[profiles.mine]\noauth_token_url = "{base_url}/t"\n')
    assert resolve({"profile": "mine"}, config=config, environ={}).oauth_token_url == "{base_url}/t"


def test_a_custom_profile_is_chosen_by_the_hosts_of_its_blogs(tmp_path: Path) -> None:
    config = write(
        tmp_path / "my.toml",
        '[profiles.mine]\nbase_url = "https://api.example.jp"\nblog_hosts = "*.blog.example.jp, one.example.net"\n',
    )
    for blog_id, base in {
        "a.blog.example.jp": "https://api.example.jp",
        "ONE.example.net": "https://api.example.jp",
        "blog.example.jp": None,
        "two.example.net": None,
        "a.blog.shinobi.jp": "https://api.shinobi.jp",
    }.items():
        assert resolve({}, config=config, blog_id=blog_id, environ={}).base_url == base


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('archive = "a"', "[blogs.x] needs blog_id, as text"),
        ('blog_id = "a.example.jp"', "[blogs.x] needs archive, as text"),
        ('blog_id = ""\narchive = "a"', "[blogs.x] needs blog_id"),
        ('blog_id = 1\narchive = "a"', "[blogs.x] needs blog_id"),
        ('blog_id = "a"\narchive = "a"\n[blogs.y]\nblog_id = "b"\narchive = "./z/../a"', "have the same archive"),
        ('blog_id = "a"\narchive = "a"\nconcurency = 1', ", [blogs.x]: concurency is not a setting (did you mean"),
    ],
)
def test_an_invalid_table_of_a_blog(tmp_path: Path, table: str, said: str) -> None:
    config = write(tmp_path / "my.toml", f"[blogs.x]\n{table}\n")
    with pytest.raises(UsageError) as caught:
        resolve({}, config=config, blog="x", environ={})
    assert said in str(caught.value)


def test_an_archive_path_is_relative_to_the_settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    text = '[blogs.x]\nblog_id = "a"\narchive = "sub/a"\n[blogs.y]\nblog_id = "b"\narchive = "~/b"\n'
    blogs = read_config(write(tmp_path / "my.toml", text), {}).blogs
    assert [blog.archive for blog in blogs.values()] == [tmp_path / "sub" / "a", tmp_path / "home" / "b"]


def test_the_profile_of_a_known_domain_is_chosen_by_the_blog_id() -> None:
    found = resolve({}, blog_id="someone.blog.shinobi.jp", environ={})
    assert found.base_url == "https://api.shinobi.jp"
    assert found.timezone == ZoneInfo("Asia/Tokyo")
    assert resolve({}, blog_id="someone.blog.example.jp", environ={}).base_url is None
    assert resolve({"profile": "ninja"}, environ={}).base_url == "https://api.shinobi.jp"
    assert resolve({"base_url": "http://other.example"}, blog_id="a.blog.shinobi.jp", environ={}).base_url == (
        "http://other.example"
    )


def test_the_users_own_settings_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platformdirs, "user_config_dir", lambda *_, **__: str(tmp_path))
    assert resolve({}, environ={}).retries == 8
    write(tmp_path / "blog-exporter.toml", "retries = 5\n")
    assert resolve({}, environ={}).retries == 5
    other = write(tmp_path / "other.toml", "retries = 6\n")
    assert resolve({}, environ={"BLOG_EXPORTER_CONFIG": str(other)}).retries == 6


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
        ({"max_age": "2"}, {}, "", "option --max-age is '2': a duration needs a unit: 2s for seconds"),
        ({}, {}, "give_up_after = 90", "my.toml: give_up_after is '90': a duration needs a unit: 90s for seconds"),
        (
            {},
            {"BLOG_EXPORTER_MAX_BODY": "99"},
            "",
            "BLOG_EXPORTER_MAX_BODY is '99': a size needs a unit: 99B for bytes",
        ),
        ({"resume_max_age": "9999w"}, {}, "", "at most 100 years"),
        ({"timezone": "Asia/Tokio"}, {}, "", "a time zone such as"),
        ({"base_url": " "}, {}, "", "some text is expected"),
        ({"profile": "nenja"}, {}, "", "There is no profile 'nenja' (did you mean ninja?)"),
        (
            {},
            {"BLOG_EXPORTER_RETRYS": "1"},
            "",
            "variable BLOG_EXPORTER_RETRYS is not a setting (did you mean retries?)",
        ),
        ({}, {"BLOG_EXPORTER_MAX_BODY": "big"}, "", "variable BLOG_EXPORTER_MAX_BODY is 'big': a size such as"),
        ({}, {}, "concurency = 3", "concurency is not a setting (did you mean concurrency?)"),
        ({}, {}, "xyzzy = 3", "xyzzy is not a setting."),
        ({}, {}, "retries = true", "a whole number from 0 to 100"),
        ({}, {}, "retries = [1]", "retries is '[1]': text, a number, true or false is expected"),
        ({}, {}, "retries = ", "is not valid TOML"),
        ({}, {}, "profile = 1", "There is no profile '1'"),
        ({}, {}, "[profiles]\nmine = 1", "profiles must hold a table"),
        ({}, {}, "profiles = 1", "profiles must hold a table"),
        ({}, {}, "token = 1", "token must be text"),
    ],
)
def test_invalid_settings_are_named(
    tmp_path: Path, options: dict[str, str], environ: dict[str, str], text: str, said: str
) -> None:
    config = write(tmp_path / "my.toml", text)
    with pytest.raises(UsageError) as caught:
        resolve(options, config=config, environ=environ)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value).strip() or "is not valid TOML" in said


def test_a_settings_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        resolve({}, config=tmp_path / "missing.toml", environ={})
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="is not valid TOML"):
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


def test_a_new_home_has_a_separate_token(tmp_path: Path) -> None:
    environ = {"BLOG_EXPORTER_TOKEN": "of-the-service", "BLOG_EXPORTER_NEW_HOME_TOKEN": " of the new home\n"}
    found = resolve({"new_home_user": "owner"}, environ=environ)
    assert (found.token, found.new_home_user, found.new_home_token) == ("of-the-service", "owner", "of the new home")
    assert "home" not in repr(found).replace("new_home_", "").replace("home_url", "").replace("allow_plain", "")
    token = write(tmp_path / "token", "from file\n")
    found = resolve({"new_home_token_file": str(token)}, environ={})
    assert (found.token, found.new_home_token) == (None, "from file")
    with pytest.raises(UsageError, match="check new_home_token_file"):
        resolve({"new_home_token_file": str(tmp_path / "none")}, environ={})


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


def test_the_displayed_default_is_the_one_used(subtests: pytest.Subtests) -> None:
    for name, setting in SETTINGS.items():
        with subtests.test(name=name, setting=setting):
            assert Settings().get(name) == (None if setting.default is None else setting.read(setting.default))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("1.5m", 90), ("24h", 86400), (" 7d ", 604800), ("2w", 1209600), ("0", 0), ("0s", 0)],
)
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "soon", "-1", "1y", "1 2", "1e5", "١"])
def test_invalid_durations(text: str) -> None:
    with pytest.raises(ValueError, match="a duration"):
        duration(text)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("10B", 10),
        ("1kB", 1000),
        ("64MB", 64_000_000),
        ("1.5G", 1_500_000_000),
        ("2 TiB", 2 * 1024**4),
        ("32m", 32 * 10**6),
    ],
)
def test_sizes(text: str, count: int) -> None:
    assert size(text) == count


@pytest.mark.parametrize(
    ("text", "said"), [("2", "2s for seconds, 2m for minutes, 2h for hours, 2d for days"), ("1.5", "1.5h")]
)
def test_a_duration_without_a_unit_is_refused_with_a_list_of_units(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"a duration needs a unit: .*{said}"):
        duration(text)


def test_a_size_without_a_unit_is_refused_with_a_list_of_units() -> None:
    with pytest.raises(ValueError, match="a size needs a unit: 64B for bytes, 64KB, 64MB or 64GB"):
        size("64")
    assert size("0") == 0


def test_settings_with_few_values_list_them() -> None:
    assert SETTINGS["refresh"].metavar == "all|changed|auto"
    assert SETTINGS["strict_assets"].choices == ("yes", "no")
    assert [SETTINGS[name].metavar for name in ("max_age", "max_asset_size", "retries", "token_file", "base_url")] == [
        "TIME", "SIZE", "N", "FILE", "TEXT",
    ]  # fmt: skip


def test_invalid_sizes() -> None:
    with pytest.raises(ValueError, match="a size such as"):
        size("huge")


def test_names_of_hosts() -> None:
    assert hosts("a.example.jp, B.Example.JP. ,,c-d") == {"a.example.jp", "b.example.jp", "c-d"}
    assert hosts("") == frozenset()


@pytest.mark.parametrize("text", ["http://h/", "h/x", "h:80", "a b", "u@h", "[::1]", "ok.example, h?x"])
def test_invalid_names_of_hosts(text: str) -> None:
    with pytest.raises(ValueError, match="names of hosts"):
        hosts(text)


def test_zones_by_name_and_by_offset() -> None:
    moment = datetime(2020, 1, 1)  # noqa: DTZ001 - the zone is what is tested
    offsets = {"Asia/Tokyo": 9, "UTC": 0, "+09:00": 9, "-0330": -3.5}
    for text, hours in offsets.items():
        assert moment.replace(tzinfo=zone(text)).utcoffset() == timedelta(hours=hours)
    for wrong in ("Mars/Olympus", "../../etc/passwd", "", "+9", "+99:00", "-24:00"):
        with pytest.raises(ValueError, match="a time zone such as"):
            zone(wrong)


def test_the_limits_of_a_profile_are_for_its_own_service_only() -> None:
    blog_id = "name.blog.shinobi.jp"
    api = resolve({}, blog_id=blog_id, environ={})
    assert (api.service, api.rate, api.concurrency) == ("blog-v1", 10.0, 4)
    pages = resolve({"service": "public-site", "base_url": f"https://{blog_id}/"}, blog_id=blog_id, environ={})
    assert (pages.service, pages.rate, pages.concurrency) == ("public-site", 2.0, 2)
    named = resolve({"service": "blog-v1"}, blog_id=blog_id, environ={})
    assert (named.rate, named.concurrency) == (10.0, 4)
    chosen = resolve({"service": "public-site", "rate": "1"}, blog_id=blog_id, environ={})
    assert chosen.rate == 1.0
