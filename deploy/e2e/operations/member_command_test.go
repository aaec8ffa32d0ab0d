// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/operations -run 'TestMemberCommands|TestRevokeTwice|TestTokenIsTheLastLine|TestDatabaseFileIsPrivate|TestMemberSet|TestMemberLimit|TestMemberFind|TestMemberExport'

package operations

import (
	"archive/zip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestMemberCommands: each mistake of an operator is reported in one sentence and changes
// nothing.
func TestMemberCommands(t *testing.T) {
	tests := map[string]struct {
		input string
		args  []string
		words []string
	}{
		"a username that is taken":      {goodPassword, []string{"member", "create", "ada", "--email", "other@member.example", "--password-stdin"}, []string{"exists"}},
		"an e-mail that is taken":       {goodPassword, []string{"member", "create", "other", "--email", "Ada@Member.example", "--password-stdin"}, []string{"exists"}},
		"a weak password":               {"123456789", []string{"member", "create", "other", "--email", "other@member.example", "--password-stdin"}, []string{"password", "10"}},
		"no password":                   {"", []string{"member", "create", "other", "--email", "other@member.example", "--password-stdin"}, []string{"password"}},
		"a password of 300 characters":  {strings.Repeat("x", 300), []string{"member", "create", "other", "--email", "other@member.example", "--password-stdin"}, []string{"password", "256"}},
		"a password on the line":        {"", []string{"member", "create", "other", "--email", "other@member.example", "--password", "hunter2-hunter2"}, []string{"--password"}},
		"without --password-stdin":      {goodPassword, []string{"member", "create", "other", "--email", "other@member.example"}, []string{"--password-stdin"}},
		"no e-mail":                     {goodPassword, []string{"member", "create", "other", "--password-stdin"}, []string{"--email"}},
		"an e-mail that is none":        {goodPassword, []string{"member", "create", "other", "--email", "Other <o@member.example>", "--password-stdin"}, []string{"e-mail"}},
		"a short username":              {goodPassword, []string{"member", "create", "ab", "--email", "other@member.example", "--password-stdin"}, []string{"username", "3"}},
		"a username in capitals":        {goodPassword, []string{"member", "create", "Other", "--email", "other@member.example", "--password-stdin"}, []string{"username", "lower-case"}},
		"a username with a dot":         {goodPassword, []string{"member", "create", "o.ther", "--email", "other@member.example", "--password-stdin"}, []string{"username"}},
		"a reserved username":           {goodPassword, []string{"member", "create", "admin", "--email", "other@member.example", "--password-stdin"}, []string{"reserved"}},
		"the demo account's username":   {goodPassword, []string{"member", "create", "demo", "--email", "other@member.example", "--password-stdin"}, []string{"reserved"}},
		"an unknown plan":               {goodPassword, []string{"member", "create", "other", "--email", "other@member.example", "--password-stdin", "--plan", "gold"}, []string{"plan", "gold"}},
		"an unknown plan for a member":  {"", []string{"member", "set-plan", "ada", "gold"}, []string{"plan", "gold"}},
		"a plan, unknown member":        {"", []string{"member", "set-plan", "nobody", "pro"}, []string{"nobody"}},
		"settings, but none":            {"", []string{"member", "set", "ada"}, []string{"--timezone", "--locale"}},
		"an unknown time zone":          {"", []string{"member", "set", "ada", "--timezone", "Berlin"}, []string{"Berlin", "Europe/Berlin"}},
		"the machine's own time zone":   {"", []string{"member", "set", "ada", "--timezone", "Local"}, []string{"Local"}},
		"an unknown locale":             {"", []string{"member", "set", "ada", "--timezone", "Asia/Tokyo", "--locale", "German"}, []string{"German", "de-DE"}},
		"settings, unknown member":      {"", []string{"member", "set", "nobody", "--timezone", "Asia/Tokyo"}, []string{"nobody"}},
		"a token, unknown member":       {"", []string{"token", "create", "nobody", "--name", "x"}, []string{"nobody"}},
		"a token without a name":        {"", []string{"token", "create", "ada"}, []string{"--name"}},
		"a token with an empty name":    {"", []string{"token", "create", "ada", "--name", ""}, []string{"name"}},
		"a token with a long name":      {"", []string{"token", "create", "ada", "--name", strings.Repeat("x", 101)}, []string{"name", "100"}},
		"an unknown scope":              {"", []string{"token", "create", "ada", "--name", "x", "--scope", "everything"}, []string{"everything", "connections"}},
		"an unknown scope beside one":   {"", []string{"token", "create", "ada", "--name", "x", "--scope", "account", "--scope", "Write"}, []string{"Write"}},
		"an empty scope":                {"", []string{"token", "create", "ada", "--name", "x", "--scope", ""}, []string{"scope"}},
		"an invalid expiry":             {"", []string{"token", "create", "ada", "--name", "x", "--expires", "tomorrow"}, []string{"tomorrow"}},
		"an expiry in the past":         {"", []string{"token", "create", "ada", "--name", "x", "--expires=-1h"}, []string{"expires"}},
		"an unknown tool":               {"", []string{"token", "create", "ada", "--name", "x", "--tool", "search_conections"}, []string{"search_conections", "search_connections"}},
		"a tool outside the scopes":     {"", []string{"token", "create", "ada", "--name", "x", "--tool", "add_note", "--scope", "timeline"}, []string{"add_note", "write"}},
		"a tool twice":                  {"", []string{"token", "create", "ada", "--name", "x", "--tool", "add_note", "--tool", "add_note"}, []string{"add_note", "twice"}},
		"a day in the past":             {"", []string{"token", "create", "ada", "--name", "x", "--expires", "2020-01-31"}, []string{"2020-01-31"}},
		"no days":                       {"", []string{"token", "create", "ada", "--name", "x", "--expires", "0d"}, []string{"expires"}},
		"an expiry of 0s":               {"", []string{"token", "create", "ada", "--name", "x", "--expires=0s"}, []string{"expires"}},
		"revoke an unknown token":       {"", []string{"token", "revoke", "ada", "pat_01J00000000000000000000000"}, []string{"token"}},
		"revoke somebody else's token":  {"", []string{"token", "revoke", "bob", "ADAS-TOKEN"}, []string{"token"}},
		"suspend an unknown member":     {"", []string{"member", "suspend", "nobody"}, []string{"nobody"}},
		"resume an active member":       {"", []string{"member", "resume", "ada"}, []string{"ada", "already"}},
		"revoke an unknown client":      {"", []string{"client", "revoke", "cli_nobody"}, []string{"cli_nobody"}},
		"list, unknown member":          {"", []string{"token", "list", "nobody"}, []string{"nobody"}},
		"limits, but none":              {"", []string{"member", "limit", "ada"}, []string{"--credits", "--storage"}},
		"credits that are no number":    {"", []string{"member", "limit", "ada", "--credits", "many"}, []string{"many", "plan"}},
		"credits below zero":            {"", []string{"member", "limit", "ada", "--credits=-1"}, []string{"credits"}},
		"storage that is no number":     {"", []string{"member", "limit", "ada", "--storage", "1GB"}, []string{"1GB", "MiB"}},
		"storage below zero":            {"", []string{"member", "limit", "ada", "--storage=-1"}, []string{"storage"}},
		"limits, unknown member":        {"", []string{"member", "limit", "nobody", "--credits", "1"}, []string{"nobody"}},
		"find something else":           {"", []string{"member", "find", "ada"}, []string{"ada", "pat_"}},
		"find an unknown token":         {"", []string{"member", "find", "pat_01J00000000000000000000000"}, []string{"pat_01J"}},
		"find a request without a log":  {"", []string{"member", "find", "req_x"}, []string{"req_x", "standard input"}},
		"export, unknown member":        {"", []string{"member", "export", "nobody"}, []string{"nobody"}},
		"a flag that does not exist":    {"", []string{"member", "list", "--all"}, []string{"--all"}},
		"an argument too many":          {"", []string{"member", "list", "ada"}, []string{"ada"}},
		"a command that does not exist": {"", []string{"member", "delete", "ada"}, []string{"delete"}},
	}
	harness.EachDatabase(t, func(t *testing.T, databaseURL string) {
		env := harness.Environment(map[string]string{"KITH_DATABASE_URL": databaseURL})
		must := func(input string, args ...string) string {
			t.Helper()
			done := harness.RunKith(t, env, input, args...)
			if done.Code != 0 {
				t.Fatalf("kith %v: %s", args, done.Stderr)
			}
			return done.Stdout
		}
		must("", "migrate")
		must(goodPassword, "member", "create", "ada", "--email", "ada@member.example", "--password-stdin")
		must(goodPassword+"\r\n", "member", "create", "bob", "--email", "bob@member.example", "--password-stdin", "--plan", "pro")
		lines := strings.Split(strings.TrimSpace(must("", "token", "create", "ada", "--name", "laptop")), "\n")
		harness.Secrets.Keep("personal token", lines[len(lines)-1])
		tokens := must("", "token", "list", "ada")
		id := strings.Fields(strings.Split(tokens, "\n")[1])[0]
		members := must("", "member", "list")
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				args := append([]string(nil), test.args...)
				for i := range args {
					args[i] = strings.ReplaceAll(args[i], "ADAS-TOKEN", id)
				}
				harness.CheckOneSentence(t, harness.RunKith(t, env, test.input, args...), test.words...)
			})
		}
		if now := must("", "member", "list"); now != members {
			t.Errorf("the members were\n%s and are\n%s", members, now)
		}
		if now := must("", "token", "list", "ada"); now != tokens {
			t.Errorf("ada's tokens were\n%s and are\n%s", tokens, now)
		}
	})
}

