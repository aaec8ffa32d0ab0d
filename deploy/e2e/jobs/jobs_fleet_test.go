// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/jobs -run TestFleetOfWorkers

package jobs

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// crowd is many members with a few jobs each, created directly in the database, and a record
// of which worker does what to their jobs.
type crowd struct {
	service *harness.Service
	db      *sql.DB
	members int
	rows    int // in each member's file
	workers int // number of started workers
}

// crowdID matches the ids of the crowd's members.
const crowdID = "'mem_00000000%'"

// watch has the database record each claim of a job, each end, and each error: a write by a
// worker that did not make the claim, a write to an ended job, or a run without a claim.
const watch = `
CREATE TABLE e2e_claims (job_id TEXT, fence BIGINT, worker TEXT);
CREATE INDEX ON e2e_claims (job_id);
CREATE TABLE e2e_ends (job_id TEXT);
CREATE TABLE e2e_wrongs (wrong TEXT);
CREATE FUNCTION e2e_watch() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
	me TEXT := current_setting('e2e.worker', true);
BEGIN
	IF OLD.ended_at IS NOT NULL THEN
		INSERT INTO e2e_wrongs VALUES (me || ' wrote to ' || OLD.id || ', which had ended');
	ELSIF NEW.fence <> OLD.fence THEN
		INSERT INTO e2e_claims VALUES (NEW.id, NEW.fence, me);
	ELSIF OLD.state <> 'running' AND NEW.state = 'running' THEN
		INSERT INTO e2e_wrongs VALUES (me || ' runs ' || OLD.id || ' without a claim');
	ELSIF NOT EXISTS (SELECT 1 FROM e2e_claims WHERE job_id = OLD.id AND fence = OLD.fence AND worker = me) THEN
		INSERT INTO e2e_wrongs VALUES (me || ' wrote to ' || OLD.id || ' under token ' || OLD.fence || ', which is not its own');
	END IF;
	IF NEW.ended_at IS NOT NULL THEN
		INSERT INTO e2e_ends VALUES (NEW.id);
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER e2e_watch AFTER UPDATE ON jobs FOR EACH ROW WHEN (NEW.tenant_id LIKE ` + crowdID + `) EXECUTE FUNCTION e2e_watch()`

func (c *crowd) tell(t *testing.T, statement string) {
	t.Helper()
	harness.ExecPostgres(t, c.service.DatabaseURL, statement)
}

func (c *crowd) count(t *testing.T, query string) int {
	t.Helper()
	var n int
	if err := c.db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// newCrowd copies a member whose agent imported a file and embedded its contacts, and queues
// both jobs for each copy.
func newCrowd(t *testing.T, s *harness.Service, members int) *crowd {
	t.Helper()
	f := harness.GoogleFile(12)
	c := &crowd{service: s, db: s.OpenDatabase(t), members: members, rows: f.Rows()}
	m := s.NewMember(t)
	a := m.Agent(t)
	a.Import(t, harness.Arguments{"content": f.Content})
	a.AwaitJob(t, a.Call(t, "embed_objects", harness.Arguments{})["task_id"])
	var text string
	var params struct {
		ImportID string `json:"import_id"`
		FileID   string `json:"file_id"`
	}
	err := c.db.QueryRowContext(t.Context(), "SELECT params FROM jobs WHERE kind = 'file_import'").Scan(&text)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &params); err != nil || params.ImportID == "" || params.FileID == "" {
		t.Fatalf("the import has the parameters %s (%v)", text, err)
	}
	s.Backend.Stop() // it does not set e2e.worker, as the workers do
	number, each := "lpad(n::text, 26, '0')", fmt.Sprintf("generate_series(1, %d) n", members)
	like := func(table, condition, fields string) string {
		return fmt.Sprintf("INSERT INTO %[1]s SELECT made.* FROM %[1]s old, %[2]s, jsonb_populate_record(old, jsonb_build_object(%[4]s)) made WHERE old.%[3]s;\n",
			table, each, condition, fields)
	}
	of := fmt.Sprintf(" = (SELECT id FROM members WHERE username = '%s')", m.Username)
	c.tell(t, watch+";\n"+
		like("members", "id"+of, "'id', 'mem_' || "+number+", 'username', 'crowd-' || n, 'email', 'crowd-' || n || '@member.example'")+
		like("tenant_states", "tenant_id"+of, "'tenant_id', 'mem_' || "+number)+
		like("profiles", "member_id"+of, "'member_id', 'mem_' || "+number)+
		fmt.Sprintf("INSERT INTO files (tenant_id, id, name, sha256, size, content, import_id, created_at) "+
			"SELECT 'mem_' || %[1]s, 'fil_' || %[1]s, 'contacts.csv', '', %[2]d, convert_to('%[3]s', 'UTF8'), 'imp_' || %[1]s, now() FROM %[4]s;\n",
			number, len(f.Content), f.Content, each)+
		like("jobs", "tenant_id"+of, "'id', 'job_' || old.kind || "+number+", 'tenant_id', 'mem_' || "+number+
			", 'params', replace(replace(old.params, '"+params.ImportID+"', 'imp_' || "+number+"), '"+params.FileID+"', 'fil_' || "+number+")"+
			", 'state', 'queued', 'checkpoint', '', 'result', '', 'done', 0, 'total', 0, 'attempts', 0, 'fence', 0, 'ended_at', null, 'lease_until', null"))
	return c
}

