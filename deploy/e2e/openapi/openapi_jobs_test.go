package openapi

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// checkJobs runs the jobs of the examples, the seventh of which is the import that they
// show, and provokes the answers that need a special credential or state.
func (c *contract) checkJobs(t *testing.T) {
	start, read := c.operations["startJob"], c.operations["getJob"]
	with := func(op *operation, path, body, bearer string) call {
		k := call{path: op.path, body: body, headers: []string{harness.JSONType, "Authorization: Bearer " + bearer}}
		if path != "" {
			k.path = path
		}
		return k
	}
	const embed, files = `{"kind":"embed_objects"}`, `{"kind":"file_import"}`
	member := c.service.NewMember(t)
	spent := member.Agent(t)
	parked := spent.ParkedJob(t)
	harness.ExecDatabase(t, c.service.DatabaseURL, "UPDATE credit_balances SET balance = 0 WHERE tenant_id = (SELECT id FROM members WHERE username = '"+member.Username+"')")
	reader := member.Token(t, "imports").Bearer

	c.importExample(t)
	for _, test := range []struct {
		op     *operation
		status int
		call   call
	}{
		{start, 202, with(start, "", embed, c.ada.Bearer)},
		{start, 400, with(start, "", `{"kind":"dig"}`, c.ada.Bearer)},
		{start, 400, with(start, "", `{}`, c.ada.Bearer)},
		{start, 401, call{path: start.path, body: embed, headers: []string{harness.JSONType}}},
		{start, 402, with(start, "", embed, spent.Bearer)},
		{start, 403, with(start, "", embed, reader)},
		{start, 409, with(start, "", files, c.ada.Bearer)},
		{read, 200, with(read, "/api/jobs/7", "", c.ada.Bearer)},
		{read, 400, with(read, "/api/jobs/seven", "", c.ada.Bearer)},
		{read, 401, call{path: "/api/jobs/7"}},
		{read, 404, with(read, "/api/jobs/99", "", c.ada.Bearer)},
		{read, 404, with(read, "/api/jobs/7", "", spent.Bearer)},
		{read, 404, with(read, "/api/jobs/99999999999", "", c.ada.Bearer)},
		{read, 200, with(read, "/api/jobs/"+strconv.Itoa(parked), "", reader)}, // any valid credential is enough
	} {
		if got := c.ask(t, test.op, test.call); got.Status != test.status {
			t.Errorf("%s %s: got %d, want %d: %s", test.call.path, test.call.body, got.Status, test.status, harness.Excerpt(got.Body))
		}
	}
	c.checkPolling(t, member.Username, with(read, "/api/jobs/"+strconv.Itoa(parked), "", reader))
}

// checkPolling: while a job is queued, the Retry-After intervals grow up to a bound.
func (c *contract) checkPolling(t *testing.T, username string, k call) {
	t.Helper()
	read := c.operations["getJob"]
	var intervals []int
	for _, age := range []int{0, 15, 60, 400, 3600} {
		harness.ExecDatabase(t, c.service.DatabaseURL, fmt.Sprintf("UPDATE jobs SET created_at = strftime('%%Y-%%m-%%d %%H:%%M:%%f+00:00', 'now', '-%d seconds') "+
			"WHERE kind = 'parked' AND tenant_id = (SELECT id FROM members WHERE username = '%s')", age, username))
		got := c.ask(t, read, k)
		seconds, err := strconv.Atoi(got.Header.Get("Retry-After"))
		if err != nil || got.Status != http.StatusOK || !strings.Contains(got.Body, fmt.Sprintf(`"retry_after":%d`, seconds)) {
			t.Errorf("after %d s: got %d %v %s", age, got.Status, got.Header, got.Body)
		}
		intervals = append(intervals, seconds)
	}
	harness.CheckSame(t, "the intervals in order, each once", slices.Compact(slices.Sorted(slices.Values(intervals))), intervals)
	harness.CheckSame(t, "the first and the last", []int{intervals[0], intervals[4]}, []int{1, 60})
}

// importExample runs six jobs, and as the seventh the import in the example of getJob.
func (c *contract) importExample(t *testing.T) {
	t.Helper()
	const header, same, changed, fresh = "Name,E-mail,Company,Phone\n", 4, 15, 180
	person := func(i int, company string) string {
		return fmt.Sprintf("Person %d,p%d@mail.example,%s,\n", i, i, company)
	}
	before, file := header, header
	for i := range same + changed {
		company := ""
		if i < same {
			company = "Acme"
		}
		before += person(i, company)
	}
	for i := range same + changed + fresh {
		if i == 15 {
			file += ",,,+49 30 1234567\n"
		}
		file += person(i, "Acme")
	}
	c.ada.Import(t, harness.Arguments{"content": before})
	for range 5 {
		c.ada.AwaitJob(t, c.ada.Call(t, "embed_objects", harness.Arguments{})["task_id"])
	}
	c.ada.Import(t, harness.Arguments{"content": file})
}
