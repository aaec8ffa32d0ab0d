package vector

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// RemoteConfig says how to reach a server that speaks OpenAI's embeddings API.
type RemoteConfig struct {
	// URL is the base of the API, such as https://api.openai.com/v1; the vectors are
	// asked for at {URL}/embeddings. It is https, or http on a loopback host.
	URL string
	// Key is sent as a bearer token; empty sends none. It is never shown.
	Key string
	// Model is the name of the model at the server.
	Model string
	// Dimensions is the number of dimensions to request, for models with a choice. 0 requests
	// none; then all answers must have as many as the first one.
	Dimensions int
	// PerMinute bounds the requests of this process; 0 means 300.
	PerMinute int
	// Timeout bounds one request; 0 means 30 s.
	Timeout time.Duration
	// Backoff is how long the first retry waits; 0 means 500 ms. Each further one
	// waits twice as long, or as long as the server asks.
	Backoff time.Duration
}

// Bounds of a remote provider.
const (
	// batch is how many texts one request holds.
	batch = 96
	// maxDimensions bounds a vector, and so an answer.
	maxDimensions = 8192
	// maxNumber is how many bytes one number of an answer may take.
	maxNumber = 32
	attempts  = 4
	// burst is how many requests may be made at once after a pause.
	burst = 5
	// maxRetryAfter is the longest wait that a server may ask for within a call.
	maxRetryAfter = 30 * time.Second

	defaultPerMinute = 300
	defaultTimeout   = 30 * time.Second
	defaultBackoff   = 500 * time.Millisecond
)

// Remote is a Provider behind HTTP.
type Remote struct {
	config   RemoteConfig
	endpoint string
	host     string
	client   *http.Client
	limiter  *rate.Limiter
	// found is the number of dimensions of the first answer.
	found atomic.Int64
}

