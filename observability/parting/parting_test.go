package parting_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/observability/parting"
)

// host is a server that can leave.
type host struct {
	parting  *parting.Parting
	server   *http.Server
	listener net.Listener
	served   chan error
}

func newHost(t *testing.T, patience time.Duration) *host {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &host{listener: listener, served: make(chan error, 1), server: &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") }),
	}}
	h.parting = parting.New(h.server)
	h.parting.Patience = patience
	go func() { h.served <- h.server.Serve(listener) }()
	t.Cleanup(func() { _ = h.server.Close() })
	return h
}

func (h *host) leave(t *testing.T) (left chan struct{}) {
	t.Helper()
	left = make(chan struct{})
	go func() {
		if err := h.parting.Leave(t.Context(), h.listener); err != nil {
			t.Errorf("leaving ended with %v", err)
		}
		close(left)
	}()
	if err := <-h.served; !errors.Is(err, net.ErrClosed) {
		t.Errorf("serving ended with %v", err)
	}
	return left
}

func ask(t *testing.T, client *http.Client, address string) *http.Response {
	t.Helper()
	res, err := client.Post("http://"+address, "text/plain", strings.NewReader("who is there?"))
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(res.Body); err != nil || string(body) != "here" {
		t.Errorf("got %q, %v", body, err)
	}
	_ = res.Body.Close()
	return res
}

// A caller who asks on an open connection is answered, and told to go.
func TestCallersAreToldToGo(t *testing.T) {
	t.Parallel()
	h := newHost(t, time.Minute)
	client := &http.Client{Transport: &http.Transport{}}
	address := h.listener.Addr().String()
	if res := ask(t, client, address); res.Close {
		t.Error("the first answer is the last one")
	}
	left := h.leave(t)
	select {
	case <-left:
		t.Error("it left a caller behind")
	default:
	}
	if conn, err := net.Dial("tcp", address); err == nil {
		_ = conn.Close()
		t.Error("somebody listens to new callers")
	}
	if res := ask(t, client, address); !res.Close {
		t.Error("the caller is not told to go")
	}
	<-left // long before its patience ends
}

// A caller who does not ask again keeps nobody.
func TestSilentCallersKeepNobody(t *testing.T) {
	t.Parallel()
	h := newHost(t, 20*time.Millisecond)
	ask(t, &http.Client{Transport: &http.Transport{}}, h.listener.Addr().String())
	<-h.leave(t)
}

// Whom nobody calls is gone at once.
func TestNobodyIsLeft(t *testing.T) {
	t.Parallel()
	h := newHost(t, time.Minute)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask(t, client, h.listener.Addr().String())
	<-h.leave(t)
}

// drowsy is a listener that notices only when the server closes it that it was closed
// before.
type drowsy struct {
	net.Listener
	awake chan struct{}
}

func (d *drowsy) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err != nil {
		<-d.awake
	}
	return conn, err
}

func (d *drowsy) Close() error {
	close(d.awake)
	return d.Listener.Close()
}

// A server may shut down before what serves has seen that nobody comes any more.
func TestGoneBeforeServeReturns(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.NotFoundHandler()}
	p := parting.New(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(&drowsy{Listener: listener, awake: make(chan struct{})}) }()
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close() // it serves now
	if err := p.Leave(t.Context(), listener); err != nil {
		t.Errorf("leaving ended with %v", err)
	}
	if err := <-served; !errors.Is(err, net.ErrClosed) && !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("serving ended with %v", err)
	}
}

// A request that is not done in time is cut off, and Leave says so.
func TestCutOff(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(started)
		<-r.Context().Done()
	})}
	p := parting.New(server)
	go func() { _ = server.Serve(listener) }()
	cut := make(chan error, 1)
	go func() {
		res, err := http.Get("http://" + listener.Addr().String())
		if err == nil {
			_ = res.Body.Close()
		}
		cut <- err
	}()
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Leave(ctx, listener); !errors.Is(err, context.Canceled) {
		t.Errorf("leaving ended with %v", err)
	}
	if err := <-cut; err == nil {
		t.Error("the request was answered")
	}
}
