-- By which keys files know the people that came from them, so that a file that is
-- imported again finds them. A key is a hash; import_id is the import that added
-- the person, empty for one who was on file before.
CREATE TABLE source_keys (
    tenant_id     TEXT NOT NULL,
    key           TEXT NOT NULL,
    connection_id TEXT NOT NULL,
    import_id     TEXT NOT NULL,
    PRIMARY KEY (tenant_id, key),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
) WITHOUT ROWID;
--bun:split
CREATE INDEX source_keys_connection ON source_keys (tenant_id, connection_id);
--bun:split
-- The import that reads a file; empty for an upload that waits for one.
ALTER TABLE files ADD COLUMN import_id TEXT NOT NULL DEFAULT '';
--bun:split
CREATE TRIGGER source_keys_read_only_insert BEFORE INSERT ON source_keys
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = NEW.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER source_keys_read_only_update BEFORE UPDATE ON source_keys
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER source_keys_read_only_delete BEFORE DELETE ON source_keys
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
-- Who bears an address is answered by the index alone. (Without the person in it,
-- SQLite goes through all handles of a member instead.)
DROP INDEX handles_value;
--bun:split
CREATE INDEX handles_value ON handles (tenant_id, kind, normal_value, connection_id);