// startWorker starts another backend, whose setting e2e.worker names it in the database.
func (c *crowd) startWorker(t *testing.T) (p *harness.Program, name string) {
	t.Helper()
	c.workers++
	name = fmt.Sprintf("worker-%d", c.workers)
	address, err := url.Parse(c.service.DatabaseURL)
	if err != nil {
		t.Fatal("the database has no address")
	}
	query := address.Query()
	query.Set("e2e.worker", name)
	address.RawQuery = query.Encode()
	return c.service.Run("backend", map[string]string{
		"KITH_DATABASE_URL": address.String(), "KITH_BACKEND_ADDR": harness.FreeAddress(t), "KITH_SERVICE_TOKEN": c.service.ServiceToken,
	}), name
}

// TestFleetOfWorkers: four backends on one database do 400 jobs, while one of them is killed
// repeatedly. Each job ends once, whichever worker began it, and its results are stored
// once.
func TestFleetOfWorkers(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs PostgreSQL")
	}
	t.Parallel()
	const members, perLife = 200, 8
	const jobs = 2 * members
	s := harness.NewService(t, harness.Split)
	s.Settings["KITH_LOG_LEVEL"] = "info"
	s.Binary = harness.PlainBinary // many starts, each of which would take seconds with the race detector
	s.Start()
	c := newCrowd(t, s, members)
	for range 3 {
		c.startWorker(t)
	}
	victim, name := c.startWorker(t)
	kills := 0
	harness.Within(t, harness.LongTimeout, "all jobs have ended", func() bool {
		if c.count(t, "SELECT count(*) FROM e2e_claims WHERE worker = '"+name+"'") >= perLife {
			victim.Kill()
			kills++
			victim, name = c.startWorker(t)
		}
		return c.count(t, "SELECT count(*) FROM e2e_ends") >= jobs
	})
	const theirs = " FROM jobs j WHERE j.tenant_id LIKE " + crowdID
	for what, test := range map[string]struct {
		query string
		want  int
	}{
		"jobs that succeeded":    {"SELECT count(*)" + theirs + " AND j.state = 'succeeded'", jobs},
		"ends":                   {"SELECT count(*) FROM e2e_ends", jobs},
		"jobs that ended":        {"SELECT count(DISTINCT job_id) FROM e2e_ends", jobs},
		"fences without a claim": {"SELECT count(*)" + theirs + " AND j.fence <> (SELECT count(DISTINCT fence) FROM e2e_claims c WHERE c.job_id = j.id)", 0},
		"fences used twice":      {"SELECT count(*) - count(DISTINCT (job_id, fence)) FROM e2e_claims", 0},
		"invalid writes":         {"SELECT count(*) FROM e2e_wrongs", 0},
		"members with all connections": {fmt.Sprintf("SELECT count(*) FROM (SELECT tenant_id FROM connections WHERE tenant_id LIKE %s GROUP BY 1 HAVING count(*) = %d) x",
			crowdID, c.rows), members},
		"connections":       {"SELECT count(*) FROM connections WHERE tenant_id LIKE " + crowdID, members * c.rows},
		"files not deleted": {"SELECT count(*) FROM files WHERE tenant_id LIKE " + crowdID, 0},
	} {
		if got := c.count(t, test.query); got != test.want {
			t.Errorf("%s: %d, want %d", what, got, test.want)
		}
	}
	if t.Failed() {
		var wrong sql.NullString
		_ = c.db.QueryRowContext(t.Context(), "SELECT string_agg(wrong, E'\\n') FROM (SELECT wrong FROM e2e_wrongs LIMIT 10) x").Scan(&wrong)
		t.Log(wrong.String)
	}
	taken := c.count(t, "SELECT count(*)"+theirs+" AND j.fence > 1")
	t.Logf("%d kills, and %d jobs that another worker continued", kills, taken)
	if kills < 5 || taken < 1 {
		t.Error("no job was interrupted, so the test proves nothing")
	}
}
