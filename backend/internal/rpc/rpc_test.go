package rpc_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/search/vector"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/proto/catalog"
	"github.com/kith-crm/kith/proto/connectheader"
)

const serviceToken = "a-service-token-for-tests"

// bundle is a backend on a real store, with a member who holds every scope.
type bundle struct {
	url   string
	store *db.DB
	// credits is the ledger of the process.
	credits *billing.Ledger
	member  tenant.ID
	bearer  string
	// visitor is the address that calls come from in the sandbox; empty outside.
	visitor string
	rpcs    *catalog.Catalog
}

func each(t *testing.T, test func(t *testing.T, b *bundle)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, s *db.DB) { test(t, withMember(t, s)) })
}

// withMember runs a backend on a store, with a member whose token has every scope.
func withMember(t *testing.T, s *db.DB) *bundle {
	t.Helper()
	b := serve(t, s, time.Now)
	b.member = dbtest.Member(t, s, "maria")
	b.bearer = dbtest.Token(t, s, b.member, b.rpcs.Scopes()...)
	return b
}

// serve runs a backend on a store; the bundle has no member yet.
func serve(t *testing.T, s *db.DB, now func() time.Time) *bundle {
	t.Helper()
	rpcs, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	ledger := dbtest.Ledger(t, s)
	server := httptest.NewServer(newHandlerThat(t, rpcs, s, ledger, now, vector.Local{}, slog.New(slog.DiscardHandler)))
	t.Cleanup(server.Close)
	return &bundle{store: s, rpcs: rpcs, credits: ledger, url: server.URL}
}

// answer is a Connect answer in JSON.
type answer struct {
	status int
	header http.Header
	body   map[string]any
}

// code is the Connect error code, or empty.
func (a answer) code() string { s, _ := a.body["code"].(string); return s }

func (a answer) message() string { s, _ := a.body["message"].(string); return s }

// at walks into the answer: at("hits", 0, "name").
func (a answer) at(path ...any) any {
	var v any = a.body
	for _, step := range path {
		switch key := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[key]
		case int:
			list, _ := v.([]any)
			if key >= len(list) {
				return nil
			}
			v = list[key]
		}
	}
	return v
}

func (b *bundle) call(t *testing.T, procedure, body string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+procedure, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(connectheader.ServiceToken, serviceToken)
	req.Header.Set("Authorization", "Bearer "+b.bearer)
	if b.visitor != "" {
		req.Header.Set(connectheader.SandboxVisitor, b.visitor)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := answer{status: res.StatusCode, header: res.Header}
	if err := json.Unmarshal(data, &out.body); err != nil {
		t.Fatalf("%s answers %q: %v", procedure, data, err)
	}
	if changeID, summary := out.at("change_id"), out.at("summary"); (changeID == nil) != (summary == nil) {
		t.Errorf("%s says that the change %v did %v", procedure, changeID, summary)
	}
	return out
}

const (
	searchPath  = "/kith.connections.v1.ConnectionService/SearchConnections"
	get         = "/kith.connections.v1.ConnectionService/GetConnection"
	create      = "/kith.connections.v1.ConnectionService/CreateConnection"
	update      = "/kith.connections.v1.ConnectionService/UpdateConnection"
	addNote     = "/kith.timeline.v1.TimelineService/AddNote"
	logCall     = "/kith.timeline.v1.TimelineService/LogInteraction"
	list        = "/kith.timeline.v1.TimelineService/ListTimeline"
	accountPath = "/kith.account.v1.AccountService/GetAccount"
)

func TestAccess(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		readOnly := dbtest.Token(t, b.store, b.member, "connections", "timeline")
		noGroup := dbtest.Token(t, b.store, b.member, "timeline", "write")
		for name, c := range map[string]struct {
			procedure string
			headers   []string
			code      string
		}{
			"no service credential":    {searchPath, []string{connectheader.ServiceToken, ""}, "unavailable"},
			"wrong service credential": {searchPath, []string{connectheader.ServiceToken, serviceToken + "x"}, "unavailable"},
			"no bearer":                {searchPath, []string{"Authorization", ""}, "unauthenticated"},
			"wrong bearer":             {searchPath, []string{"Authorization", "Bearer kith_pat_wrong"}, "unauthenticated"},
			"other scheme":             {searchPath, []string{"Authorization", "Basic " + b.bearer}, "unauthenticated"},
			"group missing":            {searchPath, []string{"Authorization", "Bearer " + noGroup}, "permission_denied"},
			"write missing":            {create, []string{"Authorization", "Bearer " + readOnly}, "permission_denied"},
			"read only reads":          {searchPath, []string{"Authorization", "Bearer " + readOnly}, ""},
			"any credential":           {accountPath, []string{"Authorization", "Bearer " + noGroup}, ""},
		} {
			body := `{"query":"x"}`
			if c.procedure != searchPath {
				body = `{}`
			}
			if got := b.call(t, c.procedure, body, c.headers...); got.code() != c.code {
				t.Errorf("%s: got %q (%v), want %q", name, got.code(), got.body, c.code)
			}
		}
	})
}

