package sources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/calendar"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/observability/metrics"
	"github.com/uptrace/bun"
)

const (
	// ahead is how far in the future meetings are read.
	ahead = 60 * 24 * time.Hour
	// every is how often a source is read. After a failure it is read sooner at first.
	every      = time.Hour
	firstRetry = 15 * time.Minute
	// stepMeetings is how many meetings one transaction writes.
	stepMeetings = 100
	// maxStrangers is how many people who are not on file are kept for a source.
	maxStrangers = 500
	// maxSamples is how many meetings a preview shows.
	maxSamples = 20
	// maxTitle is the length of a stored title, maxMinutes the longest duration of an interaction.
	maxTitle   = 500
	maxMinutes = 7 * 24 * 60
	// rekeyed is how far an occurrence may have moved with its whole series.
	rekeyed = 4 * 24 * time.Hour
	// lookups is how many addresses one statement looks up.
	lookups = 500
)

// work is a meeting whose row, or whose interaction, is not as the calendar says.
type work struct {
	row     Meeting
	sourced *timeline.Sourced // nil if the timeline stays as it is
	drop    bool              // the row
	// postponed is set if the meeting was logged and is ahead now. The row stays as it is if the interaction does.
	postponed bool
}

// plan is what a run of a source has to do.
type plan struct {
	src       *Source
	calendar  string // its own name
	report    Report
	work      []work
	strangers []Stranger
	// rekeyed are the rows that get other keys before all else, by their present ones.
	rekeyed map[string]Meeting
}

// read reads a source, and compares it with what is stored. known are the other sources. It fails with fault.Invalid if the source can't be
// read.
func (s *Sources) read(ctx context.Context, src *Source, a *Access, known []Source) (Reading, error) {
	if src.Kind == Calendar {
		return s.plan(ctx, src, a.Address)
	}
	var taken []string
	for i := range known {
		if other, err := s.access(&known[i]); err == nil && other.Book != "" {
			taken = append(taken, other.Book)
		}
	}
	return s.Books.Read(ctx, src, a, taken)
}

// plan fetches the calendar of a source, and compares it with what is stored. It fails with fault.Invalid if it can't be read.
func (s *Sources) plan(ctx context.Context, src *Source, address string) (*plan, error) {
	feed, err := s.Fetcher.Fetch(ctx, address)
	if err != nil {
		return nil, err
	}
	own, zone, err := s.own(ctx, src)
	if err != nil {
		return nil, err
	}
	now := s.Store.Now()
	read, err := calendar.Read(feed, calendar.Options{From: src.Since, Until: now.Add(ahead), Zone: zone, Own: own})
	if err != nil {
		return nil, err
	}
	p := &plan{src: src, calendar: read.Name, report: Report{Events: read.Events, Skipped: read.Skipped, Warnings: append([]string{}, read.Warnings...)}}
	data := s.Store.Tenant(src.TenantID, true)
	who, err := recognise(ctx, data, read.Meetings)
	if err != nil {
		return nil, err
	}
	var rows []Meeting
	if err := data.From(&rows).Where("source_id = ?", src.ID).Scan(ctx); err != nil {
		return nil, err
	}
	p.rekey(read.Meetings, rows)
	p.compare(src, read.Meetings, who, rows, zone, now)
	p.meetStrangers(src, read.Meetings, who, now)
	if src.State == Preview {
		p.report.Sample = p.sample()
	}
	return p, nil
}

// recognised are the ids of the people with an e-mail address, by its normal form; the id is empty if several people have the address.
type recognised map[string]string

// find returns the person with an address. known is false if nobody has it; the id is empty if several people do.
func (who recognised) find(email string) (id string, known bool) {
	id, known = who[people.NormalValue(people.KindEmail, email)]
	return id, known
}

