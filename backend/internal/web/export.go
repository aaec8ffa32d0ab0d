package web

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/oauth/signin"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// exportBuffer is how much of a file is buffered, in bytes. If the store fails before
// that, an error page can still be sent.
const exportBuffer = 64 << 10

// export sends all data of the member as one ZIP, while it is read.
func (v *request) export() error {
	ctx := v.R.Context()
	of, err := v.account(ctx)
	if err != nil {
		return err
	}
	name := "kith-export-" + v.Login.Username + "-" + v.Now().UTC().Format(time.DateOnly) + ".zip"
	return v.download(name, "application/zip", func(out io.Writer) error {
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
	return v.download(f.Name(v.Now()), f.MediaType(), func(out io.Writer) error {
		_, err := f.Write(ctx, data, out)
		return err
	}, func() {})
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
	case !slices.Contains(p.Credential.Scopes, exportScope) || !p.Credential.Allows(exportTool):
		return false, page.Refuse(http.StatusForbidden, "The token may not export people", "It needs the scope "+exportScope+" and the tool "+exportTool+".")
	}
	v.Owner = p.Tenant
	return true, nil
}

// download sends a file while write writes it, and calls sent if any of it was sent. If
// write fails halfway, it closes the connection, so that the file is not taken for
// complete.
func (v *request) download(name, mediaType string, write func(out io.Writer) error, sent func()) error {
	v.W.Header().Set("Content-Type", mediaType)
	v.W.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	if v.R.Method == http.MethodHead {
		return nil
	}
	body := &sentWriter{Writer: v.W}
	out := bufio.NewWriterSize(body, exportBuffer)
	err := write(out)
	if err == nil {
		err = out.Flush()
	}
	if err == nil || body.begun {
		sent()
	}
	if err == nil {
		return nil
	}
	if !body.begun {
		v.W.Header().Del("Content-Disposition")
		page.SetHeaders(v.W.Header())
		page.SetAlone(v.W.Header())
		return err
	}
	v.Logger.WarnContext(v.R.Context(), "export broken off", "error", err)
	panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to say "close the connection"
}

// sentWriter records whether anything was written.
type sentWriter struct {
	io.Writer

	begun bool
}

func (w *sentWriter) Write(p []byte) (int, error) {
	w.begun = true
	return w.Writer.Write(p)
}

// account returns what is stored about the member.
func (v *request) account(ctx context.Context) (export.Account, error) {
	var a export.Account
	var err error
	if a.Member, err = account.GetMemberByID(ctx, v.Store, v.Login.MemberID); err != nil {
		return a, err
	}
	if a.Profile, err = account.GetProfile(ctx, v.Store, v.Login.MemberID); err != nil {
		return a, err
	}
	if a.Grants, err = oauth.ListGrants(ctx, v.Store, v.Login.MemberID); err != nil {
		return a, err
	}
	if a.Tokens, err = account.ListPersonalTokens(ctx, v.Store, v.Login.MemberID); err != nil {
		return a, err
	}
	if a.Links, err = signin.ListIdentities(ctx, v.Store, v.Login.MemberID); err != nil {
		return a, err
	}
	a.Reads, err = billing.ListReads(ctx, v.data(), time.Time{})
	return a, err
}
