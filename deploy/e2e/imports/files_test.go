package imports

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// linkedInFile returns a file of LinkedIn, including the notes before the header row.
func linkedInFile(rows int) harness.ContactFile {
	const header = "Notes:\n\"When exporting your connection data, you may notice that some of the email addresses are missing.\"\n\n" +
		"First Name,Last Name,URL,Email Address,Company,Position,Connected On\n"
	return harness.Generate("Connections.csv", header, rows, func(i int) string {
		return fmt.Sprintf("Given%d,Family%d,https://www.linkedin.com/in/person-%d,,Company %d,Head of Something %d,02 Jan 2024\n", i, i%997, i, i%400, i%30)
	})
}

// keep writes the file to a folder from which a browser can upload it.
func keep(t *testing.T, f harness.ContactFile) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), f.Name)
	if err := os.WriteFile(path, []byte(f.Content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
