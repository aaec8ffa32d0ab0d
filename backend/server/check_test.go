package server_test

import (
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/mail/smtptest"
	"github.com/kith-crm/kith/backend/server"
)

// TestSendTestMail: the mail server gets one mail that names the service, and its refusal is returned at once.
func TestSendTestMail(t *testing.T) {
	t.Parallel()
	s := smtptest.Start(t, smtptest.Options{})
	if err := server.SendTestMail(t.Context(), "smtp://"+s.Addr+"?from=kith@kith.example", "ana@people.example", "https://kith.example"); err != nil {
		t.Fatal(err)
	}
	got := s.Next(t)
	if text, html := got.Parts(t); got.To != "ana@people.example" || !strings.Contains(text, "https://kith.example can send") || !strings.Contains(html, "https://kith.example can send") {
		t.Errorf("the mail is %+v", got)
	}
	full := smtptest.Start(t, smtptest.Options{Refuse: func(int) string { return "452 4.2.2 the mailbox is full" }})
	if err := server.SendTestMail(t.Context(), "smtp://"+full.Addr+"?from=kith@kith.example", "ana@people.example", ""); err == nil || !strings.Contains(err.Error(), "mailbox is full") {
		t.Errorf("a refused mail: %v", err)
	}
	if full.Attempts() != 1 {
		t.Errorf("%d attempts", full.Attempts())
	}
}
