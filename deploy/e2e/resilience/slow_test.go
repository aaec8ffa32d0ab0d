// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/resilience -run TestSlowClients

package resilience

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestSlowClients: a client that sends too slowly is disconnected: after 5 s for headers,
// after 15 s with a 408 for a body.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	s := harness.NewService(t, harness.SQLite)
	s.Start()
	t.Run("headers", func(t *testing.T) {
		t.Parallel()
		conn := s.Dial(t)
		if _, err := io.WriteString(conn, "POST /mcp/sandbox HTTP/1.1\r\nHost: loc"); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(conn)
		if err != nil && !errors.Is(err, io.EOF) {
			t.Errorf("the connection is not closed: %q %v", got, err)
		}
	})
	for _, head := range []string{"Content-Length: 500\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n1f4\r\n{"} {
		t.Run(head[:7]+" body", func(t *testing.T) {
			t.Parallel()
			conn := s.Dial(t)
			if _, err := io.WriteString(conn, "POST /mcp/sandbox HTTP/1.1\r\nHost: localhost\r\n"+harness.JSONType+"\r\n"+head); err != nil {
				t.Fatal(err)
			}
			reader := bufio.NewReader(conn)
			res, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Fatalf("no answer: %v", err)
			}
			harness.CheckMalformed(t, harness.ReadResponse(t, res), http.StatusRequestTimeout, harness.CodeInvalidRequest)
			if _, err := reader.ReadByte(); !errors.Is(err, io.EOF) {
				t.Errorf("the connection is not closed: %v", err)
			}
		})
	}
}
