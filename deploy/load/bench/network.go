package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kith-crm/kith/sandbox"
)

// part is the number of people per imported file.
const part = 10_000

// document returns people as a file that Kith imports: with organizations of 25, tags, a
// group, notes, interactions, reminders, birthdays and cadences. first is the number of the
// first person.
func document(people []person, first int, today time.Time) sandbox.Document {
	d := sandbox.Document{Format: sandbox.Format}
	for k, p := range people {
		i := first + k
		made := today.AddDate(0, 0, -i*17%900) // few people are as spread over the days as many
		c := sandbox.Connection{
			ID: p.id, Name: p.name(), Location: p.city, Source: "import", CreatedAt: made, UpdatedAt: made,
			Handles:   []sandbox.Handle{{Kind: "email", Value: p.email}},
			Positions: []sandbox.Position{{Organization: p.employer, Title: p.title, Current: true}},
			Tags:      tagsOf(i),
		}
		if i%10 == 0 || i < 100 && i%3 == 0 { // so the start page of 100 people is full, too
			c.Groups, c.CadenceDays = []string{"Circle"}, 30+i%60
			c.ImportantDates = []sandbox.ImportantDate{{Kind: "birthday", Date: made.Format("--01-02")}}
			d.Notes = append(d.Notes, sandbox.Note{ID: fmt.Sprintf("not_%026d", i), ConnectionIDs: []string{p.id}, Body: "Asks for the paper on " + p.city + " and tides.", CreatedAt: made})
		}
		if k > 0 && i%5 == 0 {
			at := made // not later in the day: contacts in the future take more statements
			d.Interactions = append(d.Interactions, sandbox.Interaction{ID: fmt.Sprintf("int_%026d", i), ConnectionIDs: []string{p.id, people[k-1].id}, Kind: "call", OccurredAt: at, Summary: "About " + p.employer, CreatedAt: at})
			c.Relationships = []sandbox.Relationship{{ID: fmt.Sprintf("rel_%026d", i), ConnectionID: people[k-1].id, Type: "colleague"}}
			c.LastInteractionAt = at
		}
		if i%100 == 0 {
			d.Reminders = append(d.Reminders, sandbox.Reminder{ID: fmt.Sprintf("rem_%026d", i), ConnectionID: p.id, Text: "Send the paper", DueOn: today.AddDate(0, 0, i/100%30).Format(time.DateOnly), Recurrence: "none", State: "open"})
		}
		d.Connections = append(d.Connections, c)
	}
	d.Groups = []sandbox.Group{{ID: fmt.Sprintf("grp_%026d", 1), Name: "Circle", CadenceDays: 90}}
	return d
}

// tagsOf returns the tags of the i-th person; fifty people have the tag fifty, and fifty
// others shelf.
func tagsOf(i int) []string {
	switch {
	case i >= 100 && i < 150:
		return []string{"fifty"}
	case i >= 150 && i < 200:
		return []string{"shelf"}
	case i%40 == 0:
		return []string{"alumni"}
	default:
		return []string{"contact"}
	}
}

// network starts a Kith whose first account has these people. They are imported as a member would,
// so that the service's derived data is right. It sets the ids of the people.
func (s *stage) network(ctx context.Context, name string, a accounts, people []person, others ...accounts) (*service, error) {
	k, err := s.kith(ctx, name, func(ctx context.Context, d *database) error {
		for _, a := range append(others, a) {
			if err := a.fill(ctx, d); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for first := 0; first < len(people); first += part {
		if err := k.load(ctx, a.bearer(0, 0), document(people[first:min(first+part, len(people))], first, time.Now().UTC())); err != nil {
			return nil, err
		}
	}
	k.stop()
	if err := errors.Join(k.data.settle(ctx), k.data.identify(ctx, a.tenant(0), people)); err != nil {
		return nil, err
	}
	return k, s.restart(ctx, k)
}

// load imports a document and waits for the end of the job.
func (k *service) load(ctx context.Context, bearer string, d sandbox.Document) error {
	var file bytes.Buffer
	archive := zip.NewWriter(&file)
	entry, err := archive.Create("contacts.json")
	if err := errors.Join(err, json.NewEncoder(entry).Encode(d), archive.Close()); err != nil {
		return err
	}
	c, err := dial(k.addr)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	var started struct {
		Task int `json:"task_id"`
	}
	if err := c.tool(bearer, "import_file", fmt.Sprintf(`{"format":"json","content_base64":%q}`, base64.StdEncoding.EncodeToString(file.Bytes())), "", &started); err != nil {
		return err
	}
	return c.await(ctx, bearer, started.Task)
}

// await waits until a job has ended, and fails unless it succeeded.
func (c *client) await(ctx context.Context, bearer string, task int) error {
	for ctx.Err() == nil {
		var got struct {
			Job struct {
				Terminal bool
				State    string
				Error    any
			}
		}
		if err := c.tool(bearer, "get_job", fmt.Sprintf(`{"task_id":%d,"wait_seconds":10}`, task), "", &got); err != nil {
			return err
		}
		if got.Job.Terminal {
			if got.Job.State != "succeeded" && got.Job.State != "cancelled" {
				return fmt.Errorf("job %d: %s: %v", task, got.Job.State, got.Job.Error)
			}
			return nil
		}
	}
	return ctx.Err()
}

// tool calls a tool and decodes its structured answer.
func (c *client) tool(bearer, tool, arguments, header string, into any) error {
	next := post(bearer, tool, arguments, `"isError":false`, header)
	next.keep = func(body []byte) error {
		var answer struct {
			Result struct {
				Content json.RawMessage `json:"structuredContent"`
			}
		}
		return errors.Join(json.Unmarshal(body, &answer), json.Unmarshal(answer.Result.Content, into))
	}
	_, err := c.do(next)
	return err
}

// identify sets the ids of the people of a tenant.
func (d *database) identify(ctx context.Context, tenant string, people []person) error {
	rows, err := d.db.QueryContext(ctx, "SELECT id, name FROM connections WHERE tenant_id = '"+tenant+"'")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	ids := make(map[string]string, len(people))
	for rows.Next() {
		var id, name string
		if err := rows.Scan(&id, &name); err != nil {
			return err
		}
		ids[name] = id
	}
	for i := range people {
		if people[i].id = ids[people[i].name()]; people[i].id == "" {
			return fmt.Errorf("%s was not imported", people[i].name())
		}
	}
	return rows.Err()
}

// writeData writes the people and tokens of an account for the peers, and returns the file.
func (b *bench) writeData(a accounts, people []person) (string, error) {
	var set struct {
		People []map[string]string `json:"people"`
		Tokens []string            `json:"tokens"`
	}
	for _, p := range people {
		set.People = append(set.People, map[string]string{
			"id": p.id, "name": p.name(), "email": p.email, "organization": p.employer, "title": p.title, "city": p.city,
		})
	}
	for i := range a.bearers {
		set.Tokens = append(set.Tokens, a.bearer(0, i))
	}
	text, err := json.Marshal(set)
	file := filepath.Join(b.work, fmt.Sprintf("people-%d.json", len(people)))
	return file, errors.Join(err, os.WriteFile(file, text, 0o600))
}

// ask fetches a JSON document from a peer.
func ask(ctx context.Context, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, strings.NewReader(""))
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	return json.NewDecoder(res.Body).Decode(into)
}
