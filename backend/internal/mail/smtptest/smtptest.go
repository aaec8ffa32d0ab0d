// Package smtptest is an SMTP server for tests: it speaks RFC 5321 over a real socket,
// with STARTTLS, TLS from the start and AUTH PLAIN, and stores the emails that it
// receives.
package smtptest

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"
)

// Options configure the server.
type Options struct {
	// TLS is offered by STARTTLS, or used from the start with Implicit.
	TLS      *tls.Config
	Implicit bool
	// User and Password are required if set.
	User, Password string
	// Refuse returns the response to RCPT TO for the n-th email, from 1; empty accepts
	// it.
	Refuse func(n int) string
}

// Email is an email that the server received.
type Email struct {
	From, To string
	// Secure is set if it came over TLS.
	Secure bool
	// Header and Body belong to the outermost part.
	Header mail.Header
	Body   string
}

// Server listens on a loopback address.
type Server struct {
	// Addr is host:port.
	Addr    string
	options Options
	emails  chan Email

	mu       sync.Mutex
	attempts int
}

// Start starts a server until the end of the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Addr: listener.Addr().String(), options: o, emails: make(chan Email, 100)}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		conns.Wait()
	})
	return s
}

// Next waits for the next email.
func (s *Server) Next(t testing.TB) Email {
	t.Helper()
	select {
	case l := <-s.emails:
		return l
	case <-time.After(20 * time.Second):
		t.Fatal("no email came")
		return Email{}
	}
}

// Waiting returns how many received emails have not been read with Next.
func (s *Server) Waiting() int { return len(s.emails) }

// Attempts returns how many recipients were named.
func (s *Server) Attempts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attempts
}

// dialog is one connection.
type dialog struct {
	server *Server
	conn   net.Conn
	lines  *bufio.Reader
	email  Email
	authed bool
}

func (s *Server) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	d := &dialog{server: s, conn: conn, authed: s.options.User == ""}
	if s.options.Implicit {
		d.conn, d.email.Secure = tls.Server(conn, s.options.TLS), true
	}
	d.lines = bufio.NewReader(d.conn)
	d.say("220 smtptest ready")
	for {
		line, err := d.lines.ReadString('\n')
		if err != nil || !d.answer(strings.TrimRight(line, "\r\n")) {
			return
		}
	}
}

func (d *dialog) say(lines ...string) {
	_, _ = io.WriteString(d.conn, strings.Join(lines, "\r\n")+"\r\n")
}

// answer executes one command; false ends the connection.
func (d *dialog) answer(line string) bool {
	verb, rest, _ := strings.Cut(line, " ")
	switch strings.ToUpper(verb) {
	case "EHLO", "HELO":
		d.greet()
	case "STARTTLS":
		d.say("220 go ahead")
		d.conn = tls.Server(d.conn, d.server.options.TLS)
		d.lines, d.email.Secure = bufio.NewReader(d.conn), true
	case "AUTH":
		d.authenticate(rest)
	case "MAIL":
		if !d.authed {
			d.say("530 authentication required")
			return true
		}
		d.email.From = bare(rest)
		d.say("250 ok")
	case "RCPT":
		d.recipient(rest)
	case "DATA":
		return d.data()
	case "RSET", "NOOP":
		d.say("250 ok")
	case "QUIT":
		d.say("221 bye")
		return false
	default:
		d.say("502 what?")
	}
	return true
}

func (d *dialog) greet() {
	lines := []string{"250-smtptest", "250-8BITMIME"}
	if d.server.options.TLS != nil && !d.email.Secure {
		lines = append(lines, "250-STARTTLS")
	}
	if d.server.options.User != "" {
		lines = append(lines, "250-AUTH PLAIN")
	}
	d.say(append(lines, "250 SIZE 1000000")...)
}

func (d *dialog) authenticate(rest string) {
	raw, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(rest, "PLAIN "))
	if string(raw) != "\x00"+d.server.options.User+"\x00"+d.server.options.Password {
		d.say("535 wrong credentials")
		return
	}
	d.authed = true
	d.say("235 welcome")
}

func (d *dialog) recipient(rest string) {
	d.server.mu.Lock()
	d.server.attempts++
	n := d.server.attempts
	d.server.mu.Unlock()
	if d.server.options.Refuse != nil {
		if refusal := d.server.options.Refuse(n); refusal != "" {
			d.say(refusal)
			return
		}
	}
	d.email.To = bare(rest)
	d.say("250 ok")
}

func (d *dialog) data() bool {
	d.say("354 go ahead")
	var text strings.Builder
	for {
		line, err := d.lines.ReadString('\n')
		if err != nil {
			return false
		}
		if line == ".\r\n" {
			break
		}
		text.WriteString(strings.TrimPrefix(line, "."))
	}
	parsed, err := mail.ReadMessage(strings.NewReader(text.String()))
	if err != nil {
		d.say(fmt.Sprintf("554 unreadable: %v", err))
		return true
	}
	body, err := io.ReadAll(parsed.Body)
	if err != nil {
		d.say("554 unreadable body")
		return true
	}
	d.email.Header, d.email.Body = parsed.Header, string(body)
	d.server.emails <- d.email
	d.say("250 kept")
	return true
}

// bare returns the address in FROM:<…> or TO:<…>.
func bare(s string) string {
	_, s, _ = strings.Cut(s, "<")
	s, _, _ = strings.Cut(s, ">")
	return s
}
