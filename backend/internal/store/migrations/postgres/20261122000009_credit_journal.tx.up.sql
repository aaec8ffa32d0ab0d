-- What reads cost is written down here, one line after the other, and posted to the
-- ledger later: an entry for each metered call, with its key and its reference, was
-- most of what a charge cost. Lines have no key and no reference: those of a member
-- who is gone are dropped when the others are posted.
CREATE TABLE credit_journal (
    tenant_id     TEXT COLLATE "C" NOT NULL,
    period        TEXT COLLATE "C" NOT NULL,
    tool          TEXT NOT NULL,
    delta         INTEGER NOT NULL,
    calls         INTEGER NOT NULL,
    balance_after INTEGER NOT NULL,
    created_at    TIMESTAMPTZ NOT NULL
);
--bun:split
GRANT SELECT, INSERT, DELETE ON credit_journal TO kith_service;
--bun:split
ALTER TABLE credit_journal ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE credit_journal FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY service ON credit_journal TO kith_service USING (true);
--bun:split
-- The entries of the ledger and the lines that are not posted yet: they sum up to
-- the balance. The walls around the tables stand for who asks, not for who made the view.
CREATE VIEW credit_ledger WITH (security_invoker = true) AS
SELECT tenant_id, period, delta, reason, tool, calls, created_at FROM credit_entries
UNION ALL
SELECT tenant_id, period, delta, 'calls', tool, calls, created_at FROM credit_journal;
--bun:split
GRANT SELECT ON credit_ledger TO kith_service;
