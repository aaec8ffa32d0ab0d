// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/dav -run TestBooks

package dav

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// bookServer is a CardDAV server that nobody here wrote.
type bookServer struct {
	t                        testing.TB
	base, username, password string
	home, book               string // paths
	process                  *os.Process
}

// startRadicale starts Radicale, with an account and an empty address book.
func startRadicale(t testing.TB) *bookServer {
	t.Helper()
	s := &bookServer{t: t, base: "http://" + harness.FreeAddress(t), username: "ada", password: harness.Secrets.Keep("app password", "radicale-pass-7391"), home: "/ada/", book: "/ada/people/"}
	root := t.TempDir()
	config, users := filepath.Join(root, "config"), filepath.Join(root, "users")
	write(t, users, s.username+":"+s.password+"\n")
	write(t, config, fmt.Sprintf("[server]\nhosts = %s\n[auth]\ntype = htpasswd\nhtpasswd_filename = %s\nhtpasswd_encryption = plain\n[storage]\nfilesystem_folder = %s\n",
		strings.TrimPrefix(s.base, "http://"), users, filepath.Join(root, "data")))
	s.start("radicale", "--config", config)
	s.send("MKCOL", s.book, `<mkcol xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><set><prop><resourcetype><collection/><c:addressbook/></resourcetype><displayname>People</displayname></prop></set></mkcol>`)
	return s
}

// startXandikos starts Xandikos, which asks for no password, with an empty address book.
func startXandikos(t testing.TB) *bookServer {
	t.Helper()
	address := harness.FreeAddress(t)
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	s := &bookServer{t: t, base: "http://" + address, username: "ada", password: "none", home: "/", book: "/user/contacts/addressbook/"}
	s.start("xandikos", "--defaults", "-d", filepath.Join(t.TempDir(), "data"), "-l", host, "-p", port)
	return s
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// start runs the server until the test ends.
func (s *bookServer) start(program string, args ...string) {
	s.t.Helper()
	c := exec.CommandContext(s.t.Context(), program, args...)
	c.Env = harness.BareEnvironment()
	var said harness.Output
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.process = c.Process
	s.t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
		if s.t.Failed() {
			s.t.Logf("%s said:\n%s", program, said.String())
		}
	})
	harness.Eventually(s.t, program+" answers", func() bool {
		res, err := harness.Client.Get(s.base)
		if err == nil {
			_ = res.Body.Close()
		}
		return err == nil
	})
}

// send makes a request that must succeed, and returns the body of the answer.
func (s *bookServer) send(method, path, body string) string {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.SetBasicAuth(s.username, s.password)
	r.Header.Set("Content-Type", map[string]string{http.MethodPut: "text/vcard; charset=utf-8", "REPORT": "application/xml"}[method])
	res, err := harness.Client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	got := harness.ReadResponse(s.t, res)
	if got.Status >= 300 {
		s.t.Fatalf("%s %s: %d %s", method, path, got.Status, got.Body)
	}
	return got.Body
}

// put stores the card of a person.
func (s *bookServer) put(uid, name string, lines ...string) {
	s.t.Helper()
	card := append([]string{"BEGIN:VCARD", "VERSION:3.0", "UID:" + uid, "FN:" + name, "N:;" + name + ";;;"}, append(lines, "END:VCARD", "")...)
	s.send(http.MethodPut, s.book+uid+".vcf", strings.Join(card, "\r\n"))
}

// TestBooks: Kith reads the address books of servers that nobody here wrote, and takes what changes there, without doubling or losing anything.
func TestBooks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		start func(t testing.TB) *bookServer
		way   harness.Topology
	}{{"radicale", startRadicale, harness.Split}, {"radicale", startRadicale, harness.SQLite}, {"xandikos", startXandikos, harness.SQLite}} {
		t.Run(c.name+"/"+c.way.Name, func(t *testing.T) {
			t.Parallel()
			books, s := c.start(t), harness.NewService(t, c.way)
			if c.way != harness.SQLite {
				s.CreateSecretKey(t)
			}
			s.StartWith(map[string]string{"KITH_SANDBOX": "false", "KITH_PRIVATE_SOURCES": "true"})
			readBooks(t, s, books)
		})
	}
}

