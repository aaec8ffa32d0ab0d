package web

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"text/template"

	"github.com/google/uuid"
	"github.com/kith-crm/kith/backend/internal/dav"
)

// The file with a profile.
const (
	profileName = "kith.mobileconfig"
	profileType = "application/x-apple-aspen-config"
)

// profileTemplate is a configuration profile of iPhone, iPad and Mac: a property list with one payload, a CardDAV account. Its keys are
// those of Apple's Device Management, "TopLevel" and "CardDAV". Every value is escaped when the template is filled in.
var profileTemplate = template.Must(template.New("profile").Parse(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>PayloadType</key>
	<string>Configuration</string>
	<key>PayloadVersion</key>
	<integer>1</integer>
	<key>PayloadIdentifier</key>
	<string>kith.device.{{.ID}}</string>
	<key>PayloadUUID</key>
	<string>{{.ID}}</string>
	<key>PayloadDisplayName</key>
	<string>{{.Title}}</string>
	<key>PayloadDescription</key>
	<string>{{.Purpose}}</string>
	<key>PayloadOrganization</key>
	<string>{{.Host}}</string>
	<key>PayloadRemovalDisallowed</key>
	<false/>
	<key>PayloadContent</key>
	<array>
		<dict>
			<key>PayloadType</key>
			<string>com.apple.carddav.account</string>
			<key>PayloadVersion</key>
			<integer>1</integer>
			<key>PayloadIdentifier</key>
			<string>kith.device.{{.ID}}.carddav</string>
			<key>PayloadUUID</key>
			<string>{{.AccountID}}</string>
			<key>PayloadDisplayName</key>
			<string>{{.Title}}</string>
			<key>CardDAVAccountDescription</key>
			<string>Kith</string>
			<key>CardDAVHostName</key>
			<string>{{.Host}}</string>
			<key>CardDAVPort</key>
			<integer>{{.Port}}</integer>
			<key>CardDAVUseSSL</key>
			<{{.TLS}}/>
			<key>CardDAVPrincipalURL</key>
			<string>{{.Principal}}</string>
			<key>CardDAVUsername</key>
			<string>{{.Username}}</string>
			<key>CardDAVPassword</key>
			<string>{{.Password}}</string>
		</dict>
	</array>
</dict>
</plist>
`))

// plistText is a value of a property list: it escapes itself.
type plistText string

// String implements fmt.Stringer.
func (t plistText) String() string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(t)) // a strings.Builder does not fail
	return b.String()
}

// deviceProfile is what a configuration profile says.
type deviceProfile struct {
	// Title is the name of the profile, Purpose says what it does. ID and AccountID are random UUIDs of the profile and the account.
	Title, Purpose, ID, AccountID plistText
	// Host, Port and TLS say where the service is, and Principal is the path of the member's principal there.
	Host, Principal    plistText
	Port               int
	TLS                bool
	Username, Password plistText
}

// newProfile returns a profile for an account on the service at baseURL.
func newProfile(baseURL, username, password, title, purpose string) (deviceProfile, error) {
	base, err := url.Parse(baseURL)
	if err != nil {
		return deviceProfile{}, fmt.Errorf("read the address of the service: %w", err)
	}
	p := deviceProfile{
		Title: plistText(title), Purpose: plistText(purpose), ID: plistText(uuid.NewString()), AccountID: plistText(uuid.NewString()),
		Host: plistText(base.Hostname()), Principal: plistText(dav.PrincipalPath(username)), Port: 80, TLS: base.Scheme == "https",
		Username: plistText(username), Password: plistText(password),
	}
	if p.TLS {
		p.Port = 443
	}
	if port := base.Port(); port != "" {
		if p.Port, err = strconv.Atoi(port); err != nil {
			return deviceProfile{}, fmt.Errorf("read the port of the service: %w", err)
		}
	}
	return p, nil
}

// write writes the profile as an XML property list.
func (p deviceProfile) write(out io.Writer) error {
	var b bytes.Buffer
	if err := profileTemplate.Execute(&b, p); err != nil {
		return fmt.Errorf("write profile: %w", err)
	}
	_, err := b.WriteTo(out)
	return err
}
