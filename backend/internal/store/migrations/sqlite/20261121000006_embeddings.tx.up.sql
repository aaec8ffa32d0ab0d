-- What search by meaning compares: a vector for each person, of the text whose hash
-- is kept with it.
--
-- A vector is 32-bit floats, little-endian. text_version is the data version at
-- which the text was read, data_version that of the write which kept the vector.
CREATE TABLE embeddings (
    tenant_id     TEXT NOT NULL,
    connection_id TEXT NOT NULL,
    model         TEXT NOT NULL,
    dimensions    INTEGER NOT NULL,
    content_hash  TEXT NOT NULL,
    vector        BLOB NOT NULL,
    text_version  BIGINT NOT NULL,
    data_version  BIGINT NOT NULL,
    updated_at    TIMESTAMP NOT NULL,
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
CREATE TRIGGER embeddings_read_only_insert BEFORE INSERT ON embeddings
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = NEW.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER embeddings_read_only_update BEFORE UPDATE ON embeddings
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER embeddings_read_only_delete BEFORE DELETE ON embeddings
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