// TestRevokeTwice: revoking a token a second time is an error.
func TestRevokeTwice(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		ada := s.NewMember(t)
		token := ada.Token(t)
		ada.Revoke(t, token)
		harness.CheckOneSentence(t, harness.RunKith(t, harness.Environment(s.Database()), "", "token", "revoke", ada.Username, ada.TokenID(t, token)), "token")
	})
}

// TestTokenIsTheLastLine: the last line has only the token, since scripts read it there.
func TestTokenIsTheLastLine(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		ada := s.NewMember(t)
		out := s.Operate(t, "", "token", "create", ada.Username, "--name", "script")
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		bearer := harness.Secrets.Keep("personal token", lines[len(lines)-1])
		if !strings.HasPrefix(bearer, "kith_pat_") || len(bearer) < 50 || strings.ContainsAny(bearer, " \t\r") {
			t.Errorf("the last line is %q", bearer)
		}
		if list := s.Operate(t, "", "token", "list", ada.Username); strings.Contains(list, bearer[len("kith_pat_"):]) {
			t.Error("the list shows the token")
		}
		s.Agent(harness.PathCurrent, bearer).Call(t, "get_account", harness.Arguments{})
	})
}

// TestDatabaseFileIsPrivate: only the service's user can read the database file, even in a
// folder that others can read.
func TestDatabaseFileIsPrivate(t *testing.T) {
	t.Parallel()
	s := harness.NewService(t, harness.SQLite)
	s.DatabaseURL = harness.NewDatabase(t, harness.SQLite)
	folder := filepath.Dir(s.DatabaseURL)
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	s.Start()
	s.NewMember(t).Agent(t).Create(t, harness.Arguments{"name": "Private Person"})
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", filepath.Base(path), info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestMemberSet: the operator sets a member's time zone while the server runs; the next
// call counts days there, and the member sees who did it and can undo it.
func TestMemberSet(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		ada := s.NewMember(t)
		a := ada.Agent(t)
		setting := func() string {
			account := a.Call(t, "get_account", harness.Arguments{})
			return harness.At[string](t, account, "member", "timezone") + " " + harness.At[string](t, account, "member", "locale")
		}
		if out := s.Operate(t, "", "member", "set", ada.Username, "--timezone", "asia/tokyo"); !strings.Contains(out, "Asia/Tokyo") || !strings.Contains(out, " en.") {
			t.Errorf("printed %q", out)
		}
		if now := setting(); now != "Asia/Tokyo en" {
			t.Errorf("now %s", now)
		}
		s.Operate(t, "", "member", "set", ada.Username, "--locale", "de_de")
		if now := setting(); now != "Asia/Tokyo de-DE" {
			t.Errorf("now %s", now)
		}
		latest := harness.At[[]any](t, a.Call(t, "list_changes", harness.Arguments{}), "changes")[0]
		if actor, tool := harness.At[string](t, latest, "actor"), harness.At[string](t, latest, "tool"); actor != "the operator" || tool != "kith member set" {
			t.Errorf("made by %s with %s", actor, tool)
		}
		a.Call(t, "undo_change", harness.Arguments{"change_id": harness.At[string](t, latest, "id")})
		if now := setting(); now != "Asia/Tokyo en" {
			t.Errorf("undone: %s", now)
		}
	})
}

