-- What operators and members may have to look back at: who came in, and what was
-- let in, ended or taken away. Kept for 90 days. The tenant is empty where none is
-- known, and after an account was deleted.
CREATE TABLE security_events (
    id        INTEGER PRIMARY KEY,
    tenant_id TEXT REFERENCES members (id) ON DELETE CASCADE,
    at        TIMESTAMP NOT NULL,
    kind      TEXT NOT NULL,
    subject   TEXT NOT NULL,
    address   TEXT NOT NULL,
    object_id TEXT NOT NULL
);
--bun:split
CREATE INDEX security_events_tenant ON security_events (tenant_id, id);
--bun:split
CREATE INDEX security_events_at ON security_events (at);
