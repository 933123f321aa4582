"""Settings: read from a mapping, refused in one line, never printed with their secrets."""

import base64
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from anchorhold import keyfile
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.domain.timing import Timing
from anchorhold.settings import NAMES, STRIPE_API_BASE, Listen, Settings, load, secret_key

KEY = base64.b64encode(bytes(range(32))).decode()
HOME = {"HOME": "/home/somebody"}


@pytest.fixture(autouse=True)
def an_ordinary_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "data"
    leftovers = {path.name for path in tmp_path.rglob("*")} - {"data", "secret.key"}
    assert not leftovers


def asked(**values: str) -> Settings:
    return load(HOME | {f"ANCHORHOLD_{name}": value for name, value in values.items()})


def refused(**values: str) -> Refusal:
    with pytest.raises(Refusal) as no:
        asked(**values)
    assert "\n" not in str(no.value)
    return no.value


def test_with_nothing_set_the_defaults_stand() -> None:
    settings = asked()
    assert settings.embedded
    assert settings.stripe_api_base == STRIPE_API_BASE
    assert settings.listen == Listen("127.0.0.1", 8787)
    assert (settings.stripe_rate_per_endpoint, settings.stripe_rate) == (25, 100)
    assert settings.timing == Timing()
    assert settings.stripe_key is None


def test_every_setting_can_be_set() -> None:
    settings = asked(
        DATABASE_URL="postgresql://me:hush@db/app",
        DATA_DIR="/srv/anchorhold",
        STRIPE_API_BASE="http://127.0.0.1:8430/",
        STRIPE_KEY="sk_test_hush",
        STRIPE_RATE="50",
        STRIPE_RATE_PER_ENDPOINT="12.5",
        LISTEN="0.0.0.0:80",
        PUBLIC_URL="https://pay.example.com/",
        SECRET_KEY=KEY,
        WORKER_CONCURRENCY="4",
        DATABASE_POOL="3",
        TWIN_KEY_LIFE_SECONDS="86000",
        TICK_SECONDS="0.5",
        EVENT_DELIVERIES_KEPT_DAYS="90",
    )
    assert settings.database_url is not None
    assert settings.database_url.get_secret_value() == "postgresql://me:hush@db/app"
    assert not settings.embedded
    assert settings.postgres_dir == Path("/srv/anchorhold/postgres")
    assert settings.stripe_api_base == "http://127.0.0.1:8430"
    assert (settings.stripe_rate, settings.stripe_rate_per_endpoint) == (50, 12.5)
    assert str(settings.listen) == "0.0.0.0:80"
    assert settings.public_url == "https://pay.example.com"
    assert (settings.worker_concurrency, settings.database_pool) == (4, 3)
    assert settings.key_life_seconds == 86_000
    assert settings.event_deliveries_kept_days == 90
    assert settings.timing == Timing(tick_seconds=0.5)


def test_the_real_environment_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANCHORHOLD_LISTEN", "0.0.0.0:1")
    monkeypatch.setenv("LISTEN", "0.0.0.0:2")
    assert asked().listen.port == 8787


