-- How a member arranges their people, what they want to be reminded of, what
-- calls cost, and which of them were made before.
CREATE TABLE groups (
    tenant_id    TEXT NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id           TEXT NOT NULL,
    name         TEXT NOT NULL,
    folded_name  TEXT NOT NULL,
    description  TEXT NOT NULL,
    cadence_days INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    updated_at   TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, folded_name)
);
--bun:split
CREATE TABLE group_connections (
    tenant_id     TEXT NOT NULL,
    group_id      TEXT NOT NULL,
    connection_id TEXT NOT NULL,
    PRIMARY KEY (tenant_id, group_id, connection_id),
    FOREIGN KEY (tenant_id, group_id) REFERENCES groups (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);
--bun:split
CREATE INDEX group_connections_connection ON group_connections (tenant_id, connection_id);
--bun:split
-- Year, month and day are 0 where they are not known.
CREATE TABLE important_dates (
    tenant_id     TEXT NOT NULL,
    id            TEXT NOT NULL,
    connection_id TEXT NOT NULL,
    kind          TEXT NOT NULL,
    label         TEXT NOT NULL,
    year          INTEGER NOT NULL,
    month         INTEGER NOT NULL,
    day           INTEGER NOT NULL,
    ordinal       INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);
--bun:split
CREATE INDEX important_dates_connection ON important_dates (tenant_id, connection_id);
--bun:split
CREATE INDEX important_dates_day ON important_dates (tenant_id, month, day);
--bun:split
-- to_id is what type says to from_id; the inverse is implied.
CREATE TABLE relationships (
    tenant_id  TEXT NOT NULL,
    id         TEXT NOT NULL,
    from_id    TEXT NOT NULL,
    to_id      TEXT NOT NULL,
    type       TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, from_id, to_id, type),
    FOREIGN KEY (tenant_id, from_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, to_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);
--bun:split
CREATE INDEX relationships_to ON relationships (tenant_id, to_id);
--bun:split
-- starts_on is the day that a recurring one counts its periods from.
CREATE TABLE reminders (
    tenant_id     TEXT NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id            TEXT NOT NULL,
    connection_id TEXT,
    text          TEXT NOT NULL,
    due_on        TEXT NOT NULL,
    starts_on     TEXT NOT NULL,
    recurrence    TEXT NOT NULL,
    state         TEXT NOT NULL,
    version       INTEGER NOT NULL,
    created_at    TIMESTAMPTZ NOT NULL,
    updated_at    TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);
--bun:split
CREATE INDEX reminders_due ON reminders (tenant_id, state, due_on, id);
--bun:split
CREATE INDEX reminders_connection ON reminders (tenant_id, connection_id);
--bun:split
-- What is left of a month's credits. The entries of the month sum up to it.
CREATE TABLE credit_balances (
    tenant_id TEXT NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    period    TEXT NOT NULL,
    allowance INTEGER NOT NULL,
    balance   INTEGER NOT NULL CHECK (balance >= 0),
    PRIMARY KEY (tenant_id, period)
);
--bun:split
-- Append-only.
CREATE TABLE credit_entries (
    tenant_id     TEXT NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id            TEXT NOT NULL,
    period        TEXT NOT NULL,
    delta         INTEGER NOT NULL,
    balance_after INTEGER NOT NULL,
    reason        TEXT NOT NULL,
    tool          TEXT NOT NULL,
    calls         INTEGER NOT NULL,
    created_at    TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
--bun:split
CREATE INDEX credit_entries_period ON credit_entries (tenant_id, period);
--bun:split
-- Answers that are given again when a keyed request is repeated. The scope is a
-- credential's id, or the address of a caller without one, who has no tenant.
CREATE TABLE idempotency_keys (
    scope       TEXT NOT NULL,
    key         TEXT NOT NULL,
    tenant_id   TEXT REFERENCES members (id) ON DELETE CASCADE,
    fingerprint TEXT NOT NULL,
    answer      BYTEA NOT NULL,
    created_at  TIMESTAMPTZ NOT NULL,
    expires_at  TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (scope, key)
);
--bun:split
CREATE INDEX idempotency_keys_expires ON idempotency_keys (expires_at);
--bun:split
CREATE INDEX idempotency_keys_scope ON idempotency_keys (scope, expires_at);
--bun:split
CREATE INDEX idempotency_keys_tenant ON idempotency_keys (tenant_id);
--bun:split
-- Few have an interval of their own; the list of what is due begins with them.
CREATE INDEX connections_cadence ON connections (tenant_id, cadence_days) WHERE cadence_days > 0;
--bun:split
CREATE INDEX connections_archived ON connections (archived_at) WHERE archived_at IS NOT NULL;
--bun:split
-- The data version at which connections were last deleted: what was read before
-- it cannot be brought up to date by reading what changed.
ALTER TABLE tenant_states ADD COLUMN removed_version BIGINT NOT NULL DEFAULT 0;
--bun:split
GRANT UPDATE (removed_version) ON tenant_states TO kith_tenant;
--bun:split
-- Words that members may search for beside the public ones.
ALTER TABLE profiles ADD COLUMN member_text TEXT NOT NULL DEFAULT '';
--bun:split
UPDATE profiles SET member_text = search_text;
--bun:split
CREATE INDEX profiles_listed ON profiles (sort_name) WHERE listed;
--bun:split
-- Agents change the profile of their member, in the transaction of their other writes.
GRANT SELECT, UPDATE ON profiles TO kith_tenant;
--bun:split
ALTER TABLE profiles ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE profiles FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON profiles TO kith_tenant
    USING (member_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON profiles TO kith_service USING (true);
--bun:split
ALTER TABLE changes ADD COLUMN summary TEXT NOT NULL DEFAULT '';
--bun:split
ALTER TABLE changes ADD COLUMN effects TEXT NOT NULL DEFAULT '[]';
--bun:split
ALTER TABLE changes ADD COLUMN final BOOLEAN NOT NULL DEFAULT FALSE;
--bun:split
ALTER TABLE changes ADD COLUMN import_id TEXT;
--bun:split
ALTER TABLE changes ADD COLUMN undone_by TEXT;
--bun:split
ALTER TABLE changes ADD COLUMN undoes TEXT;
--bun:split
ALTER TABLE changes DISABLE TRIGGER USER;
--bun:split
ALTER TABLE changes NO FORCE ROW LEVEL SECURITY;
--bun:split
UPDATE changes SET effects = '[{"kind":"' || object_kind || '","id":"' || object_id || '","before":' || before || ',"after":' || after || '}]';
--bun:split
ALTER TABLE changes FORCE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE changes ENABLE TRIGGER USER;
--bun:split
ALTER TABLE changes DROP COLUMN object_kind;
--bun:split
ALTER TABLE changes DROP COLUMN object_id;
--bun:split
ALTER TABLE changes DROP COLUMN before;
--bun:split
ALTER TABLE changes DROP COLUMN after;
--bun:split
CREATE INDEX changes_import ON changes (tenant_id, import_id) WHERE import_id IS NOT NULL;
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON groups TO kith_tenant;
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON groups TO kith_service;
--bun:split
ALTER TABLE groups ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE groups FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON groups TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON groups TO kith_service USING (true);
--bun:split
CREATE TRIGGER groups_read_only BEFORE INSERT OR UPDATE OR DELETE ON groups
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON group_connections TO kith_tenant;
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON group_connections TO kith_service;
--bun:split
ALTER TABLE group_connections ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE group_connections FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON group_connections TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON group_connections TO kith_service USING (true);
--bun:split
CREATE TRIGGER group_connections_read_only BEFORE INSERT OR UPDATE OR DELETE ON group_connections
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON important_dates TO kith_tenant;
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON important_dates TO kith_service;
--bun:split
ALTER TABLE important_dates ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE important_dates FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON important_dates TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON important_dates TO kith_service USING (true);
--bun:split
CREATE TRIGGER important_dates_read_only BEFORE INSERT OR UPDATE OR DELETE ON important_dates
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON relationships TO kith_tenant;
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON relationships TO kith_service;
--bun:split
ALTER TABLE relationships ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE relationships FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON relationships TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON relationships TO kith_service USING (true);
--bun:split
CREATE TRIGGER relationships_read_only BEFORE INSERT OR UPDATE OR DELETE ON relationships
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON reminders TO kith_tenant;
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON reminders TO kith_service;
--bun:split
ALTER TABLE reminders ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE reminders FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON reminders TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON reminders TO kith_service USING (true);
--bun:split
CREATE TRIGGER reminders_read_only BEFORE INSERT OR UPDATE OR DELETE ON reminders
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON credit_balances TO kith_tenant;
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON credit_balances TO kith_service;
--bun:split
ALTER TABLE credit_balances ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE credit_balances FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON credit_balances TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON credit_balances TO kith_service USING (true);
--bun:split
CREATE TRIGGER credit_balances_read_only BEFORE INSERT OR UPDATE OR DELETE ON credit_balances
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
--bun:split
GRANT SELECT, INSERT ON credit_entries TO kith_tenant;
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON credit_entries TO kith_service;
--bun:split
ALTER TABLE credit_entries ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE credit_entries FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON credit_entries TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON credit_entries TO kith_service USING (true);
--bun:split
CREATE TRIGGER credit_entries_read_only BEFORE INSERT OR UPDATE OR DELETE ON credit_entries
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON idempotency_keys TO kith_tenant;
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON idempotency_keys TO kith_service;
--bun:split
ALTER TABLE idempotency_keys ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE idempotency_keys FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON idempotency_keys TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON idempotency_keys TO kith_service USING (true);
