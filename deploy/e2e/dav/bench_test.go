// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/dav -run xxx -bench . -benchtime 1x

package dav

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// BenchmarkSync measures a CardDAV server with 2,000 cards (and Kith with 10,000) beside others, by the processor time of its process, in
// milliseconds: a PUT of a new card, the first synchronisation (a list, and all cards by 100), and one with nothing new. resident-MiB is
// the memory in the end.
func BenchmarkSync(b *testing.B) {
	for _, c := range []struct {
		name  string
		cards int
		start func(t testing.TB) *bookServer
	}{{"radicale", 2000, startRadicale}, {"xandikos", 2000, startXandikos}, {"kith", 2000, startKith}, {"kith", 10_000, startKith}} {
		b.Run(fmt.Sprintf("%s/%d", c.name, c.cards), func(b *testing.B) { c.start(b).measure(b, c.cards) })
	}
}

// startKith starts Kith, with a device and an empty address book.
func startKith(t testing.TB) *bookServer {
	t.Helper()
	service := harness.NewService(t, harness.SQLite)
	service.StartWith(map[string]string{"KITH_SANDBOX": "false", "KITH_LOG_LEVEL": "warn", "KITH_RATE_DAV": "off"})
	member := &harness.Member{Service: service, Username: service.NewPerson(t)["MEMBER_USERNAME"]}
	home := "/dav/" + member.Username + "/books/"
	return &bookServer{
		t: t, base: service.Base, username: member.Username, password: newDevice(t, member), home: home, book: home + "people/", process: service.Edge.Command.Process,
	}
}

// used returns the processor time of the server in milliseconds, with a resolution of ten.
func (s *bookServer) used() float64 {
	s.t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	total := 0.0
	for _, field := range strings.Fields(rest)[11:13] { // utime and stime
		ticks, err := strconv.ParseFloat(field, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		total += ticks * 10
	}
	return total
}

// resident returns the memory of the server in MiB.
func (s *bookServer) resident() float64 {
	s.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return kib / 1024
}

var (
	cardHref = regexp.MustCompile(`<(?:\w+:)?href>([^<]+\.vcf)</`)
	newToken = regexp.MustCompile(`<(?:\w+:)?sync-token>([^<]+)</`)
)

// sync asks what changed since a token.
func (s *bookServer) sync(token string) (hrefs []string, next string) {
	s.t.Helper()
	answer := s.send("REPORT", s.book, `<d:sync-collection xmlns:d="DAV:"><d:sync-token>`+token+`</d:sync-token><d:sync-level>1</d:sync-level><d:prop><d:getetag/></d:prop></d:sync-collection>`)
	for _, m := range cardHref.FindAllStringSubmatch(answer, -1) {
		hrefs = append(hrefs, m[1])
	}
	m := newToken.FindStringSubmatch(answer)
	if m == nil {
		s.t.Fatalf("no token: %s", answer)
	}
	return hrefs, m[1]
}

func (s *bookServer) measure(b *testing.B, cards int) {
	b.Helper()
	start := s.used()
	for i := range cards {
		s.put(fmt.Sprintf("11111111-0000-4000-8000-%012d", i), fmt.Sprintf("Ada Number%d", i), fmt.Sprintf("EMAIL;TYPE=WORK:ada%d@people.example", i),
			fmt.Sprintf("TEL;TYPE=CELL:+1 212 555 %04d", i), "ORG:Helios", "TITLE:Founder", "ADR;TYPE=HOME:;;1 Main Street;Springfield;;12345;USA", "NOTE:Likes tea")
	}
	put := (s.used() - start) / float64(cards)

	start = s.used()
	hrefs, token := s.sync("")
	if len(hrefs) != cards {
		b.Fatalf("%d cards", len(hrefs))
	}
	for part := range slices.Chunk(hrefs, 100) {
		body := `<c:addressbook-multiget xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><d:prop><d:getetag/><c:address-data/></d:prop><d:href>` +
			strings.Join(part, "</d:href><d:href>") + `</d:href></c:addressbook-multiget>`
		if got := strings.Count(s.send("REPORT", s.book, body), "END:VCARD"); got != len(part) {
			b.Fatalf("%d cards of %d", got, len(part))
		}
	}
	first := s.used() - start

	_, token = s.sync(token) // xandikos has one for what it committed since
	const times = 50
	start = s.used()
	for range times {
		if hrefs, _ := s.sync(token); len(hrefs) != 0 {
			b.Fatalf("%d cards are new", len(hrefs))
		}
	}
	b.ReportMetric(put, "put-cpu-ms")
	b.ReportMetric(first, "first-cpu-ms")
	b.ReportMetric((s.used()-start)/times, "nothing-new-cpu-ms")
	b.ReportMetric(s.resident(), "resident-MiB")
}
