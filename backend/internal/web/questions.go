package web

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/mail"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// TellQuestion tells the member by email that an agent asks them before it uses a tool, if mail is
// on and their address is confirmed. The email does not say what the call is about.
func (web *Web) TellQuestion(p *tenant.Principal, tool string) {
	if web.Mailer == nil {
		return
	}
	member, agent := p.Tenant, oauth.ShownName(p.Credential.Name)
	web.Mailer.Enqueue(func(ctx context.Context) (*mail.Message, error) {
		m, err := account.GetMemberByID(ctx, web.Store, member)
		if err != nil || m.EmailVerifiedAt.IsZero() {
			return nil, err
		}
		d, err := account.SpendAttempts(ctx, web.Store, account.Limit{Subject: account.Subject("question", m.Email), Policy: emailPolicy()})
		if err != nil || !d.Allowed {
			return nil, err
		}
		return web.emails.question(m, agent, tool)
	})
}

func (e *emails) question(m *account.Member, agent, tool string) (*mail.Message, error) {
	f := page.FormatOf(m.Locale)
	if agent == "" {
		agent = f.Text("An application without a name")
	}
	return e.write(m.Email, f, email{
		Subject: "An agent asks you first",
		Lines: []string{
			f.Text("%s wants to use the tool “%s” with the Kith account %s, and asks you first.", agent, f.Text(tool), m.Username),
			"Nothing is done until you approve it. Without an answer, it expires in 7 days.",
		},
		Button: "See what it would do", Link: e.baseURL + page.PathDecide, Close: "You choose under Settings, Agents, before what an agent asks you.",
	})
}
