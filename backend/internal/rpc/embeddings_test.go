package rpc_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/vector"
)

const embed = "/kith.imports.v1.ImportService/EmbedObjects"

// elsewhere makes the vectors of the built-in provider and is otherwise a remote one.
type elsewhere struct{ vector.Local }

func (elsewhere) Host() string      { return "vectors.example" }
func (elsewhere) Understands() bool { return true }

// embedAll makes every vector, through the tool.
func embedAll(t *testing.T, b *bundle, provider vector.Provider) {
	t.Helper()
	embedLogged(t, b, provider, slog.New(slog.DiscardHandler))
}

// embedLogged is embedAll with a logger.
func embedLogged(t *testing.T, b *bundle, provider vector.Provider, logger *slog.Logger) {
	t.Helper()
	started := b.call(t, embed, `{}`)
	if started.status != 200 {
		t.Fatal(started.body)
	}
	hub := &job.Hub{}
	runner := job.NewRunner(job.Config{
		Queue: dbtest.Queue(t, b.store), Kinds: []job.Kind{search.EmbedJob(b.store, dbtest.Ledger(t, b.store), provider)}, Workers: 1, Now: time.Now,
		Logger: logger, Changed: hub.Changed, Poll: 10 * time.Millisecond,
	})
	runner.Start(t.Context())
	defer runner.Stop(t.Context())
	for {
		changed, stop := hub.Watch(b.member, int32(started.at("task_id").(float64)))
		j, err := job.GetJob(t.Context(), b.store.Tenant(b.member, true), int32(started.at("task_id").(float64)))
		if err != nil {
			t.Fatal(err)
		}
		if j.Terminal() {
			stop()
			if j.State != job.Succeeded {
				t.Fatalf("%s: %s", j.State, j.ErrorDetail)
			}
			return
		}
		<-changed
		stop()
	}
}

func TestEmbedObjects(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		b.call(t, create, `{"name":"Anna Bauer","title":"Photographer"}`)
		b.call(t, create, `{"name":"Carl Lindqvist","title":"Beekeeper"}`)
		before := b.call(t, searchPath, `{"query":"photographic studio","mode":"semantic"}`)
		if before.at("mode_used") != "keyword" || !strings.Contains(before.at("note").(string), "embed_objects") || len(before.at("hits").([]any)) != 0 {
			t.Errorf("before: %v", before.body)
		}
		first := b.call(t, embed, `{}`)
		again := b.call(t, embed, `{"only_stale":false}`)
		if first.status != 200 || first.header.Get("Kith-Credits-Charged") != "2" || again.at("task_id") != first.at("task_id") || again.header.Get("Kith-Credits-Charged") != "" {
			t.Errorf("started %v for %q, again %v for %q", first.body, first.header.Get("Kith-Credits-Charged"), again.body, again.header.Get("Kith-Credits-Charged"))
		}
		embedAll(t, b, vector.Local{})
		done := b.call(t, getJob, `{"task_id":1}`)
		for field, want := range map[string]any{"embedded": 2.0, "unchanged": 0.0, "model": "local-hash-3", "dimensions": 256.0, "provider": "local"} {
			if got := done.at("job", "result", field); got != want {
				t.Errorf("%s is %v, want %v", field, got, want)
			}
		}
		if found := b.call(t, searchPath, `{"query":"photographic studio"}`); found.at("mode_used") != "keyword" || len(found.at("hits").([]any)) != 0 {
			t.Errorf("vectors of spelling answered a question that did not ask for them: %v", found.body)
		}
		found := b.call(t, searchPath, `{"query":"photographic studio","mode":"semantic"}`)
		if found.at("mode_used") != "semantic" || found.at("hits", 0, "name") != "Anna Bauer" || found.at("stale_vectors") != nil || found.at("note") != nil {
			t.Errorf("after: %v", found.body)
		}
		if got := found.at("hits", 0, "matched_fields"); !slices.Equal(got.([]any), []any{"spelling"}) {
			t.Errorf("matched %v", got)
		}
		b.call(t, create, `{"name":"Dora Photon"}`)
		stale := b.call(t, searchPath, `{"query":"photographic studio","mode":"semantic"}`)
		if stale.at("mode_used") != "semantic" || stale.at("stale_vectors") != 1.0 || !strings.Contains(stale.at("note").(string), "One person") {
			t.Errorf("stale: %v", stale.body)
		}
	})
}

// Similar people are found by what they share, and by their vectors once there are some;
// the answer says which.
func TestSimilarByLikeness(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		id := b.call(t, create, `{"name":"Anna Bauer","title":"Photographer","location":"Zürich"}`).at("connection", "id")
		b.call(t, create, `{"name":"Berta Vogel","location":"Zürich"}`)
		b.call(t, create, `{"name":"Carl Lindqvist","title":"Photography teacher"}`)
		body := fmt.Sprintf(`{"connection_id":%q}`, id)
		before := b.call(t, findSimilar, body)
		if before.at("mode_used") != "keyword" || len(before.at("people").([]any)) != 1 || before.at("people", 0, "person", "name") != "Berta Vogel" {
			t.Errorf("before: %v", before.body)
		}
		embedAll(t, b, vector.Local{})
		after := b.call(t, findSimilar, body)
		if after.at("mode_used") != "hybrid" || len(after.at("people").([]any)) != 2 || after.at("people", 1, "person", "name") != "Carl Lindqvist" ||
			after.at("people", 1, "reasons", 0, "text") != "What is stored about both is similar" {
			t.Errorf("after: %v", after.body)
		}
		made := b.call(t, create, `{"name":"Dora Roth","location":"Zürich"}`).at("connection", "id")
		if fresh := b.call(t, findSimilar, fmt.Sprintf(`{"connection_id":%q}`, made)); fresh.at("mode_used") != "keyword" || len(fresh.at("people").([]any)) != 2 {
			t.Errorf("without a vector: %v", fresh.body)
		}
	})
}

