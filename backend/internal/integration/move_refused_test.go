package integration_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/move"
)

// lastChange returns the latest change.
func lastChange(t *testing.T, data *db.Tenant) string {
	t.Helper()
	changes, err := history.ListChanges(t.Context(), data, history.Query{Limit: 1})
	if err != nil || len(changes) != 1 {
		t.Fatal(changes, err)
	}
	return changes[0].ID
}

// linesIn returns the lines of a file.
func linesIn(t *testing.T, file []byte) []string {
	t.Helper()
	packed, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(packed)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// rowsIn returns the lines with rows.
func rowsIn(t *testing.T, file []byte) []string {
	t.Helper()
	lines := linesIn(t, file)
	return lines[1 : len(lines)-1]
}

// repack returns a file with other lines, and a last line that fits them.
func repack(t *testing.T, lines []string) []byte {
	t.Helper()
	digest := sha256.Sum256([]byte(strings.Join(lines[:len(lines)-1], "\n") + "\n"))
	end := fmt.Sprintf(`{"end":{"rows":%d,"sha256":"%s"}}`, len(lines)-2, hex.EncodeToString(digest[:]))
	return pack(t, append(slices.Clone(lines[:len(lines)-1]), end))
}

func pack(t *testing.T, lines []string) []byte {
	t.Helper()
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	_, err := io.WriteString(packed, strings.Join(lines, "\n")+"\n")
	if err != nil || packed.Close() != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// replaceIn replaces a text in the first line with a row of a table, or in the header.
func replaceIn(t *testing.T, lines []string, table, old, by string) []string {
	t.Helper()
	out := slices.Clone(lines)
	at := 0
	if table != "" {
		at = slices.IndexFunc(out, func(l string) bool { return strings.HasPrefix(l, `{"table":"`+table+`"`) })
	}
	changed := regexp.MustCompile(old).ReplaceAllString(out[at], by)
	if changed == out[at] {
		t.Fatalf("%q is not in %.300s", old, out[at])
	}
	out[at] = changed
	return out
}

// tampered returns files that no import takes, by what the error says.
func tampered(t *testing.T, lines []string) map[string][]byte {
	t.Helper()
	with := func(table, old, by string) []byte { return repack(t, replaceIn(t, lines, table, old, by)) }
	of := func(table string) int {
		return slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, `{"table":"`+table+`"`) })
	}
	without := func(table string) []byte {
		return repack(t, slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return strings.HasPrefix(l, `{"table":"`+table+`"`) }))
	}
	var note struct{ Row map[string]any }
	if err := json.Unmarshal([]byte(lines[of("notes")]), &note); err != nil || len(note.Row) < 7 {
		t.Fatalf("%d columns: %v", len(note.Row), err)
	}
	columns := len(note.Row)
	whole := pack(t, lines)
	const other = `"mem_01ARZ3NDEKTSV4RRFFQ69G5FAV"`
	files := map[string][]byte{
		"this is not a file from kith account export":                                  []byte("SQLite format 3\x00"),
		"not a file from kith account export":                                          repack(t, replaceIn(t, lines, "", `"kith_account":1,`, "")),
		"by a newer kith (format 2":                                                    with("", `"kith_account":1`, `"kith_account":2`),
		"by a newer kith (schema 99":                                                   with("", `"schema":"\d+"`, `"schema":"99999999999999"`),
		"by an older kith (schema 2020":                                                with("", `"schema":"\d+"`, `"schema":"20200101000000"`),
		"the member's id is not a kith id":                                             with("", `"member":"[^"]*"`, `"member":"mem_' OR 1"`),
		"is cut off or damaged: cut":                                                   whole[:len(whole)-20],
		"is cut off or damaged: no end":                                                pack(t, lines[:len(lines)-1]),
		"is cut off or damaged: a row less":                                            pack(t, append(slices.Clone(lines[:len(lines)-2]), lines[len(lines)-1])),
		"is cut off or damaged: changed":                                               pack(t, replaceIn(t, lines, "notes", `"pinned":false`, `"pinned":true`)),
		"is cut off or damaged: more":                                                  pack(t, append(slices.Clone(lines), lines[1])),
		"is cut off or damaged: no object":                                             repack(t, replaceIn(t, lines, "notes", `\}\}$`, `}`)),
		"has rows of \"login_sessions\"":                                               with("notes", `"table":"notes"`, `"table":"login_sessions"`),
		"has rows of \"notes; DROP TABLE members\"":                                    with("notes", `"table":"notes"`, `"table":"notes; DROP TABLE members"`),
		"a row of notes has no pinned":                                                 with("notes", `"pinned"`, `"pinned) VALUES (1); --"`),
		fmt.Sprintf("a row of notes has %d columns instead of %d", columns+1, columns): with("notes", `"pinned"`, `"x":1,"pinned"`),
		"pinned of notes has a value of the wrong type":                                with("notes", `"pinned":false`, `"pinned":"x"`),
		"version of notes has a value of the wrong type":                               with("notes", `"version":1`, `"version":1.5`),
		"created_at of notes has a value of the wrong type":                            with("notes", `"created_at":"[^"]*"`, `"created_at":"today"`),
		"a row of notes belongs to another member":                                     with("notes", `"tenant_id":"[^"]*"`, `"tenant_id":`+other),
		"a row of members belongs to another member":                                   with("members", `"id":"[^"]*"`, `"id":`+other),
		"a row of profiles belongs to another member":                                  with("profiles", `"member_id":"[^"]*"`, `"member_id":`+other),
		"the username differs from the first line":                                     with("members", `"username":"maria"`, `"username":"mario"`),
		"the profile has another username":                                             with("profiles", `"username":"maria"`, `"username":"neighbour"`),
		"is no e-mail address":                                                         with("members", `"email":"[^"]*"`, `"email":"MARIA@people.example"`),
		"is no plan":                                                                   with("members", `"plan":"free"`, `"plan":"gold"`),
		"a security event is about another member":                                     with("security_events", `"subject":"[^"]*"`, `"subject":"`+account.Subject("member", "mem_x")+`"`),
		"a row of jobs is in the state \"queued\"":                                     with("jobs", `"state":"succeeded"`, `"state":"queued"`),
		"a row of decisions is in the state \"waiting\"":                               with("decisions", `"state":"refused"`, `"state":"waiting"`),
		"a photo is not of the type \"text/html\"":                                     with("photos", `"media":"[^"]*"`, `"media":"text/html"`),
		"a photo is not of the type \"image/jpeg\"":                                    with("photos", `"data":"[^"]*"`, `"data":"PHN2Zz4="`),
		"password_hash of members has a value that kith does not write: not a hash":    with("members", `"password_hash":"[^"]*"`, `"password_hash":"secret"`),
		"password_hash of members has a value that kith does not write: 4 GiB":         with("members", `"password_hash":"[^"]*"`, `"password_hash":"$$argon2id$$v=19$$m=4194304,t=3,p=1$$c2FsdHNhbHQ$$a2V5a2V5a2V5"`),
		"timezone of members has a value that kith does not write":                     with("members", `"timezone":"[^"]*"`, `"timezone":"Moon/Crater"`),
		"visibility of profiles has a value that kith does not write":                  with("profiles", `"visibility":"[^"]*"`, `"visibility":"everybody"`),
		"links of profiles has a value that kith does not write":                       with("profiles", `"links":("[^"]*"|null)`, `"links":"{"`),
		"body of notes has a value that kith does not write":                           with("notes", `"body":"`, `"body":"\u0000`),
		"version of notes has a value that kith does not write: none":                  with("notes", `"version":1`, `"version":0`),
		"version of notes has a value that kith does not write: the last":              with("notes", `"version":1`, `"version":9223372036854775807`),
		"source of connections has a value that kith does not write":                   with("connections", `"source":"[^"]*"`, `"source":"x"`),
		"met_on of connections has a value that kith does not write":                   with("connections", `"met_on":"[^"]*"`, `"met_on":"May"`),
		"effects of changes has a value that kith does not write: no JSON":             with("changes", `"effects":"`, `"effects":"{`),
		"effects of changes has a value that kith does not write: other JSON":          with("changes", `"effects":"(\\.|[^"\\])*"`, `"effects":"[{}]"`),
		"result of jobs has a value that kith does not write":                          with("jobs", `"result":"(\\.|[^"\\])*"`, `"result":"{"`),
		"arguments of decisions has a value that kith does not write":                  with("decisions", `"arguments":""`, `"arguments":"{}"`),
		"balance of credit_balances has a value that kith does not write":              with("credit_balances", `"balance":\d+`, `"balance":-1`),
		"are more than the month's":                                                    with("credit_balances", `"balance":\d+`, `"balance":900000000`),
		"and their entries add up to":                                                  with("credit_entries", `"delta":(-?)`, `"delta":${1}1`),
		"a row is newer than the account":                                              with("tenant_states", `"data_version":\d+`, `"data_version":0`),
		"a job is newer than the account":                                              with("tenant_states", `"jobs":\d+`, `"jobs":0`),
		"a vector of embeddings is damaged":                                            with("embeddings", `"dimensions":`, `"dimensions":1`),
		"the account is read-only":                                                     with("tenant_states", `"read_only":false`, `"read_only":true`),
		"it has no row of tenant_states":                                               without("tenant_states"),
		"it has no row of members":                                                     without("members"),
		"\"admin\" is reserved":                                                        with("", `"username":"maria"`, `"username":"admin"`),
	}
	swapped := slices.Clone(lines)
	swapped[of("notes")], swapped[of("tenant_states")] = swapped[of("tenant_states")], swapped[of("notes")]
	files["come too late"] = repack(t, swapped)
	return files
}

