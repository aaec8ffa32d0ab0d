-- By which keys files know the people that came from them, so that a file that is
-- imported again finds them. A key is a hash; import_id is the import that added
-- the person, empty for one who was on file before.
CREATE TABLE source_keys (
    tenant_id     TEXT COLLATE "C" NOT NULL,
    key           TEXT COLLATE "C" NOT NULL,
    connection_id TEXT COLLATE "C" NOT NULL,
    import_id     TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, key),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);
--bun:split
CREATE INDEX source_keys_connection ON source_keys (tenant_id, connection_id);
--bun:split
-- The import that reads a file; empty for an upload that waits for one.
ALTER TABLE files ADD COLUMN import_id TEXT NOT NULL DEFAULT '';
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON source_keys TO kith_tenant, kith_service;
--bun:split
ALTER TABLE source_keys ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE source_keys FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON source_keys TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON source_keys TO kith_service USING (true);
--bun:split
CREATE TRIGGER source_keys_read_only BEFORE INSERT OR UPDATE OR DELETE ON source_keys
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
--bun:split
-- Who bears an address is answered by the index alone. (Without the person in it,
-- SQLite goes through all handles of a member instead.)
DROP INDEX handles_value;
--bun:split
CREATE INDEX handles_value ON handles (tenant_id, kind, normal_value, connection_id);