// recognise returns the people on file who have the addresses of attendees.
func recognise(ctx context.Context, data db.Reader, meetings []calendar.Meeting) (recognised, error) {
	attend := map[string]bool{}
	for _, m := range meetings {
		for _, p := range m.People {
			attend[people.NormalValue(people.KindEmail, p.Email)] = true
		}
	}
	who := recognised{}
	for part := range slices.Chunk(slices.Sorted(maps.Keys(attend)), lookups) {
		var found []struct {
			Email, ID string
			Count     int
		}
		err := data.NewRaw(`SELECT h.normal_value AS email, min(c.id) AS id, count(DISTINCT c.id) AS count FROM handles h
JOIN connections c ON c.tenant_id = h.tenant_id AND c.id = h.connection_id AND c.archived_at IS NULL
WHERE h.tenant_id = ? AND h.kind = ? AND h.normal_value IN (?) GROUP BY h.normal_value`, data.TenantID(), people.KindEmail, bun.List(part)).Scan(ctx, &found)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if f.Count > 1 {
				f.ID = ""
			}
			who[f.Email] = f.ID
		}
	}
	return who, nil
}

// of returns the people of a meeting who are on file.
func (who recognised) of(m *calendar.Meeting) (ids []string) {
	for _, p := range m.People {
		if id, _ := who.find(p.Email); id != "" {
			ids = append(ids, id)
		}
	}
	ids = people.DistinctIDs(ids)
	slices.Sort(ids)
	return ids
}

// leavesOut reports whether the options leave a meeting out.
func (o Options) leavesOut(m *calendar.Meeting) bool {
	title := text.Fold(m.Title)
	return o.MaxPeople > 0 && len(m.People) > o.MaxPeople ||
		slices.ContainsFunc(o.Words, func(word string) bool { return strings.Contains(title, text.Fold(word)) })
}

// rekey gives the rows of an event other keys if the calendar has none of those that they have: when a whole series is moved, or a meeting
// repeats from now on, the keys of all its occurrences change. Each logged row gets the key of the nearest occurrence.
func (p *plan) rekey(meetings []calendar.Meeting, rows []Meeting) {
	p.rekeyed = map[string]Meeting{}
	fresh := map[string][]*Meeting{} // by event
	has := map[string]bool{}         // keys of the calendar
	for i := range meetings {
		m := &Meeting{Key: keyOf(meetings[i].Key), StartsAt: meetings[i].Start}
		if !has[m.Key] {
			has[m.Key] = true
			fresh[m.event()] = append(fresh[m.event()], m)
		}
	}
	for i := range rows {
		if has[rows[i].Key] {
			delete(fresh, rows[i].event())
		}
	}
	for i := range rows {
		row := &rows[i]
		left := fresh[row.event()]
		if row.InteractionID == "" || len(left) == 0 {
			continue
		}
		apart := func(m *Meeting) time.Duration { return m.StartsAt.Sub(row.StartsAt).Abs() }
		nearest := slices.MinFunc(left, func(a, b *Meeting) int { return cmp.Compare(apart(a), apart(b)) })
		if apart(nearest) > rekeyed {
			continue
		}
		fresh[row.event()] = slices.DeleteFunc(slices.Clone(left), func(m *Meeting) bool { return m == nearest })
		before := row.Key
		row.Key = nearest.Key
		p.rekeyed[before] = *row
	}
}

