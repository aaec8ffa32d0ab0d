package page

import (
	"context"
	"html"
	"net/http"
	"regexp"
	"strings"

	"github.com/kith-crm/kith/backend/internal/tenant"
)

// PathDemo is the prefix of the demo's paths: the areas of the site, with the data of a member that
// is read-only.
const PathDemo = "/demo"

// DemoRoutes copies the routes that only read a member's data to paths below PathDemo, open to
// everybody. They show the data of owner, which fails with fault.NotFound if there is no demo. A
// signed-in visitor sees the demo as everybody else does.
func DemoRoutes(owner func(ctx context.Context) (tenant.ID, error), routes ...Route) []Route {
	enter := func(v *Request) (bool, error) {
		SetAlone(v.W.Header())
		v.Login = nil
		var err error
		if v.Owner, err = owner(v.R.Context()); err != nil {
			return false, err
		}
		v.Base = PathDemo
		return true, nil
	}
	var out []Route
	for _, r := range routes {
		path, reads := strings.CutPrefix(r.Pattern, http.MethodGet+" ")
		if reads && r.Handle != nil {
			out = append(out, Route{Pattern: http.MethodGet + " " + PathDemo + strings.TrimSuffix(path, "/{$}"), Enter: enter, Handle: r.Handle})
		}
	}
	return out
}

// inDemo reports whether the page is one of the demo.
func (v *Request) inDemo() bool { return v.Base == PathDemo }

// The forms of our templates that write, and the controls in them. Text of members never matches,
// because the templates escape it.
var (
	writingForm = regexp.MustCompile(`(?s)<form\b[^>]*\bmethod="post"[^>]*>.*?</form>`)
	formAction  = regexp.MustCompile(` action="[^"]*"`)
	control     = regexp.MustCompile(`<(?:input|select|textarea)\b`)
)

// turnOff disables the fields and buttons of every form that writes, and tells at each button why, in a sentence.
func turnOff(document []byte, why string) []byte {
	return writingForm.ReplaceAllFunc(document, func(form []byte) []byte {
		form = formAction.ReplaceAllLiteral(form, nil)
		form = control.ReplaceAll(form, []byte("$0 disabled"))
		return []byte(strings.ReplaceAll(string(form), "<button", `<button disabled aria-describedby="demo" title="`+html.EscapeString(why)+`"`))
	})
}
