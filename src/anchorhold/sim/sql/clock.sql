-- In a database of worlds the one clock is the worlds' own: it stands still between steps.
CREATE OR REPLACE FUNCTION anchorhold.now() RETURNS timestamptz
    LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
    SELECT to_timestamp(current_setting('anchorhold.world_clock')::float8)
$$
