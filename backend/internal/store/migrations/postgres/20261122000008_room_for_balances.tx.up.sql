-- Balances change with each metered call. Pages that have room for the versions that
-- are still in somebody's sight stay few, which is what small tables are read by.
ALTER TABLE credit_balances SET (fillfactor = 25);
