{{range .}}
-- {{.Name}}: row-level security, and a trigger that refuses writes to a read-only tenant.
GRANT {{.Grants}} ON {{.Name}} TO kith_tenant;
GRANT SELECT, INSERT, UPDATE, DELETE ON {{.Name}} TO kith_service;
ALTER TABLE {{.Name}} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {{.Name}} FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON {{.Name}} TO kith_tenant USING ({{.Owner}} = nullif(current_setting('app.tenant_id', true), ''));
CREATE POLICY service ON {{.Name}} TO kith_service USING (true);
{{if .Refused}}
CREATE TRIGGER {{.Name}}_read_only BEFORE {{range $i, $write := .Refused}}{{if $i}} OR {{end}}{{$write}}{{end}} ON {{.Name}}
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
{{end}}{{end}}
