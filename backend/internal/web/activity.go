package web

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/cursor"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// activityContent is the content of the page of all changes.
type activityContent struct {
	Days []activityDay
	// Older is the address of the next page, Latest of the first; empty if there is no
	// such page or if it is this one.
	Older, Latest string
}

// activityDay holds the changes of one day of the member's calendar.
type activityDay struct {
	Day     time.Time
	Changes []changeRow
}

// changeRow is one change, as shown in its list and on the page that undoes it. Its
// times are in the member's time zone.
type changeRow struct {
	ID string
	At time.Time
	// What is the change's own summary.
	What string
	// Who is the name of the agent or token; empty for the member.
	Who string
	// Tool is the title of the tool, or the name of the page.
	Tool string
	// Undone is set if the change was undone, and UndoneAt is when, if still known.
	Undone   bool
	UndoneAt time.Time
	// Undid is the time of the change that this one undid; zero for others.
	Undid time.Time
	// Undoable is set if the change can be undone now, Final if it never can be.
	Undoable, Final bool
}

// activityPage is how many changes are on one page.
const activityPage = 20

const (
	cursorParameter = "cursor"
	changeParameter = "change"
)

func (v *request) showActivity() error {
	list, err := v.changesPage(page.PathActivity, activityOrder, history.Query{})
	if err != nil {
		return err
	}
	rows, err := v.changeRows(v.R.Context(), list.changes)
	if err != nil {
		return err
	}
	content := activityContent{Days: byDay(rows), Older: list.older, Latest: list.latest}
	v.Render(http.StatusOK, "activity", page.Page{Title: "Activity", Area: page.PathActivity, Content: content})
	return nil
}

// changesList is one page of a list of changes.
type changesList struct {
	changes []history.Change
	// older and latest are addresses; empty if there is no such page or if it is this
	// one.
	older, latest string
}

// changesPage returns the requested page of a list of changes. order is the order that
// the list's cursors belong to.
func (v *request) changesPage(path, order string, query history.Query) (changesList, error) {
	asked, list := v.R.URL.Query().Get(cursorParameter), changesList{}
	if asked != "" {
		if err := cursor.Decode(asked, order, &query.Before); fault.Is(err, fault.Invalid) {
			return list, &page.Refusal{
				Status: http.StatusBadRequest, Title: "This link is broken", Text: "It does not lead to any of your changes.",
				Next: page.Link{Path: path, Title: "See the latest changes"},
			}
		} else if err != nil {
			return list, err
		}
		list.latest = path
	}
	query.Limit = activityPage + 1 // one more shows whether there is an older page
	var err error
	if list.changes, err = history.ListChanges(v.R.Context(), v.data(), query); err != nil || len(list.changes) <= activityPage {
		return list, err
	}
	list.changes = list.changes[:activityPage]
	next, err := cursor.Encode(order, list.changes[activityPage-1].ID)
	list.older = path + "?" + url.Values{cursorParameter: {next}}.Encode()
	return list, err
}

// activityOrder is the order that the page's cursors belong to.
const activityOrder = "activity"

// data returns the data of the member.
func (v *request) data() *db.Tenant { return v.Data(v.Login.MemberID) }

// byDay groups rows by the day on which they were made. The rows must be in order.
func byDay(rows []changeRow) []activityDay {
	var days []activityDay
	for _, row := range rows {
		date := civil.Of(row.At, row.At.Location())
		if len(days) == 0 || !days[len(days)-1].Day.Equal(date) {
			days = append(days, activityDay{Day: date})
		}
		last := &days[len(days)-1]
		last.Changes = append(last.Changes, row)
	}
	return days
}

// changeRows returns changes as they are shown. It makes one more query for the times
// of the changes that undid them or that they undid.
func (v *request) changeRows(ctx context.Context, changes []history.Change) ([]changeRow, error) {
	var others []string
	for _, c := range changes {
		for _, id := range []string{c.UndoneBy, c.Undoes} {
			if id != "" {
				others = append(others, id)
			}
		}
	}
	madeAt := map[string]time.Time{}
	if len(others) > 0 {
		found, err := history.ListChanges(ctx, v.data(), history.Query{IDs: others, Limit: len(others)})
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			madeAt[c.ID] = c.CreatedAt
		}
	}
	zone := civil.Zone(v.Login.Timezone)
	rows := make([]changeRow, len(changes))
	for i, c := range changes {
		rows[i] = v.changeRow(&c, madeAt, zone)
	}
	return rows, nil
}

func (v *request) changeRow(c *history.Change, madeAt map[string]time.Time, zone *time.Location) changeRow {
	row := changeRow{
		ID: c.ID, At: local(c.CreatedAt, zone), What: c.Summary, Tool: v.toolTitle(c.Tool), Undone: c.UndoneBy != "",
		UndoneAt: local(madeAt[c.UndoneBy], zone), Undid: local(madeAt[c.Undoes], zone), Undoable: c.Undoable(),
	}
	if c.CredentialID != "" || c.CredentialName != "" {
		row.Who = cmp.Or(oauth.ShownName(c.CredentialName), "an application without a name")
	}
	row.Final = !row.Undoable && !row.Undone
	return row
}

// toolTitle returns the title of a tool. A page has its name in the navigation. For an
// unknown name it returns the empty string.
func (v *request) toolTitle(name string) string {
	if rpc, ok := v.Catalog.Tool(name); ok {
		return rpc.Tool.Title
	}
	if place, ok := page.PlaceOf("/" + name); ok && place.Path == "/"+name {
		return place.Title + " page"
	}
	return ""
}

// local returns a time in a time zone; the zero time stays zero.
func local(t time.Time, zone *time.Location) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.In(zone)
}
