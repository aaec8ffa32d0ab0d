-- When the removal of a deprecated path was first announced, and the latest date.
CREATE TABLE sunsets (
    route              TEXT COLLATE "C" PRIMARY KEY,
    first_announced_at TIMESTAMPTZ NOT NULL,
    sunset_at          TIMESTAMPTZ NOT NULL
);
--bun:split
GRANT SELECT, INSERT, UPDATE ON sunsets TO kith_service;
