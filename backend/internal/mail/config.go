package mail

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/mail"
	"net/url"
	"strconv"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// Config configures how emails are sent.
type Config struct {
	// URL names the SMTP server and the sender:
	//
	//	smtp://user:password@host:587?from=Kith%20<kith@example.com>   STARTTLS
	//	smtps://user:password@host:465?from=kith@example.com           TLS from the start
	//
	// The credentials may be left out. With smtp, tls= may be required (the
	// default), opportunistic or off; on a loopback host the default is
	// opportunistic.
	URL string
	// Queue is how many emails may wait; 0 means 256.
	Queue int
	// Timeout limits one attempt to send; 0 means 30 s.
	Timeout time.Duration
	// Retry are the waiting times before each further attempt after a temporary
	// failure; nil means 2 s and 15 s.
	Retry []time.Duration
	// TLS is used for the connection; nil means the system's authorities.
	TLS *tls.Config
	// Observe is called once for each email, with how it ended: sent, refused, failed or dropped, as metrics.NewMail
	// counts it. It may be nil.
	Observe func(outcome string)
	// Logger logs the emails that could not be sent, without their recipients; nil
	// discards it.
	Logger *slog.Logger
}

const (
	defaultQueue   = 256
	defaultTimeout = 30 * time.Second
)

func (c Config) resolved() Config {
	if c.Queue == 0 {
		c.Queue = defaultQueue
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Retry == nil {
		c.Retry = []time.Duration{2 * time.Second, 15 * time.Second}
	}
	if c.Observe == nil {
		c.Observe = func(string) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// server is the parsed URL.
type server struct {
	host    string
	options []gomail.Option
	from    *mail.Address
}

// errURL describes the format of the address. It never repeats the address, which may
// contain a password.
var errURL = errors.New("the mail server's address cannot be read: " +
	"write smtp://user:password@host:587?from=kith@example.com, or smtps:// for TLS from the start")

// parseURL reads the server's address.
func parseURL(raw string, tlsConfig *tls.Config, timeout time.Duration) (*server, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Path != "" && u.Path != "/" {
		return nil, errURL
	}
	s := &server{host: u.Hostname(), options: []gomail.Option{gomail.WithTimeout(timeout)}}
	if tlsConfig != nil {
		tlsConfig = tlsConfig.Clone()
		tlsConfig.ServerName = s.host
		s.options = append(s.options, gomail.WithTLSConfig(tlsConfig))
	}
	if s.from, err = mail.ParseAddress(u.Query().Get("from")); err != nil {
		return nil, errors.New("the mail server's address names no sender: add ?from=kith@example.com")
	}
	if err := s.secure(u); err != nil {
		return nil, err
	}
	if err := s.port(u); err != nil {
		return nil, err
	}
	if password, ok := u.User.Password(); ok {
		// The library uses PLAIN and LOGIN only over TLS or on a loopback connection.
		s.options = append(s.options, gomail.WithUsername(u.User.Username()), gomail.WithPassword(password),
			gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin))
	}
	return s, nil
}

func (s *server) secure(u *url.URL) error {
	if u.Scheme == "smtps" {
		s.options = append(s.options, gomail.WithSSL())
		return nil
	}
	policy := gomail.TLSMandatory
	switch u.Query().Get("tls") {
	case "":
		if isLoopback(s.host) {
			policy = gomail.TLSOpportunistic
		}
	case "required":
	case "opportunistic":
		policy = gomail.TLSOpportunistic
	case "off":
		policy = gomail.NoTLS
	default:
		return errors.New("the mail server's address takes tls=required, tls=opportunistic or tls=off")
	}
	s.options = append(s.options, gomail.WithTLSPolicy(policy))
	return nil
}

func (s *server) port(u *url.URL) error {
	port := 587
	if u.Scheme == "smtps" {
		port = 465
	}
	if given := u.Port(); given != "" {
		var err error
		if port, err = strconv.Atoi(given); err != nil || port < 1 || port > 65535 {
			return fmt.Errorf("the mail server's port %q is not a port number", given)
		}
	}
	s.options = append(s.options, gomail.WithPort(port))
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
