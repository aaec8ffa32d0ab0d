package discovery_test

import (
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/discovery"
)

// Manuals are pages, listed and found like the others. Links between them lead to pages, and those to files without a page
// are texts.
func TestManuals(t *testing.T) {
	t.Parallel()
	d := build(t, func(o *discovery.Options) {
		o.Manuals = []discovery.Manual{
			{Name: "first-hour", Lead: "from an empty server", Text: "# The first hour\n\nSee [below](#back-up), [proxies](public-address.md#a-tunnel), [all](public-address.md) and [units](../systemd/x.service).\n\n## Back up\n\nRun xylophone each night.\n"},
			{Name: "public-address", Lead: "how agents on the web reach it", Text: "# A public address\n\n## A tunnel\n\nOutwards.\n"},
		}
	})
	got := text(t, d["/docs/{guide}"], "first-hour", "text/markdown")
	for _, want := range []string{"[below](#back-up)", "[proxies](" + base + "/docs/public-address#a-tunnel)", "[all](" + base + "/docs/public-address)", "and units."} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	page := text(t, d["/docs/{guide}"], "public-address", "text/html")
	if !strings.Contains(page, `<h2 id="a-tunnel">`) || !strings.Contains(page, "Run your own") || !strings.Contains(page, `href="/docs/first-hour"`) {
		t.Errorf("the page is\n%s", page)
	}
	if list := text(t, d["/docs"], "", "text/markdown"); !strings.Contains(list, "## Run your own\n\n- [The first hour]("+base+"/docs/first-hour): from an empty server\n") {
		t.Errorf("the overview is\n%s", list)
	}
	if found := get(searching(d, "xylophone"), ""); !strings.Contains(found.Body.String(), "/docs/first-hour#back-up") {
		t.Errorf("the search found\n%s", found.Body)
	}
	if plain := text(t, build(t, nil)["/docs"], "", "text/markdown"); strings.Contains(plain, "Run your own") {
		t.Error("there is a section without manuals")
	}
}