// TestMemberLimit: one member has other limits than all, from the next call on, until the operator takes them back.
func TestMemberLimit(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		ada := s.NewMember(t)
		a := ada.Agent(t)
		allowance := func() int {
			return int(harness.At[float64](t, a.Call(t, "get_account", harness.Arguments{}), "credits", "allowance"))
		}
		usual := allowance()
		s.Operate(t, "", "member", "limit", ada.Username, "--credits", "7")
		if got := allowance(); got != 7 || usual == 7 {
			t.Errorf("%d credits, %d before", got, usual)
		}
		s.Operate(t, "", "member", "set-plan", ada.Username, "pro")
		if got := allowance(); got != 7 {
			t.Errorf("%d credits after a change of the plan", got)
		}
		s.Operate(t, "", "member", "limit", ada.Username, "--credits", "plan")
		s.Operate(t, "", "member", "set-plan", ada.Username, "free")
		if got := allowance(); got != usual {
			t.Errorf("%d credits at the end, want %d", got, usual)
		}
		a.Create(t, harness.Arguments{"name": "Recorded Change"})
		harness.ExecDatabase(t, s.DatabaseURL, "UPDATE tenant_states SET kept_bytes = 2000000 WHERE tenant_id = (SELECT id FROM members WHERE username = '"+ada.Username+"')")
		s.Operate(t, "", "member", "limit", ada.Username, "--storage", "1")
		if said := a.Try(t, "create_connection", harness.Arguments{"name": "Too Much"}).Text(); !strings.Contains(said, "the account is full") || !strings.Contains(said, "of 1.0 MB") {
			t.Errorf("with less storage: %s", said)
		}
		s.Operate(t, "", "member", "limit", ada.Username, "--storage", "default")
		a.Create(t, harness.Arguments{"name": "Enough Room"})
		if events := s.Operate(t, "", "audit", ada.Username); strings.Count(events, "limits of the account") != 4 {
			t.Errorf("the events are:\n%s", events)
		}
	})
}

