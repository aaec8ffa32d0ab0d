-- When the removal of a deprecated path was first announced, and the latest date.
CREATE TABLE sunsets (
    route              TEXT PRIMARY KEY,
    first_announced_at TIMESTAMP NOT NULL,
    sunset_at          TIMESTAMP NOT NULL
);
