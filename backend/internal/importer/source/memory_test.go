package source_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/importer/source"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// repeated returns a file of nearly largeSize: head, and unit with a number in it as often as
// there is room.
func repeated(head, unit, tail string) []byte {
	var b bytes.Buffer
	b.WriteString(head)
	for i := 0; unit != "" && b.Len()+len(unit)+len(tail)+8 < largeSize; i++ {
		fmt.Fprintf(&b, unit, i)
	}
	b.WriteString(tail)
	return b.Bytes()
}

// largeFiles make files of largeSize, one of each kind.
func largeFiles() map[string]func() []byte {
	note := strings.Repeat("Zoë likes tea, and said so. ", 10)
	file := func(head, unit, tail string) func() []byte {
		return func() []byte { return repeated(head, unit, tail) }
	}
	return map[string]func() []byte{
		"linkedin": file("First Name,Last Name,URL,Email Address,Company,Position,Connected On\n",
			"Ana,López,https://www.linkedin.com/in/ana-%d,,\"Helios, Inc\",\"Founder of many companies in the sun, and of some in the shade\",14 Mar 2025\n", ""),
		"google": file("First Name,Last Name,Notes,Labels,E-mail 1 - Label,E-mail 1 - Value\n",
			"Ana,López,\""+note+"\",* myContacts ::: Club,* Work,a%d@helios.example ::: b@helios.example\n", ""),
		"outlook": func() []byte {
			head := "First Name,Last Name,E-mail Address,Job Title,Notes\n"
			return encoded(charmap.Windows1252.NewEncoder(), repeated(head, "Zoë,Müller,z%d@cafe.example,,\""+note+"\"\n", ""))
		},
		"csv in UTF-16": func() []byte {
			half := repeated("Name,E-mail,Notes\n", "Ana,a%d@helios.example,\""+note+"\"\n", "")[:largeSize/2-4096]
			return encoded(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder(), half)
		},
		"csv of euro signs": func() []byte {
			return append([]byte("Name,Notes\nAna,tea\nBen,caf\xe9 "), bytes.Repeat([]byte("\x80"), largeSize-100)...)
		},
		"csv, one row":     file("Name,Notes\nBen,tea\n", "", "Ana,\""+strings.Repeat("a b\n", largeSize/4-100)+"\"\n"),
		"csv, open quotes": file("Name,E-mail,Notes\n", "\"Ana,a%d@helios.example,x\n", ""),
		"vCard 2.1": file("", "BEGIN:VCARD\r\nVERSION:2.1\r\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:L=C3=B3pez;Ana;;;\r\n"+
			"NOTE;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:"+strings.Repeat("=C3=B3 and =\r\n", 30)+"\r\nTEL;CELL:+1 212 555 %d\r\nEND:VCARD\r\n", ""),
		"vCard 4.0":    file("", "BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Ana López\r\nNOTE:"+strings.Repeat("likes tea\r\n ", 30)+"\r\nUID:urn:uuid:%d\r\nEND:VCARD\r\n", ""),
		"vCard photos": file("", "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ana\r\nPHOTO;ENCODING=b:"+strings.Repeat("/9j/4AAQSkZJRgABAQAA\r\n ", 2000)+"\r\nUID:%d\r\nEND:VCARD\r\n", ""),
		"vCard line":   file("", "", "BEGIN:VCARD\r\nFN:Ana\r\nNOTE:"+strings.Repeat("a", largeSize-100)+"\r\nEND:VCARD\r\n"),
		"vCard lines":  file("BEGIN:VCARD\r\nFN:Ana\r\n", "X%d:\r\n", "END:VCARD\r\n"),
		"jscontact":    file(`[{"version":"2.0"}`, `,{"@type":"Card","version":"2.0","uid":"%d","name":{"full":"Ana"},"notes":{"n":{"note":"`+note+`"}}}`, "]"),
		"jscontact, dense": file(`[{"version":"2.0"}`, `,{"uid":"%d","version":"2.0","emails":{`+strings.Repeat(`"e":{},`, 10_000)+`"f":{}},"organizations":{`+
			strings.Repeat(`"o":{"units":[{},{},{},{},{},{},{},{}]},`, 1000)+`"p":{}}}`, "]"),
		"json":                  file(`{"format":"kith-connections/1","people":[{}`, `,{"id":"con_%d","name":"Ana","bio":"`+note+`"}`, "]}"),
		"json, dense":           file(`{"format":"kith-connections/1","people":[{}`, `,{"id":"con_%d","name":"Ana","handles":[{}`+strings.Repeat(",{}", 40_000)+`]}`, "]}"),
		"monica":                file(`{"version":"1.0","account":{"data":[{"type":"contact","values":[{"uuid":"a"}`, `,{"uuid":"%d","properties":{"first_name":"Ana"},"data":[{"type":"note","values":[{"uuid":"b","properties":{"body":"`+note+`"}}]}]}`, "]}]}}"),
		"monica, dense":         file(`{"version":"1.0","account":{"data":[{"type":"contact","values":[{"uuid":"a"}`, `,{"uuid":"%d","data":[{"type":"call","values":[{}`+strings.Repeat(",{}", 10_000)+`]}]}`, "]}]}}"),
		"monica, activities":    file(`{"version":"1.0","account":{"data":[{"type":"contact","values":[{"uuid":"a","data":[{"type":"activity","values":["0"]}]}]},{"type":"activity","values":[{}`, `,{"uuid":"%d"}`, "]}]}}"),
		"monica, relationships": file(`{"version":"1.0","account":{"data":[{"type":"contact","values":[{"uuid":"a"}]},{"type":"relationship","values":[{}`, `,{"of_contact":"%d"}`, "]}]}}"),
		"monica, SQL":           file("INSERT INTO `contacts` (`id`,`first_name`,`last_name`,`job`) VALUES (1,'Ana',NULL,NULL)", ",\n(%d,'Ana','López','"+note+"')", ";\nINSERT INTO `notes` (`id`) VALUES (1);\nSET FOREIGN_KEY_CHECKS=1;"),
		"monica, notes as SQL":  file("INSERT INTO `contacts` (`id`,`first_name`) VALUES (1,'Ana');\nINSERT INTO `notes` (`id`,`contact_id`,`body`) VALUES (0,1,'a')", ",\n(%d,1,'"+note+"')", ";\nSET FOREIGN_KEY_CHECKS=1;"),
		"whatsapp":              file("[30.11.20, 21:15:32] You: Hi\n", "[30.11.20, 21:15:32] Ove: Hi %d\n", ""),
		"whatsapp, senders":     file("[30.11.20, 21:15:32] You: Hi\n", "[30.11.20, 21:15:32] "+strings.Repeat("O", 60)+" %d: "+note[:20]+"\n", ""),
		"monica, names":         file(`{"version":"1.0","account":{"data":[{"type":"contact","values":[{"uuid":"a"}]}],"instance":{"genders":[{}`, `,{"uuid":"%d"}`, "]}}}"),
		"json, long":            file(`{"format":"kith-connections/1","people":[{"name":"Ana","bio":"`, "", strings.Repeat("a ", largeSize/2-100)+`"}]}`),
	}
}

