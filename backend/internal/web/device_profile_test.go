package web_test

import (
	"encoding/xml"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/dav"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/qrcode"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

const profileType = "application/x-apple-aspen-config"

// plistNode is an element of a property list.
type plistNode struct {
	XMLName xml.Name
	Text    string      `xml:",chardata"`
	Nodes   []plistNode `xml:",any"`
}

// value returns an element as a map, a list, a text, a number or a truth value.
func (n plistNode) value(t *testing.T) any {
	t.Helper()
	switch n.XMLName.Local {
	case "dict":
		out := map[string]any{}
		for i := 0; i+1 < len(n.Nodes); i += 2 {
			key := n.Nodes[i]
			if _, twice := out[key.Text]; twice || key.XMLName.Local != "key" {
				t.Fatalf("%+v is no key, or is there twice", key)
			}
			out[key.Text] = n.Nodes[i+1].value(t)
		}
		if len(n.Nodes)%2 != 0 {
			t.Fatal("a key has no value")
		}
		return out
	case "array":
		var out []any
		for _, one := range n.Nodes {
			out = append(out, one.value(t))
		}
		return out
	case "integer":
		number, err := strconv.Atoi(n.Text)
		if err != nil {
			t.Fatal(err)
		}
		return number
	case "true", "false":
		return n.XMLName.Local == "true"
	case "string":
		if len(n.Nodes) > 0 {
			t.Fatalf("a text has elements: %+v", n.Nodes)
		}
		return n.Text
	}
	t.Fatalf("a property list has no %s", n.XMLName.Local)
	return nil
}

// readProfile returns what a profile says, and the account in it.
func readProfile(t *testing.T, text string) (profile, card map[string]any) {
	t.Helper()
	var plist plistNode
	d := xml.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&plist); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if rest := strings.TrimSpace(text[d.InputOffset():]); rest != "" {
		t.Fatalf("there is %q after the end", rest)
	}
	if plist.XMLName.Local != "plist" || len(plist.Nodes) != 1 {
		t.Fatalf("no property list:\n%s", text)
	}
	profile = plist.Nodes[0].value(t).(map[string]any)
	payloads, _ := profile["PayloadContent"].([]any)
	if len(payloads) != 1 {
		t.Fatalf("%d payloads", len(payloads))
	}
	return profile, payloads[0].(map[string]any)
}

var uuidPattern = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// withoutIDs takes the identifiers out of a profile, which differ each time, and fails unless they are as Apple wants them.
func withoutIDs(t *testing.T, profile, card map[string]any) {
	t.Helper()
	whole, of := profile["PayloadUUID"].(string), card["PayloadUUID"].(string)
	if !uuidPattern.MatchString(whole) || !uuidPattern.MatchString(of) || whole == of ||
		profile["PayloadIdentifier"] != "kith.device."+whole || card["PayloadIdentifier"] != "kith.device."+whole+".carddav" {
		t.Errorf("the identifiers are %v %v, %v %v", whole, profile["PayloadIdentifier"], of, card["PayloadIdentifier"])
	}
	for _, of := range []map[string]any{profile, card} {
		delete(of, "PayloadUUID")
		delete(of, "PayloadIdentifier")
	}
	delete(profile, "PayloadContent")
}

// discover sends what a phone sends first to the principal in its profile, and returns the status of the answer.
func discover(t *testing.T, s *webtest.Site, card map[string]any) int {
	t.Helper()
	mux := http.NewServeMux()
	dav.New(dav.Config{
		BaseURL: s.URL, Store: s.Store, Kinds: kinds.All(), Logger: slog.New(slog.DiscardHandler), Used: func(string, time.Time) {},
		ClientAddress: func(*http.Request) string { return "" },
	}).Mount(mux)
	r := httptest.NewRequestWithContext(t.Context(), "PROPFIND", card["CardDAVPrincipalURL"].(string), strings.NewReader(
		`<d:propfind xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><d:prop><c:addressbook-home-set/></d:prop></d:propfind>`))
	r.Header.Set("Depth", "0")
	r.SetBasicAuth(card["CardDAVUsername"].(string), card["CardDAVPassword"].(string))
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	if w.Code == http.StatusMultiStatus && !strings.Contains(w.Body.String(), card["CardDAVPrincipalURL"].(string)+"books/") {
		t.Errorf("the principal does not lead to the address book:\n%s", w.Body)
	}
	return w.Code
}

