-- When a deletion becomes final; null for every other change. Until then it is in the bin.
ALTER TABLE changes ADD COLUMN final_at TIMESTAMPTZ;
--bun:split
CREATE INDEX changes_final_at ON changes (final_at) WHERE final_at IS NOT NULL;
