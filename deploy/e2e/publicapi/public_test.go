// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/publicapi -run 'TestUnknownMembers|TestSandboxMirrorsPublicReads|TestProfile|TestDirectory|TestPathsAreNoUsernames'

package publicapi

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestUnknownMembers: a member who does not exist and a private one get the same answer.
func TestUnknownMembers(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		private := s.NewMember(t).Username
		unlike := regexp.MustCompile(`"instance":"[^"]*"`)
		for _, suffix := range []string{"", ".json", ".md"} {
			hidden := s.Send(t, http.MethodGet, "/api/human/"+private+suffix, "")
			unknown := s.Send(t, http.MethodGet, "/api/human/nobody-at-all"+suffix, "")
			if hidden.Status != http.StatusNotFound || unknown.Status != http.StatusNotFound {
				t.Errorf("got %d and %d", hidden.Status, unknown.Status)
			}
			if a, b := unlike.ReplaceAllString(hidden.Body, ""), unlike.ReplaceAllString(unknown.Body, ""); a != b {
				t.Errorf("they can be told apart:\n%s\n%s", a, b)
			}
			checkProblem(t, hidden)
		}
		if got := s.Send(t, http.MethodGet, "/api/network/members?per_page=100&q="+private, ""); strings.Contains(got.Body, private) {
			t.Error("a private member is in the directory")
		}
	})
}

// readResponse has the parts of a response that matter to a reader.
type readResponse struct {
	Status                  int
	ETag, ContentType, Body string
}

func read(got harness.Response) readResponse {
	return readResponse{got.Status, got.Header.Get("ETag"), got.Header.Get("Content-Type"), got.Body}
}

// TestSandboxMirrorsPublicReads: the same answer under /sandbox, byte for byte.
func TestSandboxMirrorsPublicReads(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		for _, path := range []string{
			"/api/human/" + harness.Demo, "/api/human/" + harness.Demo + ".json", "/api/human/" + harness.Demo + ".md",
			"/api/network/members", "/api/network/members?q=climate&per_page=2",
		} {
			plain, mirrored := read(s.Send(t, http.MethodGet, path, "")), read(s.Send(t, http.MethodGet, "/sandbox"+path, ""))
			if plain.Status != http.StatusOK {
				t.Errorf("%s: got %+v", path, plain)
			}
			harness.CheckSame(t, "/sandbox"+path, mirrored, plain)
		}
	})
}

// TestProfile: three addresses, two representations, and the headers that HTTP caches need.
func TestProfile(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		plain := s.Send(t, http.MethodGet, "/api/human/"+harness.Demo, "")
		var profile struct{ Object, Username, Name, URL string }
		if err := json.Unmarshal([]byte(plain.Body), &profile); err != nil {
			t.Fatal(err)
		}
		want := profile
		want.Object, want.Username, want.URL = "human", harness.Demo, s.Base+"/api/human/"+harness.Demo
		harness.CheckSame(t, "the profile", profile, want)
		if profile.Name == "" {
			t.Error("the profile has no name")
		}
		if explicit := s.Send(t, http.MethodGet, "/api/human/"+harness.Demo+".json", ""); explicit.Body != plain.Body {
			t.Error("the explicit extension changes the answer")
		}
		markdown := s.Send(t, http.MethodGet, "/api/human/"+harness.Demo+".md", "")
		if !strings.HasPrefix(markdown.Header.Get("Content-Type"), "text/markdown") || !strings.Contains(markdown.Body, "\n# "+profile.Name+"\n") {
			t.Errorf("got %q %s", markdown.Header.Get("Content-Type"), markdown.Body)
		}
		for _, path := range []string{"/api/human/" + harness.Demo, "/api/human/" + harness.Demo + ".md", "/api/network/members"} {
			checkCaching(t, s, path)
		}
		if plain.Header.Get("ETag") == markdown.Header.Get("ETag") {
			t.Error("two representations have one ETag")
		}
		for path, accept := range map[string]string{"/api/human/" + harness.Demo: "application/json;q=0", "/api/human/" + harness.Demo + ".md": "text/markdown;q=0, */*", "/api/network/members": "*/*;q=0"} {
			if got := s.Send(t, http.MethodGet, path, "", "Accept: "+accept); got.Status != http.StatusNotAcceptable {
				t.Errorf("%s with %s: got %d, want 406", path, accept, got.Status)
			}
		}
	})
}

