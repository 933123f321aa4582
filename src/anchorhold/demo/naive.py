"""What is usually written instead: a plain retry loop, as its own program.

Charge, and when that raises, charge again; write down afterwards what was paid. No committed
trace before the call, a new idempotency key for each try. `python -m anchorhold.demo.naive`.
"""

import sys

import psycopg
import stripe

TRIES = 3
stripe.enable_telemetry = False  # else it leaves a file in the home of whoever runs the demo
TABLE = """
    CREATE TABLE IF NOT EXISTS plain_invoice (
        reference text PRIMARY KEY, method text, amount bigint, currency text,
        status text NOT NULL DEFAULT 'open')
"""


def run(conninfo: str, base: str, key: str, timeout_s: float, part: int, parts: int) -> None:
    """This part of the open invoices was charged once, as far as the loop can tell."""
    client = stripe.StripeClient(
        key,
        base_addresses={"api": base},
        http_client=stripe.RequestsClient(timeout=timeout_s),
        max_network_retries=0,
    )
    with psycopg.connect(conninfo, autocommit=True) as conn:
        rows = conn.execute(
            "SELECT reference, method, amount, currency FROM plain_invoice "
            "WHERE status = 'open' AND mod(hashtext(reference), %s) IN (%s, -%s) "
            "ORDER BY reference",
            [parts, part, part],
        ).fetchall()
        for reference, method, amount, currency in rows:
            status = charge(client, reference, method, amount, currency)
            conn.execute(
                "UPDATE plain_invoice SET status = %s WHERE reference = %s", [status, reference]
            )


def charge(
    client: stripe.StripeClient, reference: str, method: str, amount: int, currency: str
) -> str:
    """`paid`, `declined`, or `gave_up` after a few tries that raised."""
    for _ in range(TRIES):
        try:
            client.v1.payment_intents.create(
                {
                    "amount": amount,
                    "currency": currency,
                    "payment_method": method,
                    "confirm": True,
                    "off_session": True,
                    "metadata": {"plain_reference": reference},
                }
            )
        except stripe.CardError:
            return "declined"
        except stripe.StripeError:
            continue
        return "paid"
    return "gave_up"


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]), *map(int, sys.argv[5:7]))
