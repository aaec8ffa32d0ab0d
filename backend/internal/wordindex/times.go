package wordindex

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// blockSize is how many numbers have their times in one row.
const blockSize = 1024

// entryTimes is a row of entry_times: the times of a block of numbers, as secondOf returns them, and the latest of them.
type entryTimes struct {
	TenantID tenant.ID `bun:",pk"`
	Block    int32     `bun:",pk"`
	Latest   int64
	Times    []byte
}

const (
	timeBytes = 4
	// noTime is the time of a number that no entry has.
	noTime = 0
)

// firstSecond is the beginning of 1950.
const firstSecond = -631152000

// secondOf returns a time in seconds since 1950. All times before have the first second, and all after 2086 the last: entries of the
// same second are compared by their rows.
func secondOf(t time.Time) uint32 {
	return uint32(min(max(t.Unix()-firstSecond, noTime+1), math.MaxUint32-1))
}

func (b *entryTimes) len() int { return len(b.Times) / timeBytes }

// at returns the time of a place in the block.
func (b *entryTimes) at(place int) uint32 { return binary.BigEndian.Uint32(b.Times[place*timeBytes:]) }

// set stores the time of a place, and reports whether it is another one than before.
func (b *entryTimes) set(place int, at uint32) (changed bool) {
	for b.len() <= place {
		b.Times = binary.BigEndian.AppendUint32(b.Times, noTime)
		changed = true
	}
	if b.at(place) == at {
		return changed
	}
	binary.BigEndian.PutUint32(b.Times[place*timeBytes:], at)
	return true
}

// byTime takes entries from the latest to the first.
type byTime struct {
	reader  db.Reader
	numbers []int32 // ascending
	since   uint32  // the first second that entries are taken of
	below   uint32  // entries of this second and later ones were taken
	blocks  []block // those with entries, the latest first
}

// block is a block of numbers with entries to take.
type block struct{ number, latest int64 }

// newByTime returns the order of entries, by their numbers, of the seconds from since on and before below.
func newByTime(ctx context.Context, r db.Reader, numbers []int32, since, below uint32) (*byTime, error) {
	t := &byTime{reader: r, numbers: numbers, since: since, below: below}
	rows, err := r.QueryContext(ctx, "SELECT block, latest FROM entry_times WHERE tenant_id = ? AND latest >= ?", r.TenantID(), int64(since))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var b block
		if err := rows.Scan(&b.number, &b.latest); err != nil {
			return nil, err
		}
		if len(t.in(b.number)) > 0 {
			t.blocks = append(t.blocks, b)
		}
	}
	slices.SortFunc(t.blocks, func(a, b block) int { return cmp.Compare(b.latest, a.latest) })
	return t, rows.Err()
}

// in returns the entries of a block.
func (t *byTime) in(block int64) []int32 {
	from, _ := slices.BinarySearch(t.numbers, int32(block*blockSize))
	to, _ := slices.BinarySearch(t.numbers, int32((block+1)*blockSize))
	return t.numbers[from:to]
}

// maxLoaded is how many blocks are read at once.
const maxLoaded = 128

// next takes the n latest entries, and all others of the second of the last of them. It returns them in no order; none at the end.
func (t *byTime) next(ctx context.Context, n int) ([]int32, error) {
	l := latest{most: n}
	for from, step := 0, 1; from < len(t.blocks) && (!l.full() || t.blocks[from].latest >= int64(l.first())); step = min(4*step, maxLoaded) {
		to := min(from+step, len(t.blocks))
		if err := t.read(ctx, t.blocks[from:to], &l); err != nil {
			return nil, err
		}
		from = to
	}
	if len(l.times) == 0 {
		return nil, nil
	}
	t.below = l.first()
	l.prune()
	numbers := make([]int32, len(l.taken))
	for i, e := range l.taken {
		numbers[i] = e.number
	}
	return numbers, nil
}

// read offers the entries of blocks.
func (t *byTime) read(ctx context.Context, blocks []block, l *latest) error {
	ids := make([]int64, len(blocks))
	for i, b := range blocks {
		ids[i] = b.number
	}
	rows, err := t.reader.QueryContext(ctx, "SELECT block, times FROM entry_times WHERE tenant_id = ? AND block IN (?)", t.reader.TenantID(), bun.List(ids))
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var row entryTimes
		var times sql.RawBytes
		if err := rows.Scan(&row.Block, &times); err != nil {
			return err
		}
		row.Times = times
		for _, number := range t.in(int64(row.Block)) {
			place := int(number % blockSize)
			if place >= row.len() {
				break
			}
			if at := row.at(place); at < t.below && at >= t.since && at != noTime {
				l.offer(number, at)
			}
		}
	}
	return rows.Err()
}

// latest keeps the entries of the latest times that are offered: the most, and all others of the second of the last of them.
type latest struct {
	most  int
	times []uint32 // of the latest, descending
	taken []timed  // these, and earlier ones until the next prune
}

type timed struct {
	number int32
	at     uint32
}

func (l *latest) full() bool { return len(l.times) == l.most }

// first is the earliest of the latest times.
func (l *latest) first() uint32 { return l.times[len(l.times)-1] }

func (l *latest) offer(number int32, at uint32) {
	if l.full() && at < l.first() {
		return
	}
	l.taken = append(l.taken, timed{number, at})
	if l.full() && at == l.first() {
		return
	}
	place, _ := slices.BinarySearchFunc(l.times, at, func(a, b uint32) int { return cmp.Compare(b, a) })
	l.times = slices.Insert(l.times, place, at)
	l.times = l.times[:min(len(l.times), l.most)]
	if len(l.taken) == cap(l.taken) {
		l.prune()
	}
}

// prune drops what is earlier than the latest.
func (l *latest) prune() {
	l.taken = slices.DeleteFunc(l.taken, func(e timed) bool { return e.at < l.first() })
}
