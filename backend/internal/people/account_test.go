package people_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/people"
)

// Accounts are set by their services.
func TestPatchOfAccounts(t *testing.T) {
	t.Parallel()
	signal, github := people.Account{Service: "signal", Handle: "+351 1"}, people.Account{Service: "github", Handle: "ana", Label: "work"}
	for name, c := range map[string]struct{ held, set, want []people.Account }{
		"the first":             {nil, []people.Account{{Service: " Signal", Handle: " +351 1 "}}, []people.Account{signal}},
		"of another service":    {[]people.Account{signal}, []people.Account{github}, []people.Account{signal, github}},
		"of the same service":   {[]people.Account{signal, github}, []people.Account{{Service: "GitHub", Handle: "lee"}}, []people.Account{signal, {Service: "github", Handle: "lee"}}},
		"two of a service":      {[]people.Account{signal}, []people.Account{signal, {Service: "signal", Handle: "+351 2"}}, []people.Account{signal, {Service: "signal", Handle: "+351 2"}}},
		"the same twice":        {nil, []people.Account{{Service: "mastodon", Handle: "@ana@x.example"}, {Service: "Fediverse", Handle: "Ana@x.example"}}, []people.Account{{Service: "mastodon", Handle: "@ana@x.example"}}},
		"removed":               {[]people.Account{signal, github}, []people.Account{{Service: "SIGNAL"}}, []people.Account{github}},
		"the last, removed":     {[]people.Account{signal}, []people.Account{{Service: "signal"}}, nil},
		"of a service of hers":  {nil, []people.Account{{Service: "Village board", Handle: "ana"}}, []people.Account{{Service: "Village board", Handle: "ana"}}},
		"removed, under a name": {[]people.Account{{Service: "x", Handle: "ana"}, signal}, []people.Account{{Service: "Twitter"}}, []people.Account{signal}},
	} {
		person := ana()
		person.Accounts = c.held
		w := newWriter(t, person)
		if _, err := w.update(people.Patch{ID: person.ID, Accounts: c.set}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, w.held(person.ID).Accounts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for field, set := range map[string][]people.Account{
		"accounts[0].service": {{Handle: "ana"}}, "accounts[1].handle": {signal, {Service: "github", Handle: "https://github.com/ana"}},
		"accounts": func() (many []people.Account) {
			for i := range people.MaxAccounts + 1 {
				many = append(many, people.Account{Service: "signal", Handle: strings.Repeat("1", i+1)})
			}
			return many
		}(),
	} {
		w := newWriter(t, ana())
		_, err := w.update(people.Patch{ID: "con_1", Accounts: set})
		wantInvalid(t, err, field)
		w.wantNothingWritten(t)
	}
}

// A link leads to the account, whatever its handle is, or there is none.
func TestLinksOfAccounts(t *testing.T) {
	t.Parallel()
	for a, want := range map[people.Account]string{
		{Service: "whatsapp", Handle: "+44 20 7946 0000"}:         "https://wa.me/442079460000",
		{Service: "whatsapp", Handle: "ana"}:                      "",
		{Service: "telegram", Handle: "@ana"}:                     "https://t.me/ana",
		{Service: "mastodon", Handle: "@ana@social.example"}:      "https://social.example/@ana",
		{Service: "mastodon", Handle: "ana"}:                      "",
		{Service: "mastodon", Handle: "ana@evil.example/x?y"}:     "",
		{Service: "github", Handle: "../a?b#c"}:                   "https://github.com/..%2Fa%3Fb%23c",
		{Service: "xmpp", Handle: "ana@chat.example"}:             "xmpp:ana@chat.example",
		{Service: "signal", Handle: "+351 1"}:                     "",
		{Service: "Village board", Handle: "javascript:alert(1)"}: "",
	} {
		if got := a.Link(); got != want {
			t.Errorf("%+v: %q, want %q", a, got, want)
		}
	}
}
