package review

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/cursor"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/web/page"
	accountv1 "github.com/kith-crm/kith/proto/gen/kith/account/v1"
)

// activityContent is the content of the page of all changes.
type activityContent struct {
	// Self is the address of the page, to which an undo leads back.
	Self    string
	Filters filters
	// Filtered is set if a filter is set.
	Filtered bool
	Sessions []session
	// MaxUndo is how many changes can be undone at once.
	MaxUndo int
	// Reads are what agents read lately.
	Reads []readDay
	// Older is the address of the next page, Latest of the first; empty if there is no
	// such page or if it is this one.
	Older, Latest string
}

// filters are the inputs of the form above the changes.
type filters struct {
	Agents, Tools page.Select
	Day           page.Field
	// Person is the id of the person whom the changes are about, PersonName their name, and
	// NoPerson the address without this filter; empty for none.
	Person, PersonName, NoPerson string
}

// session is the work of one agent, or of the member, without a pause of sessionGap and without
// work of others in between. Its
// times are in the member's time zone.
type session struct {
	// Who is the name of the agent; empty for the member.
	Who      string
	From, To time.Time
	Rows     []Row
	// Undoable is how many of the changes can be undone, and Undo the address of the page that undoes them;
	// empty for the member, and for one change.
	Undoable int
	Undo     string
}

const (
	// activityPage is how many changes are on one page.
	activityPage = 50
	// sessionGap is the pause that ends a session of work.
	sessionGap = 30 * time.Minute
	// shownObjects is how many objects of a change are in the list, shownText how much of a
	// value, in characters.
	shownObjects = 3
	shownText    = 280
	// readDays is how many days of reads are shown beside the changes.
	readDays = 7
)

// The parameters of the pages.
const (
	cursorParameter = "cursor"
	changeParameter = "change"
	agentParameter  = "agent"
	sinceParameter  = "since"
)

func (v *request) showActivity() error {
	address := v.R.URL.Query()
	address.Del(cursorParameter)
	query, wrong, err := v.queryOf(address)
	if err != nil {
		return err
	}
	content := activityContent{Self: v.R.URL.RequestURI(), MaxUndo: history.MaxUndo, Filtered: len(filterOf(address)) > 0}
	status := http.StatusBadRequest
	if len(wrong) == 0 {
		status = http.StatusOK
		if err := v.addChanges(&content, query); err != nil {
			return err
		}
	}
	if content.Filters, err = v.filters(address, wrong); err != nil {
		return err
	}
	if content.Reads, err = v.reads(readDays, address.Get(agentParameter)); err != nil {
		return err
	}
	return v.Render(status, "activity", page.Page{Title: "Activity", Area: page.PathActivity, Errors: wrong, Content: content})
}

// addChanges adds the requested page of changes, by sessions of work.
func (v *request) addChanges(content *activityContent, query history.Query) error {
	list, err := v.changesPage(page.PathActivity, query, filterOf(v.R.URL.Query()))
	if err != nil {
		return err
	}
	rows, err := v.rows(list.changes, shownObjects, shownText)
	if err != nil {
		return err
	}
	content.Sessions, content.Older, content.Latest = v.sessions(list.changes, rows), list.older, list.latest
	return nil
}

// queryOf returns the filters of an address, or the errors of its fields. The agent, the
// tool and the person are those of list_changes.
func (v *request) queryOf(address url.Values) (q history.Query, wrong []page.FieldError, err error) {
	req := &accountv1.ListChangesRequest{}
	page.Fill(req, filterOf(address))
	if wrong, err = v.Check(req); err != nil || len(wrong) > 0 {
		for i := range wrong {
			if wrong[i].Name == "connection_id" {
				wrong[i].Message = "This address does not name a person."
			}
		}
		return q, wrong, err
	}
	q = history.Query{ConnectionID: req.GetConnectionId(), Tool: req.GetTool(), Agent: req.GetAgent(), ByMember: v.isMember(req.GetAgent())}
	if given := address.Get(dayParameter); given != "" {
		day, err := time.Parse(time.DateOnly, given)
		if err != nil {
			return q, []page.FieldError{{Name: dayParameter, Message: "Enter a day as YYYY-MM-DD."}}, nil
		}
		q.Since, q.Until = civil.Start(day, v.Zone).UTC(), civil.Start(day.AddDate(0, 0, 1), v.Zone).UTC()
	}
	return q, nil, nil
}

const dayParameter = "day"

// filterOf returns the filters of an address that are set.
func filterOf(address url.Values) url.Values {
	set := url.Values{}
	for _, name := range []string{agentParameter, "tool", "connection_id", dayParameter} {
		if value := storable(address.Get(name)); value != "" {
			set.Set(name, value)
		}
	}
	return set
}

// storable removes the characters that no database stores from a text.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\x00", "")
}

// isMember reports whether an actor's name is the member's.
func (v *request) isMember(name string) bool {
	return name != "" && (strings.EqualFold(name, v.Principal.DisplayName) || strings.EqualFold(name, v.Principal.Username))
}

// changesList is one page of a list of changes.
type changesList struct {
	changes []history.Change
	// older and latest are addresses; empty if there is no such page or if it is this
	// one.
	older, latest string
}

