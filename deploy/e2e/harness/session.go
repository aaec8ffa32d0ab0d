package harness

import (
	"html"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// Session is a minimal browser: it keeps cookies and sends forms.
type Session struct {
	Service *Service
	Client  *http.Client
}

func (s *Service) NewSession(t *testing.T) *Session {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := *Client
	client.Jar = jar
	return &Session{s, &client}
}

// Send requests a page or submits a form.
func (v *Session) Send(t *testing.T, path string, form url.Values) Response {
	t.Helper()
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), method, v.Service.Base+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", FormType)
		req.Header.Set("Origin", v.Service.Base)
	}
	res, err := v.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return ReadResponse(t, res)
}

// SignIn signs a person in whom NewPerson made.
func (v *Session) SignIn(t *testing.T, person map[string]string) {
	t.Helper()
	values := Form(v.Send(t, "/sign-in", nil))
	values.Set("login", person["MEMBER_USERNAME"])
	values.Set("password", person["MEMBER_PASSWORD"])
	if got := v.Send(t, "/sign-in", values); got.Status != http.StatusSeeOther {
		t.Fatalf("the sign-in answered %d: %s", got.Status, got.Body)
	}
}

var inputPattern = regexp.MustCompile(`<input[^>]* name="([^"]+)"[^>]* value="([^"]*)"`)

// Form returns the values that a page's inputs have.
func Form(page Response) url.Values {
	values := url.Values{}
	for _, input := range inputPattern.FindAllStringSubmatch(page.Body, -1) {
		values.Add(input[1], html.UnescapeString(input[2]))
	}
	return values
}

type TokenPair struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	Scope   string
}