// NewRemote returns a provider. It fails when the configuration cannot be right;
// the server is not asked.
func NewRemote(c RemoteConfig) (*Remote, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("KITH_EMBEDDINGS_URL is no address like https://api.example.com/v1 (no user, no query)")
	}
	if u.Scheme == "http" && !isLoopback(u.Hostname()) {
		return nil, errors.New("KITH_EMBEDDINGS_URL is http:// and not on this machine, so what members wrote would travel in the clear: use https://")
	}
	if c.Model == "" || len(c.Model) > 200 {
		return nil, errors.New("KITH_EMBEDDINGS_MODEL names the model, which a remote provider needs")
	}
	if c.Dimensions < 0 || c.Dimensions > maxDimensions || c.PerMinute < 0 {
		return nil, fmt.Errorf("KITH_EMBEDDINGS_DIMENSIONS is 1 to %d, or 0 for what the model gives; KITH_EMBEDDINGS_RATE is not negative", maxDimensions)
	}
	if strings.ContainsAny(c.Key, "\r\n\x00") {
		return nil, errors.New("KITH_EMBEDDINGS_KEY holds a line break")
	}
	if c.PerMinute == 0 {
		c.PerMinute = defaultPerMinute
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Backoff == 0 {
		c.Backoff = defaultBackoff
	}
	return &Remote{
		config: c, endpoint: strings.TrimSuffix(u.String(), "/") + "/embeddings", host: u.Host,
		limiter: rate.NewLimiter(rate.Limit(float64(c.PerMinute)/60), burst),
		// A redirect could send texts to a host that the member did not allow.
		client: &http.Client{Timeout: c.Timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// Model implements Provider.
func (r *Remote) Model() string {
	if r.config.Dimensions > 0 {
		return fmt.Sprintf("%s@%d", r.config.Model, r.config.Dimensions)
	}
	return r.config.Model
}

// Host implements Provider.
func (r *Remote) Host() string { return r.host }

// Noise implements Provider: it differs from model to model.
func (r *Remote) Noise() float32 { return 0 }

// Understands implements Provider.
func (r *Remote) Understands() bool { return true }

// Embed implements Provider. It repeats requests that fail for a reason that may pass,
// as long as ctx allows.
func (r *Remote) Embed(ctx context.Context, texts []string) ([]Vector, error) {
	out := make([]Vector, 0, len(texts))
	for len(texts) > 0 {
		n := min(batch, len(texts))
		vectors, err := r.askWithRetries(ctx, texts[:n])
		if err != nil {
			return nil, err
		}
		out, texts = append(out, vectors...), texts[n:]
	}
	return out, nil
}

// askWithRetries asks until there is an answer, a refusal, or no more time.
func (r *Remote) askWithRetries(ctx context.Context, texts []string) ([]Vector, error) {
	wait := r.config.Backoff
	for attempt := 1; ; attempt++ {
		if err := r.limiter.Wait(ctx); err != nil {
			return nil, cmp.Or(ctx.Err(), errTooSlow)
		}
		vectors, asked, err := r.ask(ctx, texts)
		var known *ProviderError
		switch {
		case err == nil, ctx.Err() != nil, errors.As(err, &known) && known.Final, attempt == attempts, asked > maxRetryAfter:
			return vectors, err
		}
		if err := sleep(ctx, max(wait, asked)); err != nil {
			return nil, err
		}
		wait *= 2
	}
}

// ask makes one request. When the failure may pass, asked is the server's Retry-After.
func (r *Remote) ask(ctx context.Context, texts []string) (vectors []Vector, asked time.Duration, err error) {
	body, err := json.Marshal(request{Model: r.config.Model, Input: texts, Format: "float", Dimensions: r.config.Dimensions})
	if err != nil {
		return nil, 0, fmt.Errorf("encode a request for embeddings: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, 0, fmt.Errorf("make a request for embeddings: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if r.config.Key != "" {
		req.Header.Set("Authorization", "Bearer "+r.config.Key)
	}
	res, err := r.client.Do(req)
	if err != nil {
		return nil, 0, trouble("the embedding provider at %s does not answer", r.host)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		asked, err := r.declined(res)
		return nil, asked, err
	}
	limit := int64(len(texts)*maxDimensions*maxNumber) + 1<<16
	data, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	switch {
	case err != nil:
		return nil, 0, trouble("the answer of the embedding provider at %s broke off", r.host)
	case int64(len(data)) > limit:
		return nil, 0, refusal("the answer of the embedding provider at %s is too long", r.host)
	}
	vectors, err = r.read(data, len(texts))
	return vectors, 0, err
}

// declined turns a status into an error, final or not. It leaves the body out, which may
// repeat the texts or parts of the key.
func (r *Remote) declined(res *http.Response) (asked time.Duration, err error) {
	switch code := res.StatusCode; {
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code >= http.StatusInternalServerError:
		return retryAfter(res.Header.Get("Retry-After")), trouble("the embedding provider at %s answers %d", r.host, code)
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return 0, refusal("the embedding provider at %s refuses the key of this service (%d)", r.host, code)
	default:
		return 0, refusal("the embedding provider at %s answers %d", r.host, code)
	}
}

type request struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Format     string   `json:"encoding_format"`
	Dimensions int      `json:"dimensions,omitempty"`
}

type response struct {
	Data []struct {
		Index     *int   `json:"index"`
		Embedding Vector `json:"embedding"`
	} `json:"data"`
}

// read checks an answer: one vector for each text, in any order, each with the expected
// number of dimensions and a direction.
func (r *Remote) read(data []byte, n int) ([]Vector, error) {
	var got response
	if err := json.Unmarshal(data, &got); err != nil { // its text may hold what was sent
		return nil, trouble("the answer of the embedding provider at %s cannot be read", r.host)
	}
	if len(got.Data) != n {
		return nil, trouble("the embedding provider at %s answered %d of %d texts", r.host, len(got.Data), n)
	}
	out := make([]Vector, n)
	for i, d := range got.Data {
		at := i
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= n || out[at] != nil {
			return nil, trouble("the embedding provider at %s mixed up its answers", r.host)
		}
		if err := r.check(d.Embedding); err != nil {
			return nil, err
		}
		out[at] = d.Embedding
	}
	return out, nil
}

func (r *Remote) check(v Vector) error {
	want := r.config.Dimensions
	if want == 0 && len(v) > 0 && len(v) <= maxDimensions {
		r.found.CompareAndSwap(0, int64(len(v)))
		want = int(r.found.Load())
	}
	if len(v) == 0 || len(v) != want {
		return refusal("the embedding provider at %s answered vectors of %d numbers in place of %d", r.host, len(v), want)
	}
	if Normalise(v) != nil {
		return trouble("the embedding provider at %s answered a vector without a direction", r.host)
	}
	return nil
}

// errTooSlow is returned when a wait would outlast its context.
var errTooSlow = trouble("the embedding provider takes too long")

// sleep waits for d. It fails at once when ctx ends before that.
func sleep(ctx context.Context, d time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < d {
		return errTooSlow
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// retryAfter reads the Retry-After header: seconds or a time (RFC 9110, section
// 10.2.3). The result is at most an hour, and 0 when there is no valid header.
func retryAfter(header string) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, int(time.Hour/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(0, time.Until(at)), time.Hour)
	}
	return 0
}