// Every served RPC is in the catalogue, and vice versa; an RPC that needs a credential is
// refused without one, no matter what the body is.
func TestEveryProcedureIsGuarded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		for _, tool := range b.rpcs.Tools() {
			got := b.call(t, tool.Procedure, `not JSON`, "Authorization", "")
			if got.code() != "unauthenticated" {
				t.Errorf("%s without a bearer: %v", tool.Procedure, got.body)
			}
		}
		for procedure, want := range map[string]string{
			"/kith.access.v1.AccessService/GetPrincipal":                 "unauthenticated",
			"/kith.directory.v1.PublicDirectoryService/ListMembers":      "",
			"/kith.sandbox.v1.SandboxService/GetSandbox":                 "",
			"/kith.directory.v1.PublicDirectoryService/BatchGetProfiles": "invalid_argument",
		} {
			if got := b.call(t, procedure, `{}`, "Authorization", ""); got.code() != want {
				t.Errorf("%s without a bearer: %v", procedure, got.body)
			}
		}
	})
}

func TestRevokedBearerIsRefusedByTheNextCall(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		got := b.call(t, accountPath, `{}`)
		id, _ := got.at("credential", "id").(string)
		if id == "" || got.header.Get(connectheader.CredentialID) != id {
			t.Fatalf("credential %q, header %q", id, got.header.Get(connectheader.CredentialID))
		}
		if err := account.RevokePersonalToken(t.Context(), b.store, b.member, id, time.Now()); err != nil {
			t.Fatal(err)
		}
		if got := b.call(t, accountPath, `{}`); got.code() != "unauthenticated" {
			t.Errorf("revoked bearer: %v", got.body)
		}
	})
}

func TestStrictJSON(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		for body, message := range map[string]string{
			`{"query":"x","colour":"red"}`:                  `"colour" is not an argument of this tool; there are query, company, `,
			`{"query":"x","lastContactAfter":"2026-01-01"}`: `"lastContactAfter" is not an argument of this tool; did you mean "last_contact_after"?`,
			`{"query":"x","query":"y"}`:                     `query is given twice`,
			`{"query":`:                                     `the arguments are not valid JSON`,
			``:                                              `the body is empty`,
			`[]`:                                            `the arguments must be an object, not a list`,
			`{"query":7,"limit":51,"has":"email"}`:          `query must be a string, not 7; limit must be between 1 and 50`,
			`{"query":"x","last_contact_after":"2026-02-30"}`: `last_contact_after: "2026-02-30" is no day`,
			`{"query":"x","cursor":"AAAAAAAAAAAAAAAAAAAA"}`:   `cursor: `,
			`{"query":"` + strings.Repeat("x", 257) + `"}`:    `query must have at most 256 characters; it has 257`,
		} {
			got := b.call(t, searchPath, body)
			if got.code() != "invalid_argument" || !strings.HasPrefix(got.message(), message) || len(got.at("details").([]any)) != 1 {
				t.Errorf("%s: %v", body, got.body)
			}
		}
	})
}

func TestAnswersCarryEveryField(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		got := b.call(t, searchPath, `{"query":"nobody"}`)
		if hits, ok := got.at("hits").([]any); !ok || len(hits) != 0 || got.at("has_more") != false || got.at("mode_used") != "keyword" {
			t.Errorf("an empty answer: %v", got.body)
		}
	})
}

