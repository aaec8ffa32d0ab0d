-- A personal token can be limited to named tools, separated by single spaces; empty
-- is no limit.
ALTER TABLE personal_tokens ADD COLUMN tools TEXT NOT NULL DEFAULT '';
