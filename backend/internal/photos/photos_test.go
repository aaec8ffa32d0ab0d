package photos_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/photos"
	"github.com/kith-crm/kith/backend/internal/photos/phototest"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// album is a member with people.
type album struct {
	*testing.T

	store *db.DB
	owner tenant.ID
}

func (a album) data() *db.Tenant { return a.store.Tenant(a.owner, false) }

// write runs fn in a transaction.
func (a album) write(fn func(ctx context.Context, tx *db.Tx) error) {
	a.Helper()
	if err := a.data().Write(a.Context(), db.Actor{Tool: "test"}, fn); err != nil {
		a.Fatal(err)
	}
}

// person adds a person.
func (a album) person(name string) (id string) {
	a.Helper()
	a.write(func(ctx context.Context, tx *db.Tx) error {
		made, err := people.Create(ctx, tx, people.Draft{Name: name})
		id = made.Connection.ID
		return err
	})
	return id
}

// picture is a photo; each width gives another one.
func (a album) picture(width int) *photos.Photo {
	a.Helper()
	p, err := photos.Read(a.Context(), phototest.JPEG(a, width, 50))
	if err != nil {
		a.Fatal(err)
	}
	return p
}

// set sets a photo and returns the change.
func (a album) set(id string, p *photos.Photo) (changeID string) {
	a.Helper()
	a.write(func(ctx context.Context, tx *db.Tx) (err error) {
		changeID, err = photos.Set(ctx, tx, id, p)
		return err
	})
	return changeID
}

// want checks that a person has the photo p, or no photo if p is nil.
func (a album) want(id string, p *photos.Photo) {
	a.Helper()
	for _, size := range []int{photos.Small, photos.Medium, photos.Large} {
		got, err := photos.Get(a.Context(), a.data(), id, size)
		if p == nil {
			if !fault.Is(err, fault.NotFound) {
				a.Fatalf("%v %v", got, err)
			}
			continue
		}
		if want, _ := p.Size(size); err != nil || got.ID != p.ID || string(got.Data) != string(want) {
			a.Fatalf("another photo, or none: %v", err)
		}
	}
}

func (a album) undo(changeID string) {
	a.Helper()
	undone, err := history.UndoChange(a.Context(), a.data(), kinds.All(), "test", changeID, false)
	if err != nil || undone.ChangeID == "" || len(undone.Conflicts) > 0 {
		a.Fatalf("%v %v", err, undone.Conflicts)
	}
}

// sweep sweeps at a time after now.
func (a album) sweep(after time.Duration) int64 {
	a.Helper()
	n, err := photos.Sweep(a.Context(), a.store, a.store.Now().Add(after))
	if err != nil {
		a.Fatal(err)
	}
	return n
}

func each(t *testing.T, run func(a album)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) { run(album{t, s, dbtest.Member(t, s, "ada")}) })
}

// A photo can be set, replaced and removed, and each can be undone.
func TestSetAndUndo(t *testing.T) {
	each(t, func(a album) {
		id, one, two := a.person("Ana"), a.picture(60), a.picture(70)
		a.want(id, nil)
		first := a.set(id, one)
		if again := a.set(id, one); again != "" {
			a.Errorf("the same photo is the change %s", again)
		}
		second := a.set(id, two)
		a.want(id, two)
		a.undo(second)
		a.want(id, one)
		var removed string
		a.write(func(ctx context.Context, tx *db.Tx) (err error) {
			removed, err = photos.Remove(ctx, tx, id)
			return err
		})
		a.want(id, nil)
		a.undo(removed)
		a.want(id, one)
		a.undo(first)
		a.want(id, nil)
	})
}

// A member can neither set nor read photos of another member's people.
func TestOtherMember(t *testing.T) {
	each(t, func(a album) {
		id, p := a.person("Ana"), a.picture(60)
		a.set(id, p)
		eve := album{a.T, a.store, dbtest.Member(a, a.store, "eve")}
		eve.want(id, nil)
		for _, who := range []string{id, "con_qo604yg551"} {
			err := eve.data().Write(a.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
				_, err := photos.Set(ctx, tx, who, eve.picture(70))
				return err
			})
			if !fault.Is(err, fault.NotFound) {
				a.Errorf("%v", err)
			}
		}
		if versions, err := photos.Versions(a.Context(), eve.data(), []string{id}); err != nil || len(versions) > 0 {
			a.Errorf("%v %v", versions, err)
		}
		a.want(id, p)
	})
}

