package shutdown_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/observability/shutdown"
)

// host is a running server with its drainer.
type host struct {
	drainer  *shutdown.Drainer
	server   *http.Server
	listener net.Listener
	served   chan error
}

func newHost(t *testing.T, timeout time.Duration) *host {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &host{listener: listener, served: make(chan error, 1), server: &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answer") }),
	}}
	h.drainer = shutdown.New(h.server)
	h.drainer.Timeout = timeout
	go func() { h.served <- h.server.Serve(listener) }()
	t.Cleanup(func() { _ = h.server.Close() })
	return h
}

func (h *host) drain(t *testing.T) (drained chan struct{}) {
	t.Helper()
	drained = make(chan struct{})
	go func() {
		if err := h.drainer.Drain(t.Context(), h.listener); err != nil {
			t.Errorf("Drain returned %v", err)
		}
		close(drained)
	}()
	if err := <-h.served; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve returned %v", err)
	}
	return drained
}

func ask(t *testing.T, client *http.Client, address string) *http.Response {
	t.Helper()
	res, err := client.Post("http://"+address, "text/plain", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(res.Body); err != nil || string(body) != "answer" {
		t.Errorf("got %q, %v", body, err)
	}
	_ = res.Body.Close()
	return res
}

// A request on an open connection is answered, and the response closes the connection.
func TestResponsesCloseConnectionsWhileDraining(t *testing.T) {
	t.Parallel()
	h := newHost(t, time.Minute)
	client := &http.Client{Transport: &http.Transport{}}
	address := h.listener.Addr().String()
	if res := ask(t, client, address); res.Close {
		t.Error("the first response closes the connection")
	}
	drained := h.drain(t)
	select {
	case <-drained:
		t.Error("Drain returned although a connection is open")
	default:
	}
	if conn, err := net.Dial("tcp", address); err == nil {
		_ = conn.Close()
		t.Error("a new connection was accepted")
	}
	if res := ask(t, client, address); !res.Close {
		t.Error("the response does not close the connection")
	}
	<-drained // long before the timeout
}

// An idle connection delays the shutdown only until the timeout.
func TestDrainStopsWaitingAtItsTimeout(t *testing.T) {
	t.Parallel()
	h := newHost(t, 20*time.Millisecond)
	ask(t, &http.Client{Transport: &http.Transport{}}, h.listener.Addr().String())
	<-h.drain(t)
}

// Without open connections the shutdown does not wait.
func TestDrainDoesNotWaitWithoutConnections(t *testing.T) {
	t.Parallel()
	h := newHost(t, time.Minute)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask(t, client, h.listener.Addr().String())
	<-h.drain(t)
}

// slowAccept is a listener whose Accept returns only after the second Close, which is the
// server's.
type slowAccept struct {
	net.Listener
	closedAgain chan struct{}
}

func (d *slowAccept) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err != nil {
		<-d.closedAgain
	}
	return conn, err
}

func (d *slowAccept) Close() error {
	close(d.closedAgain)
	return d.Listener.Close()
}

// The server may be shut down before Serve has noticed that the listener is closed.
func TestDrainBeforeServeReturns(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.NotFoundHandler()}
	d := shutdown.New(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(&slowAccept{Listener: listener, closedAgain: make(chan struct{})}) }()
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close() // Serve has started
	if err := d.Drain(t.Context(), listener); err != nil {
		t.Errorf("Drain returned %v", err)
	}
	if err := <-served; !errors.Is(err, net.ErrClosed) && !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("Serve returned %v", err)
	}
}

// A request that does not finish in time is cut off, and Drain returns the error.
func TestDrainCutsRequestsOff(t *testing.T) {
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
	d := shutdown.New(server)
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
	if err := d.Drain(ctx, listener); !errors.Is(err, context.Canceled) {
		t.Errorf("Drain returned %v", err)
	}
	if err := <-cut; err == nil {
		t.Error("the request was answered")
	}
}
