// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/dav -run 'TestVdirsyncer|TestReadOnlyDevice'

package dav

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// folder is a folder of cards that vdirsyncer keeps equal with Kith.
type folder struct{ path, config string }

// newFolder makes a folder, and the configuration that synchronises it with the people of a member.
func newFolder(t *testing.T, m *harness.Member, password string) folder {
	t.Helper()
	root := t.TempDir()
	f := folder{filepath.Join(root, "cards", "people"), filepath.Join(root, "config")}
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`[general]
status_path = "%[1]s/status"
[pair both]
a = "local"
b = "kith"
collections = ["people"]
[storage local]
type = "filesystem"
path = "%[1]s/cards"
fileext = ".vcf"
[storage kith]
type = "carddav"
url = "%[2]s/"
username = "%[3]s"
password = "%[4]s"
`, root, m.Service.Base, m.Username, password)
	if err := os.WriteFile(f.config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	f.run(t, "discover")
	return f
}

// run runs vdirsyncer and returns what it says.
func (f folder) run(t *testing.T, command string) string {
	t.Helper()
	return runPython(t, "", "vdirsyncer", "--config", f.config, command)
}

// runPython runs a program that is written in Python, and returns what it says.
func runPython(t *testing.T, input, program string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, args...)
	c.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "LANG=C.UTF-8")
	c.Stdin = strings.NewReader(input)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, args, err, out)
	}
	return string(out)
}

// cards returns the files of the folder by the names of the people in them.
func (f folder) cards(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(f.path + "/*.vcf")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "FN:"); ok {
				out[name] = file
			}
		}
	}
	if len(out) != len(files) {
		t.Fatalf("%d files have %d names", len(files), len(out))
	}
	return out
}

