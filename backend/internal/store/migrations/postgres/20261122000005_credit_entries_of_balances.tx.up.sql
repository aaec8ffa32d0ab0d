-- Each metered call writes an entry and takes down a balance: what guards them row
-- by row is most of what that costs. A read-only tenant never has a balance, since
-- none may be inserted, and without a balance there is no entry.
ALTER TABLE credit_entries DROP CONSTRAINT credit_entries_tenant_id_fkey;
--bun:split
ALTER TABLE credit_entries ADD CONSTRAINT credit_entries_balance
    FOREIGN KEY (tenant_id, period) REFERENCES credit_balances (tenant_id, period) ON DELETE CASCADE;
--bun:split
DROP TRIGGER credit_entries_read_only ON credit_entries;
--bun:split
CREATE TRIGGER credit_entries_read_only BEFORE UPDATE OR DELETE ON credit_entries
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
--bun:split
DROP TRIGGER credit_balances_read_only ON credit_balances;
--bun:split
CREATE TRIGGER credit_balances_read_only BEFORE INSERT OR DELETE ON credit_balances
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
