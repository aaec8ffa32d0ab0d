package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// devicesContent is the content of the page of the devices that synchronise people.
type devicesContent struct {
	// Off is set if this server serves no address books.
	Off     bool
	Devices []deviceRow
	// Name and ReadOnly are the fields of the form that adds a device.
	Name     page.Field
	ReadOnly bool
	// Address and Username are what to enter in the device, besides the app password.
	Address, Username string
	// Made is a new app password, which is shown only this once.
	Made *madeToken
}

// deviceRow is a device. Its times are in UTC.
type deviceRow struct {
	ID, Name              string
	ReadOnly              bool
	CreatedAt, LastUsedAt time.Time
	// Changes is how much it changed in the last week.
	Changes int
}

// deviceRoutes are the routes of the page of devices.
func deviceRoutes(with func(func(*request) error) page.Handler) []page.Route {
	return []page.Route{
		{Pattern: "GET " + page.PathDevices, Handle: with((*request).showDevices)},
		{Pattern: "POST " + page.PathDevices, Handle: with((*request).addDevice), Fresh: true},
		{Pattern: "POST " + page.PathDevices + "/remove", Handle: with((*request).removeDevice)},
	}
}

func (v *request) showDevices() error {
	return v.renderDevices(http.StatusOK, "", false, &page.Mistakes{})
}

func (v *request) renderDevices(status int, name string, readOnly bool, m *page.Mistakes) error {
	devices, err := account.ListDevices(v.R.Context(), v.Store, v.Login.MemberID)
	if err != nil {
		return err
	}
	changes, err := history.CountByCredential(v.R.Context(), v.data(), v.Now().AddDate(0, 0, -7))
	if err != nil {
		return err
	}
	content := devicesContent{
		Off: !v.DAV, ReadOnly: readOnly, Address: v.BaseURL + "/", Username: v.Login.Username,
		Name: page.Field{
			Name: "name", Label: "Name", Value: name, Required: true, Error: m.Of("name"), Autocomplete: "off",
			Hint: "So that you know it again, for example: my phone.",
		},
	}
	for _, d := range devices {
		content.Devices = append(content.Devices, deviceRow{
			ID: d.ID, Name: d.Name, ReadOnly: d.ReadOnly(), CreatedAt: d.CreatedAt, LastUsedAt: d.LastUsedAt, Changes: changes[d.ID],
		})
	}
	content.Made = v.takeMade(addedCookie) // last, so that an outage does not lose it
	return v.Render(status, "devices", page.Page{Title: "Devices", Section: page.PathDevices, Errors: m.List, Content: content})
}

// addDevice makes an app password and sends the browser to the page that shows it, once.
func (v *request) addDevice() error {
	if !v.DAV {
		return fault.New(fault.NotFound, "this server serves no address books")
	}
	name, readOnly, m := v.Line("name"), v.R.PostForm.Get("read_only") != "", &page.Mistakes{}
	if err := m.Take("name", account.CheckName(name)); err != nil {
		return err
	}
	if len(m.List) > 0 {
		return v.renderDevices(http.StatusUnprocessableEntity, name, readOnly, m)
	}
	device, password := account.NewDevice(v.Login.Access(), name, readOnly)
	err := account.CreatePersonalToken(v.R.Context(), v.Store, device)
	if fault.Is(err, fault.Exhausted) {
		m.Add("name", "You have "+strconv.Itoa(account.MaxTokens)+" tokens and devices. Remove one that you do not use any more.")
		return v.renderDevices(http.StatusUnprocessableEntity, name, readOnly, m)
	}
	if err != nil {
		return err
	}
	v.record(account.DeviceAdded, v.Login.MemberID, device.ID)
	if err := v.handOver(addedCookie, madeToken{Name: name, Bearer: password}); err != nil {
		return err
	}
	return v.Redirect(page.PathDevices)
}

func (v *request) removeDevice() error {
	if err := account.RemoveDevice(v.R.Context(), v.Store, v.Login.MemberID, v.Line("id")); err != nil {
		return err
	}
	v.record(account.AccessRevoked, v.Login.MemberID, v.Line("id"))
	return v.RedirectDone(page.PathDevices, "device-removed")
}
