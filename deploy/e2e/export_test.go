package e2e

import (
	"archive/zip"
	"encoding/base64"
	"io/fs"
	"net/http"
	"strings"
	"testing"
)

// What a person downloads, another one's agent imports as it is.
func TestDownloadIsImported(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		person := s.person(t)
		name := newWord() + " " + newWord()
		made := (&member{service: s, username: person["MEMBER_USERNAME"]}).agent(t).call(t, "create_connection", arguments{"name": name, "tags": []string{"kept"}})
		v := s.newVisitor(t)
		values := form(v.send(t, "/sign-in", nil))
		values.Set("login", person["MEMBER_USERNAME"])
		values.Set("password", person["MEMBER_PASSWORD"])
		v.send(t, "/sign-in", values)
		got := v.send(t, "/settings/account/export", nil)
		if got.status != http.StatusOK || got.header.Get("Content-Type") != "application/zip" || got.header.Get("Content-Encoding") != "" {
			t.Fatalf("got %d %v", got.status, got.header)
		}
		archive, err := zip.NewReader(strings.NewReader(got.body), int64(len(got.body)))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"account.json", "contacts.json", "contacts.csv", "contacts.vcf", "contacts.jscontact.json"} {
			if content, err := fs.ReadFile(archive, file); err != nil || !strings.Contains(string(content), name) {
				t.Errorf("%s: %v\n%s", file, err, content)
			}
		}
		other := s.newMember(t).agent(t)
		task := other.call(t, "import_file", arguments{"filename": "export.zip", "content_base64": base64.StdEncoding.EncodeToString([]byte(got.body))})
		done := other.call(t, "get_job", arguments{"task_id": task["task_id"], "wait_seconds": 20})
		if state, created := at[string](t, done, "job", "state"), at[float64](t, done, "job", "result", "created"); state != "succeeded" || created != 1 {
			t.Errorf("the import %s, %g created", state, created)
		}
		hits := at[[]any](t, other.call(t, "search_connections", arguments{"query": name}), "hits")
		if len(hits) != 1 || at[string](t, hits[0], "name") != name || at[string](t, hits[0], "id") == at[string](t, made, "connection", "id") {
			t.Errorf("found %v", hits)
		}
	})
}
