"""The workers: Procrastinate's jobs wake them up, the rows say what there is to do.

Losing every job loses nothing and running every job twice changes nothing: who may act is decided
by a conditional write on a row.
"""
