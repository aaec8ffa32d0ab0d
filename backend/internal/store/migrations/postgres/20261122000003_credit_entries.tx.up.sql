-- The ledger is read by tenant and month; one index for that and for the key is
-- one less to write for each metered call.
ALTER TABLE credit_entries DROP CONSTRAINT credit_entries_pkey;
--bun:split
ALTER TABLE credit_entries ADD PRIMARY KEY (tenant_id, period, id);
--bun:split
DROP INDEX credit_entries_period;
