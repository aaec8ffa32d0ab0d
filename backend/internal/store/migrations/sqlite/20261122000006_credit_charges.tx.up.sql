-- A charge is written here, by one statement without a transaction around it: that
-- is half of the price of what it does.
CREATE VIEW credit_charges AS
SELECT tenant_id, id, period, delta, balance_after, reason, tool, calls, created_at FROM credit_entries;
--bun:split
CREATE TRIGGER credit_charges_insert INSTEAD OF INSERT ON credit_charges
BEGIN
    UPDATE credit_balances SET balance = balance + NEW.delta WHERE tenant_id = NEW.tenant_id AND period = NEW.period;
    INSERT INTO credit_entries (tenant_id, id, period, delta, balance_after, reason, tool, calls, created_at)
    VALUES (NEW.tenant_id, NEW.id, NEW.period, NEW.delta, NEW.balance_after, NEW.reason, NEW.tool, NEW.calls, NEW.created_at);
END;