// A write is found by the very next search, and so is every later change.
func TestSearchSeesEveryWrite(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		made := b.call(t, create, `{"name":"Ana López","organization":"Helios GmbH","title":"Founder","emails":["ana@helios.example"],"tags":["investor"]}`)
		id, _ := made.at("connection", "id").(string)
		if id == "" || made.at("change_id") == nil || made.at("connection", "headline") != "Founder at Helios GmbH" {
			t.Fatalf("created: %v", made.body)
		}
		finds := func(query string) {
			t.Helper()
			if got := b.call(t, searchPath, `{"query":"`+query+`"}`); got.at("hits", 0, "id") != id {
				t.Errorf("%q finds %v", query, got.body)
			}
		}
		for _, query := range []string{"Ana López", "ana lopez", "an", "Helios", "founder", "ana@helios.example", "helios.example", "investor", "Ana Lpoez"} {
			finds(query)
		}
		note := b.call(t, addNote, `{"connection_ids":["`+id+`"],"body":"collects theremins"}`)
		if note.at("note", "id") == nil || note.at("change_id") == nil {
			t.Fatalf("note: %v", note.body)
		}
		finds("theremins")
		logged := b.call(t, logCall, `{"connection_ids":["`+id+`"],"kind":"call","summary":"about zeppelins"}`)
		if logged.at("interaction", "id") == nil {
			t.Fatalf("interaction: %v", logged.body)
		}
		finds("zeppelins")
		if got := b.call(t, update, `{"id":"`+id+`","name":"Anna Nowak","nickname":"Nówka","expected_version":1}`); got.at("connection", "version") != 2.0 {
			t.Fatalf("update: %v", got.body)
		}
		finds("nowak")
		if got := b.call(t, searchPath, `{"query":"lopez"}`); len(got.at("hits").([]any)) != 0 {
			t.Errorf("the old name still finds: %v", got.body)
		}
		full := b.call(t, get, `{"id":"`+id+`","include":["notes","interactions","positions","record"]}`)
		if full.at("notes", 0, "body") != "collects theremins" || full.at("interactions", 0, "kind") != "call" ||
			full.at("positions", 0, "organization") != "Helios GmbH" || full.at("connection", "last_interaction_at") == nil {
			t.Errorf("full: %v", full.body)
		}
		entries := b.call(t, list, `{"connection_id":"`+id+`"}`)
		if len(entries.at("entries").([]any)) != 2 || entries.at("entries", 0, "participants") != nil || b.call(t, list, `{}`).at("entries", 0, "participants", 0, "name") != "Anna Nowak" {
			t.Errorf("timeline: %v", entries.body)
		}
	})
}