// encoded is a text in another character set.
func encoded(e *encoding.Encoder, text []byte) []byte {
	out, err := encoding.ReplaceUnsupported(e).Bytes(text)
	if err != nil {
		return nil // an empty file fails the test
	}
	return out
}

// Reading a file takes no more than eight times its size, the file itself counted.
//
// The measurement is made in a process of its own whose garbage collector stops the program: a collector that runs beside a
// reader on a busy machine ends late, and what is measured then is the machine.
//
//nolint:paralleltest // all tests share the heap
func TestMemory(t *testing.T) {
	const stops = "gcstoptheworld=1"
	if os.Getenv("GODEBUG") != stops {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMemory$", "-test.v")
		again.Env = append(os.Environ(), "GODEBUG="+stops)
		out, err := again.CombinedOutput()
		if t.Logf("%s", out); err != nil {
			t.Error(err)
		}
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	for name, file := range largeFiles() {
		data := bytes.Clone(file())
		before := heap()
		peak := peakOf(func() { readAll(t, data) })
		times := float64(peak-before+uint64(len(data))) / float64(len(data))
		t.Logf("%-18s %4.1f MiB, peak %.1f times", name, float64(len(data))/(1<<20), times)
		if times > 8 {
			t.Errorf("%s: %.1f times its size", name, times)
		}
		runtime.KeepAlive(data)
	}
}

// readAll reads a file to its end.
func readAll(t testing.TB, data []byte) {
	f, err := source.Open(data, source.Options{})
	if err != nil {
		t.Error(err)
		return
	}
	people := 0
	for range f.Records() {
		people++
	}
	if people == 0 || people != f.Total() {
		t.Errorf("%d records, %d were announced", people, f.Total())
	}
}

// heap returns the memory in use after a garbage collection.
func heap() uint64 {
	runtime.GC()
	return objects()
}

func objects() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// peakOf returns the most memory in use while a function runs, measured every millisecond.
func peakOf(run func()) uint64 {
	peak := uint64(0)
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		for {
			peak = max(peak, objects())
			select {
			case <-ticker.C:
			case <-stop:
				return
			}
		}
	})
	run()
	close(stop)
	watching.Wait()
	return peak
}