def test_every_constant_of_the_protocol_has_its_variable() -> None:
    for name in ("HOLD", "MIN_LEFT", "CALL_BOUND", "DEADLINE_AUTO", "FENCE_MAX", "TICK"):
        assert f"ANCHORHOLD_{name}_SECONDS" in NAMES
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_no_setting_takes_an_empty_value(name: str) -> None:
    for empty in ("", "  "):
        with pytest.raises(Refusal) as no:
            load(HOME | {name: empty})
        assert no.value.code is Code.SETTINGS_INVALID
        assert name in no.value.sentence


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "mysql://db"),
        ("DATABASE_URL", "postgresql+psycopg://db"),
        ("STRIPE_API_BASE", "ftp://stripe"),
        ("STRIPE_API_BASE", "api.stripe.com"),
        ("STRIPE_API_BASE", "https://api.stripe.com/v1"),
        ("STRIPE_API_BASE", "http://["),
        ("STRIPE_API_BASE", "http://127.0.0.1:port"),
        ("STRIPE_API_BASE", "http://127.0.0.1:65536"),
        ("STRIPE_API_BASE", "http://user:word@127.0.0.1:8430"),
        ("STRIPE_API_BASE", "http://127.0.0.1:8430?"),
        ("STRIPE_API_BASE", "http://127.0.0.1:8430#part"),
        ("STRIPE_KEY", "pk_live_1"),
        ("STRIPE_KEY", "sk_live_1 2"),
        ("STRIPE_KEY", "whsec_1"),
        ("STRIPE_RATE", "0"),
        ("STRIPE_RATE", "inf"),
        ("STRIPE_RATE_PER_ENDPOINT", "-1"),
        ("LISTEN", "8787"),
        ("LISTEN", ":8787"),
        ("LISTEN", "host:http"),
        ("LISTEN", "host:65536"),
        ("LISTEN", "host:" + "9" * 5000),
        ("LISTEN", "host:-1"),
        ("SECRET_KEY", "not base64!"),
        ("SECRET_KEY", KEY[:10] + "!" + KEY[10:]),
        ("SECRET_KEY", base64.b64encode(bytes(31)).decode()),
        ("WORKER_CONCURRENCY", "0"),
        ("WORKER_CONCURRENCY", "many"),
        ("WORKER_CONCURRENCY", "1.5"),
        ("DATABASE_POOL", "1001"),
        ("HOLD_SECONDS", "soon"),
        ("HOLD_SECONDS", "nan"),
        ("HOLD_SECONDS", "inf"),
        ("TICK_SECONDS", "0"),
        ("TICK_SECONDS", "-1"),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_variable(name: str, value: str) -> None:
    no = refused(**{name: value})
    assert no.code is Code.SETTINGS_INVALID
    assert f"ANCHORHOLD_{name} is wrong" in no.sentence
    assert len(str(no)) < 400


def test_a_wrong_value_is_shown_with_what_is_right() -> None:
    assert refused(LISTEN="8787").sentence == (
        "The setting ANCHORHOLD_LISTEN is wrong: it must be host:port, "
        "for example 127.0.0.1:8787 ('8787' was given)."
    )


def test_a_publishable_key_is_told_from_a_secret_one() -> None:
    assert "it is a publishable key" in refused(STRIPE_KEY="pk_live_1").sentence


@pytest.mark.parametrize(("text", "host"), [("[::1]:80", "::1"), ("localhost:80", "localhost")])
def test_listen_takes_names_and_addresses(text: str, host: str) -> None:
    assert asked(LISTEN=text).listen == Listen(host, 80)
    assert str(asked(LISTEN=text).listen) == text


def test_a_misspelt_setting_is_refused_with_the_nearest_name() -> None:
    no = refused(HOLD_SECOND="300")
    assert no.code is Code.SETTINGS_UNKNOWN
    assert no.sentence == (
        "There is no setting ANCHORHOLD_HOLD_SECOND; perhaps ANCHORHOLD_HOLD_SECONDS was meant."
    )
    assert "no setting has a similar name" in refused(QQQQQQQQQQQQQQQQQQ="1").sentence


def test_a_setting_in_lower_case_is_not_silently_ignored() -> None:
    with pytest.raises(Refusal, match="perhaps ANCHORHOLD_LISTEN was meant"):
        load(HOME | {"anchorhold_listen": "0.0.0.0:1"})


def test_variables_of_the_test_suite_and_of_others_are_left_alone() -> None:
    assert load(HOME | {"ANCHORHOLD_TEST_DATABASE_URL": "x", "ANCHOR": "y"}) == asked()


def test_unsafe_times_are_refused_with_the_relation_and_both_numbers() -> None:
    no = refused(HOLD_SECONDS="60")
    assert no.code is Code.TIMING_UNSAFE
    assert "T5: ANCHORHOLD_HOLD_SECONDS (60 s) must be at least" in no.sentence
    assert "ANCHORHOLD_MIN_LEFT_SECONDS (120 s)" in no.sentence


QUICK = {
    "FENCE_MAX_SECONDS": "30",
    "PARKED_WAIT_SECONDS": "60",
    "PARKED_ALARM_SECONDS": "90",
    "TWIN_KEY_LIFE_SECONDS": "60",
}


def test_with_a_twin_its_own_key_life_counts() -> None:
    assert asked(STRIPE_API_BASE="http://127.0.0.1:1", **QUICK).key_life_seconds == 60


def test_with_stripe_itself_a_shorter_key_life_is_not_believed() -> None:
    assert refused(**QUICK).code is Code.TIMING_UNSAFE
    assert refused(STRIPE_API_BASE=STRIPE_API_BASE + "/", **QUICK).code is Code.TIMING_UNSAFE