// TestDeviceProfile: the form that adds a device answers with a profile, after a proof of who the member is; its app password signs the
// device in.
func TestDeviceProfile(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		const name = `Maria's <phone> & "co" ]]></string>`
		stale(s)
		asked := b.Submit(b.Get("/settings/devices"), "/settings/devices", webtest.Values("name", name, "setup", "profile"))
		wantConfirm(t, "profile", asked)
		if devices, err := account.ListDevices(t.Context(), s.Store, b.Owner); err != nil || len(devices) > 0 {
			t.Fatalf("without a proof there are %+v, %v", devices, err)
		}
		made := b.Submit(asked, "/settings/devices", webtest.Values("confirm_password", webtest.Password))
		if made.Status != http.StatusOK || made.Header.Get("Content-Type") != profileType || made.Header.Get("Cache-Control") != "no-store" ||
			made.Header.Get("Content-Disposition") != `attachment; filename="kith.mobileconfig"` {
			t.Fatalf("%d %v\n%s", made.Status, made.Header, made.Body)
		}
		profile, card := readProfile(t, made.Body)
		base, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		if status := discover(t, s, card); status != http.StatusMultiStatus {
			t.Errorf("the device gets %d", status)
		}
		withoutIDs(t, profile, card)
		port, _ := strconv.Atoi(base.Port())
		wantProfile := map[string]any{
			"PayloadType": "Configuration", "PayloadVersion": 1, "PayloadDisplayName": "Kith: " + name, "PayloadOrganization": "localhost", "PayloadRemovalDisallowed": false,
			"PayloadDescription": "Your people in Kith, in the address book of this device. If you remove the profile, they leave the device and stay in Kith.",
		}
		wantCard := map[string]any{
			"PayloadType": "com.apple.carddav.account", "PayloadVersion": 1, "PayloadDisplayName": "Kith: " + name, "CardDAVAccountDescription": "Kith",
			"CardDAVHostName": "localhost", "CardDAVPort": port, "CardDAVUseSSL": false, "CardDAVPrincipalURL": "/dav/maria/", "CardDAVUsername": "maria",
			"CardDAVPassword": card["CardDAVPassword"],
		}
		if diff := cmp.Diff([]any{wantProfile, wantCard}, []any{profile, card}); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		listed := b.Get("/settings/devices")
		want(t, listed, http.StatusOK, name, "Undo everything since…")
		if listed.ByID("app-password") != nil || strings.Contains(listed.Body, card["CardDAVPassword"].(string)) {
			t.Error("the page shows the password of the profile")
		}
		want(t, b.Get("/settings/security"), http.StatusOK, "Added the device “"+name+"”")

		wantRedirect(t, b.Submit(listed, "/settings/devices/remove", nil), "/settings/devices?done=device-removed")
		if status := discover(t, s, card); status != http.StatusUnauthorized {
			t.Errorf("a removed device gets %d", status)
		}
		reader := b.Submit(b.Get("/settings/devices"), "/settings/devices", webtest.Values("name", "Reader", "read_only", "yes", "setup", "profile"))
		_, card = readProfile(t, reader.Body)
		devices, err := account.ListDevices(t.Context(), s.Store, b.Owner)
		if err != nil || len(devices) != 1 || !devices[0].ReadOnly() || discover(t, s, card) != http.StatusMultiStatus {
			t.Errorf("the devices are %+v, %v", devices, err)
		}
		wrong := b.Submit(b.Get("/settings/devices"), "/settings/devices", webtest.Values("name", " ", "setup", "profile"))
		want(t, wrong, http.StatusUnprocessableEntity)
		if got := wrong.Form("/settings/devices").Get("setup"); got != "profile" {
			t.Errorf("a wrong name changes the choice to %q", got)
		}
	})
}

