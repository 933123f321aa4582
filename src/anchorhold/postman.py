"""The postman of a process: opens an endpoint's secrets, signs, and posts."""

from anchorhold import crypto
from anchorhold.domain.scope import Scope
from anchorhold.domain.webhook import Outcome, Sent
from anchorhold.store.messages import Due
from anchorhold.webhooks import signing
from anchorhold.webhooks.sender import Sender


class SigningPostman:
    """`Postman` over HTTP; `key` opens the secrets in the database."""

    def __init__(self, key: bytes, sender: Sender) -> None:
        self._key = key
        self._sender = sender

    async def post(self, scope: Scope, due: Due) -> Sent:
        """See `Postman.post`; a secret that cannot be opened is an answer too."""
        try:
            secrets = [
                crypto.unseal(self._key, sealed, *place_of_secret(scope, due.endpoint_id))
                for sealed in (due.secret, due.old_secret)
                if sealed is not None
            ]
        except crypto.UnsealError as error:
            return Sent(Outcome.NO_SECRET, f"the signing secret cannot be opened: {error}", 0)
        content = signing.body(due.type, due.at, due.sequence, due.data)
        return await self._sender.post(
            due.url, content, signing.headers(secrets, due.message_id, due.now, content)
        )


def place_of_secret(scope: Scope, endpoint_id: str) -> tuple[str, ...]:
    """Where an endpoint's secret is stored; its ciphertext opens nowhere else."""
    return ("webhook_endpoint", "secret", scope.account_id, scope.mode, endpoint_id)
