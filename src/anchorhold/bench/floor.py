"""The floor: pgbench running the product's own statements, as one real charge sent them."""

import asyncio
import re
from collections.abc import Mapping, Sequence

from anchorhold import postgres
from anchorhold.bench.ground import SCOPE, Ground

_RATE = re.compile(r"^tps = ([0-9.]+)", re.MULTILINE)
_NAME = re.compile(r"%\((\w+)\)s")

SCOPED = {"account_id": f"'{SCOPE.account_id}'::text", "livemode": "false"}
CLAIMED = {
    **SCOPED,
    "invoice_id": ":invoice_id::text",
    "attempt_id": ":attempt_id::text",
    "hold_until": ":hold_until::timestamptz",
    "seq": ":seq::integer",
}
CLAIM = {
    **SCOPED,
    "ids": "ARRAY['att_' || lpad(:n::text, 26, '0')]",
    "limit": "1",
    "kind": "'auto'",
    "actor": "'bench'",
    "hold_s": "300",
}
RECHECK = {
    **CLAIMED,
    "key": "'key of ' || :attempt_id::text",
    "params": '\'{"payment_method": "pm_card_visa", "off_session": true}\'',
    "intent_id": ":intent_id::text",
    "currency": "'eur'",
    "amount": ":amount::bigint",
    "min_left_s": "120",
}
SETTLE = {
    **CLAIMED,
    "payment_id": "'pay_' || lpad(:n::text, 26, '0')",
    "notice_id": "'ntc_' || lpad(:n::text, 26, '0')",
    "hold_attempt": ":attempt_id::text",
    "intent_id": ":intent_id::text",
    "charge_id": "'ch_' || :n::text",
    "amount": ":amount::bigint",
    "amount_refunded": "0",
    "currency": "'eur'::text",
    "source": "'answer'::text",
    "rule": "'A1'::text",
    "actor": "'bench'",
}


def script(statements: Sequence[str]) -> str:
    """One charge as a pgbench script: the claim, the re-check and the save that were sent."""
    claim, recheck, settle = statements
    return "\n".join(
        (
            "\\set n random(1, 9000000000000000)",
            _filled(claim, CLAIM) + " \\gset",
            _filled(recheck, RECHECK) + ";",
            _filled(settle, SETTLE) + ";",
        )
    )


def _filled(statement: str, values: Mapping[str, str]) -> str:
    """The statement on one line, its parameters as pgbench writes them."""
    lines = (line.partition("--")[0].strip() for line in statement.splitlines())
    return _NAME.sub(lambda found: values[found[1]], " ".join(line for line in lines if line))


async def charges_per_second(
    ground: Ground, statements: Sequence[str], clients: int, seconds: int
) -> float:
    """How many charges a second pgbench makes. Raises RuntimeError with its words if it fails."""
    file = ground.folder / "charge.sql"
    file.write_text(script(statements), encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        str(postgres.binary("pgbench")),
        *("--no-vacuum", "--protocol=prepared", f"--client={clients}", "--jobs=2"),
        *(f"--time={seconds}", f"--file={file}", ground.conninfo),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    rate = _RATE.search(out.decode())
    if process.returncode or rate is None:
        raise RuntimeError(f"pgbench failed: {err.decode()[-600:]}")
    return float(rate[1])
