-- What reads cost is written down here, one line after the other, and posted to the
-- ledger later: an entry for each metered call was a page to write for each member.
-- The ledger's order is by member, this one's by time. A line takes itself off the
-- balance, so that a charge is one statement without a transaction around it. The
-- view credit_charges stays for the version before.
CREATE TABLE credit_journal (
    tenant_id     TEXT NOT NULL,
    period        TEXT NOT NULL,
    tool          TEXT NOT NULL,
    delta         INTEGER NOT NULL,
    calls         INTEGER NOT NULL,
    balance_after INTEGER NOT NULL,
    created_at    TIMESTAMP NOT NULL
);
--bun:split
CREATE TRIGGER credit_journal_insert AFTER INSERT ON credit_journal
BEGIN
    UPDATE credit_balances SET balance = balance + NEW.delta WHERE tenant_id = NEW.tenant_id AND period = NEW.period;
END;
--bun:split
-- The entries of the ledger and the lines that are not posted yet: they sum up to
-- the balance.
CREATE VIEW credit_ledger AS
SELECT tenant_id, period, delta, reason, tool, calls, created_at FROM credit_entries
UNION ALL
SELECT tenant_id, period, delta, 'calls', tool, calls, created_at FROM credit_journal;
