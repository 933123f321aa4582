-- The worlds' clock for the statement that is committed with this one, and for no other.
SELECT set_config('anchorhold.world_clock', %(now)s, true)