func readBooks(t *testing.T, s *harness.Service, books *bookServer) {
	t.Helper()
	books.put("11111111-0000-4000-8000-000000000001", "Grace Hopper", "EMAIL;TYPE=WORK:grace@navy.example", "X-OWN;X-P=1:as it is")
	books.put("11111111-0000-4000-8000-000000000002", "Alan Turing", "TEL;TYPE=CELL:+44 20 7946 0018", "BDAY:1912-06-23")
	person, v := s.NewPerson(t), s.NewSession(t)
	agent := s.Agent(harness.PathCurrent, (&harness.Member{Service: s, Username: person["MEMBER_USERNAME"]}).Token(t).Bearer)
	agent.Create(t, harness.Arguments{"name": "Grace B. Hopper", "emails": []string{"grace@navy.example"}, "location": "Arlington"})
	v.SignIn(t, person)
	token := harness.Form(v.Send(t, "/settings/sources", nil)).Get("form_token")
	post := func(path string, form url.Values) harness.Response {
		t.Helper()
		form.Set("form_token", token)
		return v.Send(t, path, form)
	}
	added := post("/settings/sources?kind=book", url.Values{"server": {books.base + books.home}, "account": {books.username}, "app_password": {books.password}})
	page := added.Header.Get("Location")
	if added.Status != http.StatusSeeOther {
		t.Fatalf("the address book was not added: %d %s", added.Status, added.Body)
	}
	shows := func(what string, texts ...string) {
		t.Helper()
		last := ""
		defer func() {
			if t.Failed() {
				_, main, _ := strings.Cut(last, "<main")
				t.Log(main)
			}
		}()
		harness.Eventually(t, what, func() bool {
			last = v.Send(t, page, nil).Body
			if strings.Contains(last, "It waits to be read.") {
				return false
			}
			for _, text := range texts {
				if !strings.Contains(last, text) {
					return false
				}
			}
			return true
		})
	}
	shows("the preview", "What would be added", "Cards in the address book: 2", "New people: 1", "on file already: 1")
	if found := agent.Find(t, "Alan Turing"); len(found) != 0 {
		t.Fatalf("a preview added %v", found)
	}
	post(page, url.Values{"act": {"start"}})
	shows("the first run", "Last read", "New people: 1", "on file already: 1")
	if found := agent.Find(t, "+44 20 7946 0018"); len(found) != 1 {
		t.Errorf("with the number of Alan Turing there are %v", found)
	}
	if found := agent.Find(t, "grace@navy.example"); len(found) != 1 {
		t.Errorf("with the address of Grace Hopper there are %v", found)
	}

	// Somebody changes, somebody is new, somebody goes.
	books.put("11111111-0000-4000-8000-000000000001", "Grace Hopper", "EMAIL;TYPE=WORK:grace@navy.example", "EMAIL;TYPE=HOME:grace@home.example", "X-OWN;X-P=1:as it is")
	books.put("11111111-0000-4000-8000-000000000003", "Edsger Dijkstra", "EMAIL:ewd@eindhoven.example")
	books.send(http.MethodDelete, books.book+"11111111-0000-4000-8000-000000000002.vcf", "")
	post(page, url.Values{"act": {"read"}})
	shows("the second run", "Cards in the address book: 2", "New people: 1", "People who were changed: 1", "No longer there, but kept here: 1")
	for _, query := range []string{"grace@home.example", "ewd@eindhoven.example", "Alan Turing"} {
		if found := agent.Find(t, query); len(found) != 1 {
			t.Errorf("for %s there are %v", query, found)
		}
	}
	post(page, url.Values{"act": {"read"}})
	shows("a run with nothing new", "New people: 0", "on file already: 0")
	if text := harness.Encode(t, agent.Call(t, "list_changes", harness.Arguments{})); strings.Count(text, "Edsger Dijkstra") != 1 {
		t.Errorf("the changes are %s", text)
	}

	// What it changed can be taken back, and what was here before stays.
	post(page, url.Values{"act": {"remove-all"}})
	harness.Eventually(t, "what it changed is undone", func() bool { return len(agent.Find(t, "Edsger Dijkstra")) == 0 })
	if found := agent.Find(t, "Grace B. Hopper"); len(found) != 1 {
		t.Errorf("Grace, who was here before, is %v", found)
	}
}
