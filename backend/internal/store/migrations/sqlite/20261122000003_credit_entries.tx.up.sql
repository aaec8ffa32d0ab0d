-- The ledger lies in the order in which it is read, by tenant and month: an index
-- of its own was one page more to write for each metered call.
CREATE TABLE credit_entries_by_period (
    tenant_id     TEXT NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id            TEXT NOT NULL,
    period        TEXT NOT NULL,
    delta         INTEGER NOT NULL,
    balance_after INTEGER NOT NULL,
    reason        TEXT NOT NULL,
    tool          TEXT NOT NULL,
    calls         INTEGER NOT NULL,
    created_at    TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, period, id)
) WITHOUT ROWID;
--bun:split
INSERT INTO credit_entries_by_period (tenant_id, id, period, delta, balance_after, reason, tool, calls, created_at)
SELECT tenant_id, id, period, delta, balance_after, reason, tool, calls, created_at FROM credit_entries;
--bun:split
DROP TABLE credit_entries;
--bun:split
ALTER TABLE credit_entries_by_period RENAME TO credit_entries;
--bun:split
CREATE TRIGGER credit_entries_read_only_insert BEFORE INSERT ON credit_entries
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = NEW.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER credit_entries_read_only_update BEFORE UPDATE ON credit_entries
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER credit_entries_read_only_delete BEFORE DELETE ON credit_entries
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
