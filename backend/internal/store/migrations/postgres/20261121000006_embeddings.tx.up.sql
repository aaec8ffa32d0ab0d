-- What search by meaning compares: a vector for each person, of the text whose hash
-- is kept with it.
--
-- A vector is 32-bit floats, little-endian. text_version is the data version at
-- which the text was read, data_version that of the write which kept the vector.
CREATE TABLE embeddings (
    tenant_id     TEXT COLLATE "C" NOT NULL,
    connection_id TEXT COLLATE "C" NOT NULL,
    model         TEXT NOT NULL,
    dimensions    INTEGER NOT NULL,
    content_hash  TEXT NOT NULL,
    vector        BYTEA NOT NULL,
    text_version  BIGINT NOT NULL,
    data_version  BIGINT NOT NULL,
    updated_at    TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, connection_id),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);
--bun:split
CREATE INDEX embeddings_version ON embeddings (tenant_id, data_version);
--bun:split
-- The data version at which a vector was kept last; 0 while there is none.
ALTER TABLE tenant_states ADD COLUMN embedded_version BIGINT NOT NULL DEFAULT 0;
--bun:split
-- The remote embedding provider that the member allows; empty for none.
ALTER TABLE members ADD COLUMN embeddings_host TEXT NOT NULL DEFAULT '';
--bun:split
GRANT UPDATE (embedded_version) ON tenant_states TO kith_tenant;
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON embeddings TO kith_tenant, kith_service;
--bun:split
ALTER TABLE embeddings ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE embeddings FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON embeddings TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON embeddings TO kith_service USING (true);
--bun:split
CREATE TRIGGER embeddings_read_only BEFORE INSERT OR UPDATE OR DELETE ON embeddings
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
