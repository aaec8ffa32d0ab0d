package mail

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// Message is an email.
type Message struct {
	// To is a bare address.
	To      string
	Subject string
	// Text and HTML have the same content.
	Text, HTML string
	// Unsubscribe is the address to which a mail program sends a POST if the recipient wants no more of such emails
	// (RFC 8058); empty for emails that one cannot turn off.
	Unsubscribe string
}

// Write writes an email when it is about to be sent; nil means that there is none to
// send.
type Write func(ctx context.Context) (*Message, error)

// Mailer sends emails one after the other. It is safe for concurrent use.
type Mailer struct {
	config Config
	server *server
	queue  chan Write

	mu      sync.Mutex
	stopped bool
	quit    chan struct{}
	cancel  context.CancelFunc
	done    sync.WaitGroup
}

// New checks the configuration. Nothing is sent before Start.
func New(c Config) (*Mailer, error) {
	c = c.resolved()
	s, err := parseURL(c.URL, c.TLS, c.Timeout)
	if err != nil {
		return nil, err
	}
	return &Mailer{config: c, server: s, queue: make(chan Write, c.Queue), quit: make(chan struct{})}, nil
}

// Check connects to the mail server and signs in, and sends nothing.
func (m *Mailer) Check(ctx context.Context) error {
	client, err := gomail.NewClient(m.server.host, m.server.options...)
	if err != nil {
		return fmt.Errorf("prepare mail client: %w", err)
	}
	if err := client.DialWithContext(ctx); err != nil {
		return err
	}
	return client.Close()
}

// Enqueue queues an email to be written and sent in the background. It never blocks; it
// returns false if the queue is full, or after Stop.
func (m *Mailer) Enqueue(write Write) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped {
		return false
	}
	select {
	case m.queue <- write:
		return true
	default:
		m.config.Observe("dropped")
		return false
	}
}

// Start begins sending. It does not end with ctx: Stop ends it.
func (m *Mailer) Start(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cancel != nil || m.stopped {
		return
	}
	ctx, m.cancel = context.WithCancel(context.WithoutCancel(ctx))
	m.done.Go(func() { m.work(ctx) })
}

// Stop rejects new emails and sends the queued ones, until ctx ends. It may be called
// twice, or without Start.
func (m *Mailer) Stop(ctx context.Context) {
	m.mu.Lock()
	if !m.stopped {
		m.stopped = true
		close(m.quit)
	}
	cancel := m.cancel
	m.mu.Unlock()
	if cancel == nil {
		return
	}
	defer context.AfterFunc(ctx, cancel)()
	m.done.Wait()
	cancel()
}

func (m *Mailer) work(ctx context.Context) {
	for {
		select {
		case write := <-m.queue:
			m.handle(ctx, write)
		case <-m.quit:
			m.drain(ctx)
			return
		}
	}
}

func (m *Mailer) drain(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case write := <-m.queue:
			m.handle(ctx, write)
		default:
			return
		}
	}
}

// handle writes and sends one email. Its recipient is not logged.
func (m *Mailer) handle(ctx context.Context, write Write) {
	email, err := write(ctx)
	if err != nil {
		m.config.Logger.ErrorContext(ctx, "write email", "error", err)
		m.config.Observe("failed")
		return
	}
	if email == nil {
		return
	}
	err = m.send(ctx, email)
	m.config.Observe(outcomeOf(err))
	if err != nil {
		m.config.Logger.ErrorContext(ctx, "send email", "subject", email.Subject, "error", err)
	}
}

// Failure is why Send could not deliver an email.
type Failure string

// The failures.
const (
	// Refused: the mail server refuses this email or its recipient for good.
	Refused Failure = "refused"
	// Deferred: it refuses them for now.
	Deferred Failure = "deferred"
	// Unreachable: it cannot be reached, or takes no email from Kith.
	Unreachable Failure = "unreachable"
)

// FailureOf returns why Send failed with an error.
func FailureOf(err error) Failure {
	refused, ok := errors.AsType[*gomail.SendError](err)
	switch {
	case errors.Is(err, errAddress):
		return Refused
	case !ok || !slices.Contains([]gomail.SendErrReason{gomail.ErrSMTPRcptTo, gomail.ErrSMTPData, gomail.ErrSMTPDataClose}, refused.Reason):
		return Unreachable
	case isTemporary(err):
		return Deferred
	default:
		return Refused
	}
}

// Send sends an email now, in one attempt, and returns why the mail server did not take it, which FailureOf sums up. It needs
// no Start.
func (m *Mailer) Send(ctx context.Context, email *Message) error {
	err := m.attempt(ctx, email)
	m.config.Observe(outcomeOf(err))
	if err != nil {
		m.config.Logger.ErrorContext(ctx, "send email", "subject", email.Subject, "error", err)
	}
	return err
}

// outcomeOf is how an email ended, as metrics.NewMail counts it: a server that refuses a recipient works.
func outcomeOf(err error) string {
	refused, ok := errors.AsType[*gomail.SendError](err)
	switch {
	case err == nil:
		return "sent"
	case ok && refused.Reason == gomail.ErrSMTPRcptTo && !isTemporary(err):
		return "refused"
	default:
		return "failed"
	}
}

func (m *Mailer) send(ctx context.Context, email *Message) error {
	err := m.attempt(ctx, email)
	for _, wait := range m.config.Retry {
		if err == nil || !isTemporary(err) || ctx.Err() != nil {
			return err
		}
		m.pause(ctx, wait)
		err = m.attempt(ctx, email)
	}
	return err
}

// pause waits for a duration, or until Stop.
func (m *Mailer) pause(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-m.quit:
	case <-timer.C:
	}
}

// isTemporary reports whether another attempt may succeed: after any failure but a
// permanent one.
func isTemporary(err error) bool {
	refused, ok := errors.AsType[*gomail.SendError](err)
	return !ok || refused.IsTemp() || refused.ErrorCode() < 500
}

var errAddress = errors.New("the email's address cannot be read")

func (m *Mailer) attempt(ctx context.Context, email *Message) error {
	ctx, cancel := context.WithTimeout(ctx, m.config.Timeout)
	defer cancel()
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(m.server.from)
	if err := msg.To(email.To); err != nil {
		return errAddress // the library's error contains the address
	}
	msg.Subject(email.Subject)
	msg.SetDate()
	msg.SetMessageID()
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no out-of-office answers
	if email.Unsubscribe != "" {
		msg.SetGenHeader(gomail.HeaderListUnsubscribe, "<"+email.Unsubscribe+">")
		msg.SetGenHeader(gomail.HeaderListUnsubscribePost, "List-Unsubscribe=One-Click")
	}
	msg.SetBodyString(gomail.TypeTextPlain, email.Text)
	msg.AddAlternativeString(gomail.TypeTextHTML, email.HTML)
	client, err := gomail.NewClient(m.server.host, m.server.options...)
	if err != nil {
		return fmt.Errorf("prepare mail client: %w", err)
	}
	err = client.DialAndSendWithContext(ctx, msg)
	if msg.IsDelivered() { // the server took it, though the connection may have ended badly
		return nil
	}
	return err
}