// compare finds what differs between a calendar and the rows of its source.
func (p *plan) compare(src *Source, meetings []calendar.Meeting, who recognised, rows []Meeting, zone *time.Location, now time.Time) {
	stored := make(map[string]*Meeting, len(rows))
	for i := range rows {
		stored[rows[i].Key] = &rows[i]
	}
	for i := range meetings {
		m := &meetings[i]
		key := keyOf(m.Key)
		before := stored[key]
		delete(stored, key)
		if before != nil && before.Key == "" {
			continue // twice in the calendar
		}
		stored[key] = &Meeting{}
		ids := who.of(m)
		switch {
		case src.Options.leavesOut(m):
			p.report.Filtered++
			p.cancel(before, zone)
			continue
		case m.Cancelled:
			p.cancel(before, zone)
			continue
		case len(ids) == 0:
			p.forget(before)
			continue
		case len(ids) > timeline.MaxParticipants:
			p.report.Warnings = append(p.report.Warnings, fmt.Sprintf("The meeting %s has %d people on file; %d of them were taken.", text.QuoteUpTo(m.Title, 80), len(ids), timeline.MaxParticipants))
			ids = ids[:timeline.MaxParticipants]
		}
		p.meet(m, Meeting{
			TenantID: src.TenantID, SourceID: src.ID, Key: key, StartsAt: m.Start.UTC(), EndsAt: m.End.UTC(), AllDay: m.AllDay,
			Title: text.Truncate(m.Title, maxTitle), ConnectionIDs: ids,
		}, before, zone, now)
	}
	for _, row := range stored { // what the calendar no longer has
		switch {
		case row.Key == "" || row.InteractionID != "":
		case len(meetings) > 0 && row.EndsAt.Before(meetings[0].Start) && !row.EndsAt.After(now): // the calendar has only what is ahead
			p.report.Meetings++
			p.work = append(p.work, work{row: *row, sourced: &timeline.Sourced{Now: row.interaction(zone)}})
		default:
			p.work = append(p.work, work{row: *row, drop: true})
		}
	}
	slices.SortFunc(p.work, func(a, b work) int {
		return cmp.Or(a.row.StartsAt.Compare(b.row.StartsAt), strings.Compare(a.row.Key, b.row.Key))
	})
}

// cancel removes a meeting that the calendar says is cancelled, or that the options leave out.
func (p *plan) cancel(before *Meeting, zone *time.Location) {
	if before == nil {
		return
	}
	w := work{row: *before, drop: true}
	if before.InteractionID != "" {
		w.sourced = &timeline.Sourced{ID: before.InteractionID, Before: before.interaction(zone)}
	}
	p.work = append(p.work, w)
}

// forget takes who took part, and the title, out of a meeting with nobody on file any more: they may have been deleted for good. The row of a
// logged one stays, so that it is not logged again if they are added again.
func (p *plan) forget(before *Meeting) {
	switch {
	case before == nil || len(before.ConnectionIDs) == 0:
	case before.InteractionID == "":
		p.work = append(p.work, work{row: *before, drop: true})
	default:
		row := *before
		row.Title, row.ConnectionIDs = "", []string{}
		p.work = append(p.work, work{row: row})
	}
}

// meet compares a meeting with its row, which is nil if there is none.
func (p *plan) meet(m *calendar.Meeting, row Meeting, before *Meeting, zone *time.Location, now time.Time) {
	over := !m.End.After(now)
	if over {
		p.report.Meetings++
	} else {
		p.report.Ahead++
	}
	w := work{row: row}
	if before != nil {
		w.row.InteractionID = before.InteractionID
	}
	same := before != nil && row.same(before)
	switch {
	case same && (before.InteractionID != "" || !over):
		return
	case before != nil && before.InteractionID != "" && !over:
		w.sourced = &timeline.Sourced{ID: before.InteractionID, Before: before.interaction(zone)}
		w.postponed = true
	case before != nil && before.InteractionID != "":
		w.sourced = &timeline.Sourced{ID: before.InteractionID, Before: before.interaction(zone), Now: row.interaction(zone)}
	case over:
		w.sourced = &timeline.Sourced{Now: row.interaction(zone)}
	}
	p.work = append(p.work, w)
}

// same reports whether the calendar says the same in two rows.
func (m *Meeting) same(o *Meeting) bool {
	return m.StartsAt.Equal(o.StartsAt) && m.EndsAt.Equal(o.EndsAt) && m.AllDay == o.AllDay && m.Title == o.Title && slices.Equal(m.ConnectionIDs, o.ConnectionIDs)
}

