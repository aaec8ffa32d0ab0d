package books_test

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/icholy/digest"
	"github.com/kith-crm/kith/backend/internal/books"
	"github.com/kith-crm/kith/backend/internal/dav"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/outbound/outboundtest"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/secretkey"
	"github.com/kith-crm/kith/backend/internal/sources"
)

// server is an address book on another server.
type server struct {
	mu sync.Mutex
	// cards and etags are the cards by their names, and their entity tags as they are sent.
	cards, etags map[string]string
	// signIn is basic, digest or bearer; leads is an address that the well-known one leads to.
	signIn, leads string
	// read counts the cards that were sent; authorized are the hosts that got a password.
	read       int
	authorized []string
}

const password = "app-password-7d1e"

// ServeHTTP answers as an address book with two books, of which the second is empty.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Header.Get("Authorization") != "" {
		s.authorized = append(s.authorized, r.Host)
	}
	if !s.signedIn(w, r) {
		return
	}
	if r.URL.Path == "/.well-known/carddav" {
		http.Redirect(w, r, s.leads, http.StatusMovedPermanently)
		return
	}
	body, _ := io.ReadAll(r.Body)
	response := func(path, props string) string {
		return "<d:response><d:href>" + path + "</d:href><d:propstat><d:prop>" + props + "</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>"
	}
	book := "<d:resourcetype><d:collection/><c:addressbook/></d:resourcetype><d:displayname>%s</d:displayname>"
	out := ""
	switch path := r.URL.Path; {
	case r.Method == "PROPFIND" && path == "/dav/":
		out = response("/dav/", "<d:current-user-principal><d:href>/dav/me/</d:href></d:current-user-principal>")
	case r.Method == "PROPFIND" && path == "/dav/me/":
		out = response("/dav/me/", "<c:addressbook-home-set><d:href>/dav/me/books/</d:href></c:addressbook-home-set>")
	case r.Method == "PROPFIND" && path == "/dav/me/books/":
		out = response("/dav/me/books/", "<d:resourcetype><d:collection/></d:resourcetype>") +
			response("/dav/me/books/one/", fmt.Sprintf(book, "Friends")) + response("/dav/me/books/two/", fmt.Sprintf(book, "Work"))
	case r.Method == "PROPFIND" && path == "/dav/me/books/one/":
		out = response(path, fmt.Sprintf(book, "Friends"))
		for name := range s.cards {
			out += response(path+name, "<d:resourcetype/><d:getetag>"+s.etags[name]+"</d:getetag>")
		}
	case r.Method == "PROPFIND" && path == "/dav/me/books/two/":
		out = response(path, fmt.Sprintf(book, "Work"))
	case r.Method == "REPORT" && path == "/dav/me/books/one/":
		var ask struct {
			Hrefs []string `xml:"DAV: href"`
		}
		_ = xml.Unmarshal(body, &ask)
		for _, href := range ask.Hrefs {
			name := href[strings.LastIndex(href, "/")+1:]
			if card, ok := s.cards[name]; ok {
				s.read++
				var escaped strings.Builder
				_ = xml.EscapeText(&escaped, []byte(card))
				out += response(href, "<d:getetag>"+s.etags[name]+"</d:getetag><c:address-data>"+escaped.String()+"</c:address-data>")
			}
		}
	default:
		http.NotFound(w, r)
		return
	}
	w.WriteHeader(http.StatusMultiStatus)
	_, _ = io.WriteString(w, `<d:multistatus xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav">`+out+"</d:multistatus>")
}

