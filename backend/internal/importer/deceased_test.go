package importer_test

import (
	"context"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/reminders"
)

// A file that says that a person died ends the reminders about them.
func TestImportOfADeath(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *fixture) {
		d.imports(t, "held.csv", "Name,E-mail\nOve Lind,ove@x.example\nAna Lee,ana@x.example\n", importer.Options{})
		data := d.store.Tenant(d.owner, false)
		for _, name := range []string{"Ove Lind", "Ana Lee"} {
			err := data.Write(t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
				_, _, err := reminders.Create(ctx, tx, reminders.Reminder{Text: "Call", DueOn: tx.Now().AddDate(0, 1, 0).Format(time.DateOnly), ConnectionIDs: []string{d.person(t, name).ID}}, tx.Now())
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		d.imports(t, "cards.vcf", "BEGIN:VCARD\nVERSION:4.0\nFN:Ove Lind\nEMAIL:ove@x.example\nDEATHDATE:20250101\nEND:VCARD\n", importer.Options{OnMatch: importer.OnMatchFillBlanks})
		if died := d.person(t, "Ove Lind").DeceasedOn; died != "2025-01-01" {
			t.Errorf("he died on %q", died)
		}
		var open []string
		if err := data.NewRaw("SELECT c.name FROM reminders r JOIN reminder_connections l ON l.tenant_id = r.tenant_id AND l.reminder_id = r.id JOIN connections c ON c.tenant_id = r.tenant_id AND c.id = l.connection_id WHERE r.tenant_id = ? AND r.state = ?",
			data.TenantID(), reminders.Open).Scan(t.Context(), &open); err != nil || len(open) != 1 || open[0] != "Ana Lee" {
			t.Errorf("open reminders about %q, %v", open, err)
		}
	})
}