// interaction returns what is logged for a meeting.
func (m *Meeting) interaction(zone *time.Location) *timeline.Interaction {
	i := &timeline.Interaction{Kind: "meeting", Summary: m.Title, ExternalKey: "calendar:" + m.Key, ConnectionIDs: m.ConnectionIDs}
	if m.AllDay {
		day := civil.Of(m.StartsAt, zone)
		i.OccurredAt, i.OccurredLocal = civil.Noon(day, zone).UTC(), day.Format(time.DateOnly)
		return i
	}
	i.OccurredAt, i.DurationMinutes = m.StartsAt, int32(min(m.EndsAt.Sub(m.StartsAt)/time.Minute, maxMinutes))
	if local := m.StartsAt.In(zone).Format(time.RFC3339); !strings.HasSuffix(local, "Z") {
		i.OccurredLocal = local
	}
	return i
}

// meetStrangers counts the attendees of meetings that are over who are not on file.
func (p *plan) meetStrangers(src *Source, meetings []calendar.Meeting, who recognised, now time.Time) {
	met, shared := map[string]*Stranger{}, map[string]bool{}
	for i := range meetings {
		m := &meetings[i]
		if m.Cancelled || m.End.After(now) || src.Options.leavesOut(m) {
			continue
		}
		for _, person := range m.People {
			id, known := who.find(person.Email)
			if known && id == "" {
				shared[person.Email] = true
			}
			_, domain, _ := strings.Cut(person.Email, "@")
			if known || slices.Contains(src.Options.Domains, domain) {
				continue
			}
			one := met[person.Email]
			if one == nil {
				one = &Stranger{TenantID: src.TenantID, SourceID: src.ID, Email: person.Email}
				met[person.Email] = one
			}
			one.Name = cmp.Or(text.Truncate(person.Name, maxName), one.Name)
			one.Meetings++
			if m.Start.After(one.LastAt) {
				one.LastAt = m.Start.UTC()
			}
		}
	}
	p.report.Shared = len(shared)
	for _, one := range met {
		p.strangers = append(p.strangers, *one)
	}
	slices.SortFunc(p.strangers, func(a, b Stranger) int {
		return cmp.Or(cmp.Compare(b.Meetings, a.Meetings), b.LastAt.Compare(a.LastAt), strings.Compare(a.Email, b.Email))
	})
	p.strangers = p.strangers[:min(len(p.strangers), maxStrangers)]
}

// sample returns the latest meetings that would be logged.
func (p *plan) sample() (out []Sample) {
	for _, w := range slices.Backward(p.work) {
		if w.sourced != nil && len(out) < maxSamples {
			out = append(out, Sample{Start: w.row.StartsAt, Title: w.row.Title, People: w.row.ConnectionIDs})
		}
	}
	return out
}

// JobKind is the kind of the job that reads a member's sources, ScheduleKind that of the system job that starts it.
const (
	JobKind      = "sync_sources"
	ScheduleKind = "schedule_sources"
)

// scheduleEvery is how often the sources that are due are looked for.
const scheduleEvery = 5 * time.Minute

// Schedule returns the system job that starts the jobs of the members whose sources are due.
func (s *Sources) Schedule() job.Kind {
	return job.Kind{Name: ScheduleKind, Every: scheduleEvery, Run: func(ctx context.Context, _ *job.Run) (any, error) {
		var owners []tenant.ID
		err := s.Store.NewRaw("SELECT DISTINCT tenant_id FROM sources WHERE state = ? AND next_at <= ?", On, s.Store.Now()).Scan(ctx, &owners)
		if err != nil {
			return nil, err
		}
		for _, owner := range owners {
			ctx := db.WithoutQuota(ctx) // a full account would end the schedule of all
			err := s.Store.Tenant(owner, false).Write(ctx, actor(), func(ctx context.Context, tx *db.Tx) error { return StartJob(ctx, tx) })
			if err != nil && !fault.Is(err, fault.ReadOnly) {
				return nil, err
			}
		}
		return map[string]int{"members": len(owners)}, nil
	}}
}

// StartJob starts the job that reads the sources of the member that are due, unless it is queued: one that runs may have passed them.
func StartJob(ctx context.Context, tx *db.Tx) error {
	queued, err := job.IsQueued(ctx, tx, JobKind)
	if err != nil || queued {
		return err
	}
	_, err = job.AddJob(ctx, tx, job.Draft{Kind: JobKind, Params: struct{}{}})
	return err
}

