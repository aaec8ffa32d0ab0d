package discovery

import "github.com/kith-crm/kith/edge/internal/route"

// Assets returns the handlers of the files that pages load, by their paths.
func (d *Documents) Assets() map[string]route.Handler {
	all := map[string]route.Handler{}
	for _, a := range []asset{d.stylesheet, d.try, d.search, d.light, d.dark} {
		all[a.path] = a.serve
	}
	return all
}
