-- Charges go into the ledger in the transaction that takes the balance down; the
-- journal beside it is gone.
DROP VIEW credit_ledger;
--bun:split
DROP TABLE credit_journal;
