package wordindex

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// blockSize is how many numbers have their times and kinds in one row.
const blockSize = 1024

// entryBlock is a row of entry_blocks: the times of a block of numbers, as secondOf returns them, and the kinds, as bitOf does.
type entryBlock struct {
	TenantID    tenant.ID `bun:",pk"`
	Block       int32     `bun:",pk"`
	DataVersion int64     // of the write that changed the block last
	Times       []byte
	Kinds       []byte
}

// stamp is when an entry was and of which kind it is; the zero stamp is that of a number that no entry has.
type stamp struct {
	at   uint32
	kind uint8
}

const timeBytes = 4

// firstSecond is the beginning of 1950.
const firstSecond = -631152000

// secondOf returns a time in seconds since 1950, at least 1. All times before have the first second, and all after 2086 the last:
// entries of the same second are compared by their rows.
func secondOf(t time.Time) uint32 {
	return uint32(min(max(t.Unix()-firstSecond, 1), math.MaxUint32-1))
}

// noteBit is the bit of notes, beside those of the kinds of interactions.
const noteBit = 1 << 7

// bitOf returns the bit of a kind.
func bitOf(kind string) uint8 {
	if kind == noteKind {
		return noteBit
	}
	return uint8(index.KindsOf(kind))
}

// set stores the stamp of a place, and reports whether it is another one than before.
func (b *entryBlock) set(place int, s stamp) (changed bool) {
	if missing := place + 1 - len(b.Kinds); missing > 0 {
		b.Times = append(b.Times, make([]byte, missing*timeBytes)...)
		b.Kinds = append(b.Kinds, make([]byte, missing)...)
		changed = true
	}
	at := b.Times[place*timeBytes:]
	changed = changed || binary.BigEndian.Uint32(at) != s.at || b.Kinds[place] != s.kind
	binary.BigEndian.PutUint32(at, s.at)
	b.Kinds[place] = s.kind
	return changed
}

// Blocks are the times and kinds of a member's entries, by number. A search can use them while Load changes them.
type Blocks struct{ all atomic.Pointer[[]*block] }

// block is the memory of a row of entry_blocks.
type block struct {
	times  []uint32
	kinds  []byte
	latest uint32
}

// NewBlocks returns blocks without entries.
func NewBlocks() *Blocks {
	b := &Blocks{}
	b.all.Store(&[]*block{})
	return b
}

// Bytes returns about how much memory the blocks take.
func (b *Blocks) Bytes() int64 { return int64(len(*b.all.Load())) * blockSize * (timeBytes + 1) }

// Load reads the blocks that were written after a data version, or all of them if since is below 0. It returns the data version that
// they reflect then.
func (b *Blocks) Load(ctx context.Context, r db.Reader, since int64) (version int64, err error) {
	if err = r.NewRaw("SELECT data_version FROM tenant_states WHERE tenant_id = ?", r.TenantID()).Scan(ctx, &version); err != nil {
		return 0, err
	}
	var rows []entryBlock
	if err = r.From(&rows).Where("data_version > ?", since).Scan(ctx); err != nil || len(rows) == 0 {
		return version, err
	}
	all := slices.Clone(*b.all.Load())
	for _, row := range rows {
		for len(all) <= int(row.Block) {
			all = append(all, &block{})
		}
		one := &block{times: make([]uint32, len(row.Kinds)), kinds: row.Kinds}
		for i := range one.times {
			one.times[i] = binary.BigEndian.Uint32(row.Times[i*timeBytes:])
			one.latest = max(one.latest, one.times[i])
		}
		all[row.Block] = one
	}
	b.all.Store(&all)
	return version, nil
}

// byTime takes entries from the latest to the first.
type byTime struct {
	below uint32 // entries of this second and later ones were taken
	runs  []run  // that with the latest block first
}

// run are entries of one block, by their numbers.
type run struct {
	*block

	numbers []int32
}

// newByTime returns the order of entries, by their numbers, of the seconds before below.
func newByTime(blocks []*block, numbers []int32, below uint32) *byTime {
	t := &byTime{below: below}
	for len(numbers) > 0 && int(numbers[0]/blockSize) < len(blocks) {
		place := numbers[0] / blockSize
		end, _ := slices.BinarySearch(numbers[:min(len(numbers), blockSize)], (place+1)*blockSize)
		t.runs = append(t.runs, run{blocks[place], numbers[:end]})
		numbers = numbers[end:]
	}
	slices.SortFunc(t.runs, func(a, b run) int { return cmp.Compare(b.latest, a.latest) })
	return t
}

// next takes the n latest entries, and all others of the second of the last of them. It returns them in no order; none at the end.
func (t *byTime) next(n int) []int32 {
	l := latest{most: n}
	for _, r := range t.runs {
		if l.full() && r.latest < l.first() {
			break
		}
		for _, number := range r.numbers {
			place := int(number % blockSize)
			if place >= len(r.times) {
				break
			}
			if at := r.times[place]; at < t.below && at > 0 {
				l.offer(number, at)
			}
		}
	}
	if len(l.times) == 0 {
		return nil
	}
	t.below = l.first()
	l.prune()
	numbers := make([]int32, len(l.taken))
	for i, e := range l.taken {
		numbers[i] = e.number
	}
	return numbers
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
