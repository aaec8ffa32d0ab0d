package mail_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/mail"
	"github.com/kith-crm/kith/backend/internal/mail/smtptest"
)

// lockedBuffer is a log that several goroutines may write to.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func newMailer(t *testing.T, c mail.Config) *mail.Mailer {
	t.Helper()
	c.Timeout = 10 * time.Second
	if c.Retry == nil {
		c.Retry = []time.Duration{time.Millisecond, time.Millisecond}
	}
	m, err := mail.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func start(t *testing.T, c mail.Config) *mail.Mailer {
	t.Helper()
	m := newMailer(t, c)
	m.Start(t.Context())
	t.Cleanup(func() { m.Stop(context.Background()) })
	return m
}

// write returns a Write of one plain email.
func write(to string) mail.Write {
	return func(context.Context) (*mail.Message, error) {
		return &mail.Message{To: to, Subject: "Grüße", Text: "Hallo ü\n.\nhttps://kith.example/verify?link=abc=\n", HTML: "<p>Hallo ü</p>"}, nil
	}
}

// certificate returns the server's and the client's TLS configuration with one
// certificate for 127.0.0.1.
func certificate(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return &tls.Config{Certificates: s.TLS.Certificates, MinVersion: tls.VersionTLS12}, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}

func TestEmailArrives(t *testing.T) {
	t.Parallel()
	serverTLS, clientTLS := certificate(t)
	const from = "?from=Kith%20<kith@kith.example>"
	cases := []struct {
		name    string
		options smtptest.Options
		url     func(addr string) string
		secure  bool
	}{
		{"in the clear to this machine", smtptest.Options{}, func(a string) string { return "smtp://" + a + from }, false},
		{"by STARTTLS where it is offered", smtptest.Options{TLS: serverTLS}, func(a string) string { return "smtp://" + a + from }, true},
		{"without STARTTLS when it is off", smtptest.Options{TLS: serverTLS}, func(a string) string { return "smtp://" + a + from + "&tls=off" }, false},
		{"by TLS from the start", smtptest.Options{TLS: serverTLS, Implicit: true}, func(a string) string { return "smtps://" + a + from }, true},
		{"with credentials", smtptest.Options{TLS: serverTLS, User: "kith", Password: "s:e@cret"}, func(a string) string {
			return "smtp://kith:s%3Ae%40cret@" + a + from + "&tls=required"
		}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := smtptest.Start(t, c.options)
			m := start(t, mail.Config{URL: c.url(s.Addr), TLS: clientTLS})
			if !m.Enqueue(write("ana@people.example")) {
				t.Fatal("the email was not accepted")
			}
			got := s.Next(t)
			if got.From != "kith@kith.example" || got.To != "ana@people.example" || got.Secure != c.secure {
				t.Errorf("envelope: %+v", got)
			}
			checkEmail(t, got)
		})
	}
}

func checkEmail(t *testing.T, got smtptest.Email) {
	t.Helper()
	for name, want := range map[string]string{
		"From": `"Kith" <kith@kith.example>`, "To": "<ana@people.example>", "Auto-Submitted": "auto-generated",
		"Subject": "=?UTF-8?q?Gr=C3=BC=C3=9Fe?=",
	} {
		if got.Header.Get(name) != want {
			t.Errorf("%s: %q", name, got.Header.Get(name))
		}
	}
	if got.Header.Get("Message-Id") == "" || got.Header.Get("Date") == "" {
		t.Errorf("header: %v", got.Header)
	}
	text, html := got.Parts(t)
	if strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) != "Hallo ü\n.\nhttps://kith.example/verify?link=abc=" {
		t.Errorf("text: %q", text)
	}
	if strings.TrimSpace(html) != "<p>Hallo ü</p>" {
		t.Errorf("HTML: %q", html)
	}
}

func TestUntrustedServerGetsNothing(t *testing.T) {
	t.Parallel()
	serverTLS, clientTLS := certificate(t)
	cases := []struct {
		name    string
		options smtptest.Options
		query   string
		tls     *tls.Config
	}{
		{"an untrusted certificate", smtptest.Options{TLS: serverTLS}, "", nil},
		{"no STARTTLS where it is required", smtptest.Options{}, "&tls=required", clientTLS},
		{"wrong credentials", smtptest.Options{TLS: serverTLS, User: "kith", Password: "another"}, "", clientTLS},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var log lockedBuffer
			s := smtptest.Start(t, c.options)
			m := newMailer(t, mail.Config{
				URL: "smtp://kith:secret@" + s.Addr + "?from=kith@kith.example" + c.query, TLS: c.tls, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			})
			m.Start(t.Context())
			m.Enqueue(write("ana@people.example"))
			m.Stop(t.Context())
			if s.Waiting() != 0 {
				t.Error("an email was sent")
			}
			if got := log.String(); !strings.Contains(got, "send email") || strings.Contains(got, "secret") || strings.Contains(got, "ana@") {
				t.Errorf("log: %s", got)
			}
		})
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name     string
		refusals []string
		attempts int
		arrives  bool
	}{
		{"busy once", []string{"450 busy"}, 2, true},
		{"busy twice", []string{"450 busy", "421 busy"}, 3, true},
		{"busy every time", []string{"450 a", "450 b", "450 c", "450 d"}, 3, false},
		{"refused permanently", []string{"550 nobody here"}, 1, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := smtptest.Start(t, smtptest.Options{Refuse: func(n int) string {
				if n <= len(c.refusals) {
					return c.refusals[n-1]
				}
				return ""
			}})
			m := newMailer(t, mail.Config{URL: "smtp://" + s.Addr + "?from=kith@kith.example", Retry: []time.Duration{time.Millisecond, time.Millisecond}})
			m.Start(t.Context())
			m.Enqueue(write("ana@people.example"))
			m.Stop(t.Context())
			if s.Attempts() != c.attempts || (s.Waiting() == 1) != c.arrives {
				t.Errorf("%d attempts, %d emails", s.Attempts(), s.Waiting())
			}
		})
	}
}