func (s *server) signedIn(w http.ResponseWriter, r *http.Request) bool {
	username, sent, basic := r.BasicAuth()
	switch s.signIn {
	case "basic":
		if basic && username == "ada" && sent == password {
			return true
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="books"`)
	case "digest":
		challenge := &digest.Challenge{Realm: "books", Nonce: "n1", Algorithm: "SHA-256", QOP: []string{"auth"}}
		if got, err := digest.ParseCredentials(r.Header.Get("Authorization")); err == nil {
			want, _ := digest.Digest(challenge, digest.Options{Method: r.Method, URI: r.URL.RequestURI(), Username: "ada", Password: password, Count: got.Nc, Cnonce: got.Cnonce})
			if want != nil && want.Response == got.Response {
				return true
			}
		}
		w.Header().Set("WWW-Authenticate", challenge.String())
	default:
		w.Header().Set("WWW-Authenticate", `Bearer realm="books"`)
	}
	w.WriteHeader(http.StatusUnauthorized)
	return false
}

// put stores a card with an entity tag.
func (s *server) put(name, etag string, lines ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.etags[name] = etag
	s.cards[name] = "BEGIN:VCARD\r\nVERSION:3.0\r\n" + strings.Join(lines, "\r\n") + "\r\nEND:VCARD\r\n"
}

func (s *server) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.cards, name)
}

func (s *server) sent() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read
}

// world is a member with an address book elsewhere.
type world struct {
	*sources.Sources
	*server

	t    testing.TB
	data *db.Tenant
	host *outboundtest.Host
	log  *strings.Builder
	mu   sync.Mutex
	now  time.Time
}

func newWorld(t testing.TB, url string) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 11, 10, 12, 0, 0, 0, time.UTC), log: &strings.Builder{}}
	w.server = &server{cards: map[string]string{}, etags: map[string]string{}, signIn: "basic", leads: "/dav/"}
	w.host = outboundtest.Start(t, w.server)
	secrets, err := secretkey.Create(filepath.Join(t.TempDir(), "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	store := dbtest.Open(t, url, w.clock)
	fetcher := sources.NewFetcher(w.host.Options(), false)
	w.Sources = &sources.Sources{Store: store, Secrets: secrets, Fetcher: fetcher, Books: &books.Reader{Store: store, Fetcher: fetcher}}
	w.data = store.Tenant(dbtest.Member(t, store, "ada"), false)
	return w
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) write(fn func(ctx context.Context, tx *db.Tx) error) {
	w.t.Helper()
	if err := w.data.Write(w.t.Context(), db.Actor{Tool: "test"}, fn); err != nil {
		w.t.Fatal(err)
	}
}

// add adds the address book, as a preview.
func (w *world) add() *sources.Source {
	w.t.Helper()
	src, err := w.AddBook(w.t.Context(), w.data, "", sources.Access{Address: w.host.URL, Username: "ada", Password: password})
	if err != nil {
		w.t.Fatal(err)
	}
	return src
}

// sync starts a source if it is not on, and runs the member's jobs. It returns what the run did.
func (w *world) sync(src *sources.Source) sources.Report {
	w.t.Helper()
	w.mu.Lock()
	w.now = w.now.Add(time.Hour)
	w.mu.Unlock()
	w.write(func(ctx context.Context, tx *db.Tx) error { return sources.SyncNow(ctx, tx, src.ID) })
	w.work(sources.JobKind)
	got, err := sources.Get(w.t.Context(), w.data, src.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	if got.Problem != "" {
		w.t.Fatalf("the run failed: %s", got.Problem)
	}
	return got.Report
}

// work runs the jobs until the last of a kind has ended.
func (w *world) work(kind string) {
	w.t.Helper()
	changed := make(chan struct{}, 1)
	runner := job.NewRunner(job.Config{
		Queue: dbtest.Queue(w.t, w.Store), Kinds: []job.Kind{w.Kind(), importer.Undo(w.Store, kinds.All())}, Workers: 1, Poll: time.Millisecond, Now: w.clock,
		Logger: slog.New(slog.NewTextHandler(w.log, nil)), Changed: func(job.Job) {
			select {
			case changed <- struct{}{}:
			default:
			}
		},
	})
	runner.Start(w.t.Context())
	defer runner.Stop(context.Background())
	for {
		jobs, err := job.ListJobs(w.t.Context(), w.data, kind, 1)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(jobs) == 0 || jobs[0].Terminal() {
			return
		}
		<-changed
	}
}

// people returns the people on file, by their names.
func (w *world) people() map[string]*people.Connection {
	w.t.Helper()
	var rows []people.Connection
	if err := w.data.From(&rows).Where("archived_at IS NULL").Order("id").Scan(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	if err := people.FillConnections(w.t.Context(), w.data, rows); err != nil {
		w.t.Fatal(err)
	}
	out := map[string]*people.Connection{}
	for i := range rows {
		if out[rows[i].Name] != nil {
			w.t.Fatalf("%s is there twice", rows[i].Name)
		}
		out[rows[i].Name] = &rows[i]
	}
	return out
}

func (w *world) names() string {
	var all []string
	for name := range w.people() {
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// person adds a person.
func (w *world) person(d people.Draft) string {
	w.t.Helper()
	var id string
	w.write(func(ctx context.Context, tx *db.Tx) error {
		made, err := people.Create(ctx, tx, d)
		id = made.Connection.ID
		return err
	})
	return id
}

func eachDB(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	dbtest.Databases(t, func(t *testing.T, url string) { fn(t, newWorld(t, url)) })
}

// TestPreviewThenRun: the preview says who is new and who is known, and writes nothing. The run adds the new ones, and doubles nobody.
func TestPreviewThenRun(t *testing.T) {
	t.Parallel()
	eachDB(t, func(t *testing.T, w *world) {
		grace := w.person(people.Draft{Name: "Grace Hopper", Emails: []string{"grace@navy.example"}})
		w.put("a.vcf", `"1"`, "UID:u-1", "FN:Grace Hopper", "EMAIL:grace@navy.example", "TEL:+44 20 7946 0018", "X-OWN:kept")
		w.put("b.vcf", `"1"`, "UID:u-2", "FN:Alan Turing", "EMAIL:alan@bletchley.example")
		w.put("c.vcf", `"1"`, "UID:u-3", "FN:Friends", "X-ADDRESSBOOKSERVER-KIND:group")
		w.put("d.vcf", `"1"`, "UID:u-4", "FN:Nobody", "BDAY:never")
		w.cards["e.vcf"], w.etags["e.vcf"] = "no card at all", `"1"`
		src := w.add()
		if r := src.Report; src.Name != "Friends" || r.Cards != 5 || r.Looked != 5 || r.Known != 1 || r.Lists != 1 || r.Skipped < 1 || len(r.Books) != 2 || !r.Books[0].Chosen {
			t.Errorf("the preview of %s says %+v", src.Name, r)
		}
		if got := w.names(); got != "Grace Hopper" {
			t.Errorf("the preview wrote: %s", got)
		}
		r := w.sync(src)
		who := w.people()
		if r.Known != 1 || r.Added != src.Report.Added || r.Lists != 1 || r.Skipped != src.Report.Skipped || len(r.Warnings) != r.Skipped {
			t.Errorf("the run says %+v", r)
		}
		if who["Grace Hopper"].ID != grace || len(who["Grace Hopper"].Handles) != 2 || who["Alan Turing"] == nil || len(who["Grace Hopper"].Kept) == 0 {
			t.Errorf("the people are %+v", who)
		}
		if second := w.sync(src); second.Added+second.Known+second.Changed != 0 || second.Skipped != r.Skipped {
			t.Errorf("the second run says %+v", second)
		}
	})
}

// TestReimportEachCycle: nothing is written again when nothing changed, though a server changes its entity tags, or has none, or writes a
// new REV each time.
func TestReimportEachCycle(t *testing.T) {
	t.Parallel()
	eachDB(t, func(t *testing.T, w *world) {
		w.put("a.vcf", `"1"`, "UID:u-1", "FN:Alan Turing", "BDAY:1912-06-23", "REV:1", "NOTE:Enigma")
		src := w.add()
		w.sync(src)
		before := w.people()["Alan Turing"]
		for round, etag := range []string{`"1"`, `W/"2"`, "unquoted", "", ""} {
			w.put("a.vcf", etag, "UID:u-1", "FN:Alan Turing", "BDAY:1912-06-23", fmt.Sprintf("REV:%d", round), "NOTE:Enigma")
			if r := w.sync(src); r.Changed+r.Added+r.Known+r.Waiting != 0 {
				t.Errorf("with the ETag %s: %+v", etag, r)
			}
		}
		if after := w.people()["Alan Turing"]; after.Version != before.Version || len(after.Dates) != 1 || after.Dates[0].ID != before.Dates[0].ID {
			t.Errorf("the person changed: %+v", after)
		}
		w.put("a.vcf", "unquoted", "UID:u-1", "FN:Alan Turing")
		w.sync(src)
		sent := w.sent()
		if w.sync(src); w.sent() != sent {
			t.Error("a card with an unquoted ETag was read again")
		}
	})
}

// TestDriftingDates: a birthday with a time of day stays the day that it is, however often it is read.
func TestDriftingDates(t *testing.T) {
	t.Parallel()
	eachDB(t, func(t *testing.T, w *world) {
		src := (*sources.Source)(nil)
		for round := range 3 {
			w.put("a.vcf", fmt.Sprintf(`"%d"`, round), "UID:u-1", "FN:Alan Turing", "BDAY:1912-06-23T23:30:00-08:00", fmt.Sprintf("TITLE:Reader %d", round))
			if src == nil {
				src = w.add()
			}
			w.sync(src)
			if d := w.people()["Alan Turing"].Dates; len(d) != 1 || !strings.Contains(d[0].String(), "1912-06-23") {
				t.Fatalf("round %d: %+v", round, d)
			}
		}
	})
}

// TestChangedOnBothSides: what was typed here is not overwritten, and the other value waits for the member. Further fields are taken.
func TestChangedOnBothSides(t *testing.T) {
	t.Parallel()
	eachDB(t, func(t *testing.T, w *world) {
		w.put("a.vcf", `"1"`, "UID:u-1", "FN:Alan Turing", "NICKNAME:Al", "EMAIL:alan@bletchley.example")
		src := w.add()
		w.sync(src)
		alan := w.people()["Alan Turing"]
		w.write(func(ctx context.Context, tx *db.Tx) error {
			stored, err := people.GetConnection(ctx, tx, alan.ID)
			if err != nil {
				return err
			}
			after := *stored
			after.Nickname = "Prof"
			_, err = people.Revise(ctx, tx, stored, &after)
			return err
		})
		w.put("a.vcf", `"2"`, "UID:u-1", "FN:Alan Turing", "NICKNAME:Alan T.", "EMAIL:alan@bletchley.example", "EMAIL:alan@princeton.example")
		r := w.sync(src)
		after := w.people()["Alan Turing"]
		waiting, _, err := dav.ListProposals(t.Context(), w.data, 1)
		if err != nil || r.Waiting != 1 || after.Nickname != "Prof" || len(after.Handles) != 2 || len(waiting) != 1 || waiting[0].DeviceName != "Address book Friends" || waiting[0].Fields != "nickname" {
			t.Errorf("%v, %+v, %+v, %+v", err, r, after, waiting)
		}
		if w.sync(src); w.people()["Alan Turing"].Nickname != "Prof" {
			t.Error("the next run overwrote it")
		}
	})
}

// TestGoneAndDeleted: somebody whose card is gone stays, and the report says so. Somebody whom the member deletes is not added again, also
// after their card changed.
func TestGoneAndDeleted(t *testing.T) {
	t.Parallel()
	eachDB(t, func(t *testing.T, w *world) {
		w.put("a.vcf", `"1"`, "UID:u-1", "FN:Alan Turing")
		w.put("b.vcf", `"1"`, "UID:u-2", "FN:Grace Hopper", "EMAIL:grace@navy.example")
		src := w.add()
		w.sync(src)
		w.remove("a.vcf")
		if r := w.sync(src); r.Gone != 1 || w.names() != "Alan Turing, Grace Hopper" {
			t.Errorf("%+v: %s", r, w.names())
		}
		w.put("a.vcf", `"1"`, "UID:u-1", "FN:Alan Turing") // back again
		if r := w.sync(src); r.Gone != 0 || r.Added != 0 || w.names() != "Alan Turing, Grace Hopper" {
			t.Errorf("%+v: %s", r, w.names())
		}
		grace := w.people()["Grace Hopper"].ID
		w.write(func(ctx context.Context, tx *db.Tx) error {
			_, err := people.Delete(ctx, tx, kinds.All(), grace, "Grace Hopper")
			return err
		})
		var held []byte
		if err := w.data.NewRaw("SELECT card FROM source_cards WHERE tenant_id = ? AND connection_id = ?", w.data.TenantID(), grace).Scan(t.Context(), &held); err != nil || len(held) != 0 {
			t.Errorf("the card of somebody who is deleted for good is kept: %d bytes, %v", len(held), err)
		}
		w.put("b.vcf", `"2"`, "UID:u-2", "FN:Grace Hopper", "EMAIL:grace@navy.example", "TITLE:Admiral")
		for range 2 {
			if r := w.sync(src); r.Left != 1 || r.Added != 0 || w.names() != "Alan Turing" {
				t.Errorf("%+v: %s", r, w.names())
			}
		}
	})
}

// TestPhotoLeftOut: a card without the photo that it had leaves the photo here.
func TestPhotoLeftOut(t *testing.T) {
	t.Parallel()
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	eachDB(t, func(t *testing.T, w *world) {
		w.put("a.vcf", `"1"`, "UID:u-1", "FN:Alan Turing", "PHOTO;ENCODING=b;TYPE=PNG:"+pixel)
		src := w.add()
		w.sync(src)
		photo := w.people()["Alan Turing"].Photo
		w.put("a.vcf", `"2"`, "UID:u-1", "FN:Alan Turing", "TITLE:Reader")
		w.sync(src)
		if after := w.people()["Alan Turing"]; photo == "" || after.Photo != photo || len(after.Positions) != 1 {
			t.Errorf("the photo was %q, and is %q; %+v", photo, after.Photo, after.Positions)
		}
	})
}

// TestUndoOfABook: what all runs brought is undone together, and only that.
func TestUndoOfABook(t *testing.T) {
	t.Parallel()
	eachDB(t, func(t *testing.T, w *world) {
		w.person(people.Draft{Name: "Grace Hopper", Emails: []string{"grace@navy.example"}})
		w.put("a.vcf", `"1"`, "UID:u-1", "FN:Grace Hopper", "EMAIL:grace@navy.example", "TEL:+442079460018", "NOTE:Cobol")
		w.put("b.vcf", `"1"`, "UID:u-2", "FN:Alan Turing")
		src := w.add()
		w.sync(src)
		w.put("c.vcf", `"1"`, "UID:u-3", "FN:Edsger Dijkstra")
		w.sync(src)
		w.write(func(ctx context.Context, tx *db.Tx) error {
			if err := sources.Remove(ctx, tx, src.ID); err != nil {
				return err
			}
			_, _, err := importer.StartUndo(ctx, tx, src.ImportID)
			return err
		})
		w.work(importer.UndoKind)
		if who := w.people(); w.names() != "Grace Hopper" || len(who["Grace Hopper"].Handles) != 1 {
			t.Errorf("left are %s", w.names())
		}
		if again := w.sync(w.add()); again.Added != 2 || again.Known != 1 {
			t.Errorf("added again: %+v", again)
		}
	})
}

// TestDigest: a server that wants RFC 7616 gets it. One that wants a token is refused with the name of what it wants.
func TestDigest(t *testing.T) {
	t.Parallel()
	eachDB(t, func(t *testing.T, w *world) {
		w.put("a.vcf", `"1"`, "UID:u-1", "FN:Alan Turing")
		w.signIn = "digest"
		if r := w.sync(w.add()); r.Added != 1 {
			t.Errorf("%+v", r)
		}
		for _, signIn := range []string{"bearer", "basic"} {
			w.signIn = signIn
			_, err := w.AddBook(t.Context(), w.data, "", sources.Access{Address: w.host.URL, Username: "ada", Password: "wrong"})
			if want := map[string]string{"bearer": "by Bearer", "basic": "app password"}[signIn]; !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", signIn, err)
			}
		}
	})
}

// TestPasswordStaysHere: the password is sent to no other host, not even after a redirect. It is not in the log, and only encrypted in the
// database. Private addresses are not requested.
func TestPasswordStaysHere(t *testing.T) {
	t.Parallel()
	eachDB(t, func(t *testing.T, w *world) {
		w.put("a.vcf", `"1"`, "UID:u-1", "FN:Alan Turing")
		src := w.add()
		w.sync(src)
		var sealed string
		if err := w.data.NewRaw("SELECT address FROM sources WHERE tenant_id = ?", w.data.TenantID()).Scan(t.Context(), &sealed); err != nil || strings.Contains(sealed, password) {
			t.Errorf("stored: %s, %v", sealed, err)
		}
		if strings.Contains(w.log.String(), password) {
			t.Error("the log has the password")
		}
		for _, elsewhere := range []string{"https://elsewhere.example:" + w.host.Port(), "https://other.example.com:" + w.host.Port(), "http://" + outboundtest.Name} {
			w.leads = elsewhere + "/dav/"
			_, err := w.AddBook(t.Context(), w.data, "", sources.Access{Address: w.host.URL, Username: "ada", Password: password})
			if !fault.Is(err, fault.Invalid) || strings.Contains(err.Error(), password) {
				t.Errorf("%s: %v", elsewhere, err)
			}
		}
		for _, host := range w.authorized {
			if !strings.HasPrefix(host, outboundtest.Name+":") {
				t.Errorf("%s got the password", host)
			}
		}
		w.leads = "/dav/"
		fetcher := sources.NewFetcher(w.host.Production(), false)
		w.Fetcher, w.Books = fetcher, &books.Reader{Store: w.Store, Fetcher: fetcher}
		before := w.host.Requests()
		_, err := w.AddBook(t.Context(), w.data, "", sources.Access{Address: w.host.URL, Username: "ada", Password: password})
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "private network") || w.host.Requests() != before {
			t.Errorf("a private address: %v", err)
		}
	})
}

// TestChosenBook: one account has several address books, of which each is one source.
func TestChosenBook(t *testing.T) {
	t.Parallel()
	eachDB(t, func(t *testing.T, w *world) {
		first, second := w.add(), w.add()
		if first.Name != "Friends" || second.Name != "Work" {
			t.Errorf("the books are %s and %s", first.Name, second.Name)
		}
		taken := sources.Options{Book: second.Report.Books[0].Key}
		if err := w.Change(t.Context(), w.data, second.ID, second.Since, taken); !fault.Is(err, fault.Invalid) {
			t.Errorf("a book that is a source already: %v", err)
		}
		if _, err := w.AddBook(t.Context(), w.data, "", sources.Access{Address: w.host.URL, Username: "ada", Password: password}); !fault.Is(err, fault.Invalid) {
			t.Errorf("a third source of two books: %v", err)
		}
	})
}
