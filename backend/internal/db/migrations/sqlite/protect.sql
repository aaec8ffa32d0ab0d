{{range $table := .}}{{range .Refused}}
CREATE TRIGGER {{$table.Name}}_read_only_{{.}} BEFORE {{.}} ON {{$table.Name}}
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = {{if eq . "insert"}}NEW{{else}}OLD{{end}}.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
{{end}}{{end}}
