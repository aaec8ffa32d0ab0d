package connect

import (
	"fmt"

	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/web/page"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
	remindersv1 "github.com/kith-crm/kith/proto/gen/kith/reminders/v1"
)

// shownPrompts is how many questions are shown, and soonDays how far ahead a birthday is soon.
const (
	shownPrompts = 3
	soonDays     = 30
)

// prompts returns questions to try: about a birthday that is soon, a place where the member knows
// several people, and the person with whom they were not in touch for longest. General ones take
// the place of those that the member's data does not answer.
func (v *request) prompts() (list []string, err error) {
	due, _, err := page.Read(v.Member, &remindersv1.ListDueRequest{Days: new(int32(soonDays)), Kinds: []string{reminders.KindDate}, Limit: new(int32(1))}, v.Reminders.ListDue)
	if err != nil {
		return nil, err
	}
	for _, item := range due.GetItems() {
		list = append(list, fmt.Sprintf("%s has a day to remember soon. What do we share, and what could I write?", item.GetConnectionName()))
	}
	ix, err := v.Reminders.Index(v.Ctx)
	if err != nil {
		return nil, err
	}
	summary := ix.Summary()
	if places := summary.Top(index.Locations); len(places) > 0 && places[0].People > 1 {
		list = append(list, fmt.Sprintf("Whom do I know in %s, and whom should I see when I am there?", places[0].Value))
	}
	silent, _, err := page.Read(v.Member, &connectionsv1.SearchConnectionsRequest{
		Has: []string{"interaction"}, Sort: new("last_contact"), Order: new("asc"), Limit: new(int32(1)),
	}, v.Search.SearchConnections)
	if err != nil {
		return nil, err
	}
	for _, hit := range silent.GetHits() {
		list = append(list, fmt.Sprintf("I have not been in touch with %s for long. What did we last talk about, and how could I begin again?", hit.GetName()))
	}
	return append(list, general(summary.People)...)[:shownPrompts], nil
}

// general returns questions that fit any network, or one without people.
func general(people int) []string {
	if people == 0 {
		return []string{
			"Add Ada Stone, CTO at Helios, whom I met in Lisbon last week.", "Remind me to write to Ada Stone on Friday.", "What do you know about the people I know?",
		}
	}
	return []string{"Whom should I be in touch with this week?", "Which of the people I know work at the same company?", "Whom could I introduce to each other, and why?"}
}
