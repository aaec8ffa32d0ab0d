package ops

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// repository is the relative path to the repository root.
const repository = "../../.."

// versions are the versions of the two builds.
var versions = [2]string{"1.0.0", "1.1.0"}

// migration is the additional migration of the second build: a column and an index on a
// table that every request reads.
const migration = `ALTER TABLE connections ADD COLUMN e2e_rolled TEXT NOT NULL DEFAULT '';
--bun:split
CREATE INDEX e2e_rolled ON connections (tenant_id, e2e_rolled) WHERE e2e_rolled <> '';
`

// build makes both builds of kith and returns their paths.
func build(t *testing.T, dir string) (builds [2]string) {
	t.Helper()
	overlay := map[string]map[string]string{"Replace": {}}
	added := filepath.Join(dir, "migration.sql")
	write(t, added, migration)
	for _, database := range []string{"sqlite", "postgres"} {
		folder, err := filepath.Abs(filepath.Join(repository, "backend/internal/db/migrations", database))
		must(t, err)
		overlay["Replace"][filepath.Join(folder, "20991231000001_e2e_rolled.sql")] = added
	}
	text, err := json.Marshal(overlay)
	must(t, err)
	file := filepath.Join(dir, "overlay.json")
	write(t, file, string(text))
	for i, version := range versions {
		builds[i] = filepath.Join(dir, "kith-"+version)
		args := []string{"build", "-o", builds[i], "-ldflags", "-X main.version=" + version}
		if i == 1 {
			args = append(args, "-overlay", file)
		}
		command := exec.CommandContext(t.Context(), "go", append(args, "github.com/kith-crm/kith/deploy/cmd/kith")...)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("kith cannot be built: %v\n%s", err, out)
		}
	}
	return builds
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	must(t, os.WriteFile(file, []byte(text), 0o644))
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	return string(text)
}
