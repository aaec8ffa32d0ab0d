// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/operations -run TestACME
// Before, `make $PWD/.tmp/bin/pebble` builds Pebble.

package operations

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/deploy/e2e/harness"
	"golang.org/x/net/dns/dnsmessage"
)

// issuer is a running Pebble, the ACME server that Let's Encrypt tests clients with. For it, every name leads to this machine.
type issuer struct {
	directory string // the address that clients are given
	trusted   string // the file with the certificate of that address
	root      []byte // of the certificates that it issues
	stop      func()
}

// portOf returns the port of an address.
func portOf(t *testing.T, address string) int {
	t.Helper()
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// newIssuer starts a Pebble that connects to these ports for challenges.
func newIssuer(t *testing.T, httpPort, tlsPort int) issuer {
	t.Helper()
	folder, listen, manage := t.TempDir(), harness.FreeAddress(t), harness.FreeAddress(t)
	pair := filepath.Join(folder, "pair.pem")
	local := httptest.NewTLSServer(nil) // its certificate is for 127.0.0.1
	local.Close()
	key, err := x509.MarshalPKCS8PrivateKey(local.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	both := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: local.Certificate().Raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...)
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": listen, "managementListenAddress": manage, "certificate": pair, "privateKey": pair, "httpPort": httpPort, "tlsPort": tlsPort, "keyAlgorithm": "ecdsa",
		"retryAfter": map[string]int{"authz": 1, "order": 1}, "profiles": map[string]any{"default": map[string]any{"description": "as Let's Encrypt", "validityPeriod": 90 * 86400}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string][]byte{pair: both, filepath.Join(folder, "pebble.json"): config} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	made := issuer{directory: "https://" + listen + "/dir", trusted: pair, stop: startPebble(t, "-config", filepath.Join(folder, "pebble.json"), "-dnsserver", hereAll(t))}
	client := local.Client() // trusts that certificate
	harness.Eventually(t, "Pebble answers", func() bool {
		res, err := client.Get("https://" + manage + "/roots/0")
		if err != nil {
			return false
		}
		defer func() { _ = res.Body.Close() }()
		made.root, err = io.ReadAll(res.Body)
		return err == nil && res.StatusCode == http.StatusOK
	})
	return made
}

// hereAll starts a server of DNS over TCP, as Pebble asks, by which every name is this machine. It returns its address.
func hereAll(t *testing.T) string {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			_ = errors.Join(answerName(conn), conn.Close()) // without an answer there is no certificate
		}
	}()
	return server.Addr().String()
}

// answerName answers one question, with the length before each message (RFC 1035, 4.2.2).
func answerName(conn net.Conn) error {
	var size uint16
	if err := binary.Read(conn, binary.BigEndian, &size); err != nil {
		return err
	}
	packet := make([]byte, size)
	if _, err := io.ReadFull(conn, packet); err != nil {
		return err
	}
	var message dnsmessage.Message
	if err := message.Unpack(packet); err != nil {
		return err
	}
	message.Response = true
	if asked := message.Questions[0]; asked.Type == dnsmessage.TypeA {
		message.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: asked.Name, Class: asked.Class}, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
		}}
	}
	answer, err := message.AppendPack([]byte{0, 0})
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint16(answer, uint16(len(answer)-2))
	_, err = conn.Write(answer)
	return err
}

// startPebble starts the program in .tmp/bin, and returns what ends it.
func startPebble(t *testing.T, args ...string) func() {
	t.Helper()
	path := harness.Repository(".tmp", "bin", "pebble")
	if _, err := os.Stat(path); err != nil {
		t.Fatal("Pebble is missing: `make test` builds it")
	}
	pebble, log := exec.Command(path, args...), &harness.Output{}
	pebble.Env, pebble.Stdout, pebble.Stderr = []string{"PEBBLE_VA_NOSLEEP=1"}, log, log
	if err := pebble.Start(); err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceFunc(func() {
		_ = pebble.Process.Kill()
		_ = pebble.Wait()
	})
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("Pebble wrote:\n%s", log)
		}
	})
	return stop
}

