// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/imports -run TestDownloadIsImported

package imports

import (
	"archive/zip"
	"encoding/base64"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestDownloadIsImported: another member's agent can import a downloaded export unchanged.
func TestDownloadIsImported(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		person := s.NewPerson(t)
		name := harness.NewWord() + " " + harness.NewWord()
		made := (&harness.Member{Service: s, Username: person["MEMBER_USERNAME"]}).Agent(t).Call(t, "create_connection", harness.Arguments{"name": name, "tags": []string{"kept"}})
		v := s.NewSession(t)
		values := harness.Form(v.Send(t, "/sign-in", nil))
		values.Set("login", person["MEMBER_USERNAME"])
		values.Set("password", person["MEMBER_PASSWORD"])
		v.Send(t, "/sign-in", values)
		got := v.Send(t, "/settings/account/export", nil)
		if got.Status != http.StatusOK || got.Header.Get("Content-Type") != "application/zip" || got.Header.Get("Content-Encoding") != "" {
			t.Fatalf("got %d %v", got.Status, got.Header)
		}
		archive, err := zip.NewReader(strings.NewReader(got.Body), int64(len(got.Body)))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"account.json", "contacts.json", "contacts.csv", "contacts.vcf", "contacts.jscontact.json"} {
			if content, err := fs.ReadFile(archive, file); err != nil || !strings.Contains(string(content), name) {
				t.Errorf("%s: %v\n%s", file, err, content)
			}
		}
		for file, schema := range map[string]string{"contacts.json": "kith-connections-1", "account.json": "kith-export-1"} {
			checkBySchema(t, archive, file, harness.Repository("deploy", "docs", "schemas", schema+".schema.json"))
		}
		other := s.NewMember(t).Agent(t)
		task := other.Call(t, "import_file", harness.Arguments{"filename": "export.zip", "content_base64": base64.StdEncoding.EncodeToString([]byte(got.Body))})
		done := other.Call(t, "get_job", harness.Arguments{"task_id": task["task_id"], "wait_seconds": 20})
		if state, created := harness.At[string](t, done, "job", "state"), harness.At[float64](t, done, "job", "result", "created"); state != "succeeded" || created != 1 {
			t.Errorf("the import %s, %g created", state, created)
		}
		hits := harness.At[[]any](t, other.Call(t, "search_connections", harness.Arguments{"query": name}), "hits")
		if len(hits) != 1 || harness.At[string](t, hits[0], "name") != name || harness.At[string](t, hits[0], "id") == harness.At[string](t, made, "connection", "id") {
			t.Errorf("found %v", hits)
		}
	})
}

// checkBySchema checks that a file of an export is valid by its published schema.
func checkBySchema(t *testing.T, archive fs.FS, name, schema string) {
	t.Helper()
	content, err := archive.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = content.Close() }()
	document, err := jsonschema.UnmarshalJSON(content)
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compiled, err := compiler.Compile(schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(document); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}
