package web

import (
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/qrcode"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// devicesContent is the content of the page of the devices that synchronise people.
type devicesContent struct {
	// Off is set if this server serves no address books.
	Off     bool
	Devices []deviceRow
	// Name, ReadOnly and Setups are the fields of the form that adds a device.
	Name     page.Field
	ReadOnly bool
	Setups   []page.Option
	// Here is the address of the page, and Picture its QR code, which leads a phone to it.
	Here    string
	Picture qrcode.Picture
	// Address and Username are what to enter in the device, besides the app password.
	Address, Username string
	// Made is a new app password, MadeFeed the address of a new calendar feed. They are shown only this once.
	Made, MadeFeed *madeToken
	// Subscribe is the address of the new feed as calendar programs on this device open it.
	Subscribe template.URL
	Feeds     []feedRow
	Feed      feedForm
}

// deviceChoice is what a member chose for a new device.
type deviceChoice struct {
	name     string
	readOnly bool
	// setup is setupByHand or setupByProfile.
	setup string
}

// How a device is set up: a person enters what the page shows, or installs a configuration profile of Apple, which the form answers
// with.
const (
	setupByHand    = "hand"
	setupByProfile = "profile"
)

// deviceRow is a device. Its times are in UTC.
type deviceRow struct {
	ID, Name              string
	ReadOnly              bool
	CreatedAt, LastUsedAt time.Time
	// Changes is how much it changed in the last week.
	Changes int
}

// deviceRoutes are the routes of the page of devices, and of the page that the installed app shows without a network.
func deviceRoutes(with func(func(*request) error) page.Handler) []page.Route {
	return []page.Route{
		{Pattern: "GET " + pathOffline, Enter: page.Anyone, Handle: with((*request).showOffline)},
		{Pattern: "GET " + page.PathDevices, Handle: with((*request).showDevices)},
		{Pattern: "POST " + page.PathDevices, Handle: with((*request).addDevice), Fresh: true},
		{Pattern: "POST " + page.PathDevices + "/remove", Handle: with((*request).removeDevice)},
		{Pattern: "GET " + account.PathDeviceLogin, Handle: with((*request).showDeviceLogin)},
		{Pattern: "POST " + account.PathDeviceLogin, Handle: with((*request).allowDevice), Fresh: true},
		{Pattern: "POST " + pathRefuseDevice, Handle: with((*request).refuseDevice)},
		{Pattern: "POST " + pathFeeds, Handle: with((*request).addFeed), Fresh: true},
		{Pattern: "POST " + pathFeeds + "/remove", Handle: with((*request).removeFeed)},
	}
}

// showOffline answers with the page that the service worker shows without a network. It has nothing of a member, because
// the worker keeps it for everybody who uses the browser.
func (v *request) showOffline() error {
	v.Login = nil
	return v.Render(http.StatusOK, "offline", page.Page{Title: "No connection", Script: page.ScriptOffline})
}

func (v *request) showDevices() error {
	return v.renderDevices(http.StatusOK, v.newDevice(), feedChoice{parts: account.FeedParts()}, &page.Mistakes{})
}

// newDevice returns what is chosen before the member chooses. Safari installs profiles on an iPhone or iPad; other browsers there do not.
func (v *request) newDevice() deviceChoice {
	if device := v.Device(); device == "Safari on iPhone" || device == "Safari on iPad" {
		return deviceChoice{setup: setupByProfile}
	}
	return deviceChoice{setup: setupByHand}
}

func (v *request) renderDevices(status int, c deviceChoice, feed feedChoice, m *page.Mistakes) error {
	devices, err := account.ListDevices(v.R.Context(), v.Store, v.Login.MemberID)
	if err != nil {
		return err
	}
	changes, err := history.CountByCredential(v.R.Context(), v.data(), v.Now().AddDate(0, 0, -7))
	if err != nil {
		return err
	}
	content := devicesContent{
		Off: !v.DAV, ReadOnly: c.readOnly, Address: v.BaseURL + "/", Username: v.Login.Username, Here: v.BaseURL + page.PathDevices,
		Name: page.Field{
			Name: "name", Label: "Name", Value: c.name, Required: true, Error: m.Of("name"), Autocomplete: "off",
			Hint: "So that you know it again, for example: my phone.",
		},
		Setups: page.Choose(c.setup, page.Option{Value: setupByHand, Label: "By hand, on any device"}, page.Option{Value: setupByProfile, Label: "With a profile, on an iPhone, iPad or Mac"}),
	}
	if content.Picture, err = qrcode.Draw(content.Here); err != nil {
		return err
	}
	for _, d := range devices {
		content.Devices = append(content.Devices, deviceRow{
			ID: d.ID, Name: d.Name, ReadOnly: d.ReadOnly(), CreatedAt: d.CreatedAt, LastUsedAt: d.LastUsedAt, Changes: changes[d.ID],
		})
	}
	if content.Feeds, content.Feed, err = v.listFeeds(feed, m); err != nil {
		return err
	}
	content.Made, content.MadeFeed = v.takeMade(addedCookie), v.takeMade(feedCookie) // last, so that an outage does not lose it
	if content.MadeFeed != nil {
		_, address, _ := strings.Cut(content.MadeFeed.Bearer, ":")
		content.Subscribe = template.URL("webcal:" + address) //nolint:gosec // of this service
	}
	return v.Render(status, "devices", page.Page{Title: "Devices", Section: page.PathDevices, Script: page.ScriptOffline, Errors: m.List, Content: content})
}

// addDevice makes an app password. It sends the browser to the page that shows it, once, or answers with a profile that has it.
func (v *request) addDevice() error {
	if !v.DAV {
		return fault.New(fault.NotFound, "this server serves no address books")
	}
	c, m := deviceChoice{v.Line("name"), v.R.PostForm.Get("read_only") != "", setupByHand}, &page.Mistakes{}
	if v.R.PostForm.Get("setup") == setupByProfile {
		c.setup = setupByProfile
	}
	if err := m.Take("name", account.CheckName(c.name)); err != nil {
		return err
	}
	again := func() error {
		return v.renderDevices(http.StatusUnprocessableEntity, c, feedChoice{parts: account.FeedParts()}, m)
	}
	if len(m.List) > 0 {
		return again()
	}
	device, password := account.NewDevice(v.Login.Access(), c.name, c.readOnly)
	profile, err := newProfile(v.BaseURL, v.Login.Username, password, "Kith: "+c.name, v.Text(
		"Your people in Kith, in the address book of this device. If you remove the profile, they leave the device and stay in Kith."))
	if err != nil {
		return err
	}
	err = account.CreatePersonalToken(v.R.Context(), v.Store, device)
	if fault.Is(err, fault.Exhausted) {
		m.Add("name", v.tooManyTokens())
		return again()
	}
	if err != nil {
		return err
	}
	v.record(account.DeviceAdded, v.Login.MemberID, device.ID)
	if c.setup == setupByProfile {
		return v.Download(profileName, profileType, profile.write, func() {})
	}
	if err := v.handOver(addedCookie, madeToken{Name: c.name, Bearer: password}); err != nil {
		return err
	}
	return v.Redirect(page.PathDevices)
}

// tooManyTokens says that the member has as many as they may.
func (v *request) tooManyTokens() string {
	return v.Text("You have %d tokens, devices and calendar feeds. Remove one that you do not use any more.", account.MaxTokens)
}

func (v *request) removeDevice() error {
	if err := account.RemoveDevice(v.R.Context(), v.Store, v.Login.MemberID, v.Line("id")); err != nil {
		return err
	}
	v.record(account.AccessRevoked, v.Login.MemberID, v.Line("id"))
	return v.RedirectDone(page.PathDevices, "device-removed")
}