// TestACME: Kith gets the certificate of its public address by either challenge, for no other name, uses it again after a restart, and redirects http.
func TestACME(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves out what needs Pebble; `make test` runs it")
	}
	for _, challenge := range []string{"tls-alpn-01", "http-01"} {
		t.Run(challenge, func(t *testing.T) {
			t.Parallel()
			s, plain := harness.NewService(t, harness.SQLite), harness.FreeAddress(t)
			settings := map[string]string{"KITH_ACME": "true", "KITH_BASE_URL": "https://kith.example", "KITH_ACME_HTTP_ADDR": plain}
			httpPort, tlsPort := portOf(t, plain), portOf(t, s.Addr)
			if challenge == "http-01" {
				tlsPort = portOf(t, harness.FreeAddress(t)) // as behind a proxy that terminates TLS
			} else {
				settings["KITH_ACME_HTTP_ADDR"] = "off"
			}
			authority := newIssuer(t, httpPort, tlsPort)
			settings["KITH_ACME_DIRECTORY"], settings["SSL_CERT_FILE"] = authority.directory, authority.trusted
			s.StartWith(settings)
			first := checkIssued(t, s, authority.root)
			checkKept(t, s)
			if challenge == "http-01" {
				checkRedirect(t, plain)
			}
			authority.stop() // so that no other certificate can come
			s.Edge.Stop()
			s.Start()
			if again := checkIssued(t, s, authority.root); !bytes.Equal(first.Raw, again.Raw) {
				t.Error("after a restart the certificate is another")
			}
		})
	}
}

// checkIssued waits until Kith answers with a certificate of the authority, returns it, and checks that other names get none.
func checkIssued(t *testing.T, s *harness.Service, root []byte) (leaf *x509.Certificate) {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(root) {
		t.Fatalf("the authority's certificate is %q", root)
	}
	client := &http.Client{Timeout: harness.Timeout, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "kith.example", MinVersion: tls.VersionTLS12}, DisableKeepAlives: true, ForceAttemptHTTP2: true,
	}}
	harness.Eventually(t, "Kith answers with a certificate", func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+s.Addr+"/v1", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "kith.example"
		res, err := client.Do(req)
		if err != nil {
			return false
		}
		leaf = res.TLS.PeerCertificates[0]
		return res.Body.Close() == nil && res.StatusCode == http.StatusOK && res.ProtoMajor == 2
	})
	for _, name := range []string{"other.example", "www.kith.example", "localhost", ""} {
		conn, err := tls.Dial("tcp", s.Addr, &tls.Config{ServerName: name, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}) //nolint:gosec // no certificate is expected
		if err == nil {
			_ = conn.Close()
			t.Errorf("%q gets a certificate", name)
		}
	}
	metric := harness.Get(t, s.Edge.Admin+"/metrics", "Accept: text/plain")
	_, value, _ := strings.Cut(metric.Body, "\n"+`kith_tls_certificate_expiry_timestamp_seconds{use="edge"} `)
	value, _, _ = strings.Cut(value, "\n")
	if expires, err := strconv.ParseFloat(value, 64); err != nil || int64(expires) != leaf.NotAfter.Unix() || time.Until(leaf.NotAfter) < 80*24*time.Hour {
		t.Errorf("the metric of the expiry is %q, the certificate expires on %s", value, leaf.NotAfter)
	}
	return leaf
}

// checkKept: the certificate is in a folder that only its user can open, and the doctor reads it and sees when others could.
func checkKept(t *testing.T, s *harness.Service) {
	t.Helper()
	folder := filepath.Join(filepath.Dir(s.DatabaseURL), "certificates")
	env := harness.Environment(s.Database(), s.Settings, map[string]string{"KITH_ADDR": s.Addr})
	for mode, want := range map[os.FileMode]string{0o700: "ok    certificates", 0o755: "FAIL  certificates"} {
		if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
			t.Fatalf("the folder is %v: %v", info, err)
		}
		if err := os.Chmod(folder, mode); err != nil {
			t.Fatal(err)
		}
		if got := harness.RunKith(t, env, "", "doctor"); !strings.Contains(got.Stdout, want) {
			t.Errorf("%o: %s%s", mode, got.Stdout, got.Stderr)
		}
		if err := os.Chmod(folder, 0o700); err != nil { //nolint:gosec // a folder
			t.Fatal(err)
		}
	}
}

// checkRedirect: http leads to the public address, whatever host is named, and takes no forms.
func checkRedirect(t *testing.T, plain string) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for method, want := range map[string]int{http.MethodGet: http.StatusFound, http.MethodPost: http.StatusBadRequest} {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+plain+"//other.example/people?q=ada", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if where := res.Header.Get("Location"); res.StatusCode != want || (method == http.MethodGet) != (where == "https://kith.example//other.example/people?q=ada") {
			t.Errorf("%s: %d %q", method, res.StatusCode, where)
		}
	}
}
