package web

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/kith-crm/kith/backend/internal/accountfile"
	"github.com/kith-crm/kith/backend/internal/securityevent"
)

// exportBuffer is how much of a file is held back, in bytes: when the store fails
// that early, a page can still say so.
const exportBuffer = 64 << 10

// export sends everything that the member keeps as one ZIP, as it is read. When it
// has to break off, the connection is closed in the middle, so that the browser
// does not take the file for whole: the member may delete the account next.
func (v *visit) export() error {
	ctx := v.r.Context()
	account, err := v.account(ctx)
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
	err = accountfile.Write(ctx, out, account, v.data(), v.Now())
	if err == nil {
		err = out.Flush()
	}
	if err == nil || sent.begun {
		v.record(securityevent.AccountExported, v.login.MemberID, "")
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
	panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's own word for "close the connection"
}

// sentWriter remembers whether anything was written.
type sentWriter struct {
	io.Writer

	begun bool
}

func (w *sentWriter) Write(p []byte) (int, error) {
	w.begun = true
	return w.Writer.Write(p)
}

// account reads what is on file about the member.
func (v *visit) account(ctx context.Context) (accountfile.Account, error) {
	var a accountfile.Account
	var err error
	if a.Member, err = v.Store.GetMemberByID(ctx, v.login.MemberID); err != nil {
		return a, err
	}
	if a.Profile, err = v.Store.GetProfile(ctx, v.login.MemberID); err != nil {
		return a, err
	}
	if a.Grants, err = v.Store.ListGrants(ctx, v.login.MemberID); err != nil {
		return a, err
	}
	if a.Tokens, err = v.Store.ListPersonalTokens(ctx, v.login.MemberID); err != nil {
		return a, err
	}
	a.Links, err = v.Store.ListIdentities(ctx, v.login.MemberID)
	return a, err
}
