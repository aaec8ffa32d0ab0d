package signin_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth/signin"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// zitadel starts an independent provider implementation, with its own example storage.
// It omits the address from the ID token and does not name itself in its responses.
func zitadel(t *testing.T) (issuer string, users *storage.Storage) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	issuer = "http://" + server.Listener.Addr().String()
	users = storage.NewStorageWithClients(storage.NewUserStore(issuer), map[string]*storage.Client{
		"kith": storage.WebClient("kith", "secret", redirectURI),
	})
	handler, err := op.NewProvider(&op.Config{CryptoKey: [32]byte{1}}, users, op.StaticIssuer(issuer), op.WithAllowInsecure())
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = handler
	server.Start()
	t.Cleanup(server.Close)
	return issuer, users
}

// redirect requests an address and returns the address that it redirects to.
func redirect(t *testing.T, address string) *url.URL {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	to, err := res.Location()
	if err != nil {
		t.Fatalf("%s at %s", res.Status, address)
	}
	return to
}

func TestAgainstZitadel(t *testing.T) {
	t.Parallel()
	issuer, users := zitadel(t)
	p := newProvider(t, signin.Config{Issuer: issuer, ClientID: "kith", ClientSecret: "secret"})
	address, a := begin(t, p)
	id := redirect(t, address).Query().Get("authRequestID")
	host, _, _ := strings.Cut(strings.TrimPrefix(issuer, "http://"), ":")
	if err := users.CheckUsernamePassword("test-user@"+host, "verysecure", id); err != nil {
		t.Fatal(err)
	}
	answer := redirect(t, issuer+"/authorize/callback?id="+id)
	if !strings.HasPrefix(answer.String(), redirectURI+"?") {
		t.Fatalf("it redirects to %s", answer)
	}
	who, err := p.Finish(t.Context(), a, answer.Query())
	want := &signin.Identity{Issuer: issuer, Subject: "id1", Email: "test-user@zitadel.ch", EmailVerified: true}
	if diff := cmp.Diff(want, who); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := p.Finish(t.Context(), a, answer.Query()); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a second time: %v", err)
	}
	wrong := newProvider(t, signin.Config{Issuer: issuer, ClientID: "kith", ClientSecret: "another"})
	address, a = begin(t, wrong)
	id = redirect(t, address).Query().Get("authRequestID")
	if err := users.CheckUsernamePassword("test-user@"+host, "verysecure", id); err != nil {
		t.Fatal(err)
	}
	if _, err := wrong.Finish(t.Context(), a, redirect(t, issuer+"/authorize/callback?id="+id).Query()); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("with another secret: %v", err)
	}
}