func TestPagesOfSearch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		for _, name := range []string{"Ana One", "Ana Two", "Ana Three", "Ana Four", "Ana Five"} {
			b.call(t, create, `{"name":"`+name+`"}`)
		}
		seen := map[any]bool{}
		body := `{"query":"ana","limit":2}`
		for range 3 {
			page := b.call(t, searchPath, body)
			for i := range page.at("hits").([]any) {
				seen[page.at("hits", i, "id")] = true
			}
			next, more := page.at("next_cursor").(string)
			if more != (page.at("has_more") == true) {
				t.Fatalf("has_more and next_cursor differ: %v", page.body)
			}
			if !more {
				break
			}
			body = `{"query":"ana","limit":2,"cursor":"` + next + `"}`
			if got := b.call(t, searchPath, `{"query":"other","cursor":"`+next+`"}`); got.code() != "invalid_argument" {
				t.Errorf("a cursor of another query: %v", got.body)
			}
		}
		if len(seen) != 5 {
			t.Errorf("pages hold %d people", len(seen))
		}
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		made := b.call(t, create, `{"name":"Ana","emails":["ana@x.example"]}`)
		id, _ := made.at("connection", "id").(string)
		const unknownID = "con_ch541ck879"
		for name, c := range map[string]struct{ procedure, body, code string }{
			"get nobody":              {get, `{"id":"` + unknownID + `"}`, "not_found"},
			"get no id":               {get, `{"id":"7"}`, "invalid_argument"},
			"update nobody":           {update, `{"id":"` + unknownID + `","name":"X"}`, "not_found"},
			"update a stale version":  {update, `{"id":"` + id + `","name":"X","expected_version":9}`, "aborted"},
			"update to a blank name":  {update, `{"id":"` + id + `","name":" \u200b\u0000 "}`, "invalid_argument"},
			"create without anything": {create, `{"title":"Founder"}`, "invalid_argument"},
			"create a blank name":     {create, `{"name":"  "}`, "invalid_argument"},
			"create a bad e-mail":     {create, `{"emails":["nope"]}`, "invalid_argument"},
			"create a script link":    {create, `{"name":"X","urls":["javascript:alert(1)"]}`, "invalid_argument"},
			"create with a bad day":   {create, `{"name":"X","met_on":"2026-02-30"}`, "invalid_argument"},
			"create a duplicate":      {create, `{"emails":["ana@x.example"],"on_duplicate":"error"}`, "already_exists"},
			"note for nobody":         {addNote, `{"connection_ids":["` + unknownID + `"],"body":"x"}`, "not_found"},
			"note without people":     {addNote, `{"connection_ids":[],"body":"x"}`, "invalid_argument"},
			"note without text":       {addNote, `{"connection_ids":["` + id + `"],"body":" \u0000 "}`, "invalid_argument"},
			"call of tomorrow":        {logCall, `{"connection_ids":["` + id + `"],"kind":"call","occurred_at":"2999-01-01T00:00:00Z"}`, "invalid_argument"},
			"no time":                 {logCall, `{"connection_ids":["` + id + `"],"kind":"call","occurred_at":"today"}`, "invalid_argument"},
			"unknown kind":            {logCall, `{"connection_ids":["` + id + `"],"kind":"seance"}`, "invalid_argument"},
			"timeline of nobody":      {list, `{"connection_id":"` + unknownID + `"}`, "not_found"},
		} {
			if got := b.call(t, c.procedure, c.body); got.code() != c.code {
				t.Errorf("%s: %v", name, got.body)
			}
		}
	})
}

// A NUL is refused by the name of its field, on every procedure; other controls are dropped.
func TestControlCharacters(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		made := b.call(t, create, `{"name":"A\u0001na\u0007","bio":"one\u0001\ntwo","tags":["a\u0007b"],"organization":"He\u0001lios"}`)
		if made.at("connection", "name") != "Ana" || made.at("connection", "bio") != "one\ntwo" || made.at("connection", "tags", 0) != "ab" {
			t.Errorf("created: %v", made.body)
		}
		id, _ := made.at("connection", "id").(string)
		for _, c := range []struct{ procedure, body, field string }{
			{create, `{"name":"A\u0000na"}`, "name"},
			{create, `{"name":"Ana","tags":["a","a\u0000b"]}`, "tags[1]"},
			{create, `{"name":"Ana","positions":[{"organization":"He\u0000lios"}]}`, "positions[0].organization"},
			{searchPath, `{"query":"a\u0000na"}`, "query"},
			{logCall, `{"connection_ids":["` + id + `"],"kind":"call","external_key":"a\u0000b"}`, "external_key"},
			{"/kith.directory.v1.PublicDirectoryService/ListMembers", `{"q":"\u0000"}`, "q"},
		} {
			if got := b.call(t, c.procedure, c.body); got.code() != "invalid_argument" || got.message() != c.field+" has a NUL character (U+0000), which no text may have" {
				t.Errorf("%s %s: %v", c.procedure, c.body, got.body)
			}
		}
	})
}

func TestAccountTellsWhatIsOutOfReach(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		narrow := dbtest.Token(t, b.store, b.member, "connections")
		got := b.call(t, accountPath, `{}`, "Authorization", "Bearer "+narrow)
		reasons := map[any]any{}
		for i := range got.at("unavailable_tools").([]any) {
			reasons[got.at("unavailable_tools", i, "tool")] = got.at("unavailable_tools", i, "reason")
		}
		if reasons["create_connection"] != "missing_scope" || reasons["add_note"] != "missing_scope" || reasons["search_connections"] != nil {
			t.Errorf("out of reach: %v", reasons)
		}
		if got.at("member", "username") != "maria" || got.at("prices") != nil || b.call(t, accountPath, `{"include":["prices"]}`).size("prices") != len(b.rpcs.Tools()) {
			t.Errorf("account: %v", got.body)
		}
	})
}
