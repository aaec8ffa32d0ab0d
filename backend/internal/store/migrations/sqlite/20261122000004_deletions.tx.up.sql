-- Deleting a person looks for their rows in each of these tables. Without
-- statistics the planner takes a member to have ten rows, and reads all of the
-- member's in place of the person's. These say how it is with many: about how many
-- rows there are, and how many share the first, the first two … columns of an index.
ANALYZE sandbox_states;
--bun:split
DELETE FROM sqlite_stat1;
--bun:split
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('handles', 'handles', '1000000 50000 1'),
    ('handles', 'sqlite_autoindex_handles_2', '1000000 50000 3 2 1'),
    ('handles', 'handles_value', '1000000 50000 20000 2 1'),
    ('positions', 'positions', '1000000 50000 1'),
    ('positions', 'positions_connection', '1000000 50000 2'),
    ('positions', 'positions_organization', '1000000 50000 20'),
    ('important_dates', 'important_dates', '100000 5000 1'),
    ('important_dates', 'important_dates_connection', '100000 5000 2'),
    ('important_dates', 'important_dates_day', '100000 5000 400 14'),
    ('relationships', 'relationships', '100000 5000 1'),
    ('relationships', 'relationships_to', '100000 5000 2'),
    ('relationships', 'sqlite_autoindex_relationships_2', '100000 5000 2 1 1'),
    ('reminders', 'reminders', '100000 5000 1'),
    ('reminders', 'reminders_connection', '100000 5000 2'),
    ('reminders', 'reminders_due', '100000 5000 2500 10 1'),
    ('source_keys', 'source_keys', '1000000 50000 1'),
    ('source_keys', 'source_keys_connection', '1000000 50000 2');
--bun:split
ANALYZE sqlite_schema;
--bun:split
CREATE INDEX connections_merged ON connections (tenant_id, merged_into) WHERE merged_into IS NOT NULL;
