package rpc_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/demo"
	"github.com/kith-crm/kith/sandbox"
)

var rewrite = flag.Bool("update", false, "rewrite the golden files")

const (
	findPeopleAt   = "/kith.insights.v1.InsightService/FindPeopleAt"
	prepareMeeting = "/kith.insights.v1.InsightService/PrepareMeeting"
	introductions  = "/kith.insights.v1.InsightService/SuggestIntroductions"
	findSimilar    = "/kith.insights.v1.InsightService/FindSimilarConnections"
	resolvePeople  = "/kith.connections.v1.ConnectionService/ResolvePeople"
	exportPeople   = "/kith.connections.v1.ConnectionService/ExportConnections"
	link           = "/kith.connections.v1.ConnectionService/LinkConnections"
	archive        = "/kith.connections.v1.ConnectionService/ArchiveConnections"
	networkStats   = "/kith.insights.v1.InsightService/GetNetworkStats"
)

// demoNow is the time for which goldens are made: an ordinary Saturday noon.
func demoNow() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

// onDemo runs a test on the demo account, on both databases.
func onDemo(t *testing.T, test func(t *testing.T, b *bundle, data *sandbox.Dataset)) {
	t.Helper()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, demoNow)
		b := serve(t, s, demoNow)
		if _, err := demo.NewSeeder(s, b.rpcs, demoNow, slog.New(slog.DiscardHandler)).Seed(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.bearer, b.visitor = sandbox.Token, "192.0.2.1"
		test(t, b, sandbox.Build(demoNow()))
	})
}

// golden compares an answer with its golden file, which both databases share.
func golden(t *testing.T, name string, got answer) {
	t.Helper()
	data, err := json.MarshalIndent(got.body, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	goldenText(t, name+".json", string(data)+"\n")
}

func goldenText(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite && strings.HasSuffix(t.Name(), "/sqlite") {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run with -update to make it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); run with -update if this is meant:\n%s", path, diff)
	}
}

// busiest returns the people of the demo account with the most interactions.
func busiest(data *sandbox.Dataset, n int) []string {
	count := map[string]int{}
	for _, i := range data.Interactions {
		for _, c := range i.ConnectionIDs {
			count[c]++
		}
	}
	var ids []string
	for range n {
		best := ""
		for _, c := range data.Connections { // in the order of the data, so that ties are settled
			if best == "" || count[c.ID] > count[best] {
				best = c.ID
			}
		}
		ids = append(ids, best)
		delete(count, best)
	}
	return ids
}

// relationship is one of a connection of the demo account.
type relationship struct {
	sandbox.Relationship

	from string
}

// relationships returns those of the demo account in the order of their ids.
func relationships(data *sandbox.Dataset) []relationship {
	var all []relationship
	for _, c := range data.Connections {
		for _, r := range c.Relationships {
			all = append(all, relationship{r, c.ID})
		}
	}
	slices.SortFunc(all, func(a, b relationship) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// eventful returns people with long briefings: one with the note that contains
// instructions, two who are related, and one with a reminder and an overdue interval.
func eventful(data *sandbox.Dataset) []string {
	var ids []string
	for _, n := range data.Notes {
		if n.ID == data.InjectedNoteID {
			ids = append(ids, n.ConnectionIDs[0])
		}
	}
	for _, r := range relationships(data) {
		if r.Type == "manager" && len(ids) == 1 {
			ids = append(ids, r.from, r.ConnectionID)
		}
	}
	for _, r := range data.Reminders {
		for _, c := range data.Connections {
			over := c.CadenceDays > 0 && demoNow().Sub(c.LastInteractionAt) > time.Duration(c.CadenceDays)*36*time.Hour
			if len(ids) == 3 && r.ConnectionID == c.ID && r.State == "open" && over {
				ids = append(ids, c.ID)
			}
		}
	}
	return ids
}

// Each insight has a golden answer on the demo account, whose network is the same
// every day.
func TestInsightGoldens(t *testing.T) {
	t.Parallel()
	onDemo(t, func(t *testing.T, b *bundle, data *sandbox.Dataset) {
		closest := busiest(data, 3)
		name := ""
		for _, r := range relationships(data) {
			for _, c := range data.Connections {
				if c.ID == r.ConnectionID && name == "" && len(c.Positions) > 0 && c.Positions[0].Current {
					name = c.Positions[0].Organization
				}
			}
		}
		domain := data.Domains[name]
		asked := eventful(data)
		for file, c := range map[string]struct{ procedure, body string }{
			"insights/people_at_name":    {findPeopleAt, fmt.Sprintf(`{"organization":%q}`, name)},
			"insights/people_at_domain":  {findPeopleAt, fmt.Sprintf(`{"organization":"https://www.%s/about","limit":5}`, domain)},
			"insights/people_at_part":    {findPeopleAt, fmt.Sprintf(`{"organization":%q,"include_past":false,"include_one_step":false}`, strings.ToUpper(name[1:5]))},
			"insights/meeting_one":       {prepareMeeting, fmt.Sprintf(`{"connection_ids":[%q],"topic":"Heritage wheat & mills"}`, closest[0])},
			"insights/meeting_four":      {prepareMeeting, fmt.Sprintf(`{"connection_ids":[%q,%q,%q,%q]}`, asked[0], asked[1], asked[2], asked[3])},
			"insights/introductions":     {introductions, `{}`},
			"insights/introductions_one": {introductions, fmt.Sprintf(`{"connection_id":%q,"limit":3}`, closest[0])},
			"insights/similar":           {findSimilar, fmt.Sprintf(`{"connection_id":%q,"limit":5}`, closest[0])},
			"insights/stats":             {networkStats, `{}`},
		} {
			got := b.call(t, c.procedure, c.body)
			if got.code() != "" {
				t.Errorf("%s: %v", file, got.body)
				continue
			}
			golden(t, file, got)
			if again := b.call(t, c.procedure, c.body); cmp.Diff(got.body, again.body) != "" {
				t.Errorf("%s: another answer the second time", file)
			}
		}
	})
}

func TestInsightRefusals(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		const unknownID = `"con_ch541ck879"`
		made := b.call(t, create, `{"name":"Ana","emails":["ana@x.example"]}`)
		id := fmt.Sprintf("%q", made.at("connection", "id"))
		narrow := dbtest.Token(t, b.store, b.member, "connections", "write")
		for name, c := range map[string]struct{ procedure, body, code string }{
			"no organisation":           {findPeopleAt, `{}`, "invalid_argument"},
			"a blank organisation":      {findPeopleAt, `{"organization":" ,. "}`, "invalid_argument"},
			"too many people at":        {findPeopleAt, `{"organization":"x","limit":51}`, "invalid_argument"},
			"a meeting with nobody":     {prepareMeeting, `{"connection_ids":[]}`, "invalid_argument"},
			"a meeting with a stranger": {prepareMeeting, `{"connection_ids":[` + id + `,` + unknownID + `]}`, "not_found"},
			"a meeting with one twice":  {prepareMeeting, `{"connection_ids":[` + id + `,` + id + `]}`, "invalid_argument"},
			"introduce a stranger":      {introductions, `{"connection_id":` + unknownID + `}`, "not_found"},
			"introduce no id":           {introductions, `{"connection_id":"7"}`, "invalid_argument"},
			"similar to a stranger":     {findSimilar, `{"connection_id":` + unknownID + `}`, "not_found"},
			"similar to nobody":         {findSimilar, `{}`, "invalid_argument"},
			"statistics of what":        {networkStats, `{"of":"me"}`, "invalid_argument"},
		} {
			if got := b.call(t, c.procedure, c.body); got.code() != c.code {
				t.Errorf("%s: %v", name, got.body)
			}
			if got := b.call(t, c.procedure, c.body, "Authorization", "Bearer "+narrow); got.code() != "permission_denied" {
				t.Errorf("%s without the scope: %v", name, got.body)
			}
		}
	})
}

