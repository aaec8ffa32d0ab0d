// Package upstream calls the backend. No other package of the edge does.
//
// Tool calls are not decoded: the JSON bytes of the arguments are the body of a Connect
// JSON call, and the answer's bytes are returned unchanged. The other reads use the
// generated clients with binary protobuf.
//
// Each call sends the service credential and the request id, has a deadline, and reads at most
// 8 MiB. Each failure is an *Error, whose Kind says what the caller may be told. The backend
// authenticates the caller and checks permissions; nothing is cached or retried here.
package upstream

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/kith-crm/kith/observability/tracing"
	"github.com/kith-crm/kith/proto/gen/kith/access/v1/accessv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/directory/v1/directoryv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/sandbox/v1/sandboxv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/sunset/v1/sunsetv1connect"
)

const (
	// DefaultTimeout is the timeout of one call.
	DefaultTimeout = 10 * time.Second

	maxAnswerBytes = 8 << 20
)

// Options configure a Client. BaseURL is required.
type Options struct {
	// BaseURL is the backend's address: http or https, without a path.
	BaseURL string
	// Transport makes the calls; NewTransport(nil) if nil.
	Transport http.RoundTripper
	// ServiceToken authenticates the edge to the backend. Empty sends none.
	ServiceToken string
	// Procedures are the procedures that CallTool can call: /package.Service/Method.
	Procedures []string
	// Tracer makes the spans of calls; nil makes none.
	Tracer *tracing.Tracer
	// Timeout of one call; DefaultTimeout if zero.
	Timeout time.Duration
	// Known reports whether the transport knows which of several backends serves the calls of a
	// bearer. If not, CallTool calls GetPrincipal first, whose answer identifies the backend. Nil
	// if there is one backend.
	Known func(bearer string) bool
}

// Client calls the backend. It is safe for concurrent use.
type Client struct {
	timeout   time.Duration
	known     func(bearer string) bool
	tools     map[string]*toolClient
	access    accessv1connect.AccessServiceClient
	directory directoryv1connect.PublicDirectoryServiceClient
	sandbox   sandboxv1connect.SandboxServiceClient
	sunset    sunsetv1connect.SunsetServiceClient
}

// New returns a client. It fails if BaseURL is not an http(s) address without a path. It does not
// connect.
func New(o Options) (*Client, error) {
	base, err := parseBase(o.BaseURL)
	if err != nil {
		return nil, err
	}
	if o.Transport == nil {
		o.Transport = NewTransport(nil)
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	caller := doer{transport: o.Transport}
	options, err := clientOptions(o)
	if err != nil {
		return nil, err
	}
	c := &Client{
		timeout:   o.Timeout,
		known:     o.Known,
		tools:     make(map[string]*toolClient, len(o.Procedures)),
		access:    accessv1connect.NewAccessServiceClient(caller, base, options...),
		directory: directoryv1connect.NewPublicDirectoryServiceClient(caller, base, options...),
		sandbox:   sandboxv1connect.NewSandboxServiceClient(caller, base, options...),
		sunset:    sunsetv1connect.NewSunsetServiceClient(caller, base, options...),
	}
	for _, procedure := range append([]string{accessv1connect.AccessServiceRefuseCallProcedure}, o.Procedures...) {
		c.tools[procedure] = newToolClient(caller, base+procedure, options)
	}
	return c, nil
}

func parseBase(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", fmt.Errorf("parse backend address: %w", err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("parse backend address: must be http(s)://host[:port]")
	}
	return u.Scheme + "://" + u.Host, nil
}

func clientOptions(o Options) ([]connect.ClientOption, error) {
	interceptors := []connect.Interceptor{identify(o.ServiceToken)}
	if o.Tracer != nil {
		traced, err := o.Tracer.Interceptor()
		if err != nil {
			return nil, fmt.Errorf("trace calls: %w", err)
		}
		interceptors = append(interceptors, traced)
	}
	return []connect.ClientOption{
		connect.WithReadMaxBytes(maxAnswerBytes),
		// Not compressed: backend and edge share a fast network, and compressing took a third of a
		// call's time.
		connect.WithAcceptCompression("gzip", nil, nil),
		connect.WithInterceptors(interceptors...),
	}, nil
}

// NewTransport returns a transport for a backend in another process: HTTP/1.1 with enough
// idle connections that calls under load do not open new ones. config is for https; nil is
// Go's default.
func NewTransport(config *tls.Config) *http.Transport {
	dialer := &net.Dialer{Timeout: 2 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		DialContext:         dialer.DialContext,
		TLSClientConfig:     config,
		TLSHandshakeTimeout: 5 * time.Second,
		MaxIdleConnsPerHost: 256,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true, // Connect requests compression itself
	}
}
