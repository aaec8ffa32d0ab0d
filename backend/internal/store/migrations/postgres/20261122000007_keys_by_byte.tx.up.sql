-- Keys compare by byte in every table, as the first ones' do: where one side of a
-- join has another collation, its index is of no use, and in a database whose locale
-- orders words by another rule, groups came in another order than in SQLite.
--
-- A column that a policy names cannot be changed, so that the wall of the table is
-- taken down and put up again, in this transaction.
DO $$
DECLARE
    behind text;
    changes text;
BEGIN
    FOR behind, changes IN
        SELECT c.relname, string_agg(format('ALTER COLUMN %I TYPE text COLLATE "C"', a.attname), ', ')
        FROM pg_class c
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND a.atttypid = 'text'::regtype
        JOIN pg_collation l ON l.oid = a.attcollation AND l.collname <> 'C'
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND (
            EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND a.attnum = ANY (i.indkey::int2[]))
            OR EXISTS (SELECT FROM pg_constraint k WHERE k.contype = 'f' AND k.conrelid = c.oid AND a.attnum = ANY (k.conkey)))
        GROUP BY c.relname
    LOOP
        IF EXISTS (SELECT FROM pg_policy WHERE polrelid = behind::regclass AND polname = 'tenant') THEN
            EXECUTE format('DROP POLICY tenant ON %I', behind);
            EXECUTE format('ALTER TABLE %I %s', behind, changes);
            EXECUTE format($policy$CREATE POLICY tenant ON %I TO kith_tenant
                USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''))$policy$, behind);
        ELSE
            EXECUTE format('ALTER TABLE %I %s', behind, changes);
        END IF;
    END LOOP;
END $$;
