package vector_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kith-crm/kith/backend/internal/search/vector"
)

const secretKey = "sk-very-secret"

// server is a fake embeddings API. If do is nil, its answers are right: the vector of a text is
// its length and 1, so that tests can check the order.
type server struct {
	*httptest.Server

	calls atomic.Int32
	do    func(call int, w http.ResponseWriter, asked asked) (done bool)
}

type asked struct {
	Model      string
	Input      []string
	Format     string `json:"encoding_format"`
	Dimensions int
	header     http.Header
}

func serve(t *testing.T, do func(call int, w http.ResponseWriter, asked asked) bool) *server {
	t.Helper()
	s := &server{do: do}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var got asked
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil || r.URL.Path != "/v1/embeddings" || r.Method != http.MethodPost {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		got.header = r.Header
		call := int(s.calls.Add(1))
		if s.do != nil && s.do(call, w, got) {
			return
		}
		rows := make([]string, len(got.Input))
		for i, text := range got.Input {
			rows[i] = row(i, len(text), 1)
		}
		answer(w, rows...)
	}))
	t.Cleanup(s.Close)
	return s
}

func row(index int, numbers ...int) string {
	v, _ := json.Marshal(numbers)
	return fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":%s}`, index, v)
}

func answer(w http.ResponseWriter, rows ...string) {
	_, _ = fmt.Fprintf(w, `{"object":"list","data":[%s],"model":"m","usage":{"total_tokens":1}}`, strings.Join(rows, ","))
}

func (s *server) provider(t *testing.T, change func(*vector.RemoteConfig)) *vector.Remote {
	t.Helper()
	c := vector.RemoteConfig{URL: s.URL + "/v1/", Key: secretKey, Model: "small", Backoff: time.Millisecond, PerMinute: 1_000_000}
	if change != nil {
		change(&c)
	}
	r, err := vector.NewRemote(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// texts are n texts of different lengths.
func texts(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = strings.Repeat("x", i+1)
	}
	return out
}

// checkOrder fails unless each vector is that of its text.
func checkOrder(t *testing.T, vectors []vector.Vector) {
	t.Helper()
	for i, v := range vectors {
		if got := v[0] / v[1]; len(v) != 2 || got < float32(i)+0.99 || got > float32(i)+1.01 {
			t.Errorf("text %d has the vector %v", i, v)
		}
	}
}

func TestRemoteAsksInBatches(t *testing.T) {
	t.Parallel()
	var sizes []int
	s := serve(t, func(_ int, _ http.ResponseWriter, a asked) bool {
		sizes = append(sizes, len(a.Input))
		want := asked{Model: "small", Input: a.Input, Format: "float"}
		if diff := cmp.Diff(want, a, cmpopts.IgnoreUnexported(asked{})); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}
		if got := a.header.Get("Authorization"); got != "Bearer "+secretKey {
			t.Errorf("credential %q", got)
		}
		return false
	})
	r := s.provider(t, nil)
	vectors, err := r.Embed(t.Context(), texts(200))
	if err != nil || len(vectors) != 200 || fmt.Sprint(sizes) != "[96 96 8]" {
		t.Fatalf("%d vectors in batches of %v, %v", len(vectors), sizes, err)
	}
	checkOrder(t, vectors)
	if r.Model() != "small" || "http://"+r.Host() != s.URL || !r.Understands() {
		t.Errorf("model %s at %s", r.Model(), r.Host())
	}
	if none, err := r.Embed(t.Context(), nil); err != nil || len(none) != 0 || s.calls.Load() != 3 {
		t.Errorf("no text: %v, %v", none, err)
	}
}

func TestRemoteAsksForDimensions(t *testing.T) {
	t.Parallel()
	s := serve(t, func(_ int, _ http.ResponseWriter, a asked) bool {
		if a.Dimensions != 2 {
			t.Errorf("asked for %d", a.Dimensions)
		}
		return false
	})
	r := s.provider(t, func(c *vector.RemoteConfig) { c.Dimensions = 2 })
	if _, err := r.Embed(t.Context(), texts(1)); err != nil || r.Model() != "small@2" {
		t.Errorf("%s: %v", r.Model(), err)
	}
}

