package imports

import (
	"net/http"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// signIn signs a person in.
func signIn(t *testing.T, v *harness.Session, person map[string]string) {
	t.Helper()
	values := harness.Form(v.Send(t, "/sign-in", nil))
	values.Set("login", person["MEMBER_USERNAME"])
	values.Set("password", person["MEMBER_PASSWORD"])
	if got := v.Send(t, "/sign-in", values); got.Status != http.StatusSeeOther {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
}