// changesPage returns the requested page of a list of changes. Cursors belong to a path and
// its filters.
func (v *request) changesPage(path string, query history.Query, filter url.Values) (list changesList, err error) {
	order := path + "?" + filter.Encode()
	if asked := v.R.URL.Query().Get(cursorParameter); asked != "" {
		if err := cursor.Decode(asked, order, &query.Before); fault.Is(err, fault.Invalid) {
			return list, &page.Refusal{
				Status: http.StatusBadRequest, Title: "This link is broken", Text: "It does not lead to any of your changes.",
				Next: page.Link{Path: v.To(path), Title: "See the latest changes"},
			}
		} else if err != nil {
			return list, err
		}
		list.latest = page.Address(v.To(path), filter)
	}
	query.Limit = activityPage
	var last int64
	if list.changes, last, err = history.ListPage(v.Ctx, v.Data(), query); err != nil || last == 0 {
		return list, err
	}
	next, err := cursor.Encode(order, last)
	older := url.Values{cursorParameter: {next}}
	for name := range filter {
		older.Set(name, filter.Get(name))
	}
	list.older = page.Address(v.To(path), older)
	return list, err
}

// sessions groups changes by who made them and by pauses. Changes and their rows must be in order, the
// latest first, and stay in it: a session ends where somebody else's change comes in between.
func (v *request) sessions(changes []history.Change, rows []Row) []session {
	var out []session
	last := ""
	for i, c := range changes {
		key := c.CredentialID + " " + c.CredentialName
		if at := len(out) - 1; at < 0 || key != last || out[at].From.Sub(rows[i].At) > sessionGap {
			out = append(out, session{Who: rows[i].Who, To: rows[i].At})
		}
		last = key
		at := len(out) - 1
		out[at].From = rows[i].At
		out[at].Rows = append(out[at].Rows, rows[i])
	}
	for i, s := range out {
		if s.Who != "" {
			these := url.Values{"several": {"yes"}}
			for _, row := range s.Rows {
				if row.Undoable {
					these.Add(changeParameter, row.ID)
				}
			}
			if out[i].Undoable = len(these[changeParameter]); out[i].Undoable > 1 {
				out[i].Undo = page.Address(v.To(pathUndo), these)
			}
		}
	}
	return out
}

// agentOf returns what the filter by agent calls a credential.
func agentOf(credentialID, name string) string {
	if oauth.ShownName(name) == "" {
		return credentialID
	}
	return name
}

// filters returns the inputs of the form with what was given, and their errors.
func (v *request) filters(address url.Values, wrong []page.FieldError) (filters, error) {
	mistakes := page.Mistakes{List: wrong}
	agents, err := v.agents(address.Get(agentParameter))
	if err != nil {
		return filters{}, err
	}
	tools := []page.Option{{Label: "Every tool and page"}}
	for _, rpc := range v.Catalog.Tools() {
		if rpc.Writes {
			tools = append(tools, page.Option{Value: rpc.Tool.Name, Label: rpc.Tool.Title})
		}
	}
	f := filters{
		Agents: page.Select{Name: agentParameter, Label: "By", Options: agents},
		Tools:  page.Select{Name: "tool", Label: "With", Options: choose(tools, address.Get("tool"))},
		Day:    page.Field{Name: dayParameter, Label: "On", Kind: "date", Value: address.Get(dayParameter), Error: mistakes.Of(dayParameter)},
		Person: address.Get("connection_id"),
	}
	without := filterOf(address)
	without.Del("connection_id")
	f.NoPerson = page.Address(v.To(page.PathActivity), without)
	if !id.Valid(id.Connection, f.Person) {
		return f, nil
	}
	names, err := people.ListNames(v.Ctx, v.Data(), []string{f.Person})
	f.PersonName = names[f.Person]
	return f, err
}

// agents returns everybody who may have changed something: the member, and the agents and
// tokens that have access or that read something lately.
func (v *request) agents(selected string) ([]page.Option, error) {
	options := []page.Option{{Label: "Everybody"}, {Value: v.Principal.Username, Label: "You"}}
	seen := map[string]bool{}
	add := func(credentialID, name string) {
		agent := agentOf(credentialID, name)
		if key := strings.ToLower(agent); !seen[key] {
			seen[key] = true
			options = append(options, page.Option{Value: agent, Label: nameOf(credentialID, name)})
		}
	}
	grants, err := oauth.ListGrants(v.Ctx, v.Store, v.Owner)
	if err != nil {
		return nil, err
	}
	for _, g := range grants {
		add(g.ID, g.ClientName)
	}
	tokens, err := account.ListPersonalTokens(v.Ctx, v.Store, v.Owner)
	for _, t := range tokens {
		add(t.ID, t.Name)
	}
	if v.isMember(selected) {
		selected = v.Principal.Username
	}
	return choose(options, selected), err
}

// choose selects an option, and adds it if it is not there.
func choose(options []page.Option, value string) []page.Option {
	for i := range options {
		if strings.EqualFold(options[i].Value, value) {
			options[i].Selected = true
			return options
		}
	}
	return append(options, page.Option{Value: value, Label: value, Selected: true})
}