// Errors of a server, once or permanently.
func TestRemoteMendsWhatPasses(t *testing.T) {
	t.Parallel()
	status := func(code int, header ...string) func(http.ResponseWriter, asked) {
		return func(w http.ResponseWriter, _ asked) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			_, _ = fmt.Fprintf(w, `{"error":{"message":"your key %s"}}`, secretKey)
		}
	}
	body := func(text string) func(http.ResponseWriter, asked) {
		return func(w http.ResponseWriter, _ asked) { _, _ = w.Write([]byte(text)) }
	}
	for name, c := range map[string]struct {
		wrong func(http.ResponseWriter, asked)
		final bool
		says  string
	}{
		"429":                  {status(429), false, "429"},
		"500":                  {status(500), false, "500"},
		"503 with Retry-After": {status(503, "Retry-After", "0"), false, "503"},
		"408":                  {status(408), false, "408"},
		"401":                  {status(401), true, "refuses the key"},
		"403":                  {status(403), true, "refuses the key"},
		"404":                  {status(404), true, "404"},
		"a redirect":           {status(307, "Location", "http://elsewhere.example/v1/embeddings"), true, "307"},
		"broken off":           {body(`{"data":[{"index":0,"emb`), false, "cannot be read"},
		"no JSON":              {body(`<html>`), false, "cannot be read"},
		"not a number":         {body(`{"data":[{"index":0,"embedding":[NaN,1]},{"index":1,"embedding":[1,1]}]}`), false, "cannot be read"},
		"too large a number":   {body(`{"data":[{"index":0,"embedding":[1e300,1]},{"index":1,"embedding":[1,1]}]}`), false, "cannot be read"},
		"null in a vector":     {body(`{"data":[{"index":0,"embedding":[null,null]},{"index":1,"embedding":[1,1]}]}`), false, "without a direction"},
		"too few":              {func(w http.ResponseWriter, _ asked) { answer(w, row(0, 1, 1)) }, false, "1 of 2 texts"},
		"too many":             {func(w http.ResponseWriter, _ asked) { answer(w, row(0, 1, 1), row(1, 1, 1), row(2, 1, 1)) }, false, "3 of 2 texts"},
		"one twice":            {func(w http.ResponseWriter, _ asked) { answer(w, row(1, 1, 1), row(1, 1, 1)) }, false, "mixed up"},
		"one that is not":      {func(w http.ResponseWriter, _ asked) { answer(w, row(0, 1, 1), row(2, 1, 1)) }, false, "mixed up"},
		"of different lengths": {func(w http.ResponseWriter, _ asked) { answer(w, row(0, 1, 1), row(1, 1, 1, 1)) }, true, "3 numbers in place of 2"},
		"without numbers":      {func(w http.ResponseWriter, _ asked) { answer(w, row(0), row(1)) }, true, "0 numbers"},
		"zeros":                {func(w http.ResponseWriter, _ asked) { answer(w, row(0, 0, 0), row(1, 1, 1)) }, false, "without a direction"},
		"endless":              {body(strings.Repeat(" ", 1<<20)), true, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			once := serve(t, func(call int, w http.ResponseWriter, a asked) bool {
				if call == 1 {
					c.wrong(w, a)
				}
				return call == 1
			})
			vectors, err := once.provider(t, nil).Embed(t.Context(), texts(2))
			if (err == nil) == c.final {
				t.Errorf("once: %v", err)
			}
			checkOrder(t, vectors)
			always := serve(t, func(_ int, w http.ResponseWriter, a asked) bool { c.wrong(w, a); return true })
			_, err = always.provider(t, nil).Embed(t.Context(), texts(2))
			var known *vector.ProviderError
			if !errors.As(err, &known) || known.Final != c.final {
				t.Fatalf("always: %v", err)
			}
			if !strings.Contains(known.Message, c.says) || strings.Contains(known.Message, secretKey) {
				t.Errorf("always: %v", err)
			}
			if want := map[bool]int32{true: 1, false: 4}[c.final]; always.calls.Load() != want {
				t.Errorf("asked %d times, want %d", always.calls.Load(), want)
			}
		})
	}
}

func TestRemotePutsAnswersInOrder(t *testing.T) {
	t.Parallel()
	s := serve(t, func(_ int, w http.ResponseWriter, a asked) bool {
		answer(w, row(2, len(a.Input[2]), 1), row(0, len(a.Input[0]), 1), row(1, len(a.Input[1]), 1))
		return true
	})
	vectors, err := s.provider(t, nil).Embed(t.Context(), texts(3))
	if err != nil || len(vectors) != 3 {
		t.Fatal(vectors, err)
	}
	checkOrder(t, vectors)
}