func TestQueueIsBoundedAndDrained(t *testing.T) {
	t.Parallel()
	s := smtptest.Start(t, smtptest.Options{})
	m := newMailer(t, mail.Config{URL: "smtp://" + s.Addr + "?from=kith@kith.example", Queue: 3})
	for n := range 3 {
		if !m.Enqueue(write("ana@people.example")) {
			t.Fatalf("email %d was not accepted", n)
		}
	}
	if m.Enqueue(write("ana@people.example")) {
		t.Error("a full queue accepted another email")
	}
	m.Start(t.Context())
	m.Stop(t.Context())
	if s.Waiting() != 3 {
		t.Errorf("%d emails were sent before the end", s.Waiting())
	}
	if m.Enqueue(write("ana@people.example")) {
		t.Error("an email was accepted after the end")
	}
	m.Stop(t.Context())
}

func TestNothingToSend(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	s := smtptest.Start(t, smtptest.Options{})
	m := newMailer(t, mail.Config{URL: "smtp://" + s.Addr + "?from=kith@kith.example", Logger: slog.New(slog.NewTextHandler(&log, nil))})
	m.Enqueue(func(context.Context) (*mail.Message, error) { return nil, nil })
	m.Enqueue(func(context.Context) (*mail.Message, error) { return nil, errors.New("store down") })
	m.Enqueue(write("no address"))
	m.Enqueue(write("ana@people.example\r\nBcc: all@people.example"))
	m.Enqueue(write("ana@people.example"))
	m.Start(t.Context())
	m.Stop(t.Context())
	if s.Waiting() != 1 || s.Attempts() != 1 {
		t.Errorf("%d emails in %d attempts", s.Waiting(), s.Attempts())
	}
	if !strings.Contains(log.String(), "store down") {
		t.Errorf("log: %s", log.String())
	}
}

func TestStopDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	m := newMailer(t, mail.Config{URL: "smtp://127.0.0.1:1?from=kith@kith.example"})
	m.Enqueue(func(ctx context.Context) (*mail.Message, error) {
		close(begun)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	m.Start(t.Context())
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m.Stop(ctx)
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"empty":            "",
		"no scheme":        "mail.example:25?from=a@b.example",
		"another scheme":   "https://user:hunter2@mail.example?from=a@b.example",
		"no host":          "smtp://user:hunter2@?from=a@b.example",
		"no sender":        "smtp://user:hunter2@mail.example",
		"a bad sender":     "smtp://user:hunter2@mail.example?from=nobody",
		"a bad port":       "smtp://user:hunter2@mail.example:70000?from=a@b.example",
		"a broken address": "smtp://user:hunter2%zz@mail.example?from=a@b.example",
		"another TLS mode": "smtp://user:hunter2@mail.example?from=a@b.example&tls=maybe",
		"a path":           "smtp://user:hunter2@mail.example/x?from=a@b.example",
	} {
		_, err := mail.New(mail.Config{URL: url})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestSend: an email that is sent at once says why it could not be, and one that can be turned off carries its address.
func TestSend(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]mail.Failure{
		"": "", "550 no such mailbox": mail.Refused, "450 busy": mail.Deferred, "452 full": mail.Deferred,
	} {
		s := smtptest.Start(t, smtptest.Options{Refuse: func(int) string { return answer }})
		m := newMailer(t, mail.Config{URL: "smtp://" + s.Addr + "?from=kith@kith.example"})
		err := m.Send(t.Context(), &mail.Message{To: "ana@people.example", Subject: "Digest\r\nBcc: all@people.example", Text: "a", HTML: "b", Unsubscribe: "https://kith.example/x?link=1"})
		if want != "" {
			if got := mail.FailureOf(err); err == nil || got != want {
				t.Errorf("%s: %q, %v", answer, got, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		header := s.Next(t).Header
		if header.Get("List-Unsubscribe") != "<https://kith.example/x?link=1>" || header.Get("List-Unsubscribe-Post") != "List-Unsubscribe=One-Click" || header.Get("Bcc") != "" {
			t.Errorf("%v", header)
		}
	}
	m := newMailer(t, mail.Config{URL: "smtp://127.0.0.1:1?from=kith@kith.example"})
	if err := m.Send(t.Context(), &mail.Message{To: "ana@people.example", Subject: "a", Text: "a", HTML: "b"}); mail.FailureOf(err) != mail.Unreachable {
		t.Errorf("no server: %v", err)
	}
	if err := m.Send(t.Context(), &mail.Message{To: "ana@", Subject: "a", Text: "a", HTML: "b"}); mail.FailureOf(err) != mail.Refused {
		t.Errorf("no address: %v", err)
	}
}