// TestMemberFind: the operator finds the member of a token, a request in the log, and an address; and the log of the
// service has the security events of commands.
func TestMemberFind(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		ada := s.NewMember(t)
		token := ada.Token(t)
		tokenID := ada.TokenID(t, token)
		called := s.Agent(harness.PathCurrent, token.Bearer).Post(t, harness.ToolCall(t, "get_account", harness.Arguments{}))
		request := called.Header.Get("X-Request-Id")
		var log string
		harness.Eventually(t, "the request is in the log", func() bool {
			log = s.Edge.Stderr.String()
			return strings.Contains(log, request)
		})
		for sought, input := range map[string]string{tokenID: "", request: log, ada.Username + "@member.example": ""} {
			if got := s.Operate(t, input, "member", "find", sought); got != ada.Username+"\n" {
				t.Errorf("%s is of %q", sought, got)
			}
		}
		ada.Revoke(t, token)
		harness.Eventually(t, "the service's log has the events of commands", func() bool {
			return regexp.MustCompile(`security event.*access_revoked.*` + tokenID).MatchString(s.Backend.Stderr.String())
		})
	})
}

// TestMemberExport: the operator writes a member's data to a ZIP without credentials, while the service runs.
func TestMemberExport(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		ada := s.NewMember(t)
		ada.Agent(t).Create(t, harness.Arguments{"name": "Exported Person"})
		file := filepath.Join(t.TempDir(), "ada.zip")
		if said := s.Operate(t, "", "member", "export", ada.Username, file); !strings.Contains(said, file) {
			t.Errorf("it says %q", said)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file: %v, %v", info, err)
		}
		archive, err := zip.OpenReader(file)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = archive.Close() }()
		found := false
		for _, f := range archive.File {
			content, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(content)
			if err != nil {
				t.Fatal(err)
			}
			found = found || f.Name == "contacts.vcf" && strings.Contains(string(text), "Exported Person")
			if strings.Contains(string(text), "argon2") || strings.Contains(string(text), "kith_pat_") {
				t.Errorf("%s has a credential", f.Name)
			}
		}
		if !found {
			t.Error("the person is not in contacts.vcf")
		}
		harness.CheckOneSentence(t, harness.RunKith(t, harness.Environment(s.Database()), "", "member", "export", ada.Username, file), "already exists")
		if events := s.Operate(t, "", "audit", ada.Username); !strings.Contains(events, "xported") {
			t.Errorf("the events are:\n%s", events)
		}
	})
}
