"""The command line: one file per noun (`nouns.py`), loaded when it is asked for.

Beside the nouns: `main` runs a command and turns what happens into an exit code; `call` has the
options that commands share; `session` opens the database for one account and mode, `scopes` for
several; `lookup` finds what a name means. `collecting`, `connecting`, `importing` and `checkup` do
the longer verbs of `invoice`, `account`, `invoice` and `doctor`; `asking` asks before money moves,
`waking` wakes workers. What is printed comes from `objects` (JSON), `words` (states, times and
amounts for people), `story` (the journal), `invoice_screen`, and goes out by `output`.
"""
