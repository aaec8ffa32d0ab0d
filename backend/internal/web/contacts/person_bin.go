package contacts

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// binnedContent is the content of the page of a person who is in the bin.
type binnedContent struct {
	Name string
	// Who is the agent that moved them there; empty for the member. At is when, and Until is when they
	// are deleted for good.
	Who       string
	At, Until time.Time
	// Change is the deletion, Restore the address of the form that undoes it, and Path the address of the person.
	Change, Restore, Path, Bin string
}

// showBinned shows the page of a person who is in the bin, from where they can be restored. If they are
// not there, it returns reason.
func (v *request) showBinned(status int, reason error) error {
	connectionID := v.personID()
	if v.checkedID() != nil || !fault.Is(reason, fault.NotFound) {
		return reason
	}
	deletions, err := history.FindDeletions(v.Ctx, v.Data(), []string{connectionID})
	if err != nil {
		return err
	}
	if deletions[connectionID] == "" {
		return reason
	}
	found, err := history.ListChanges(v.Ctx, v.Data(), history.Query{IDs: []string{deletions[connectionID]}, Limit: 1})
	if err != nil {
		return err
	}
	if len(found) == 0 { // deleted for good in the meantime
		return reason
	}
	c := found[0]
	content := binnedContent{
		Name: recordedName(&c, connectionID), At: c.CreatedAt.In(v.Zone), Until: c.FinalAt.In(v.Zone), Change: c.ID,
		Restore: v.To(page.PathBin + "/restore"), Path: v.path(), Bin: v.To(page.PathBin),
	}
	if c.CredentialID != "" || c.CredentialName != "" {
		content.Who = cmp.Or(oauth.ShownName(c.CredentialName), "An application without a name")
	}
	return v.Render(status, "person-binned", page.Page{Title: v.Text("%s is in the bin", content.Name), Area: page.PathPeople, Content: content})
}

// recordedName returns the name that a deletion recorded of a person.
func recordedName(c *history.Change, connectionID string) string {
	var person struct{ Name string }
	for _, e := range c.Effects {
		if e.Kind == history.Connection && e.ID == connectionID {
			_ = json.Unmarshal(e.Before, &person) // without a name it is still a person
		}
	}
	return cmp.Or(person.Name, "This person")
}