// SyncNow makes a source that is on due, and starts the job.
func SyncNow(ctx context.Context, tx *db.Tx, sourceID string) error {
	if err := Start(ctx, tx, sourceID); err != nil {
		return err
	}
	return StartJob(ctx, tx)
}

// Result is the result of a job.
type Result struct {
	// Read and Failed are how many sources could be read, and how many not.
	Read   int `json:"read"`
	Failed int `json:"failed"`
}

// Kind returns the kind of job that reads the sources of a member that are due.
func (s *Sources) Kind() job.Kind {
	return job.Kind{Name: JobKind, Run: func(ctx context.Context, run *job.Run) (any, error) {
		var due []Source
		err := s.Store.Tenant(run.Job.TenantID, true).From(&due).Where("state = ? AND next_at <= ?", On, s.Store.Now()).Order("next_at", "id").Scan(ctx)
		if err != nil {
			return nil, err
		}
		var result Result
		for i := range due {
			err := s.sync(ctx, run, &due[i])
			if err == nil {
				result.Read++
				s.observe(metrics.SourceRead)
				continue
			}
			if !fault.Is(err, fault.Invalid) {
				return nil, err
			}
			result.Failed++
			s.observe(metrics.SourceFailed)
			if err := s.failed(ctx, run, &due[i], err); err != nil {
				return nil, err
			}
		}
		return result, nil
	}}
}

func (s *Sources) observe(outcome string) {
	if s.Observe != nil {
		s.Observe(outcome)
	}
}

// step writes a step of a run, in the name of the source.
func (s *Sources) step(ctx context.Context, run *job.Run, src *Source, fn func(ctx context.Context, tx *db.Tx) error) error {
	return job.WriteStep(ctx, s.Store.Tenant(src.TenantID, false), run.Lease(), src.Actor(), func(ctx context.Context, tx *db.Tx) (job.Step, error) {
		now, err := Get(ctx, tx, src.ID)
		if err == nil && now.State != On {
			err = fault.New(fault.NotFound, "the source is paused")
		}
		if err != nil {
			return job.Step{}, err
		}
		return job.Step{Checkpoint: struct{}{}}, fn(ctx, tx)
	})
}

// sync reads a source once. It fails with fault.Invalid if the source can't be read, or the account is full.
func (s *Sources) sync(ctx context.Context, run *job.Run, src *Source) error {
	a, err := s.access(src)
	if err != nil {
		return err
	}
	reading, err := s.read(ctx, src, a, nil)
	if err != nil {
		return err
	}
	var yielded error
	err = reading.Write(ctx, func(ctx context.Context, fn func(ctx context.Context, tx *db.Tx) error) error {
		if yielded = run.Yield(ctx); yielded != nil {
			return yielded
		}
		return s.step(ctx, run, src, fn)
	})
	if yielded != nil {
		return yielded
	}
	if err == nil {
		err = s.step(db.WithoutQuota(ctx), run, src, func(ctx context.Context, tx *db.Tx) error {
			if err := reading.Finish(ctx, tx); err != nil {
				return err
			}
			src.TriedAt, src.SucceededAt, src.FailedSince, src.Problem, src.Report, src.NextAt = tx.Now(), tx.Now(), time.Time{}, "", reading.Report(), tx.Now().Add(every)
			return src.store(ctx, tx)
		})
	}
	if fault.Is(err, fault.NotFound) {
		return nil // removed or paused meanwhile
	}
	if failure, ok := errors.AsType[*job.Failure](err); ok && failure.Code == job.CodeFull {
		return fault.Wrap(err, fault.Invalid, "nothing can be stored: %s", strings.TrimSuffix(failure.Detail, "."))
	}
	return err
}

// Name implements Reading.
func (p *plan) Name() string { return p.calendar }

// Report implements Reading.
func (p *plan) Report() Report { return p.report }

