package web

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// pathExport is the address of all data of the member.
const pathExport = page.PathAccount + "/export"

// export sends all data of the member as one ZIP, while it is read.
func (v *request) export() error {
	ctx := v.R.Context()
	of, err := export.ReadAccount(ctx, v.Store, v.data(), v.Login.MemberID)
	if err != nil {
		return err
	}
	name := "kith-export-" + v.Login.Username + "-" + v.Now().UTC().Format(time.DateOnly) + ".zip"
	return v.Download(name, "application/zip", func(out io.Writer) error {
		return export.WriteAccount(ctx, out, of, v.data(), v.Now())
	}, func() { v.record(account.AccountExported, v.Login.MemberID, "") })
}

// exportFile sends a file of people that export_connections made.
func (v *request) exportFile() error {
	ctx := v.R.Context()
	data := v.Data(v.Owner)
	f, err := export.FindFile(ctx, data, v.R.PathValue("job"))
	if err != nil {
		return err
	}
	return v.Download(f.Name(v.Now()), f.MediaType(), func(out io.Writer) error {
		_, err := f.Write(ctx, data, out)
		return err
	}, func() {
		if v.R.Header.Get("Authorization") == "" { // what agents read is counted
			v.record(account.PeopleExported, v.Owner, "")
		}
	})
}

// exportScope is the scope that export_connections needs, exportTool its name.
const (
	exportScope = "connections"
	exportTool  = "export_connections"
)

// memberOrAgent admits signed-in browsers, and bearers that may call export_connections.
// It sends others to sign in first.
func memberOrAgent(v *page.Request) (bool, error) {
	if len(v.R.Header.Values("Authorization")) == 0 {
		return page.MembersOnly(v)
	}
	bearer, ok := strings.CutPrefix(v.R.Header.Get("Authorization"), "Bearer ")
	denied := page.Refuse(http.StatusUnauthorized, "The token is not valid", "Send a live bearer token, or open this address in a browser where you are signed in.")
	if !ok || len(v.R.Header.Values("Authorization")) != 1 {
		v.W.Header().Set("WWW-Authenticate", "Bearer")
		return false, denied
	}
	p, err := oauth.Authenticate(v.R.Context(), v.Store, bearer)
	switch {
	case fault.Is(err, fault.Unauthenticated), err == nil && p.ReadOnly: // the demo account's token is public
		v.W.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		return false, denied
	case err != nil:
		return false, err
	case p.Credential.Paused:
		return false, page.Refuse(http.StatusForbidden, "The agent is paused", "Resume it on the settings page for agents.")
	case !slices.Contains(p.Credential.Scopes, exportScope) || !p.Credential.Allows(exportTool):
		return false, page.Refuse(http.StatusForbidden, "The token may not export people", "It needs the scope "+exportScope+" and the tool "+exportTool+".")
	}
	v.Owner, v.Agent = p.Tenant, true
	return true, nil
}
