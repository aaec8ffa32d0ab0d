package people

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
)

// MaxAccounts is how many accounts a person has at most.
const MaxAccounts = 20

// Account is a person's account with a messenger or a network: what vCards have in IMPP (RFC 6350, section 6.4.3) and
// SOCIALPROFILE (RFC 9554, section 4.2), and JSContact in onlineServices. Bounds are the contract's, in characters.
type Account struct {
	// Service is a name in small letters such as signal or mastodon if Kith knows it, or else the service's own; up to 40.
	Service string `json:"service"`
	// Handle is what the service knows the person by: a number, a name, an address; up to 200. It is no web address.
	Handle string `json:"handle"`
	// Label is home, work, or the member's own word; up to 80.
	Label string `json:"label"`
}

// service is what Kith knows about a messenger or network: names that files give it, and where an account's page is.
type service struct {
	name, shown string
	aliases     []string
	link        func(handle string) string
}

// at returns a link that begins with a prefix.
func at(prefix string) func(string) string {
	return func(handle string) string { return prefix + url.PathEscape(strings.TrimPrefix(handle, "@")) }
}

// services are in the order in which forms offer them.
var services = []service{ //nolint:gochecknoglobals // a constant
	{"whatsapp", "WhatsApp", nil, func(h string) string { return dialLink("https://wa.me/", h) }},
	{"signal", "Signal", nil, nil},
	{"telegram", "Telegram", nil, at("https://t.me/")},
	{"matrix", "Matrix", nil, func(h string) string { return "https://matrix.to/#/" + url.PathEscape(h) }},
	{"mastodon", "Mastodon", []string{"fediverse"}, fediverseLink},
	{"xmpp", "XMPP", []string{"jabber"}, func(h string) string { return "xmpp:" + url.PathEscape(h) }},
	{"skype", "Skype", nil, nil},
	{"linkedin", "LinkedIn", nil, at("https://www.linkedin.com/in/")},
	{"github", "GitHub", nil, at("https://github.com/")},
	{"gitlab", "GitLab", nil, at("https://gitlab.com/")},
	{"x", "X", []string{"twitter"}, at("https://x.com/")},
	{"bluesky", "Bluesky", nil, at("https://bsky.app/profile/")},
	{"instagram", "Instagram", nil, at("https://www.instagram.com/")},
	{"facebook", "Facebook", nil, at("https://www.facebook.com/")},
	{"threads", "Threads", nil, at("https://www.threads.net/@")},
	{"youtube", "YouTube", nil, at("https://www.youtube.com/@")},
	{"discord", "Discord", nil, nil}, {"slack", "Slack", nil, nil}, {"wechat", "WeChat", []string{"weixin"}, nil}, {"line", "LINE", nil, nil},
	{"viber", "Viber", nil, nil}, {"threema", "Threema", nil, at("https://threema.id/")}, {"aim", "AIM", nil, nil}, {"icq", "ICQ", nil, nil},
	{"msn", "MSN", nil, nil}, {"yahoo", "Yahoo", []string{"ymsgr"}, nil}, {"gadugadu", "Gadu-Gadu", []string{"gadu gadu", "gg"}, nil},
	{"groupwise", "GroupWise", nil, nil}, {"sip", "SIP", nil, nil},
}

// dialLink is the address for a phone number; empty if there is none.
func dialLink(prefix, number string) string {
	digits := strings.TrimPrefix(NormalValue(KindPhone, number), "+")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return ""
	}
	return prefix + digits
}

// fediverseLink is the page of an account such as @ana@social.example; empty without a server.
func fediverseLink(handle string) string {
	name, server := SplitEmail(strings.TrimPrefix(handle, "@"))
	if server == "" || strings.ContainsAny(server, "/ ?#") {
		return ""
	}
	return "https://" + server + "/@" + url.PathEscape(name)
}

func serviceNamed(word string) (service, bool) {
	folded := text.Fold(word)
	i := slices.IndexFunc(services, func(s service) bool {
		return folded == s.name || folded == text.Fold(s.shown) || slices.Contains(s.aliases, folded)
	})
	if i < 0 {
		return service{}, false
	}
	return services[i], true
}

// KnownService reports whether a word is the name or an alias of one of the services.
func KnownService(word string) bool {
	_, ok := serviceNamed(word)
	return ok
}

// Shown is the name of the account's service as it writes itself.
func (a Account) Shown() string {
	if s, ok := serviceNamed(a.Service); ok {
		return s.shown
	}
	return a.Service
}

// Link is where the account is found; empty if that is not known.
func (a Account) Link() string {
	if s, ok := serviceNamed(a.Service); ok && s.link != nil {
		return s.link(a.Handle)
	}
	return ""
}

// Clean returns the account in its stored form.
func (a Account) Clean() Account {
	a.Service, a.Handle, a.Label = text.Line(a.Service), text.Line(a.Handle), text.Line(a.Label)
	if s, ok := serviceNamed(a.Service); ok {
		a.Service = s.name
	}
	return a
}

// same reports whether both are one account.
func (a Account) same(b Account) bool {
	bare := func(s string) string { return strings.TrimPrefix(text.Fold(s), "@") }
	return text.Fold(a.Service) == text.Fold(b.Service) && bare(a.Handle) == bare(b.Handle)
}

// editAccounts sets accounts: those of a service that drafts name take the place of all that the person has with it. A
// draft without a handle removes them. Errors name the entries of the field accounts.
func (c *Connection) editAccounts(drafts []Account) error {
	var added []Account
	for i, d := range drafts {
		d = d.Clean()
		if d.Service == "" {
			return fault.InvalidField(fmt.Sprintf("accounts[%d].service", i), "is missing: say which messenger or network it is")
		}
		if strings.Contains(d.Handle, "://") {
			return fault.InvalidField(fmt.Sprintf("accounts[%d].handle", i), "is a web address: put it into urls")
		}
		c.Accounts = slices.DeleteFunc(c.Accounts, func(a Account) bool { return text.Fold(a.Service) == text.Fold(d.Service) })
		if d.Handle != "" && !slices.ContainsFunc(added, d.same) {
			added = append(added, d)
		}
	}
	if c.Accounts = append(c.Accounts, added...); len(c.Accounts) == 0 {
		c.Accounts = nil
	}
	return nil
}

// absorbAccount adds an account, or its label to the same one without a label, and returns the account that c has then.
func (c *Connection) absorbAccount(a Account) Account {
	at := slices.IndexFunc(c.Accounts, a.same)
	if at < 0 {
		c.Accounts = append(c.Accounts, a)
		return a
	}
	if c.Accounts[at].Label == "" {
		c.Accounts[at].Label = a.Label
	}
	return c.Accounts[at]
}

// accounts adds accounts, or what the file knows beyond the stored ones.
func (b *blend) accounts(from []Account) {
	for _, a := range from {
		at := slices.IndexFunc(b.Accounts, a.same)
		switch {
		case at >= 0:
			set(b, "label of "+a.Handle, &b.Accounts[at].Label, a.Label)
		case len(b.Accounts) < MaxAccounts:
			b.Accounts = append(b.Accounts, a)
			b.changed = true
		default:
			b.unused = append(b.unused, Unused{"number of accounts", fmt.Sprint(MaxAccounts), a.Shown() + " " + a.Handle})
		}
	}
}
