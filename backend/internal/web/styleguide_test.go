package web_test

import (
	"net/http"
	"testing"

	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// Only a server at a loopback address has the style guide.
func TestStyleguideIsLocal(t *testing.T) {
	t.Parallel()
	public := webtest.New(t, webtest.Options{Web: func(c *web.Config) { c.BaseURL = "http://kith.example" }})
	want(t, public.SignedIn(t, "maria").Get("/styleguide"), http.StatusNotFound)
	local := webtest.New(t, webtest.Options{})
	want(t, local.SignedIn(t, "maria").Get("/styleguide"), http.StatusOK, "Style guide")
}
