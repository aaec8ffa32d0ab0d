package today

import (
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// step is one of the first steps of a new member.
type step struct {
	Title, Text, Path string
	Done              bool
}

// addSteps adds the first steps, unless all are done or the member hid them.
func (v *request) addSteps(c *content) error {
	if v.Login == nil { // the demo
		return nil
	}
	done, err := oauth.GetSteps(v.Ctx, v.Store, v.Principal.Tenant)
	if err != nil || done.Hidden || !c.Empty && done.Connected && done.Called {
		return err
	}
	c.Steps = []step{
		{"Import your contacts", "From LinkedIn, Google, Outlook, a table or an address book. You see first what an import would do.", page.PathImport, !c.Empty},
		{"Connect an agent", "Claude, ChatGPT, Cursor or any other: you choose what it may do.", page.PathConnect, done.Connected},
		{"Ask your agent a question", "Questions to try, about the people you know.", page.PathConnect + "#prompts", done.Called},
	}
	return nil
}

func (v *request) hideSteps() error {
	if err := account.HideSteps(v.Ctx, v.Store, v.Principal.Tenant); err != nil {
		return err
	}
	return v.RedirectDone(page.PathStart, "steps-hidden")
}
