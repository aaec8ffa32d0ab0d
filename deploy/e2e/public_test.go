package e2e

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// TestUnknownMembers: one who does not exist and one who shows nothing are
// answered alike.
func TestUnknownMembers(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		private := s.newMember(t).username
		unlike := regexp.MustCompile(`"instance":"[^"]*"`)
		for _, suffix := range []string{"", ".json", ".md"} {
			hidden := s.send(t, http.MethodGet, "/api/human/"+private+suffix, "")
			nobody := s.send(t, http.MethodGet, "/api/human/nobody-at-all"+suffix, "")
			if hidden.status != http.StatusNotFound || nobody.status != http.StatusNotFound {
				t.Errorf("got %d and %d", hidden.status, nobody.status)
			}
			if a, b := unlike.ReplaceAllString(hidden.body, ""), unlike.ReplaceAllString(nobody.body, ""); a != b {
				t.Errorf("they can be told apart:\n%s\n%s", a, b)
			}
			checkProblem(t, hidden)
		}
		if got := s.send(t, http.MethodGet, "/api/network/members?per_page=100&q="+private, ""); strings.Contains(got.body, private) {
			t.Error("a private member is in the directory")
		}
	})
}

// TestSandboxMirrorsPublicReads: the same answer under /sandbox, byte for byte.
func TestSandboxMirrorsPublicReads(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		for _, path := range []string{
			"/api/human/" + demo, "/api/human/" + demo + ".json", "/api/human/" + demo + ".md",
			"/api/network/members", "/api/network/members?q=climate&per_page=2",
		} {
			plain, mirrored := s.send(t, http.MethodGet, path, ""), s.send(t, http.MethodGet, "/sandbox"+path, "")
			if plain.status != http.StatusOK || mirrored.status != http.StatusOK || plain.body != mirrored.body ||
				plain.header.Get("ETag") != mirrored.header.Get("ETag") || plain.header.Get("Content-Type") != mirrored.header.Get("Content-Type") {
				t.Errorf("%s: got %d %s\nand %d %s", path, plain.status, plain.body, mirrored.status, mirrored.body)
			}
		}
	})
}

// TestProfile: three addresses, two representations, and what HTTP caches need.
func TestProfile(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		plain := s.send(t, http.MethodGet, "/api/human/"+demo, "")
		var profile struct{ Object, Username, Name, URL string }
		if err := json.Unmarshal([]byte(plain.body), &profile); err != nil {
			t.Fatal(err)
		}
		if profile.Object != "human" || profile.Username != demo || profile.Name == "" || profile.URL != s.base+"/api/human/"+demo {
			t.Errorf("the profile is %s", plain.body)
		}
		if explicit := s.send(t, http.MethodGet, "/api/human/"+demo+".json", ""); explicit.body != plain.body {
			t.Error("the explicit extension changes the answer")
		}
		markdown := s.send(t, http.MethodGet, "/api/human/"+demo+".md", "")
		if !strings.HasPrefix(markdown.header.Get("Content-Type"), "text/markdown") || !strings.Contains(markdown.body, "\n# "+profile.Name+"\n") {
			t.Errorf("got %q %s", markdown.header.Get("Content-Type"), markdown.body)
		}
		for _, path := range []string{"/api/human/" + demo, "/api/human/" + demo + ".md", "/api/network/members"} {
			checkCaching(t, s, path)
		}
		if plain.header.Get("ETag") == markdown.header.Get("ETag") {
			t.Error("two representations have one ETag")
		}
		for path, accept := range map[string]string{"/api/human/" + demo: "application/json;q=0", "/api/human/" + demo + ".md": "text/markdown;q=0, */*", "/api/network/members": "*/*;q=0"} {
			if got := s.send(t, http.MethodGet, path, "", "Accept: "+accept); got.status != http.StatusNotAcceptable {
				t.Errorf("%s with %s: got %d, want 406", path, accept, got.status)
			}
		}
	})
}

func checkCaching(t *testing.T, s *service, path string) {
	t.Helper()
	const plain = "Accept-Encoding: identity"
	full := s.send(t, http.MethodGet, path, "", plain)
	tag := full.header.Get("ETag")
	if !strings.HasPrefix(tag, `"`) || full.header.Get("Cache-Control") != "public, max-age=60" || !strings.Contains(full.header.Get("Vary"), "Accept-Encoding") {
		t.Errorf("%s: %v", path, full.header)
	}
	for value, want := range map[string]int{
		tag: http.StatusNotModified, "W/" + tag: http.StatusNotModified, `"x", ` + tag: http.StatusNotModified, "*": http.StatusNotModified, `"x"`: http.StatusOK,
	} {
		got := s.send(t, http.MethodGet, path, "", plain, "If-None-Match: "+value)
		if got.status != want || want == http.StatusNotModified && (got.body != "" || got.header.Get("ETag") != tag) {
			t.Errorf("%s with If-None-Match: %s: got %d %q, want %d", path, value, got.status, got.body, want)
		}
	}
	head := s.send(t, http.MethodHead, path, "", plain)
	if head.status != http.StatusOK || head.body != "" || head.header.Get("ETag") != tag || head.header.Get("Content-Type") != full.header.Get("Content-Type") {
		t.Errorf("HEAD %s: got %d %q %v", path, head.status, head.body, head.header)
	}
	// The representation that a caller got, compressed or not, is the one it has.
	compressed := s.send(t, http.MethodGet, path, "", "Accept-Encoding: gzip").header.Get("ETag")
	if got := s.send(t, http.MethodGet, path, "", "Accept-Encoding: gzip", "If-None-Match: "+compressed); got.status != http.StatusNotModified || got.header.Get("ETag") != compressed {
		t.Errorf("%s with gzip and %s: got %d %v", path, compressed, got.status, got.header)
	}
}

// TestDirectory: it pages through everybody who chose to be listed, once.
func TestDirectory(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		type page struct {
			Object     string
			Data       []struct{ Object, Username, URL string }
			HasMore    bool    `json:"has_more"`
			NextCursor *string `json:"next_cursor"`
		}
		seen := map[string]bool{}
		for path, pages := "/api/network/members?per_page=2", 0; path != ""; pages++ {
			var p page
			got := s.send(t, http.MethodGet, path, "")
			if err := json.Unmarshal([]byte(got.body), &p); err != nil || got.status != http.StatusOK || p.Object != "list" || pages > 100 {
				t.Fatalf("%s: got %d %s", path, got.status, got.body)
			}
			if p.HasMore != (p.NextCursor != nil) || len(p.Data) > 2 || p.HasMore && len(p.Data) != 2 {
				t.Fatalf("%s: got %s", path, got.body)
			}
			for _, m := range p.Data {
				if seen[m.Username] || m.Object != "member" || m.URL != s.base+"/api/human/"+m.Username {
					t.Errorf("entry %+v", m)
				}
				seen[m.Username] = true
			}
			path = ""
			if p.NextCursor != nil {
				path = "/api/network/members?per_page=2&cursor=" + *p.NextCursor
				// A cursor belongs to its query, and is what it was.
				for _, tampered := range []string{path[:len(path)-2], path + "A", path + "&q=climate"} {
					if got := s.send(t, http.MethodGet, tampered, ""); got.status != http.StatusBadRequest {
						t.Errorf("%s: got %d %s, want 400", tampered, got.status, got.body)
					}
				}
			}
		}
		if len(seen) < 3 || !seen[demo] {
			t.Errorf("the directory has %v", seen)
		}
	})
}
