package web

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/grant"
	"github.com/kith-crm/kith/backend/internal/member"
	"github.com/kith-crm/kith/backend/internal/organize"
	"github.com/kith-crm/kith/backend/internal/profile"
	"github.com/kith-crm/kith/backend/internal/provider"
	"github.com/kith-crm/kith/backend/internal/reminder"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/token"
)

// exportFormat names the shape of the file; a change that breaks readers counts
// it up.
const exportFormat = "kith-export-1"

// head is what an export says of the member, before the lists.
type head struct {
	member  *member.Member
	profile *profile.Profile
	grants  []grant.Grant
	tokens  []token.PersonalToken
	links   []provider.LinkedIdentity
}

// exportBuffer is how much of a file is held back, in bytes: when the store fails
// that early, a page can still say so.
const exportBuffer = 64 << 10

// export sends everything that the member keeps as one JSON file, as it is read.
// When it has to break off, the connection is closed in the middle, so that the
// browser does not take the file for whole: the member may delete the account
// next. Its last word is "complete" besides.
func (v *visit) export() error {
	ctx := v.r.Context()
	data, err := v.exportHead(ctx)
	if err != nil {
		return err
	}
	name := "kith-export-" + v.login.Username + "-" + v.Now().UTC().Format(time.DateOnly) + ".json"
	v.w.Header().Set("Content-Type", "application/json; charset=utf-8")
	v.w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	if v.r.Method == http.MethodHead {
		return nil
	}
	sent := &sentWriter{Writer: v.w}
	out := bufio.NewWriterSize(sent, exportBuffer)
	err = v.writeExport(ctx, out, data)
	if err == nil {
		err = out.Flush()
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

func (v *visit) writeExport(ctx context.Context, out io.Writer, data head) error {
	w := &exportWriter{out: out}
	w.begin(data.objects(v.Now()))
	if err := v.Data(v.login.MemberID).Export(ctx, w.object); err != nil {
		return err
	}
	return w.end()
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

func (v *visit) exportHead(ctx context.Context) (head, error) {
	var h head
	var err error
	if h.member, err = v.Store.GetMemberByID(ctx, v.login.MemberID); err != nil {
		return h, err
	}
	if h.profile, err = v.Store.GetProfile(ctx, v.login.MemberID); err != nil {
		return h, err
	}
	if h.grants, err = v.Store.ListGrants(ctx, v.login.MemberID); err != nil {
		return h, err
	}
	if h.tokens, err = v.Store.ListPersonalTokens(ctx, v.login.MemberID); err != nil {
		return h, err
	}
	h.links, err = v.Store.ListIdentities(ctx, v.login.MemberID)
	return h, err
}

// exportLists are the lists that follow the head, in the order of Export.
func exportLists() []string {
	return []string{"connections", "organizations", "groups", "relationships", "reminders", "notes", "interactions", "changes"}
}

// exportWriter writes one JSON object, list after list. Its first error stays.
type exportWriter struct {
	out  io.Writer
	list int // index of the open list
	some bool
	err  error
}

func (w *exportWriter) text(s string) {
	if w.err == nil {
		_, w.err = io.WriteString(w.out, s)
	}
}

func (w *exportWriter) value(v any) {
	if w.err != nil {
		return
	}
	data, err := json.Marshal(v)
	if w.err = err; err == nil {
		_, w.err = w.out.Write(data)
	}
}

// begin writes the head and opens the first list.
func (w *exportWriter) begin(head []named) {
	w.text("{")
	for _, part := range head {
		w.value(part.name)
		w.text(":")
		w.value(part.value)
		w.text(",\n")
	}
	w.open()
}

func (w *exportWriter) open() {
	w.value(exportLists()[w.list])
	w.text(":[")
	w.some = false
}

// object writes one object into its list; the lists before it are closed.
func (w *exportWriter) object(object any) error {
	list, shape := exportShape(object)
	at := slices.Index(exportLists(), list)
	if at < w.list {
		return fmt.Errorf("export: %T comes out of order", object)
	}
	w.advance(at)
	if w.some {
		w.text(",")
	}
	w.some = true
	w.text("\n")
	w.value(shape)
	return w.err
}

// end closes what is open.
func (w *exportWriter) end() error {
	w.advance(len(exportLists()) - 1)
	w.text("\n],\n\"complete\":true}\n")
	return w.err
}

// advance closes lists and opens others until the one at an index is open.
func (w *exportWriter) advance(to int) {
	for w.list < to {
		w.text("\n],\n")
		w.list++
		w.open()
	}
}

// exportShape returns the list that an object belongs to and what it looks like.
func exportShape(object any) (list string, shape any) {
	switch o := object.(type) {
	case *connection.Connection:
		return "connections", connectionShape(o)
	case *connection.Organization:
		return "organizations", organizationShape{o.ID, o.Name, o.Domain, o.CreatedAt}
	case *organize.Group:
		return "groups", groupShape{o.ID, o.Name, o.Description, o.CadenceDays, o.CreatedAt, o.UpdatedAt}
	case *connection.Relationship:
		return "relationships", relationshipShape{o.ID, o.FromID, o.ToID, o.Type, o.CreatedAt}
	case *reminder.Reminder:
		return "reminders", reminderShape{
			o.ID, o.ConnectionID, o.Text, o.DueOn, o.StartsOn, o.Recurrence, o.State, o.CreatedAt, o.UpdatedAt,
		}
	case *timeline.Note:
		return "notes", noteShape{o.ID, nonNil(o.ConnectionIDs), o.Body, o.Pinned, o.CreatedAt, o.UpdatedAt}
	case *timeline.Interaction:
		return "interactions", interactionShape{o.ID, nonNil(o.ConnectionIDs), o.Kind, o.OccurredAt, o.DurationMinutes, o.Summary, o.ExternalKey, o.CreatedAt}
	case *change.Change:
		return "changes", changeShape{
			o.ID, o.CredentialID, o.CredentialName, o.Tool, o.Summary, o.Effects, o.UndoneBy, o.Undoes, o.CreatedAt,
		}
	}
	return "", nil
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func scopeList(scopes string) []string { return strings.Fields(scopes) }
