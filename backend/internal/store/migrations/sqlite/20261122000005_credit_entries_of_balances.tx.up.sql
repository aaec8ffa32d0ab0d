-- Each metered call writes an entry and takes down a balance: what guards them row
-- by row is a good part of what that costs. A read-only tenant never has a balance,
-- since none may be inserted, and without a balance there is no entry.
CREATE TABLE credit_entries_of_balances (
    tenant_id     TEXT NOT NULL,
    id            TEXT NOT NULL,
    period        TEXT NOT NULL,
    delta         INTEGER NOT NULL,
    balance_after INTEGER NOT NULL,
    reason        TEXT NOT NULL,
    tool          TEXT NOT NULL,
    calls         INTEGER NOT NULL,
    created_at    TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, period, id),
    FOREIGN KEY (tenant_id, period) REFERENCES credit_balances (tenant_id, period) ON DELETE CASCADE
) WITHOUT ROWID;
--bun:split
INSERT INTO credit_entries_of_balances (tenant_id, id, period, delta, balance_after, reason, tool, calls, created_at)
SELECT tenant_id, id, period, delta, balance_after, reason, tool, calls, created_at FROM credit_entries;
--bun:split
DROP TABLE credit_entries;
--bun:split
ALTER TABLE credit_entries_of_balances RENAME TO credit_entries;
--bun:split
CREATE TRIGGER credit_entries_read_only_update BEFORE UPDATE ON credit_entries
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER credit_entries_read_only_delete BEFORE DELETE ON credit_entries
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
DROP TRIGGER credit_balances_read_only_update;
