package web

import "github.com/kith-crm/kith/backend/internal/web/page"

// newPassword checks a new password, which was typed twice, or which keepPassword kept.
func (v *request) newPassword(m *page.Mistakes, names ...string) (string, error) {
	chosen, repeated := v.R.PostForm.Get(fieldNewPassword), v.R.PostForm.Get(fieldRepeat)
	if sealed := v.R.PostForm.Get(fieldKeptPassword); sealed != "" && chosen == "" && repeated == "" {
		kept, err := v.Secrets.Open(sealed, keptPurpose, v.Secret)
		if err == nil { // otherwise it has to be typed again
			chosen, repeated = kept, kept
		}
	}
	err := m.Take(fieldNewPassword, v.Passwords.Check(v.R.Context(), chosen, names...))
	if chosen != "" && chosen != repeated {
		m.Add(fieldRepeat, "The two passwords are not the same.")
	}
	return chosen, err
}

// keptPurpose is what a password is sealed for while its form is shown again.
const keptPurpose = "kept password"

// keepPassword returns the fields of a new password for a form that has to be corrected elsewhere. It
// keeps a good password in the form, sealed for this browser, so that it is not typed again. chosen is
// that password; empty for a new form.
func (v *request) keepPassword(label, chosen string, m *page.Mistakes) []page.Field {
	fields := newPasswordFields(label, m)
	if chosen == "" || len(m.List) == 0 || m.Of(fieldNewPassword) != "" || m.Of(fieldRepeat) != "" {
		return fields
	}
	sealed, err := v.Secrets.Seal(chosen, keptPurpose, v.Secret)
	if err != nil {
		fields[0].Hint = "Type the password again: it was not kept."
		return fields
	}
	fields[0].Hint = "Your password is kept. Leave both fields empty, or type another one twice."
	fields[0].Required, fields[1].Required = false, false
	return append(fields, page.Field{Name: fieldKeptPassword, Kind: page.KindHidden, Value: sealed})
}

// Names of the fields that several forms have.
const (
	fieldLogin       = "login"
	fieldUsername    = "username"
	fieldEmail       = "email"
	fieldPassword    = "password"
	fieldNewPassword = "new_password"
	fieldRepeat      = "repeat_password"
	// fieldKeptPassword holds a sealed password, and fieldLink a secret of an address.
	fieldKeptPassword = "kept_password"
	fieldLink         = "link"
)

// passwordField returns the field of the member's own password.
func passwordField(name, label string, m *page.Mistakes) page.Field {
	return page.Field{Name: name, Label: label, Kind: "password", Autocomplete: "current-password", Required: true, Error: m.Of(name)}
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
