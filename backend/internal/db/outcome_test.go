package db

import "testing"

// The name of a statement has a table of Kith, whatever else the statement says.
func TestTableOfAStatement(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"SELECT 1":                                                    "",
		"COMMIT":                                                      "",
		"SELECT id FROM connections c":                                "connections",
		`INSERT INTO "notes" (a) VALUES (1)`:                          "notes",
		"UPDATE tenant_states SET a = 1":                              "tenant_states",
		"delete from jobs where ended_at <= ?":                        "jobs",
		"SELECT 'from berlin' FROM secrets JOIN tags ON a":            "tags",
		"WITH found AS (SELECT * FROM positions) SELECT * FROM found": "positions",
		"SELECT * FROM sqlite_master":                                 "",
	} {
		if got := (Statement{text}).Table(); got != want {
			t.Errorf("%s is of %q, want %q", text, got, want)
		}
	}
}