func checkCaching(t *testing.T, s *harness.Service, path string) {
	t.Helper()
	const plain = "Accept-Encoding: identity"
	full := s.Send(t, http.MethodGet, path, "", plain)
	tag := full.Header.Get("ETag")
	if !strings.HasPrefix(tag, `"`) || full.Header.Get("Cache-Control") != "public, max-age=60" || !strings.Contains(full.Header.Get("Vary"), "Accept-Encoding") {
		t.Errorf("%s: %v", path, full.Header)
	}
	for value, want := range map[string]int{
		tag: http.StatusNotModified, "W/" + tag: http.StatusNotModified, `"x", ` + tag: http.StatusNotModified, "*": http.StatusNotModified, `"x"`: http.StatusOK,
	} {
		got := s.Send(t, http.MethodGet, path, "", plain, "If-None-Match: "+value)
		if got.Status != want || want == http.StatusNotModified && (got.Body != "" || got.Header.Get("ETag") != tag) {
			t.Errorf("%s with If-None-Match: %s: got %d %q, want %d", path, value, got.Status, got.Body, want)
		}
	}
	head := s.Send(t, http.MethodHead, path, "", plain)
	harness.CheckSame(t, "HEAD "+path, read(head), readResponse{http.StatusOK, tag, full.Header.Get("Content-Type"), ""})
	// An ETag is valid for the representation that it came with, compressed or not.
	compressed := s.Send(t, http.MethodGet, path, "", "Accept-Encoding: gzip").Header.Get("ETag")
	if got := s.Send(t, http.MethodGet, path, "", "Accept-Encoding: gzip", "If-None-Match: "+compressed); got.Status != http.StatusNotModified || got.Header.Get("ETag") != compressed {
		t.Errorf("%s with gzip and %s: got %d %v", path, compressed, got.Status, got.Header)
	}
}

// TestDirectory: its pages list each member who chose to be listed exactly once.
func TestDirectory(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		type page struct {
			Object     string
			Data       []struct{ Object, Username, URL string }
			HasMore    bool    `json:"has_more"`
			NextCursor *string `json:"next_cursor"`
		}
		seen := map[string]bool{}
		for path, pages := "/api/network/members?per_page=2", 0; path != ""; pages++ {
			var p page
			got := s.Send(t, http.MethodGet, path, "")
			if err := json.Unmarshal([]byte(got.Body), &p); err != nil || pages > 100 {
				t.Fatalf("%s: page %d: got %d %s", path, pages, got.Status, got.Body)
			}
			harness.CheckSame(t, path, []any{got.Status, p.Object}, []any{http.StatusOK, "list"})
			if p.HasMore != (p.NextCursor != nil) || len(p.Data) > 2 || p.HasMore && len(p.Data) != 2 {
				t.Fatalf("%s: got %s", path, got.Body)
			}
			for _, m := range p.Data {
				if seen[m.Username] || m.Object != "member" || m.URL != s.Base+"/api/human/"+m.Username {
					t.Errorf("entry %+v", m)
				}
				seen[m.Username] = true
			}
			path = ""
			if p.NextCursor != nil {
				path = "/api/network/members?per_page=2&cursor=" + *p.NextCursor
				// A cursor is valid only for its query, and only unchanged.
				for _, tampered := range []string{path[:len(path)-2], path + "A", path + "&q=climate"} {
					if got := s.Send(t, http.MethodGet, tampered, ""); got.Status != http.StatusBadRequest {
						t.Errorf("%s: got %d %s, want 400", tampered, got.Status, got.Body)
					}
				}
			}
		}
		if len(seen) < 3 || !seen[harness.Demo] {
			t.Errorf("the directory has %v", seen)
		}
	})
}

// TestPathsAreNoUsernames: the first segments of the service's own paths cannot become usernames.
func TestPathsAreNoUsernames(t *testing.T) {
	t.Parallel()
	s := harness.NewService(t, harness.SQLite)
	s.Start()
	var described struct{ Paths map[string]any }
	if err := json.Unmarshal([]byte(s.Send(t, http.MethodGet, "/openapi.json", "").Body), &described); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for path := range described.Paths {
		if name, _, _ := strings.Cut(path[1:], "/"); regexp.MustCompile(`^[a-z0-9-]{3,30}$`).MatchString(name) {
			names[name] = true
		}
	}
	if len(names) < 20 {
		t.Fatalf("%d names: %v", len(names), names)
	}
	env := harness.Environment(s.Database(), map[string]string{"KITH_BASE_URL": s.Base})
	for name := range names {
		made := harness.RunKith(t, env, "a password of "+name+"\n", "member", "create", name, "--email", name+"@people.example", "--password-stdin")
		if made.Code == 0 || !strings.Contains(made.Stderr, "reserved") {
			t.Errorf("%s: %+v", name, made)
		}
	}
}
