package index_test

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/search/index"
)

var (
	benchFirst   = strings.Fields("Anna Anton Anders Annika Berta Bernd Carla Carlos Clara Daniel Diana Dora Elena Emil Erik Fatima Felix Frida Georg Greta Hanna Hugo Ida Igor Ines Jakob Jana Jonas Karin Klara Lars Lena Lukas Maria Marta Max Mira Nadia Nils Nora Olaf Olga Oskar Paula Peter Petra Rita Robert Rosa Samuel Sara Simon Sofia Stefan Sven Tanja Theo Tim Tina Ulrich Vera Viktor Walter Wanda Yara Zoe")
	benchLast    = strings.Fields("Adler Albrecht Bauer Becker Berger Bianchi Braun Castillo Conti Dietrich Ebert Fischer Fontana Frank Garcia Graf Gruber Haas Hansen Hartmann Hoffmann Ivanov Jansen Kaiser Keller Klein Koch Kovacs Kraus Lang Larsen Lehmann Lopez Maier Marino Martin Meyer Moreau Mueller Neumann Nowak Olsen Pavlov Petersen Popescu Ramos Richter Romano Rossi Roth Sato Schmidt Schneider Schulz Silva Simon Sommer Stein Suzuki Tanaka Thomsen Vogel Wagner Weber Weiss Winter Wolf Zimmer")
	benchCompany = strings.Fields("Acme Borealis Cobalt Dynamo Elevate Fjord Granite Helios Ionic Juniper Krypton Lumen Meridian Nimbus Orbit Pioneer Quartz Rivet Sierra Tundra")
	benchTitle   = []string{"Founder", "Engineer", "Product Manager", "Designer", "Investor", "Researcher", "Account Executive", "Recruiter"}
	benchCity    = strings.Fields("Berlin Paris Wien Zagreb Lisboa Madrid Oslo Roma Praha Zurich London Boston")
)

// crowd returns n documents, always the same for the same n.
func crowd(n int) []index.Document {
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	out := make([]index.Document, n)
	for i := range out {
		first, last := pick(benchFirst, i), pick(benchLast, i*7+i/len(benchFirst))
		slug := strings.ToLower(first + "-" + last)
		out[i] = index.Document{
			ID: fmt.Sprintf("con_%014d", i), Name: first + " " + last,
			Emails:       []string{fmt.Sprintf("%s.%d@example.com", strings.ReplaceAll(slug, "-", "."), i)},
			Phones:       []string{fmt.Sprintf("+1 %03d 555 %04d", 200+i/10000%700, i%10000)},
			URLs:         []string{fmt.Sprintf("https://linkedin.example/in/%s-%d", slug, i)},
			Organization: pick(benchCompany, i) + " " + pick(benchCompany, i/3),
			Title:        pick(benchTitle, i), Location: pick(benchCity, i/5),
			LastInteractionAt: base.Add(time.Duration(i) * time.Hour / 10),
			CreatedAt:         base.Add(time.Duration(i*7919%n) * time.Minute),
		}
	}
	return out
}

func pick(list []string, i int) string { return list[i%len(list)] }

// syllables generates n distinct surnames, for a vocabulary of realistic size.
func syllables(n int) []string {
	parts := strings.Fields("ba be bo da de do fa fi ga go ha hu ka ki la lo ma mi na no pa pe ra ri sa so ta te va vi")
	out := make([]string, n)
	for i := range out {
		out[i] = pick(parts, i) + pick(parts, i/30) + pick(parts, i/900) + pick(parts, i/27000) + "n"
	}
	return out
}

func BenchmarkSearch(b *testing.B) {
	varied := crowd(100_000)
	for i, name := range syllables(len(varied)) {
		varied[i].Name = pick(benchFirst, i) + " " + name
	}
	for _, size := range []struct {
		name string
		docs []index.Document
	}{{"10k", crowd(10_000)}, {"100k", crowd(100_000)}, {"100k-distinct", varied}} {
		ix := index.New()
		ix.Put(size.docs...)
		for _, q := range []string{"ma", "mar", "mari", "maria", "maria lopez", "maria hel", "engineer berlin", "marai lopez", "hofmann", "brabasaan", "bob", "helios", size.docs[33].Emails[0], "maria.romano.33@example.com", "555 0123", "zzzzz"} {
			b.Run(size.name+"/"+strings.ReplaceAll(q, " ", "_"), func(b *testing.B) {
				b.ReportAllocs()
				used := processor(b)
				for b.Loop() {
					ix.Search(index.Query{Text: q, Limit: 10})
				}
				b.ReportMetric(float64((processor(b)-used).Microseconds())/1000/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

// processor returns the processor time of this process, which depends less on other processes than
// elapsed time does.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkFragmented searches an index that single updates have split into segments.
func BenchmarkFragmented(b *testing.B) {
	docs := crowd(10_000)
	ix := index.New()
	ix.Put(docs...)
	for i := range 255 {
		ix.Put(docs[i*37])
	}
	for _, q := range []string{"ma", "maria lopez", "marai lopez"} {
		b.Run(strings.ReplaceAll(q, " ", "_"), func(b *testing.B) {
			for b.Loop() {
				ix.Search(index.Query{Text: q, Limit: 10})
			}
		})
	}
}

// BenchmarkHeavy measures the most expensive queries on documents with long notes.
func BenchmarkHeavy(b *testing.B) {
	docs := crowd(20_000)
	words := syllables(27_000)
	for i := range docs {
		docs[i].Notes = []string{strings.Join(words[i%26_000:i%26_000+300], " ")}
	}
	ix := index.New()
	ix.Put(docs...)
	b.Logf("%d bytes a document", ix.Bytes()/int64(len(docs)))
	for _, q := range []string{"a b c d e f g h i j k l m n o p", "ba be bo da de do fa fi", words[300], "a"} {
		b.Run(strings.ReplaceAll(q, " ", "_"), func(b *testing.B) {
			for b.Loop() {
				ix.Search(index.Query{Text: q, Limit: 10})
			}
		})
	}
	b.Run("last_page", func(b *testing.B) {
		for b.Loop() {
			ix.Search(index.Query{Text: "a", Offset: 19_000, Limit: 10})
		}
	})
}

func BenchmarkFilter(b *testing.B) {
	ix := index.New()
	ix.Put(crowd(10_000)...)
	for name, q := range map[string]index.Query{
		"company":  {Text: "anna", Company: "helios"},
		"byname":   {Text: "anna", Sort: index.SortName},
		"location": {Location: "berlin", Title: "engineer", Has: []string{"email"}},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				ix.Search(q)
			}
		})
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{200, 10_000, 100_000} {
		docs := crowd(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				index.New().Put(docs...)
			}
		})
	}
}

func BenchmarkMemory(b *testing.B) {
	const n = 100_000
	for b.Loop() {
		docs := crowd(n)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		ix := index.New()
		ix.Put(docs...)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "heap-B/doc")
		b.ReportMetric(float64(ix.Bytes())/n, "claimed-B/doc")
		runtime.KeepAlive(docs)
	}
}

func BenchmarkPutOne(b *testing.B) {
	docs := crowd(100_000)
	ix := index.New()
	ix.Put(docs...)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		d := docs[i*7919%len(docs)]
		d.Title = "Changed"
		ix.Put(d)
		i++
	}
}