func TestRemoteKeepsToTheFirstDimensions(t *testing.T) {
	t.Parallel()
	s := serve(t, func(call int, w http.ResponseWriter, _ asked) bool {
		if call == 2 {
			answer(w, row(0, 1, 2, 3))
		}
		return call == 2
	})
	r := s.provider(t, nil)
	if _, err := r.Embed(t.Context(), texts(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Embed(t.Context(), texts(1)); err == nil {
		t.Error("another length was taken")
	}
}

// A server that ignores the number of dimensions it was asked for is refused at once.
func TestRemoteRefusesOtherDimensions(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	r := s.provider(t, func(c *vector.RemoteConfig) { c.Dimensions = 3 })
	_, err := r.Embed(t.Context(), texts(1))
	var known *vector.ProviderError
	if !errors.As(err, &known) || !known.Final || !strings.Contains(known.Message, "2 numbers in place of 3") || s.calls.Load() != 1 {
		t.Errorf("%d calls: %v", s.calls.Load(), err)
	}
}

func TestRemoteWaitsAsLongAsItIsAsked(t *testing.T) {
	t.Parallel()
	s := serve(t, func(call int, w http.ResponseWriter, _ asked) bool {
		if call == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}
		return call == 1
	})
	begun := time.Now()
	if _, err := s.provider(t, nil).Embed(t.Context(), texts(1)); err != nil || time.Since(begun) < time.Second {
		t.Errorf("after %s: %v", time.Since(begun), err)
	}
	for _, long := range []string{"3600", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)} {
		busy := serve(t, func(_ int, w http.ResponseWriter, _ asked) bool {
			w.Header().Set("Retry-After", long)
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		})
		if _, err := busy.provider(t, nil).Embed(t.Context(), texts(1)); err == nil || busy.calls.Load() != 1 {
			t.Errorf("%s: %d calls, %v", long, busy.calls.Load(), err)
		}
	}
}

func TestRemoteIsBoundedInTime(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	s := serve(t, func(int, http.ResponseWriter, asked) bool { <-release; return true })
	r := s.provider(t, func(c *vector.RemoteConfig) { c.Timeout = 20 * time.Millisecond })
	var known *vector.ProviderError
	if _, err := r.Embed(t.Context(), texts(1)); !errors.As(err, &known) || known.Final || !strings.Contains(known.Message, "does not answer") {
		t.Errorf("got %v", err)
	}
}

func TestRemoteKeepsItsPace(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	r := s.provider(t, func(c *vector.RemoteConfig) { c.PerMinute = 600 }) // one in 100 ms, five at once
	begun := time.Now()
	for range 7 {
		if _, err := r.Embed(t.Context(), texts(1)); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(begun); took < 200*time.Millisecond {
		t.Errorf("seven requests in %s", took)
	}
}

func TestNewRemoteRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]vector.RemoteConfig{
		"no URL":              {Model: "m"},
		"no scheme":           {URL: "api.example/v1", Model: "m"},
		"another scheme":      {URL: "ftp://api.example", Model: "m"},
		"a user":              {URL: "https://me:hunter2@api.example", Model: "m"},
		"plain http":          {URL: "http://api.example/v1", Model: "m"},
		"plain http, by IP":   {URL: "http://192.168.1.7:11434/v1", Model: "m"},
		"nearly loopback":     {URL: "http://127.0.0.1.evil.example/v1", Model: "m"},
		"nearly localhost":    {URL: "http://localhost.evil.example/v1", Model: "m"},
		"a query":             {URL: "https://api.example?key=hunter2", Model: "m"},
		"no model":            {URL: "https://api.example"},
		"too many dimensions": {URL: "https://api.example", Model: "m", Dimensions: 10_000},
		"negative":            {URL: "https://api.example", Model: "m", PerMinute: -1},
		"a key of two lines":  {URL: "https://api.example", Model: "m", Key: "hunter2\nX: y"},
	} {
		if _, err := vector.NewRemote(c); err == nil || !strings.Contains(err.Error(), "KITH_EMBEDDINGS_") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPlainHTTPOnLoopback: a model on the same machine needs no certificate.
func TestPlainHTTPOnLoopback(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"http://localhost:11434/v1", "http://127.0.0.1:11434/v1", "http://[::1]:11434/v1", "https://api.example/v1"} {
		if _, err := vector.NewRemote(vector.RemoteConfig{URL: url, Model: "m"}); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}
