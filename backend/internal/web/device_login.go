package web

import (
	"net/http"
	"strings"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// pathRefuseDevice is where a member refuses a program that asks to be a device.
const pathRefuseDevice = account.PathDeviceLogin + "/refuse"

// deviceLoginContent is the content of the page on which a member allows a program to be a device, or refuses it.
type deviceLoginContent struct {
	Request string
	// Program is what the program calls itself; empty if it says nothing.
	Program string
	// Network is where it asked from, and Here whether this browser is there too; empty if either is unknown.
	Network  string
	Here     bool
	Username string
	// Again is the address of the page.
	Again    string
	Name     page.Field
	ReadOnly bool
}

func (v *request) showDeviceLogin() error {
	secret := v.R.URL.Query().Get(account.FieldDeviceLogin)
	waiting, err := v.deviceLogin(secret)
	if err != nil {
		return err
	}
	return v.renderDeviceLogin(http.StatusOK, secret, waiting, deviceChoice{name: programName(waiting.Program)}, &page.Mistakes{})
}

// deviceLogin returns the program that waits, by the secret of its page.
func (v *request) deviceLogin(secret string) (*account.DeviceLogin, error) {
	if !v.DAV {
		return nil, fault.New(fault.NotFound, "this server serves no address books")
	}
	waiting, err := account.GetDeviceLogin(v.R.Context(), v.Store, secret)
	return waiting, overIfGone(err)
}

// overIfGone returns a page instead of the error that no program waits.
func overIfGone(err error) error {
	if fault.Is(err, fault.NotFound) {
		return page.Refuse(http.StatusNotFound, "This request has ended", "It was answered already, or 20 minutes have passed. Start again in the program on your device.")
	}
	return err
}

func (v *request) renderDeviceLogin(status int, secret string, waiting *account.DeviceLogin, c deviceChoice, m *page.Mistakes) error {
	content := deviceLoginContent{
		Request: secret, Program: waiting.Program, Username: v.Login.Username, ReadOnly: c.readOnly,
		Again: page.Address(account.PathDeviceLogin, map[string][]string{account.FieldDeviceLogin: {secret}}),
		Name: page.Field{
			Name: "name", Label: "Name", Value: c.name, Required: true, Error: m.Of("name"), Autocomplete: "off",
			Hint: "So that you know it again, for example: my phone.",
		},
	}
	if here := v.Network(); here != "" {
		content.Network, content.Here = waiting.Network, here == waiting.Network
	}
	return v.Render(status, "device-login", page.Page{Title: "Allow a device to synchronise your people?", Section: page.PathDevices, Errors: m.List, Content: content})
}

// programName returns the name of the device that a program has until the member chooses one: DAVx5 of "DAVx5/4.5 (okhttp 5)".
func programName(program string) string {
	name, _, _ := strings.Cut(program, "/")
	name, _, _ = strings.Cut(name, "(")
	name = strings.TrimSpace(name)
	if account.CheckName(name) != nil {
		return ""
	}
	return name
}

// allowDevice makes a device of a program. The program then gets its app password by itself.
func (v *request) allowDevice() error {
	secret := v.R.PostForm.Get(account.FieldDeviceLogin)
	waiting, err := v.deviceLogin(secret)
	if err != nil {
		return err
	}
	c, m := deviceChoice{name: v.Line("name"), readOnly: v.R.PostForm.Get("read_only") != ""}, &page.Mistakes{}
	if err := m.Take("name", account.CheckName(c.name)); err != nil {
		return err
	}
	if len(m.List) > 0 {
		return v.renderDeviceLogin(http.StatusUnprocessableEntity, secret, waiting, c, m)
	}
	device, _ := account.NewDevice(v.Login.Access(), c.name, c.readOnly) // the password is made again when the program asks for it
	err = account.AllowDeviceLogin(v.R.Context(), v.Store, secret, device)
	if fault.Is(err, fault.Exhausted) {
		m.Add("name", v.tooManyTokens())
		return v.renderDeviceLogin(http.StatusUnprocessableEntity, secret, waiting, c, m)
	}
	if err := overIfGone(err); err != nil {
		return err
	}
	v.record(account.DeviceAdded, v.Login.MemberID, device.ID)
	return v.RedirectDone(page.PathDevices, "device-allowed")
}

// refuseDevice ends the request of a program.
func (v *request) refuseDevice() error {
	if err := overIfGone(account.RefuseDeviceLogin(v.R.Context(), v.Store, v.R.PostForm.Get(account.FieldDeviceLogin))); err != nil {
		return err
	}
	return v.RedirectDone(page.PathDevices, "device-refused")
}
