"""The settings: environment variables that begin with ANCHORHOLD_, read once at the start.

A wrong value, an unknown name and unsafe times are refused before anything else happens. Secrets
are kept so that printing the settings does not show them, and no refusal repeats them.
"""

import os
from collections.abc import Mapping
from dataclasses import fields
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Final, NamedTuple
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    TypeAdapter,
    ValidationError,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict
from typing_extensions import override

from anchorhold.domain.refusals import Code, Refusal
from anchorhold.domain.timing import DAY_SECONDS, Timing, setting_name
from anchorhold.keyfile import decode, kept_key

PREFIX: Final = "ANCHORHOLD_"
TEST_PREFIX: Final = "ANCHORHOLD_TEST_"
"""Variables of the project's own tests; the program does not look at them."""

STRIPE_API_BASE: Final = "https://api.stripe.com"


class Listen(NamedTuple):
    """Where the web server listens; port 0 is any free one."""

    host: str
    port: int

    def __str__(self) -> str:
        """As it is written in the setting."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _listen(value: object) -> Listen:
    host, _, port = str(value).rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or not port.isascii() or int(port) > 65_535:
        raise ValueError("it must be host:port, for example 127.0.0.1:8787")
    return Listen(host, int(port))


def _postgres_url(value: SecretStr) -> SecretStr:
    if not value.get_secret_value().startswith(("postgresql://", "postgres://")):
        raise ValueError("it must begin with postgresql://")
    return value


def _stripe_key(value: SecretStr) -> SecretStr:
    key = value.get_secret_value()
    if key.startswith("pk_"):
        raise ValueError(
            "it is a publishable key, and a secret (sk_) or restricted (rk_) is needed"
        )
    if not key.startswith(("sk_", "rk_")) or not key.isascii() or len(key.split()) != 1:
        raise ValueError("it must be a secret (sk_) or restricted (rk_) key")
    return value


def _networks(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return tuple(ip_network(part.strip()) for part in value.split(","))
    except ValueError as wrong:
        raise ValueError(f"{wrong}; write it as 10.1.0.0/16, with commas between several") from None


def _http_base(value: str) -> str:
    url = urlsplit(value)
    try:
        listens = url.port is None or url.port > 0
    except ValueError:
        listens = False
    more = set(value) & {"@", "?", "#"} or url.path.strip("/")
    if url.scheme not in {"http", "https"} or not url.hostname or not listens or more:
        raise ValueError("it must be http:// or https://, a host and perhaps a port, no more")
    return value.rstrip("/")


def _key_of_32_bytes(value: SecretStr) -> SecretStr:
    decode(value.get_secret_value())
    return value


Count = Annotated[int, Field(ge=1, le=1000)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_TIMES: Final = TypeAdapter(dict[str, Positive])


class Settings(BaseSettings):
    """What the environment asks for. Make one with `load`; each field is documented there too."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    database_url: Annotated[SecretStr, AfterValidator(_postgres_url)] | None = None
    """A PostgreSQL of your own; the embedded one in `data_dir` when unset."""
    data_dir: Path
    """Where the embedded database and the secret key are kept."""
    stripe_api_base: Annotated[str, AfterValidator(_http_base)] = STRIPE_API_BASE
    """Where requests to Stripe go: Stripe itself, or a twin."""
    stripe_key: Annotated[SecretStr, AfterValidator(_stripe_key)] | None = None
    """The key of the first Stripe account."""
    stripe_rate: Positive = 100
    """Requests a second to one Stripe account, all endpoints together (Stripe: Rate limits)."""
    stripe_rate_per_endpoint: Positive = 25
    """Requests a second to one endpoint of one Stripe account (Stripe: Rate limits)."""
    listen: Annotated[Listen, BeforeValidator(_listen)] = Listen("127.0.0.1", 8787)
    """Where `up` and `serve` answer over HTTP."""
    public_url: Annotated[str, AfterValidator(_http_base)] | None = None
    """Where customers reach `serve`, for links of the payment page; unset: where it listens."""
    metrics_listen: Annotated[Listen, BeforeValidator(_listen)] | None = None
    """Where `/metrics` is served, by `worker` too; unset: by `up` and `serve` where they answer."""
    secret_key: Annotated[SecretStr, AfterValidator(_key_of_32_bytes)] | None = None
    """32 bytes in base64 that encrypt Stripe keys in the database. See `secret_key()`."""
    worker_concurrency: Count = 32
    """Charges that one worker process runs at the same time."""
    sweep_concurrency: Count = 32
    """Checks of stale holds that one process runs at the same time for one account and mode."""
    database_pool: Count = 8
    """Connections to the database of one process."""
    twin_key_life_seconds: Positive = DAY_SECONDS
    """How long the twin that is asked keeps idempotency keys; does not count with Stripe itself."""
    webhook_private_networks: Annotated[
        tuple[IPv4Network | IPv6Network, ...], BeforeValidator(_networks)
    ] = ()
    """Networks of your own that webhooks may go to (`10.1.0.0/16`); else only public addresses."""
    event_deliveries_kept_days: Count = 30
    """How long deliveries of Stripe's webhooks are kept; a week at most if not believed."""
    timing: Timing
    """The times of the protocol, one variable each."""

    @classmethod
    @override
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Nothing but what `load` was given: no second look at the environment, no files."""
        return (init_settings,)

    @property
    def embedded(self) -> bool:
        """The database is the embedded one."""
        return self.database_url is None

    @property
    def postgres_dir(self) -> Path:
        """The folder of the embedded database."""
        return self.data_dir / "postgres"

    @property
    def key_life_seconds(self) -> float:
        """How long the provider keeps idempotency keys, at the least."""
        return (
            DAY_SECONDS if self.stripe_api_base == STRIPE_API_BASE else self.twin_key_life_seconds
        )


_TIMING_FIELDS: Final = tuple(field.name for field in fields(Timing))
_PLAIN_FIELDS: Final = tuple(name for name in Settings.model_fields if name != "timing")
_SECRET_FIELDS: Final = frozenset({"database_url", "stripe_key", "secret_key"})

NAMES: Final = tuple(setting_name(field) for field in (*_PLAIN_FIELDS, *_TIMING_FIELDS))
"""Every variable there is."""


def load(env: Mapping[str, str]) -> Settings:
    """The settings that `env` asks for, for example `os.environ`.

    Refuses an unknown name (SETTINGS_UNKNOWN), a wrong or empty value (SETTINGS_INVALID) and
    times that are not safe together (TIMING_UNSAFE).
    """
    given = _given(env)
    times = {field: given[field] for field in _TIMING_FIELDS if field in given}
    plain: dict[str, object] = {field: given[field] for field in _PLAIN_FIELDS if field in given}
    plain["data_dir"] = _data_dir(given.get("data_dir"), env)
    try:
        timing = Timing(**_TIMES.validate_python(times))
        settings = Settings.model_validate({**plain, "timing": timing})
    except ValidationError as wrong:
        raise _invalid(wrong, given) from None
    broken = timing.check(settings.key_life_seconds)
    if broken:
        raise Refusal(Code.TIMING_UNSAFE, relations="; ".join(broken))
    return settings


def secret_key(settings: Settings) -> bytes:
    """The 32 bytes that encrypt secrets in the database.

    From the setting; else, with the embedded database, from a file in the data folder that only
    its owner can read, made at the first call (of whichever process comes first). Refuses with a
    database of one's own and no setting (SECRET_KEY_MISSING), a file that others can read or that
    holds no key (SECRET_KEY_UNREADABLE), and a folder that cannot be written
    (DATA_DIR_UNWRITABLE).
    """
    if settings.secret_key is not None:
        return decode(settings.secret_key.get_secret_value())
    if not settings.embedded:
        raise Refusal(Code.SECRET_KEY_MISSING)
    return kept_key(settings.data_dir / "secret.key")


def _given(env: Mapping[str, str]) -> dict[str, str]:
    """The values of our own variables by field name."""
    given: dict[str, str] = {}
    for name, value in env.items():
        if not name.upper().startswith(PREFIX) or name.startswith(TEST_PREFIX):
            continue
        if name not in NAMES:
            near = get_close_matches(name.upper(), NAMES, n=1)
            suggestion = f"perhaps {near[0]} was meant" if near else "no setting has a similar name"
            raise Refusal(Code.SETTINGS_UNKNOWN, name=name, suggestion=suggestion)
        if not value.strip():
            raise Refusal(Code.SETTINGS_INVALID, name=name, reason="it is empty")
        given[name.removeprefix(PREFIX).lower()] = value.strip()
    return given


def _data_dir(given: str | None, env: Mapping[str, str]) -> Path:
    """The folder asked for; else /var/lib for root, and the XDG data home for anybody else."""
    if given is not None:
        return Path(given).absolute()
    if os.geteuid() == 0:
        return Path("/var/lib/anchorhold")
    for base in (Path(env.get("XDG_DATA_HOME", "")), Path(env.get("HOME", "")) / ".local/share"):
        # The XDG base directory specification: relative paths are to be ignored.
        if base.is_absolute():
            return base / "anchorhold"
    name, reason = setting_name("data_dir"), "it is not set, and neither is HOME"
    raise Refusal(Code.SETTINGS_INVALID, name=name, reason=reason)


def _invalid(wrong: ValidationError, given: Mapping[str, str]) -> Refusal:
    """The refusal for the first wrong value; it shows the value unless that is a secret."""
    first = wrong.errors(include_url=False, include_input=False)[0]
    field = str(first["loc"][0])
    reason = first["msg"].removeprefix("Value error, ").replace("Input should", "it should")
    shown = "" if field in _SECRET_FIELDS else f" ({given[field][:60]!r} was given)"
    return Refusal(Code.SETTINGS_INVALID, name=setting_name(field), reason=f"{reason}{shown}")
