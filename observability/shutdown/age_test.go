package shutdown_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"testing"
	"time"

	"github.com/kith-crm/kith/observability/shutdown"
)

// TestOldConnectionsEnd: a connection that has reached its maximum age is closed after
// one more response, over HTTP/1.1 and HTTP/2, and no request fails.
func TestOldConnectionsEnd(t *testing.T) {
	t.Parallel()
	for _, version := range []int{1, 2} {
		for maxAge, want := range map[time.Duration]bool{time.Nanosecond: true, time.Hour: false, 0: false} {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answer") }))
			shutdown.New(server.Config).MaxAge = maxAge
			server.EnableHTTP2 = version == 2
			server.StartTLS()
			t.Cleanup(server.Close)
			client := server.Client()
			if transport, ok := client.Transport.(*http.Transport); ok && version == 1 {
				transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
			}
			used := map[string]bool{}
			for range 3 {
				address, major := connection(t, client, server.URL)
				used[address] = true
				if major != version {
					t.Fatalf("HTTP/%d was used, not %d", major, version)
				}
			}
			if anew := len(used) == 3; anew != want || !anew && len(used) != 1 {
				t.Errorf("HTTP/%d, at most %s old: three requests used %d connections", version, maxAge, len(used))
			}
		}
	}
}

// connection sends a request and returns the local address of the connection that was used.
func connection(t *testing.T, client *http.Client, address string) (local string, major int) {
	t.Helper()
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { local = info.Conn.LocalAddr().(*net.TCPAddr).String() }}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodPost, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(res.Body); err != nil || string(body) != "answer" {
		t.Fatalf("%q, %v", body, err)
	}
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return local, res.ProtoMajor
}
