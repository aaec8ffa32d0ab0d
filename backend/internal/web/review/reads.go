package review

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// readDay is what agents read on one day, in UTC.
type readDay struct {
	Day    time.Time
	Agents []AgentReads
}

// AgentReads is how often an agent read, and with which tools.
type AgentReads struct {
	// Who is the name of the agent.
	Who   string
	Tools []ToolReads
	Total int
}

// ToolReads is how often a tool was called that reads.
type ToolReads struct {
	Title string
	Reads int
}

// add counts reads of a tool.
func (a *AgentReads) add(title string, reads int) {
	a.Total += reads
	for i := range a.Tools {
		if a.Tools[i].Title == title {
			a.Tools[i].Reads += reads
			return
		}
	}
	a.Tools = append(a.Tools, ToolReads{title, reads})
}

// AddAll adds the reads of another credential of the agent.
func (a *AgentReads) AddAll(other AgentReads) {
	for _, tool := range other.Tools {
		a.add(tool.Title, tool.Reads)
	}
}

// readsContent is the content of the page of what agents read.
type readsContent struct {
	Days []readDay
	// KeptDays is the number of days for which reads are kept.
	KeptDays int
}

func (v *request) showReads() error {
	days, err := v.reads(billing.KeepReadDays, v.R.URL.Query().Get(agentParameter))
	if err != nil {
		return err
	}
	return v.Render(http.StatusOK, "reads", page.Page{Title: "What agents read", Area: page.PathActivity, Content: readsContent{days, billing.KeepReadDays}})
}

// reads returns what agents read in the last days, the latest day first; of one agent, if it
// is given by name or id.
func (v *request) reads(days int, agent string) ([]readDay, error) {
	found, err := v.listReads(v.Ctx, v.Data(), v.At.AddDate(0, 0, 1-days))
	var out []readDay
	last := "" // the credential of the last row
	for _, r := range found {
		if agent != "" && r.CredentialID != agent && !strings.EqualFold(r.CredentialName, agent) {
			continue
		}
		day, err := time.Parse(time.DateOnly, r.Day)
		if err != nil {
			return nil, err
		}
		if len(out) == 0 || !out[len(out)-1].Day.Equal(day) {
			out, last = append(out, readDay{Day: day}), ""
		}
		today := &out[len(out)-1]
		if r.CredentialID != last {
			today.Agents, last = append(today.Agents, AgentReads{Who: nameOf(r.CredentialID, r.CredentialName)}), r.CredentialID
		}
		today.Agents[len(today.Agents)-1].add(v.readTitle(r.Tool), r.Reads)
	}
	return out, err
}

// listReads is billing.ListReads, with the reads of this moment. Those that cannot be written, because the database is
// full, are left out.
func (p *Pages) listReads(ctx context.Context, data db.Reader, since time.Time) ([]billing.Reads, error) {
	_ = p.FlushReads(ctx) // the ledger logs it
	return billing.ListReads(ctx, data, since)
}

// readTitle returns the title of a tool, or its name if there is no such tool any more.
func (p *Pages) readTitle(tool string) string {
	if title := p.toolTitle(tool); title != "" {
		return title
	}
	return tool
}

// ReadsByCredential returns how often each credential read in the days that reads are kept.
func (p *Pages) ReadsByCredential(ctx context.Context, data db.Reader) (map[string]AgentReads, error) {
	found, err := p.listReads(ctx, data, data.Now().AddDate(0, 0, 1-billing.KeepReadDays))
	out := map[string]AgentReads{}
	for _, r := range found {
		sum := out[r.CredentialID]
		sum.Who = nameOf(r.CredentialID, r.CredentialName)
		sum.add(p.readTitle(r.Tool), r.Reads)
		out[r.CredentialID] = sum
	}
	return out, err
}
