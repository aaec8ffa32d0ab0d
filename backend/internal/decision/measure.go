package decision

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/proto/catalog"
	"github.com/uptrace/bun"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// shownEffects is the maximum number of effects in a preview.
const shownEffects = 20

// Measured says what a call did in its transaction.
type Measured struct {
	Preview

	// ChangeID is the change that the call recorded; empty for none.
	ChangeID string
	// deletes is set if the call deletes something, archives a person, empties a field, takes entries
	// off a list or overwrites a note; starts if it started a job.
	deletes, starts bool
}

// Measure returns what a call did in a transaction that is still open, from the change that it
// recorded or the job that it started. A dry run did nothing.
func Measure(ctx context.Context, tx *db.Tx, req, res proto.Message) (m Measured, err error) {
	if field(req, "dry_run").Bool() {
		return m, nil
	}
	var parts []string
	if m.ChangeID = field(res, "change_id").String(); m.ChangeID != "" {
		c, err := history.GetChange(ctx, tx, m.ChangeID)
		if err != nil {
			return m, err
		}
		if parts, err = m.addChange(ctx, tx, c); err != nil {
			return m, err
		}
	} else if number := field(res, "task_id").Int(); number > 0 {
		j, err := job.GetJob(ctx, tx, int32(number))
		if err != nil {
			return m, err
		}
		if parts, err = m.addJob(j, tx); err != nil {
			return m, err
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	m.Digest = hex.EncodeToString(sum[:])
	return m, nil
}

// addChange adds a recorded change. It returns what it did to which objects, with the states in
// which it found them: what the member approves is the change of these states, not only of these
// objects.
func (m *Measured) addChange(ctx context.Context, tx *db.Tx, c *history.Change) (parts []string, err error) {
	people := map[string]bool{}
	for i, o := range c.Objects() {
		if o.Kind == history.Connection || o.Kind == history.Membership {
			people[o.ID] = true
		}
		m.deletes = m.deletes || c.Effects[i].Loses()
		if i < shownEffects {
			m.Effects = append(m.Effects, c.Effects[i])
		}
		part := o.Action + " " + o.Kind
		if before := c.Effects[i].Before; len(before) > 0 && string(before) != "null" { // a new object has another id each time
			sum := sha256.Sum256(before)
			part += " " + o.ID + " " + hex.EncodeToString(sum[:])
		}
		parts = append(parts, part)
	}
	m.Summary, m.People, m.More = infinitive(c.Summary), len(people), len(c.Effects)-len(m.Effects)
	targets, err := readTargets(ctx, tx, slices.Sorted(maps.Keys(people)))
	if err != nil {
		return nil, err
	}
	for _, t := range targets {
		parts = append(parts, t.ID+" "+strconv.Itoa(t.Version))
	}
	slices.Sort(parts)
	return parts, nil
}

// readTargets returns people with their names and versions, without those who do not exist.
func readTargets(ctx context.Context, q db.Reader, ids []string) ([]Target, error) {
	var out []Target
	const atOnce = 500
	for some := range slices.Chunk(ids, atOnce) {
		var rows []Target
		err := q.NewRaw("SELECT id, name, version FROM connections WHERE tenant_id = ? AND id IN (?) ORDER BY id", q.TenantID(), bun.List(some)).Scan(ctx, &rows)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, nil
}

// infinitive returns the summary of a change as what a call would do: "delete Ada" for "Deleted
// Ada". A summary that does not begin with a known verb stays as it is.
func infinitive(summary string) string {
	first, rest, _ := strings.Cut(summary, " ")
	verb, known := map[string]string{
		"Added": "add", "Archived": "archive", "Brought": "bring", "Changed": "change", "Completed": "complete", "Deleted": "delete",
		"Dismissed": "dismiss", "Dissolved": "dissolve", "Imported": "import", "Linked": "link", "Logged:": "log:", "Deleted:": "delete:", "Changed:": "change:",
		"Made": "make", "Merged": "merge", "Removed": "remove", "Renamed": "rename", "Said": "say", "Set": "set", "Snoozed": "snooze",
		"Undid:": "undo:", "Redid:": "redo:", "Unlinked": "unlink",
	}[first]
	if !known {
		return summary
	}
	return strings.TrimSpace(verb + " " + rest)
}

// addJob adds a job, unless an earlier call started it. It returns the file or import of the job.
func (m *Measured) addJob(j *job.Job, tx *db.Tx) (parts []string, err error) {
	if !j.CreatedAt.Equal(tx.Now()) {
		return nil, nil
	}
	var params struct {
		ImportID string `json:"import_id"`
		UndoID   string `json:"undo_id"`
		Filename string `json:"filename"`
		Sha256   string `json:"sha256"`
		People   int    `json:"people"`
		InForce  string `json:"in_force"`
	}
	if err := json.Unmarshal([]byte(j.Params), &params); err != nil {
		return nil, fmt.Errorf("read the parameters of job %s: %w", j.ID, err)
	}
	m.starts, m.People = true, params.People
	if params.UndoID != "" {
		m.deletes = true // it removes what the import added, and empties what it filled
		m.Summary = "undo an import"
		return []string{params.ImportID, params.InForce}, nil
	}
	m.Summary = "import " + params.Filename
	return []string{params.Sha256}, nil
}

// Acts returns the kinds of acts that the call performs and for which the credential needs approval.
func (m Measured) Acts(tool []string, asks tenant.ApprovalPolicy) []string {
	is := map[string]bool{
		catalog.ActDelete: m.deletes, catalog.ActMerge: m.ChangeID != "", catalog.ActImport: m.starts, catalog.ActBulk: m.People > asks.Above,
	}
	var acts []string
	for _, act := range tool {
		if asks.Before(act) && is[act] {
			acts = append(acts, act)
		}
	}
	return acts
}

// field returns a field of a message by its name; its default if it has none.
func field(m proto.Message, name protoreflect.Name) fieldValue {
	descriptor := m.ProtoReflect().Descriptor().Fields().ByName(name)
	if descriptor == nil {
		return fieldValue{}
	}
	return fieldValue{value: m.ProtoReflect().Get(descriptor).Interface()}
}

// fieldValue is the value of a field. Its methods return the zero value if it has another type.
type fieldValue struct{ value any }

func (v fieldValue) Bool() bool {
	b, _ := v.value.(bool)
	return b
}

func (v fieldValue) String() string {
	s, _ := v.value.(string)
	return s
}

func (v fieldValue) Int() int64 {
	n, _ := v.value.(int32)
	return int64(n)
}