@pytest.mark.parametrize(
    ("name", "secret"),
    [("DATABASE_URL", "mysql://u:hush@db"), ("STRIPE_KEY", "hush"), ("SECRET_KEY", "hush!")],
)
def test_a_refusal_never_shows_a_secret(name: str, secret: str) -> None:
    no = refused(**{name: secret})
    assert "hush" not in f"{no!r} {no} {dict(no.facts)} {no.__cause__!r}"


def test_printed_settings_never_show_a_secret() -> None:
    settings = asked(DATABASE_URL="postgres://u:hush@db", STRIPE_KEY="sk_hush", SECRET_KEY=KEY)
    shown = f"{settings!r} {settings} {settings.model_dump()} {settings.model_dump_json()}"
    assert "hush" not in shown
    assert KEY not in shown


def test_the_data_folder_is_the_users_own() -> None:
    assert load(HOME).data_dir == Path("/home/somebody/.local/share/anchorhold")
    assert load(HOME | {"XDG_DATA_HOME": "/xdg"}).data_dir == Path("/xdg/anchorhold")
    assert load(HOME | {"XDG_DATA_HOME": "relative"}).data_dir == load(HOME).data_dir
    assert asked(DATA_DIR="here").data_dir == Path.cwd() / "here"


def test_the_data_folder_of_root_is_the_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert load(HOME).data_dir == Path("/var/lib/anchorhold")


def test_without_a_home_the_data_folder_must_be_named() -> None:
    with pytest.raises(Refusal, match="ANCHORHOLD_DATA_DIR is wrong: it is not set"):
        load({})


def test_a_secret_key_that_is_set_is_used() -> None:
    assert secret_key(asked(SECRET_KEY=KEY)) == bytes(range(32))


def test_a_database_of_ones_own_needs_a_secret_key_of_ones_own() -> None:
    with pytest.raises(Refusal) as no:
        secret_key(asked(DATABASE_URL="postgresql://db"))
    assert no.value.code is Code.SECRET_KEY_MISSING


def test_with_the_embedded_database_a_key_is_made_once_and_kept_to_oneself(folder: Path) -> None:
    settings = asked(DATA_DIR=str(folder))
    made = secret_key(settings)
    assert len(made) == 32
    assert secret_key(settings) == made
    assert stat.S_IMODE((folder / "secret.key").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_processes_that_start_at_once_agree_on_one_key(folder: Path) -> None:
    settings = asked(DATA_DIR=str(folder))
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(secret_key, [settings] * 4))) == 1


def test_the_process_that_comes_second_takes_the_key_of_the_first(folder: Path) -> None:
    path = folder / "secret.key"
    keyfile._make(path)
    first = path.read_bytes()
    keyfile._make(path)
    assert path.read_bytes() == first


def test_a_key_survives_a_power_cut_before_it_is_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    link = os.link

    def synced(_: int) -> None:
        steps.append("sync")

    def linked(source: Path, target: Path) -> None:
        steps.append("link")
        link(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "link", linked)
    secret_key(asked(DATA_DIR=str(folder)))
    assert steps == ["sync", "link", "sync"]


def test_a_key_file_that_others_can_read_is_refused(folder: Path) -> None:
    settings = asked(DATA_DIR=str(folder))
    secret_key(settings)
    (folder / "secret.key").chmod(0o640)
    with pytest.raises(Refusal, match="mode 640") as no:
        secret_key(settings)
    assert no.value.code is Code.SECRET_KEY_UNREADABLE


@pytest.mark.parametrize("content", [b"", b"hush", b"\xff\xfe", base64.b64encode(bytes(33))])
def test_a_key_file_without_a_key_is_refused_and_not_replaced(folder: Path, content: bytes) -> None:
    folder.mkdir()
    path = folder / "secret.key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(Refusal) as no:
        secret_key(asked(DATA_DIR=str(folder)))
    assert no.value.code is Code.SECRET_KEY_UNREADABLE
    assert "hush" not in str(no.value)
    assert path.read_bytes() == content


def test_a_key_file_that_cannot_be_opened_is_refused(folder: Path) -> None:
    (folder / "secret.key").mkdir(parents=True)
    with pytest.raises(Refusal) as no:
        secret_key(asked(DATA_DIR=str(folder)))
    assert no.value.code is Code.SECRET_KEY_UNREADABLE


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Refusal) as no:
        secret_key(asked(DATA_DIR=str(tmp_path / "file" / "data")))
    assert no.value.code is Code.DATA_DIR_UNWRITABLE
