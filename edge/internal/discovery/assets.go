package discovery

import (
	_ "embed"

	"github.com/kith-crm/kith/edge/internal/discovery/static"
)

//go:embed assets/docs.css
var stylesheetSource []byte

//go:embed assets/try.js
var scriptSource []byte

type assets struct{ stylesheet, script *static.File }

func newAssets() assets {
	return assets{
		stylesheet: static.NewFile(pathStylesheet, "text/css; charset=utf-8", stylesheetSource),
		script:     static.NewFile(pathScript, "text/javascript; charset=utf-8", scriptSource),
	}
}