// Undoing a deletion restores the photo. A permanent deletion deletes it.
func TestDelete(t *testing.T) {
	each(t, func(a album) {
		id, p := a.person("Ana"), a.picture(60)
		a.set(id, p)
		remove := func() (changeID string) {
			a.write(func(ctx context.Context, tx *db.Tx) error {
				deleted, err := people.Delete(ctx, tx, kinds.All(), id, "Ana")
				changeID = deleted.ChangeID
				return err
			})
			return changeID
		}
		change := remove()
		a.sweep(time.Hour)
		a.want(id, nil)
		a.undo(change)
		a.want(id, p)
		a.sweep(2 * photos.KeepUnused)
		a.want(id, p)
		if _, err := history.EmptyBin(a.Context(), a.data(), "test", remove()); err != nil {
			a.Fatal(err)
		}
		var rows int
		if err := a.store.NewRaw("SELECT count(*) FROM photos").Scan(a.Context(), &rows); err != nil || rows != 0 {
			a.Errorf("%d rows %v", rows, err)
		}
	})
}

// A merge keeps the photo of the person who stays. If they have none, they get the other person's
// photo. Undoing the merge restores the photos of both.
func TestMerge(t *testing.T) {
	each(t, func(a album) {
		p := a.picture(60)
		merge := func(into, from string) (changeID string) {
			a.write(func(ctx context.Context, tx *db.Tx) error {
				merged, err := people.Merge(ctx, tx, []people.MergeInto{{Into: into, From: []string{from}}}, false, timeline.StoreNote,
					func(context.Context, []people.MergedPerson) error { return nil })
				changeID = merged.ChangeID
				return err
			})
			return changeID
		}
		ana, anna := a.person("Ana"), a.person("Anna")
		a.set(anna, p)
		change := merge(ana, anna)
		a.want(ana, p)
		a.undo(change)
		a.want(ana, nil)
		a.want(anna, p)
		own := a.picture(70)
		a.set(ana, own)
		a.undo(merge(ana, anna))
		merge(ana, anna)
		a.want(ana, own)
	})
}

// A replaced photo is deleted after KeepUnused; a photo in use is kept. After that, undoing the
// replacement leaves the person without a photo.
func TestSweep(t *testing.T) {
	each(t, func(a album) {
		id, one, two := a.person("Ana"), a.picture(60), a.picture(70)
		a.set(id, one)
		replaced := a.set(id, two)
		for _, after := range []time.Duration{0, photos.KeepUnused - time.Hour} {
			if n := a.sweep(after); n != 0 {
				a.Fatalf("%d rows after %s", n, after)
			}
		}
		if n := a.sweep(photos.KeepUnused); n != 3 {
			a.Fatalf("%d rows", n)
		}
		a.want(id, two)
		a.undo(replaced)
		a.want(id, nil)
	})
}

// Of two uploads at once, one wins, and both are recorded.
func TestTwoAtOnce(t *testing.T) {
	each(t, func(a album) {
		id := a.person("Ana")
		both := []*photos.Photo{a.picture(60), a.picture(70)}
		changes := make([]string, len(both))
		var done sync.WaitGroup
		for i, p := range both {
			done.Go(func() {
				err := a.data().Write(a.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) (err error) {
					changes[i], err = photos.Set(ctx, tx, id, p)
					return err
				})
				if err != nil {
					a.Error(err)
				}
			})
		}
		done.Wait()
		latest, err := history.ListChanges(a.Context(), a.data(), history.Query{Limit: 1})
		if err != nil {
			a.Fatal(err)
		}
		last := slices.Index(changes, latest[0].ID)
		a.want(id, both[last])
		a.undo(changes[last])
		a.want(id, both[1-last])
	})
}

// Of the photos that a person had before, only the last one is kept.
func TestOneOldPhotoIsKept(t *testing.T) {
	each(t, func(a album) {
		id, other := a.person("Ana"), a.person("Ben")
		one, two, three := a.picture(60), a.picture(70), a.picture(80)
		a.set(other, one)
		rows := func(want int) {
			a.Helper()
			var n int
			if err := a.store.NewRaw("SELECT count(*) FROM photos WHERE connection_id = ?", id).Scan(a.Context(), &n); err != nil || n != 3*want {
				a.Errorf("%d rows of photos, %v, want %d photos", n, err, want)
			}
		}
		a.set(id, one)
		for range 2 {
			a.set(id, two)
			rows(2)
			a.set(id, three)
			rows(2)
			a.set(id, two) // the old one again
			rows(2)
			a.want(id, two)
			a.set(id, one)
			rows(2)
		}
		var removed string
		a.write(func(ctx context.Context, tx *db.Tx) (err error) {
			removed, err = photos.Remove(ctx, tx, id)
			return err
		})
		rows(1)
		a.undo(removed)
		a.want(id, one)
		a.write(func(ctx context.Context, tx *db.Tx) (err error) {
			_, err = photos.Remove(ctx, tx, id)
			return err
		})
		replaced := a.set(id, three)
		rows(2)
		a.undo(replaced)
		a.want(id, nil)
		a.want(other, one)
	})
}