// Write implements Reading.
func (p *plan) Write(ctx context.Context, step Step) (err error) {
	if len(p.rekeyed) > 0 { // in one step: half of a series with new keys would not be recognised
		err = step(ctx, func(ctx context.Context, tx *db.Tx) error {
			return put(ctx, tx, p.src, slices.Collect(maps.Values(p.rekeyed)), slices.Collect(maps.Keys(p.rekeyed)))
		})
	}
	for part := range slices.Chunk(p.work, stepMeetings) {
		if err != nil {
			break
		}
		synced := &timeline.SyncResult{}
		err = step(ctx, func(ctx context.Context, tx *db.Tx) error { return write(ctx, tx, p.src, part, synced) })
		p.report.Logged += synced.Added
		p.report.Changed += synced.Changed
		p.report.Removed += synced.Removed
	}
	return err
}

// write writes some meetings, and stores in out what it did on the timeline.
func write(ctx context.Context, tx *db.Tx, src *Source, part []work, out *timeline.SyncResult) error {
	var sourced []timeline.Sourced
	for _, w := range part {
		if w.sourced != nil {
			sourced = append(sourced, *w.sourced)
		}
	}
	synced, err := timeline.SyncInteractions(ctx, tx, "the calendar "+src.Name, src.ImportID, sourced)
	if err != nil {
		return err
	}
	*out = *synced
	var rows []Meeting
	var gone []string
	ids := synced.IDs
	for _, w := range part {
		if w.sourced != nil {
			w.row.InteractionID, ids = ids[0], ids[1:]
		}
		switch {
		case w.drop:
			gone = append(gone, w.row.Key)
		case !w.postponed || w.row.InteractionID == "":
			rows = append(rows, w.row)
		}
	}
	return put(ctx, tx, src, rows, gone)
}

// put stores rows, and deletes those with the keys of gone.
func put(ctx context.Context, tx *db.Tx, src *Source, rows []Meeting, gone []string) error {
	if len(gone) > 0 {
		if err := tx.Delete(ctx, (*Meeting)(nil), "source_id = ? AND key IN (?)", src.ID, bun.List(gone)); err != nil {
			return err
		}
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := tx.NewInsert().Model(&rows).On("CONFLICT (tenant_id, source_id, key) DO UPDATE").
		Set("starts_at = EXCLUDED.starts_at").Set("ends_at = EXCLUDED.ends_at").Set("all_day = EXCLUDED.all_day").Set("title = EXCLUDED.title").
		Set("connection_ids = EXCLUDED.connection_ids").Set("interaction_id = EXCLUDED.interaction_id").Exec(ctx)
	return err
}

// Finish implements Reading: it stores the strangers.
func (p *plan) Finish(ctx context.Context, tx *db.Tx) error {
	src := p.src
	var before []Stranger
	if err := tx.From(&before).Where("source_id = ?", src.ID).Scan(ctx); err != nil {
		return err
	}
	dismissed := map[string]bool{}
	for _, one := range before {
		dismissed[one.Email] = one.Dismissed
	}
	if err := tx.Delete(ctx, (*Stranger)(nil), "source_id = ?", src.ID); err != nil {
		return err
	}
	for i := range p.strangers {
		p.strangers[i].Dismissed = dismissed[p.strangers[i].Email]
	}
	return tx.InsertAll(ctx, &p.strangers, len(p.strangers))
}

// failed stores that a run failed.
func (s *Sources) failed(ctx context.Context, run *job.Run, src *Source, cause error) error {
	err := s.step(db.WithoutQuota(ctx), run, src, func(ctx context.Context, tx *db.Tx) error {
		src.TriedAt, src.Problem = tx.Now(), cause.Error()
		if src.FailedSince.IsZero() {
			src.FailedSince = tx.Now()
		}
		src.NextAt = tx.Now().Add(min(max(tx.Now().Sub(src.FailedSince), firstRetry), every))
		return src.store(ctx, tx)
	})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// store stores how a run went.
func (src *Source) store(ctx context.Context, tx *db.Tx) error {
	_, err := tx.NewUpdate().Model(src).Column("tried_at", "succeeded_at", "failed_since", "problem", "report", "next_at").WherePK().Exec(ctx)
	return err
}
