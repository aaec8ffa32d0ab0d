-- Work that outlives a request, and the files that it reads.
--
-- A job without a tenant is the system's. At most one of a kind is live for each
-- member.
CREATE TABLE jobs (
    id               TEXT PRIMARY KEY,
    tenant_id        TEXT REFERENCES members (id) ON DELETE CASCADE,
    number           INTEGER NOT NULL,
    kind             TEXT NOT NULL,
    state            TEXT NOT NULL,
    params           TEXT NOT NULL,
    checkpoint       TEXT NOT NULL,
    result           TEXT NOT NULL,
    error_code       TEXT NOT NULL,
    error_detail     TEXT NOT NULL,
    done             INTEGER NOT NULL,
    total            INTEGER NOT NULL,
    attempts         INTEGER NOT NULL,
    fence            BIGINT NOT NULL,
    run_at           TIMESTAMP NOT NULL,
    lease_until      TIMESTAMP,
    cancel_requested BOOLEAN NOT NULL,
    credential_id    TEXT NOT NULL,
    credential_name  TEXT NOT NULL,
    tool             TEXT NOT NULL,
    period           TEXT NOT NULL,
    charged          INTEGER NOT NULL,
    created_at       TIMESTAMP NOT NULL,
    updated_at       TIMESTAMP NOT NULL,
    ended_at         TIMESTAMP
);
--bun:split
CREATE UNIQUE INDEX jobs_number ON jobs (tenant_id, number) WHERE tenant_id IS NOT NULL;
--bun:split
CREATE UNIQUE INDEX jobs_live ON jobs (coalesce(tenant_id, ''), kind) WHERE state IN ('queued', 'running');
--bun:split
CREATE INDEX jobs_due ON jobs (run_at) WHERE state = 'queued';
--bun:split
CREATE INDEX jobs_leased ON jobs (lease_until) WHERE state = 'running';
--bun:split
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;
--bun:split
ALTER TABLE tenant_states ADD COLUMN jobs INTEGER NOT NULL DEFAULT 0;
--bun:split
-- What members uploaded, until an import has read it.
CREATE TABLE files (
    tenant_id  TEXT NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id         TEXT NOT NULL,
    name       TEXT NOT NULL,
    sha256     TEXT NOT NULL,
    size       INTEGER NOT NULL,
    content    BLOB NOT NULL,
    created_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
--bun:split
CREATE INDEX files_created ON files (created_at);
--bun:split
CREATE TRIGGER jobs_read_only_insert BEFORE INSERT ON jobs
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = NEW.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER jobs_read_only_update BEFORE UPDATE ON jobs
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER jobs_read_only_delete BEFORE DELETE ON jobs
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER files_read_only_insert BEFORE INSERT ON files
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = NEW.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER files_read_only_update BEFORE UPDATE ON files
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER files_read_only_delete BEFORE DELETE ON files
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