// edit replaces a text in the card of a person.
func (f folder) edit(t *testing.T, name, before, after string) {
	t.Helper()
	file := f.cards(t)[name]
	text, err := os.ReadFile(file)
	if err == nil && !strings.Contains(string(text), before) {
		t.Fatalf("the card of %s has no %q: %s", name, before, text)
	}
	if err == nil {
		err = os.WriteFile(file, []byte(strings.ReplaceAll(string(text), before, after)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func newDevice(t testing.TB, m *harness.Member, flags ...string) (password string) {
	t.Helper()
	args := append([]string{"device", "create", m.Username, "--name", "laptop"}, flags...)
	lines := strings.Split(strings.TrimSpace(m.Service.Operate(t, "", args...)), "\n")
	return harness.Secrets.Keep("app password", lines[len(lines)-1])
}

// TestVdirsyncer: a program that nobody here wrote keeps a folder and Kith equal, in both directions.
func TestVdirsyncer(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		ada := s.NewMember(t)
		agent := ada.Agent(t)
		grace := agent.Create(t, harness.Arguments{"name": "Grace Hopper", "emails": []string{"grace@navy.example"}, "tags": []string{"cobol"}})
		agent.Create(t, harness.Arguments{"name": "Alan Turing", "phones": []string{"+44 20 7946 0018"}})
		f := newFolder(t, ada, newDevice(t, ada))
		card := "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:5d2c7f0e-0000-4000-8000-000000000001\r\nFN:Edsger Dijkstra\r\nN:Dijkstra;Edsger;;;\r\nEMAIL:ewd@eindhoven.example\r\nX-OWN;X-P=1:as it is\r\n" +
			"PHOTO;ENCODING=b;TYPE=PNG:iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==\r\nEND:VCARD\r\n"
		if err := os.WriteFile(f.path+"/edsger.vcf", []byte(card), 0o600); err != nil {
			t.Fatal(err)
		}
		f.run(t, "sync")
		f.run(t, "sync") // reads again what Kith stored in another form
		if found := f.cards(t); len(found) != 3 || len(agent.Find(t, "Edsger Dijkstra")) != 1 {
			t.Fatalf("after the first synchronisation there are %v", found)
		}

		if photo, err := os.ReadFile(f.cards(t)["Edsger Dijkstra"]); err != nil || !strings.Contains(string(photo), "PHOTO;ENCODING=b;TYPE=PNG:") || strings.Contains(string(photo), "AAAAfFcSJ") {
			t.Errorf("the photo did not come back as Kith stored it: %s, %v", photo, err)
		}

		// Both sides change.
		f.edit(t, "Edsger Dijkstra", "ewd@eindhoven.example", "ewd@austin.example")
		agent.Call(t, "update_connection", harness.Arguments{"id": grace, "add_phones": []string{"+1 202 555 0143"}})
		if err := os.Remove(f.cards(t)["Alan Turing"]); err != nil {
			t.Fatal(err)
		}
		f.run(t, "sync")
		f.run(t, "sync")
		if found := agent.Find(t, "ewd@austin.example"); len(found) != 1 {
			t.Errorf("Kith has %v with the new address", found)
		}
		if found := agent.Find(t, "Alan Turing"); len(found) != 0 {
			t.Errorf("%v was deleted on the device", found)
		}
		for name, text := range map[string]string{"Grace Hopper": "0143", "Edsger Dijkstra": "X-OWN;X-P=1:as it is"} {
			if card, err := os.ReadFile(f.cards(t)[name]); err != nil || !strings.Contains(string(card), text) {
				t.Errorf("the card of %s has no %q: %s, %v", name, text, card, err)
			}
		}

		// Nothing more moves.
		f.wantStill(t)
		changes := agent.Call(t, "list_changes", harness.Arguments{})
		if text := harness.Encode(t, changes); !strings.Contains(text, "laptop") || !strings.Contains(text, "Deleted Alan Turing") {
			t.Errorf("the changes are %s", text)
		}
	})
}

// TestReadOnlyDevice: such a device gets everybody and changes nothing.
func TestReadOnlyDevice(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		ada := s.NewMember(t)
		ada.Agent(t).Create(t, harness.Arguments{"name": "Grace Hopper"})
		password := newDevice(t, ada, "--read-only")
		f := newFolder(t, ada, password)
		f.run(t, "sync")
		if len(f.cards(t)) != 1 {
			t.Errorf("the folder has %v", f.cards(t))
		}
		path := "/dav/" + ada.Username + "/books/people/x.vcf"
		request := func(method, path string, headers ...string) harness.Response {
			return s.Send(t, method, path, "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:X\r\nEND:VCARD\r\n", headers...)
		}
		basic := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(ada.Username+":"+password))
		if got := request(http.MethodPut, path, basic); got.Status != http.StatusForbidden || !strings.Contains(got.Body, "need-privileges") {
			t.Errorf("PUT: %d %s", got.Status, got.Body)
		}
		if got := request(http.MethodPut, path); got.Status != http.StatusUnauthorized || got.Header.Get("WWW-Authenticate") == "" || got.Header.Get("RateLimit") == "" {
			t.Errorf("PUT without a password: %d %v", got.Status, got.Header)
		}
		for _, path := range []string{"/dav/../settings", "/dav/%2e%2e/settings", "/dav//x", "/dav/a%2fb", "/davx/"} {
			if got := request("PROPFIND", path, basic); got.Status != http.StatusNotFound && got.Status != http.StatusNotImplemented {
				t.Errorf("PROPFIND %s: %d", path, got.Status)
			}
		}
		if got := request("PROPFIND", "/.well-known/carddav"); got.Status != http.StatusMovedPermanently || got.Header.Get("Location") != s.Base+"/dav/" {
			t.Errorf("the well-known address: %d %s", got.Status, got.Header.Get("Location"))
		}
		// The password opens nothing else.
		if got := ada.Service.Agent(harness.PathCurrent, password).Post(t, harness.ToolCall(t, "get_account", harness.Arguments{})); got.Status != http.StatusUnauthorized {
			t.Errorf("as a bearer token: %d", got.Status)
		}
	})
}