// An empty network, and one person alone, get answers with nothing in them.
func TestInsightsOfNextToNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		for _, procedure := range []string{introductions, networkStats} {
			if got := b.call(t, procedure, `{}`); got.code() != "" {
				t.Errorf("%s: %v", procedure, got.body)
			}
		}
		made := b.call(t, create, `{"name":"Ana","organization":"Helios"}`)
		id := fmt.Sprintf("%q", made.at("connection", "id"))
		for procedure, body := range map[string]string{
			introductions: `{"connection_id":` + id + `}`, findSimilar: `{"connection_id":` + id + `}`,
			prepareMeeting: `{"connection_ids":[` + id + `]}`, networkStats: `{}`, findPeopleAt: `{"organization":"helios inc"}`,
		} {
			if got := b.call(t, procedure, body); got.code() != "" {
				t.Errorf("%s: %v", procedure, got.body)
			}
		}
		if got := b.call(t, networkStats, `{}`); got.at("people") != 1.0 || got.at("never_contacted") != 1.0 || got.at("organizations", 0, "name") != "Helios" {
			t.Errorf("statistics: %v", got.body)
		}
	})
}

// Archived people are in no answer, but the people related to them are.
func TestInsightsLeaveOutArchivedPeople(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ids := map[string]string{}
		for _, name := range []string{"Ana", "Ben", "Gone"} {
			made := b.call(t, create, fmt.Sprintf(`{"name":%q,"organization":"Helios","title":"Founder","tags":["x"],"location":"Bilbao","emails":["%s@helios.example"]}`, name, strings.ToLower(name)))
			ids[name], _ = made.at("connection", "id").(string)
		}
		logged := b.call(t, logCall, fmt.Sprintf(`{"connection_ids":[%q,%q],"kind":"meeting"}`, ids["Ana"], ids["Gone"]))
		related := b.call(t, link, fmt.Sprintf(`{"from_id":%q,"to_id":%q,"type":"sibling"}`, ids["Ana"], ids["Gone"]))
		archived := b.call(t, archive, fmt.Sprintf(`{"ids":[%q]}`, ids["Gone"]))
		for _, got := range []answer{logged, related, archived} {
			if got.code() != "" {
				t.Fatal(got.body)
			}
		}
		for procedure, body := range map[string]string{
			introductions: `{}`, findSimilar: fmt.Sprintf(`{"connection_id":%q}`, ids["Ana"]),
			prepareMeeting: fmt.Sprintf(`{"connection_ids":[%q,%q]}`, ids["Ana"], ids["Ben"]), networkStats: `{}`,
			findPeopleAt:  `{"organization":"helios.example"}`,
			resolvePeople: `{"entries":["gone@helios.example","Gone","Ana"]}`, exportPeople: `{"format":"json"}`,
		} {
			got := b.call(t, procedure, body)
			text, err := json.Marshal(got.body)
			if err != nil || got.code() != "" {
				t.Fatalf("%s: %v, %v", procedure, got.body, err)
			}
			said := strings.NewReplacer(`"entry":"gone@helios.example"`, "", `"entry":"Gone"`, "").Replace(string(text))
			if procedure == resolvePeople { // why says that they are archived, and nothing else names them
				said = strings.ReplaceAll(said, fmt.Sprintf(`"why":"Archived: \"Gone\" (%s)."`, ids["Gone"]), "")
			}
			if strings.Contains(strings.ToLower(said), "gone") {
				t.Errorf("%s names an archived person: %s", procedure, text)
			}
		}
	})
}
