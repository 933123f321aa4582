"""How a notice ends: by words, once (protocol section 8)."""

from anchorhold.domain.ids import NoticeId
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db


async def resolve(
    db: Db, scope: Scope, notice_id: NoticeId, *, resolution: str, actor: str
) -> NoticeId | None:
    """The notice is resolved, with who and how; None when it was resolved already."""
    found = await db.one(
        """
        WITH resolved AS (
            UPDATE anchorhold.notice
               SET resolved_at = anchorhold.now(), resolved_by = %(actor)s,
                   resolution = %(resolution)s
             WHERE account_id = %(account_id)s AND livemode = %(livemode)s
               AND id = %(notice_id)s AND resolved_at IS NULL
            RETURNING account_id, livemode, id, invoice_id, code, resolution
        ), told AS (
            INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, detail)
            SELECT account_id, livemode, invoice_id, %(actor)s, 'notice.resolved',
                   jsonb_build_object('notice_id', id, 'code', code, 'resolution', resolution)
              FROM resolved
             WHERE invoice_id IS NOT NULL
        )
        SELECT id FROM resolved
        """,
        str,
        **scope.params,
        notice_id=notice_id,
        resolution=resolution,
        actor=actor,
    )
    return NoticeId(found) if found else None