// Reading any file takes time in proportion to its size: otherwise this test would time
// out.
func TestWorkIsLinear(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for name, unit := range hostileUnits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := []byte(unit.head + strings.Repeat(unit.unit, (size-len(unit.head)-len(unit.tail))/len(unit.unit)) + unit.tail)
			f, err := source.Open(data, source.Options{})
			if err != nil {
				return // finding the error took a full read
			}
			for r := range f.Records() {
				_ = r
			}
		})
	}
}

// hostile is a file that is expensive to read without limits.
type hostile struct{ head, unit, tail string }

func hostileUnits() map[string]hostile {
	table := "Name,E-mail\n"
	return map[string]hostile{
		"CSV: each row opens a quotation mark":             {table, "\"a,b\n", ""},
		"CSV: every other row opens a quotation mark":      {table, "\"a,b\nx,y\n", ""},
		"CSV: open quotation marks and few rows":           {table, "\"a,b\nz\nz\nz\nx,y\n", ""},
		"CSV: quotation marks within one line":             {table, "\"a\"b,", "\n"},
		"CSV: quotation marks within long lines":           {table, strings.Repeat("\"a\"b,", 1000) + "\"\"\n", ""},
		"CSV: closed cells in one line":                    {table, "\"a\",", "\n"},
		"CSV: cells of several lines in one row":           {table, "\"\nx\"y\n\",", "\n"},
		"CSV: separators only":                             {table, ",", "\n"},
		"CSV: blanks and quotation marks":                  {table, "\"          \"   ", "\n"},
		"CSV: line ends only":                              {table, "\n", "a,b\n"},
		"CSV: doubled quotation marks":                     {table + "\"", "\"\"", "\"\n"},
		"CSV: open quotation marks in long lines":          {table, "\"a," + strings.Repeat("b", 1300) + "\nz\nz\nx,y\n", ""},
		"CSV: open quotation marks and a row now and then": {table, "\"a,b\n" + strings.Repeat("zzzzzzz\n", 12) + "x,y\n", ""},
		"vCard: folded blanks":                             {"BEGIN:VCARD\nFN:A\nNOTE;QUOTED-PRINTABLE:", "  \n", "\nEND:VCARD\n"},
		"vCard: soft breaks":                               {"BEGIN:VCARD\nFN:A\nNOTE;QUOTED-PRINTABLE:", "=\n", "\nEND:VCARD\n"},
		"vCard: soft breaks and blanks":                    {"BEGIN:VCARD\nFN:A\nNOTE;QUOTED-PRINTABLE:", "= \n ", "\nEND:VCARD\n"},
		"vCard: a head without end":                        {"BEGIN:VCARD\nFN:A\nNOTE", ";X=\n Y", "\nEND:VCARD\n"},
		"vCard: a note of unescaped lines":                 {"BEGIN:VCARD\nFN:A\nNOTE:x\n", "a\n", "\nEND:VCARD\n"},
		"vCard: begins only":                               {"BEGIN:VCARD\nFN:A\n", "BEGIN:VCARD\n", ""},
		"vCard: agents only":                               {"BEGIN:VCARD\nFN:A\n", "AGENT:\nBEGIN:VCARD\n", ""},
		"vCard: categories":                                {"BEGIN:VCARD\nFN:A\n", "CATEGORIES:" + strings.Repeat("a,b,", 1000) + "\n", "END:VCARD\n"},
		"vCard: groups of one member":                      {"BEGIN:VCARD\nFN:A\nUID:1\nEND:VCARD\n", "BEGIN:VCARD\nKIND:group\nFN:G\nMEMBER:1\nEND:VCARD\n", ""},
		"JSON: open brackets":                              {"[{\"version\":\"2.0\"},", "[", ""},
		"JSON: open strings":                               {"[{\"version\":\"2.0\"},", "\"", ""},
		"JSON: closed brackets":                            {"[{\"version\":\"2.0\"}", "}", "]"},
		"JSON: commas":                                     {"[{\"version\":\"2.0\"}", ",", "]"},
		"JSON: numbers":                                    {"[{\"version\":\"2.0\"}", ",{\"phones\":{\"1\":{\"number\":\"+1 212 555 0100\"}}}", "]"},
		"JSContact: phone numbers in one card":             {"[{\"version\":\"2.0\",\"name\":{\"full\":\"A\"},\"phones\":{\"\":{}", ",\"1\":{\"number\":\"+1 212 555 0100\"}", "}}]"},
		"Kith: tags of one person":                         {`{"format":"kith-connections/1","people":[{"name":"A","tags":[""`, `,"Tag of a person"`, "]}]}"},
		"Kith: people of one note":                         {`{"format":"kith-connections/1","people":[{"name":"A"}],"notes":[{"body":"b","connection_ids":[""`, `,"x"`, "]}]}"},
		"WhatsApp: lines":                                  {"[30.11.20, 21:15:32] Ida: Hi\n", "[30.11.20, ", "\n"},
		"Monica: texts without an end":                     {"INSERT INTO `contacts` (`id`,`first_name`) VALUES (1,'Ana')", ",(1,'", "\nSET FOREIGN_KEY_CHECKS=1;"},
		"Monica: statements":                               {"INSERT INTO `contacts` (`id`,`first_name`) VALUES (1,'Ana')", "\nINSERT INTO `", "\nSET FOREIGN_KEY_CHECKS=1;"},
		"Monica: objects within objects":                   {`{"version":"1.0","account":{"data":[{"type":"contact","values":[{"uuid":"a","properties":{`, `"a":{`, `}}]}]}}`},
		"Monica: relationships of one contact":             {`{"version":"1.0","account":{"data":[{"type":"contact","values":[{"uuid":"a"},{"uuid":"b"}]},{"type":"relationship","values":[{}`, `,{"contact_is":"a","of_contact":"b","type":"x"}`, `]}]}}`},
		"Monica: activities of one contact":                {`{"version":"1.0","account":{"data":[{"type":"contact","values":[{"uuid":"a","data":[{"type":"activity","values":[""`, `,"x"`, `]}]}]}]}}`},
		"JSContact: open objects after a closed array":     {"[{\"version\":\"2.0\"}]", "{", ""},
	}
}