// A file that was cut, changed, or made by somebody else is refused with a sentence that says why, and
// nothing of it is written.
func TestTamperedFilesAreRefused(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		lines := linesIn(t, exported(t, newHome(t, url).s, "maria"))
		to := another(t, url)
		s := dbtest.Open(t, to, time.Now)
		dbtest.Member(t, s, "neighbour")
		before := dump(t, to)
		for says, file := range tampered(t, lines) {
			_, err := move.Import(t.Context(), s, bytes.NewReader(file))
			says, _, _ = strings.Cut(says, ": ")
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v", says, err)
			}
		}
		if diff := cmp.Diff(before, dump(t, to)); diff != "" {
			t.Errorf("something was written:\n%s", diff)
		}
	})
}

// An account is not imported over another one, nor are rows whose ids are taken.
func TestTakenAccountsAreRefused(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		home := newHome(t, url)
		file := exported(t, home.s, "maria")
		lines := linesIn(t, file)
		dbtest.Member(t, home.s, "mario")
		renamed := func(lines []string, username, email string) []string {
			lines = replaceIn(t, lines, "members", `"email":"[^"]*"`, `"email":"`+email+`"`)
			for _, table := range []string{"", "members", "profiles"} {
				if username == "maria" {
					break
				}
				lines = replaceIn(t, lines, table, `"username":"maria"`, `"username":"`+username+`"`)
			}
			return lines
		}
		var moved []string
		for _, l := range lines {
			moved = append(moved, strings.ReplaceAll(l, string(home.owner), "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV"))
		}
		moved = replaceIn(t, moved, "security_events", `"subject":"[^"]*"`, `"subject":"`+account.SubjectOf("mem_01ARZ3NDEKTSV4RRFFQ69G5FAV")+`"`)
		before := dump(t, url)
		for says, file := range map[string][]byte{
			"has the account already, as maria":            file,
			"another member with the username maria":       repack(t, renamed(moved, "maria", "new@people.example")),
			"mario of this installation has the e-mail":    repack(t, renamed(moved, "new", "mario@people.example")),
			"has an id that this installation has already": repack(t, renamed(moved, "new", "new@people.example")),
		} {
			if _, err := move.Import(t.Context(), home.s, bytes.NewReader(file)); !fault.Is(err, fault.AlreadyExists) || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v", says, err)
			}
		}
		if diff := cmp.Diff(before, dump(t, url)); diff != "" {
			t.Errorf("something was written:\n%s", diff)
		}
	})
}
