package web

import "github.com/kith-crm/kith/backend/internal/web/page"

// newPassword checks a new password, which was typed twice.
func (v *request) newPassword(m *page.Mistakes, names ...string) (string, error) {
	chosen := v.R.PostForm.Get(fieldNewPassword)
	err := m.Take(fieldNewPassword, v.Passwords.Check(v.R.Context(), chosen, names...))
	if m.Of(fieldNewPassword) == "" && chosen != v.R.PostForm.Get(fieldRepeat) {
		m.Add(fieldRepeat, "The two passwords are not the same.")
	}
	return chosen, err
}

// Names of the fields that several forms have.
const (
	fieldLogin       = "login"
	fieldUsername    = "username"
	fieldEmail       = "email"
	fieldPassword    = "password"
	fieldNewPassword = "new_password"
	fieldRepeat      = "repeat_password"
	fieldLink        = "link"
)

func passwordField(label string, m *page.Mistakes) page.Field {
	return page.Field{Name: fieldPassword, Label: label, Kind: "password", Autocomplete: "current-password", Required: true, Error: m.Of(fieldPassword)}
}

func newPasswordFields(label string, m *page.Mistakes) []page.Field {
	return []page.Field{
		{
			Name: fieldNewPassword, Label: label, Kind: "password", Autocomplete: "new-password", Required: true,
			Hint: "At least 10 characters. A few words that do not belong together are good.", Error: m.Of(fieldNewPassword),
		},
		{
			Name: fieldRepeat, Label: "The same password again", Kind: "password", Autocomplete: "new-password", Required: true,
			Error: m.Of(fieldRepeat),
		},
	}
}