// For a member who does not allow the provider, no job starts and nothing is sent.
func TestRemoteProviderIsOptedInto(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		b := serve(t, s, time.Now)
		server := httptest.NewServer(newHandlerWith(t, b.rpcs, s, time.Now, elsewhere{}))
		t.Cleanup(server.Close)
		b.url = server.URL
		b.member = dbtest.Member(t, s, "maria")
		b.bearer = dbtest.Token(t, s, b.member, b.rpcs.Scopes()...)
		b.call(t, create, `{"name":"Anna Bauer","title":"Photographer"}`)
		refused := b.call(t, embed, `{}`)
		if refused.code() != "invalid_argument" || !strings.Contains(refused.message(), "vectors.example") {
			t.Errorf("%v", refused.body)
		}
		told := func(allowed bool) {
			t.Helper()
			got := b.call(t, accountPath, `{}`)
			if got.at("embeddings", "provider") != "vectors.example" || got.at("embeddings", "model") != "local-hash-3" || got.at("embeddings", "allowed") != allowed {
				t.Errorf("%v", got.at("embeddings"))
			}
		}
		told(false)
		if err := account.SetEmbeddingsHost(t.Context(), s, b.member, "vectors.example"); err != nil {
			t.Fatal(err)
		}
		told(true)
		embedAll(t, b, elsewhere{})
		if found := b.call(t, searchPath, `{"query":"photographic studio"}`); found.at("mode_used") != "hybrid" {
			t.Errorf("%v", found.body)
		}
		if err := account.SetEmbeddingsHost(t.Context(), s, b.member, ""); err != nil {
			t.Fatal(err)
		}
		if found := b.call(t, searchPath, `{"query":"photographic studio"}`); found.at("mode_used") != "keyword" || !strings.Contains(found.at("note").(string), "does not allow") {
			t.Errorf("%v", found.body)
		}
	})
}

// A server that speaks OpenAI's API makes vectors of meaning, after it was busy and after it failed. When it refuses the key, words
// answer. The key is in no answer and in no log.
func TestRemoteProviderByHTTP(t *testing.T) {
	t.Parallel()
	const key = "sk-very-secret"
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		var calls, refuses atomic.Int32
		remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var asked struct{ Input []string }
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.Header.Get("Authorization") != "Bearer "+key {
				t.Errorf("%v, %q", err, r.Header.Get("Authorization"))
			}
			if code := []int{http.StatusTooManyRequests, http.StatusInternalServerError}; int(calls.Add(1)) <= len(code) {
				http.Error(w, key, code[calls.Load()-1])
				return
			}
			if refuses.Load() > 0 {
				http.Error(w, key, http.StatusUnauthorized)
				return
			}
			var rows []string
			for i, text := range asked.Input {
				pictures := regexp.MustCompile("(?i)photo|camera").MatchString(text)
				rows = append(rows, fmt.Sprintf(`{"index":%d,"embedding":%s}`, i, map[bool]string{true: "[1,0]", false: "[0,1]"}[pictures]))
			}
			_, _ = fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(rows, ","))
		}))
		t.Cleanup(remote.Close)
		provider, err := vector.NewRemote(vector.RemoteConfig{URL: remote.URL + "/v1", Key: key, Model: "small", Backoff: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		b := serve(t, s, time.Now)
		server := httptest.NewServer(newHandlerWith(t, b.rpcs, s, time.Now, provider))
		t.Cleanup(server.Close)
		b.url = server.URL
		b.member = dbtest.Member(t, s, "maria")
		b.bearer = dbtest.Token(t, s, b.member, b.rpcs.Scopes()...)
		if err := account.SetEmbeddingsHost(t.Context(), s, b.member, provider.Host()); err != nil {
			t.Fatal(err)
		}
		b.call(t, create, `{"name":"Anna Bauer","title":"Photographer"}`)
		b.call(t, create, `{"name":"Carl Lindqvist","title":"Beekeeper"}`)
		var logged bytes.Buffer
		embedLogged(t, b, provider, slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})))
		if calls.Load() != 3 {
			t.Errorf("%d requests, want one that failed, one that failed otherwise, and one for all people", calls.Load())
		}
		found := b.call(t, searchPath, `{"query":"camera"}`)
		if found.at("mode_used") != "hybrid" || found.at("count") != 1.0 || found.at("hits", 0, "name") != "Anna Bauer" || found.at("hits", 0, "matched_fields", 0) != "meaning" {
			t.Errorf("%v", found.body)
		}
		refuses.Store(1)
		refused := b.call(t, searchPath, `{"query":"cameras"}`)
		if note, _ := refused.at("note").(string); refused.at("mode_used") != "keyword" || !strings.Contains(note, "refuses the key") {
			t.Errorf("%v", refused.body)
		}
		if all := logged.String() + fmt.Sprint(refused.body, found.body); strings.Contains(all, key) {
			t.Errorf("the key is in %s", all)
		}
	})
}

func TestAccountTellsOfTheBuiltInProvider(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		got := b.call(t, accountPath, `{}`)
		if got.at("embeddings", "provider") != "local" || got.at("embeddings", "allowed") != true {
			t.Errorf("%v", got.at("embeddings"))
		}
	})
}
