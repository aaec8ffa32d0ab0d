package history

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/cursor"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/tenant"
	accountv1 "github.com/kith-crm/kith/proto/gen/kith/account/v1"
)

// maxObjects is how many objects of one change an answer names at most.
const MaxObjects = 100

// RPC implements the RPCs of recorded changes.
type RPC struct{ DB *db.DB }

// ListChanges implements the RPC.
func (h *RPC) ListChanges(ctx context.Context, req *accountv1.ListChangesRequest) (*accountv1.ListChangesResponse, error) {
	p := tenant.PrincipalFrom(ctx)
	data := h.DB.Tenant(p.Tenant, p.ReadOnly)
	q, err := queryOf(ctx, req, p)
	if err != nil {
		return nil, err
	}
	order := q
	q.Limit = call.LimitOf(req.Limit, call.DefaultLimit)
	if req.Cursor != nil {
		if err := cursor.Decode(req.GetCursor(), order, &q.Before); err != nil {
			return nil, err
		}
	}
	changes, last, err := ListPage(ctx, data, q)
	if err != nil {
		return nil, err
	}
	res := &accountv1.ListChangesResponse{}
	if last != 0 {
		next, err := cursor.Encode(order, last)
		if err != nil {
			return nil, err
		}
		res.HasMore, res.NextCursor = true, &next
	}
	names, err := namesIn(ctx, data, changes)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		m := changeMessage(&c, p, names, req.ChangeId != nil)
		if !shows(ctx, &c) {
			m.Summary, m.Touched, m.Objects = hidden, "", nil
		}
		res.Changes = append(res.Changes, m)
	}
	return res, nil
}

// readers are the tools that read objects, by the kind of object. A credential that may not call
// the tool learns that there was a change, but not of what.
var readers = map[string]string{ //nolint:gochecknoglobals // a constant table
	Connection: "get_connection", Relationship: "get_connection", DistinctPair: "find_duplicates",
	Note: "list_timeline", Interaction: "list_timeline", Group: "list_groups", Membership: "list_groups",
	Reminder: "list_due", Profile: "get_member_profile", Settings: "get_account", Field: "list_groups", Organization: "find_people_at",
}

// ReaderOf returns the tool that reads objects of a kind; empty for an unknown kind.
func ReaderOf(kind string) string { return readers[kind] }

// hidden is the summary of a change whose contents the caller may not read.
const hidden = "Not shown: this credential has no tool that reads what changed."

// shows reports whether the caller may see the contents of a change: it may call the tool that made
// it, or those that read each of its objects. An undo is about what another tool wrote.
func shows(ctx context.Context, c *Change) bool {
	if c.Undoes == "" && call.Allows(ctx, c.Tool) {
		return true
	}
	for _, e := range c.Effects {
		if !call.Allows(ctx, readers[e.Kind]) {
			return false
		}
	}
	return len(c.Effects) > 0
}

// queryOf returns the filters of a call.
func queryOf(ctx context.Context, req *accountv1.ListChangesRequest, p *tenant.Principal) (q Query, err error) {
	q = Query{ConnectionID: req.GetConnectionId(), Tool: req.GetTool(), Agent: req.GetAgent()}
	q.ByMember = strings.EqualFold(q.Agent, p.DisplayName) || strings.EqualFold(q.Agent, p.Username)
	if req.ChangeId != nil {
		q.IDs = []string{req.GetChangeId()}
	}
	if req.GetMine() {
		q.CredentialID = p.Credential.ID
	}
	if q.Since, err = call.StartOfDay(ctx, "since", req.Since, 0); err != nil {
		return q, err
	}
	q.Until, err = call.StartOfDay(ctx, "until", req.Until, 0)
	return q, err
}

// changeMessage shows a change as a line, or whole with its objects. It leaves out what
// most changes share: that the caller's credential made them, and that they can be undone.
func changeMessage(c *Change, p *tenant.Principal, names map[string]string, whole bool) *accountv1.Change {
	m := &accountv1.Change{
		Id: c.ID, Tool: c.Tool, Summary: c.line(names), Touched: touched(c.Effects), UndoneBy: call.Optional(c.UndoneBy), Undoes: call.Optional(c.Undoes),
		CreatedAt: call.Timestamp(c.CreatedAt.Truncate(time.Second)),
	}
	if c.CredentialID == "" {
		m.Actor = cmp.Or(c.CredentialName, p.DisplayName, p.Username)
	} else if c.CredentialID != p.Credential.ID {
		m.Actor = c.CredentialName
	}
	if undoable := c.Undoable(); !undoable {
		m.Undoable = &undoable
	}
	if whole {
		m.Objects = ObjectMessages(c.Objects())
	}
	return m
}

// touched counts objects by kind, such as "12 connections, 1 note"; empty for one kind,
// which the summary counts.
func touched(effects []Effect) string {
	var kinds []string
	counts := map[string]int{}
	for _, e := range effects {
		if counts[e.Kind]++; counts[e.Kind] == 1 {
			kinds = append(kinds, e.Kind)
		}
	}
	if len(kinds) < 2 {
		return ""
	}
	for i, kind := range kinds {
		if kinds[i] = fmt.Sprintf("%d %s", counts[kind], kind); counts[kind] > 1 {
			kinds[i] += "s"
		}
	}
	return strings.Join(kinds, ", ")
}

func ObjectMessages(objects []Object) []*accountv1.ChangedObject {
	objects = objects[:min(len(objects), MaxObjects)]
	out := make([]*accountv1.ChangedObject, len(objects))
	for i, o := range objects {
		out[i] = &accountv1.ChangedObject{Kind: o.Kind, Id: o.ID, Action: o.Action, Fields: o.Fields}
	}
	return out
}
