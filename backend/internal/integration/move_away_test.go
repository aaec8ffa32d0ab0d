package integration_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/move"
	"github.com/kith-crm/kith/backend/internal/people"
)

// onFirstWrite calls a function when the first bytes arrive.
type onFirstWrite struct {
	io.Writer

	do func()
}

// Write implements io.Writer.
func (w *onFirstWrite) Write(p []byte) (int, error) {
	if do := w.do; do != nil {
		w.do = nil
		do()
	}
	return w.Writer.Write(p)
}

// A member who moves is suspended in one installation and not in the other. A call that had begun
// before and writes meanwhile is not lost: the export fails.
func TestMovingAway(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		home := newHome(t, url)
		if _, err := account.SuspendMember(t.Context(), home.s, "maria"); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		late := &onFirstWrite{&out, func() { createWritten(t, home.s, home.owner, people.Draft{Name: "Late"}) }}
		if _, err := move.Export(t.Context(), home.s, "maria", true, late); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "export it again") {
			t.Errorf("written to meanwhile: %v", err)
		}
		for away, suspended := range map[bool]bool{true: false, false: true} {
			out.Reset()
			got, err := move.Export(t.Context(), home.s, "maria", away, &out)
			if err != nil || got.Suspended != suspended || got.Unfinished == 0 {
				t.Fatal(got, err)
			}
			s := dbtest.Open(t, another(t, url), time.Now)
			imported, err := move.Import(t.Context(), s, bytes.NewReader(out.Bytes()))
			if err != nil || imported.Suspended != suspended {
				t.Errorf("%+v, %v", imported, err)
			}
			if m, err := account.GetMember(t.Context(), s, "maria"); err != nil || m.SuspendedAt.IsZero() == suspended {
				t.Errorf("%+v, %v", m, err)
			}
		}
	})
}

// An export is the account at one moment: what is written meanwhile is in it completely or not at all.
func TestExportIsOfOneMoment(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		home := newHome(t, url)
		var out bytes.Buffer
		late := &onFirstWrite{&out, func() {
			createWritten(t, home.s, home.owner, people.Draft{Name: "Late", Emails: []string{"late@x.example"}})
		}}
		before := rowsIn(t, exported(t, home.s, "maria"))
		if _, err := move.Export(t.Context(), home.s, "maria", false, late); err != nil {
			t.Fatal(err)
		}
		if after := rowsIn(t, out.Bytes()); strings.Join(before, "\n") != strings.Join(after, "\n") {
			t.Errorf("%d rows instead of %d", len(after), len(before))
		}
	})
}
