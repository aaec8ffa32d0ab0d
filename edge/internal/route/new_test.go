package route

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/httpapi"
)

func TestNewRefusesRoutes(t *testing.T) {
	t.Parallel()
	handle := func(http.ResponseWriter, *http.Request, string) {}
	good := Route{Handle: handle, Name: "a", Pattern: "/a", Methods: []string{"GET"}, Summary: "A.", State: Current, Protocol: HTTP}
	change := func(f func(*Route)) Route { r := good; f(&r); return r }
	for name, test := range map[string]struct {
		rows []Route
		want string
	}{
		"nothing wrong":    {[]Route{good}, ""},
		"same name":        {[]Route{good, change(func(r *Route) { r.Pattern = "/b" })}, "is defined twice"},
		"same path":        {[]Route{good, change(func(r *Route) { r.Name = "b" })}, "is defined twice"},
		"no summary":       {[]Route{change(func(r *Route) { r.Summary = "" })}, "a name and a summary"},
		"no method":        {[]Route{change(func(r *Route) { r.Methods = nil })}, "needs a method"},
		"automatic method": {[]Route{change(func(r *Route) { r.Methods = []string{"HEAD"} })}, "added automatically"},
		"no error writer":  {[]Route{change(func(r *Route) { r.Protocol = "gopher" })}, "no error writer"},
		"no handler":       {[]Route{change(func(r *Route) { r.Handle = nil })}, `route "a": has no handler`},
		"no policy":        {[]Route{change(func(r *Route) { r.RatePolicy = "b" })}, "no such policy"},
	} {
		_, err := New(test.rows, Options{
			BaseURL: "https://kith.example", Host: "kith.example", ErrorWriters: map[Protocol]httpapi.ErrorWriter{HTTP: httpapi.NewProblems("https://kith.example")},
			CheckPolicy: func(string) error { return errors.New("no such policy") },
		})
		if (test.want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}
