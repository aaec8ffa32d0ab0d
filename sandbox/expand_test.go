package sandbox

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestFilesAreWellFormed: each $ starts a placeholder, and each key is a field.
func TestFilesAreWellFormed(t *testing.T) {
	t.Parallel()
	placeholder := regexp.MustCompile(`\$\{-?[0-9]+(y| 2006| 2006-01| 01-02| 01)?\}`)
	for text, into := range map[string]any{account: new(Dataset), members: new([]Member)} {
		if strings.Contains(placeholder.ReplaceAllString(text, ""), "$") {
			t.Error("there is a malformed placeholder")
		}
		strict := json.NewDecoder(strings.NewReader(os.Expand(text, func(name string) string { return expand(time.Now(), name) })))
		strict.DisallowUnknownFields()
		if err := strict.Decode(into); err != nil {
			t.Error(err)
		}
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ today, name, want string }{
		{"2026-03-01", "0", "2026-03-01"},
		{"2026-03-01", "-1", "2026-02-28"},
		{"2026-12-30", "2", "2027-01-01"},
		{"2026-03-01", "-1 2006-01", "2026-02"},
		{"2026-03-01", "-400 2006", "2025"},
		{"2026-03-01", "-40y", "1986"},
		{"2026-12-30", "2 01-02", "01-01"},
		{"2028-02-28", "1 01-02", "02-28"}, // 29 February
		{"2028-02-29", "0 01-02", "02-29"},
		{"2028-01-31", "29", "2028-02-29"},
	} {
		today, err := time.Parse(time.DateOnly, c.today)
		if err != nil {
			t.Fatal(err)
		}
		if got := expand(today, c.name); got != c.want {
			t.Errorf("on %s ${%s} is %q, want %q", c.today, c.name, got, c.want)
		}
	}
}

func TestValidDate(t *testing.T) {
	t.Parallel()
	for date, want := range map[string]string{
		"2024-02-29": "2024-02-29", "2027-02-29": "2024-02-29", "2000-02-29": "2000-02-29", "1903-02-29": "1896-02-29", "2103-02-29": "2096-02-29",
		"--02-29": "--02-29", "2027-02": "2027-02", "1990-02-28": "1990-02-28", "1990": "1990",
	} {
		if got := validDate(date); got != want {
			t.Errorf("validDate(%q) = %q, want %q", date, got, want)
		}
	}
}
