"""The schema's revisions, each of them SQL, run by Alembic (ADR 14)."""