// TestProfileValues: whatever a value has in it, the profile says it and nothing else. The host and the port are those of the service.
func TestProfileValues(t *testing.T) {
	t.Parallel()
	const hostile = "</string></dict><key>PayloadRemovalDisallowed</key><true/>&amp;<!--\"'{{.Password}}"
	for base, of := range map[string][]any{
		"https://kith.example": {"kith.example", 443, true}, "https://kith.example:8443": {"kith.example", 8443, true}, "http://localhost": {"localhost", 80, false},
	} {
		var out strings.Builder
		if err := web.WriteProfile(&out, base, hostile, hostile, hostile, hostile+"\x00"); err != nil {
			t.Fatal(err)
		}
		profile, card := readProfile(t, out.String())
		if diff := cmp.Diff(of, []any{card["CardDAVHostName"], card["CardDAVPort"], card["CardDAVUseSSL"]}); diff != "" {
			t.Errorf("%s: -want +got:\n%s", base, diff)
		}
		for _, text := range []any{profile["PayloadDisplayName"], card["PayloadDisplayName"], card["CardDAVUsername"], card["CardDAVPassword"]} {
			if text != hostile {
				t.Errorf("%s: a value is %q", base, text)
			}
		}
		if profile["PayloadDescription"] != hostile+"\ufffd" || card["CardDAVPrincipalURL"] != "/dav/"+url.PathEscape(hostile)+"/" {
			t.Errorf("%s: %q, %q", base, profile["PayloadDescription"], card["CardDAVPrincipalURL"])
		}
	}
}

// TestDevicesPicture: the page has a QR code with its own address and the address as text, and in Safari on an iPhone it suggests a
// profile.
func TestDevicesPicture(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	p := b.Get("/settings/devices")
	picture, err := qrcode.Draw(s.URL + "/settings/devices")
	if err != nil {
		t.Fatal(err)
	}
	drawn := 0
	for _, svg := range p.All("svg") {
		if webtest.Attr(svg, "role") == "img" {
			drawn++
			if webtest.Attr(svg, "aria-label") != "QR code with the address of this page" {
				t.Errorf("its label is %q", webtest.Attr(svg, "aria-label"))
			}
		}
	}
	if drawn != 1 || !strings.Contains(p.Body, ` d="`+picture.Path+`" fill="#000"`) || !strings.Contains(p.Body, `fill="#fff"`) {
		t.Errorf("%d QR codes, or not that of the page", drawn)
	}
	want(t, p, http.StatusOK, "Address: "+s.URL+"/settings/devices")
	checkHeaders(t, "devices", p, membersPolicy)
	for agent, setup := range map[string]string{safari: "profile", firefox: "hand", strings.Replace(safari, "Version/", "CriOS/", 1): "hand"} {
		b.UserAgent = agent
		if got := b.Get("/settings/devices").Form("/settings/devices").Get("setup"); got != setup {
			t.Errorf("%s: %q is chosen", agent, got)
		}
	}
	off := webtest.New(t, webtest.Options{Web: func(c *web.Config) { c.DAV = false }})
	without := off.SignedIn(t, "maria")
	closed := without.Get("/settings/devices")
	if strings.Contains(closed.Body, `class="qr"`) {
		t.Error("a server without address books shows a QR code")
	}
	refused := without.Post("/settings/devices", webtest.Values("form_token", tokenOf(closed), "name", "x", "setup", "profile"))
	want(t, refused, http.StatusNotFound)
}
