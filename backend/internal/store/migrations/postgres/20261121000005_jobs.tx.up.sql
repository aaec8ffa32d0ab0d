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
    run_at           TIMESTAMPTZ NOT NULL,
    lease_until      TIMESTAMPTZ,
    cancel_requested BOOLEAN NOT NULL,
    credential_id    TEXT NOT NULL,
    credential_name  TEXT NOT NULL,
    tool             TEXT NOT NULL,
    period           TEXT NOT NULL,
    charged          INTEGER NOT NULL,
    created_at       TIMESTAMPTZ NOT NULL,
    updated_at       TIMESTAMPTZ NOT NULL,
    ended_at         TIMESTAMPTZ
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
    content    BYTEA NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
--bun:split
CREATE INDEX files_created ON files (created_at);
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON jobs TO kith_tenant, kith_service;
--bun:split
ALTER TABLE jobs ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE jobs FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON jobs TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON jobs TO kith_service USING (true);
--bun:split
CREATE TRIGGER jobs_read_only BEFORE INSERT OR UPDATE OR DELETE ON jobs
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON files TO kith_tenant, kith_service;
--bun:split
ALTER TABLE files ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE files FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON files TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON files TO kith_service USING (true);
--bun:split
CREATE TRIGGER files_read_only BEFORE INSERT OR UPDATE OR DELETE ON files
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
--bun:split
GRANT UPDATE (jobs) ON tenant_states TO kith_tenant;
