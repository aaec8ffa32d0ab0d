package decision

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/proto/catalog"
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
	// deletes is set if the call deletes something or archives a person, starts if it started a job.
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
		parts = m.addChange(c)
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

// addChange adds a recorded change. It returns the people that it changed and what it deleted.
func (m *Measured) addChange(c *history.Change) (parts []string) {
	people := map[string]bool{}
	for i, o := range c.Objects() {
		if o.Kind == history.Connection || o.Kind == history.Membership {
			people[o.ID] = true
		}
		gone := o.Action == history.ActionRemoved && o.Kind != history.Membership
		if gone || o.Action == history.ActionArchived || o.Kind == history.Connection || o.Kind == history.Membership {
			parts = append(parts, o.Action+" "+o.Kind+" "+o.ID)
		}
		m.deletes = m.deletes || gone || o.Action == history.ActionArchived
		if i < shownEffects {
			m.Effects = append(m.Effects, c.Effects[i])
		}
	}
	m.Summary, m.People, m.More = c.Summary, len(people), len(c.Effects)-len(m.Effects)
	slices.Sort(parts)
	return slices.Compact(parts)
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
	}
	if err := json.Unmarshal([]byte(j.Params), &params); err != nil {
		return nil, fmt.Errorf("read the parameters of job %s: %w", j.ID, err)
	}
	m.starts = true
	if params.UndoID != "" {
		m.Summary = "Undo an import"
		return []string{params.ImportID}, nil
	}
	m.Summary = "Import " + params.Filename
	return []string{params.Sha256}, nil
}

// Acts returns the kinds of acts that the call performs and for which the credential needs approval.
func (m Measured) Acts(tool []string, asks tenant.Asks) []string {
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
