package web

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/oauth/signin"
)

// exportBuffer is how much of a file is buffered, in bytes. If the store fails before
// that, an error page can still be sent.
const exportBuffer = 64 << 10

// export sends all data of the member as one ZIP, while it is read. If it fails
// halfway, it closes the connection, so that the browser does not take the file for
// complete: the member may delete the account next.
func (v *request) export() error {
	ctx := v.r.Context()
	of, err := v.account(ctx)
	if err != nil {
		return err
	}
	name := "kith-export-" + v.login.Username + "-" + v.Now().UTC().Format(time.DateOnly) + ".zip"
	v.w.Header().Set("Content-Type", "application/zip")
	v.w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	if v.r.Method == http.MethodHead {
		return nil
	}
	sent := &sentWriter{Writer: v.w}
	out := bufio.NewWriterSize(sent, exportBuffer)
	err = export.WriteAccount(ctx, out, of, v.data(), v.Now())
	if err == nil {
		err = out.Flush()
	}
	if err == nil || sent.begun {
		v.record(account.AccountExported, v.login.MemberID, "")
	}
	if err == nil {
		return nil
	}
	if !sent.begun {
		v.w.Header().Del("Content-Disposition")
		setHeaders(v.w.Header())
		setAlone(v.w.Header())
		return err
	}
	v.Logger.WarnContext(ctx, "export broken off", "error", err)
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
	if a.Member, err = account.GetMemberByID(ctx, v.Store, v.login.MemberID); err != nil {
		return a, err
	}
	if a.Profile, err = account.GetProfile(ctx, v.Store, v.login.MemberID); err != nil {
		return a, err
	}
	if a.Grants, err = oauth.ListGrants(ctx, v.Store, v.login.MemberID); err != nil {
		return a, err
	}
	if a.Tokens, err = account.ListPersonalTokens(ctx, v.Store, v.login.MemberID); err != nil {
		return a, err
	}
	a.Links, err = signin.ListIdentities(ctx, v.Store, v.login.MemberID)
	return a, err
}
