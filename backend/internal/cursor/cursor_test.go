package cursor_test

import (
	"encoding/base64"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/cursor"
	"github.com/kith-crm/kith/backend/internal/fault"
	"pgregory.net/rapid"
)

// query and position stand for those of a real list.
type query struct {
	Text  string
	Kinds []string
	Since time.Time
}

type position struct {
	At time.Time
	ID string
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q, want := drawQuery(t), drawPosition(t)
		c, err := cursor.Encode(q, want)
		if err != nil {
			t.Fatal(err)
		}
		var got position
		if err := cursor.Decode(c, q, &got); err != nil || got.ID != want.ID || !got.At.Equal(want.At) {
			t.Fatalf("%+v came back as %+v, %v", want, got, err)
		}
	})
}

func TestOffsetRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q, want := drawQuery(t), rapid.Int().Draw(t, "offset")
		c, err := cursor.Encode(q, want)
		if err != nil {
			t.Fatal(err)
		}
		var got int
		if err := cursor.Decode(c, q, &got); err != nil || got != want {
			t.Fatalf("%d came back as %d, %v", want, got, err)
		}
	})
}

// Every other byte in every place: letters of the alphabet, line breaks, and the
// bits of the last letter that base64 does not use.
func TestTamperedCursorIsRefused(t *testing.T) {
	t.Parallel()
	q := query{Text: "maria", Kinds: []string{"note"}}
	for _, id := range []string{"", "a", "ab", "abc"} { // all lengths of the last group
		c := encode(t, q, position{ID: id})
		for i := range len(c) {
			for b := range 256 {
				if byte(b) != c[i] {
					refuse(t, c[:i]+string([]byte{byte(b)})+c[i+1:], q)
				}
			}
		}
		for i := range len(c) + 1 {
			for _, more := range []string{"\n", "\r", "=", "A", " ", "\x00"} {
				refuse(t, c[:i]+more+c[i:], q)
			}
		}
		for n := range len(c) {
			refuse(t, c[:n], q)
		}
		refuse(t, c+c, q)
	}
}

func TestCursorOfAnotherQueryIsRefused(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		one, other := drawQuery(t), drawQuery(t)
		if reflect.DeepEqual(one, other) {
			t.Skip("the same query")
		}
		c, err := cursor.Encode(one, drawPosition(t))
		if err != nil {
			t.Fatal(err)
		}
		var got position
		if err := cursor.Decode(c, other, &got); !fault.Is(err, fault.Invalid) {
			t.Fatalf("the cursor of %+v was taken for %+v: %v", one, other, err)
		}
	})
}

// The checksum depends on where the query ends and the position begins: 1 and 23 have
// another checksum than 12 and 3.
func TestQueryAndPositionDoNotRunIntoEachOther(t *testing.T) {
	t.Parallel()
	data, err := base64.RawURLEncoding.DecodeString(encode(t, 1, 23))
	if err != nil {
		t.Fatal(err)
	}
	checksum := data[:len(data)-len("23")]
	var got int
	if err := cursor.Decode(base64.RawURLEncoding.EncodeToString(append(checksum, '3')), 12, &got); !fault.Is(err, fault.Invalid) {
		t.Errorf("accepted as %d: %v", got, err)
	}
}

func TestPositionOfAnotherTypeIsRefused(t *testing.T) {
	t.Parallel()
	var offset int
	if err := cursor.Decode(encode(t, "q", position{ID: "x"}), "q", &offset); !fault.Is(err, fault.Invalid) {
		t.Errorf("a place was read as an offset: %v", err)
	}
}

func TestRefusalNamesTheField(t *testing.T) {
	t.Parallel()
	err := cursor.Decode("", query{}, new(position))
	var f *fault.Error
	if !errors.As(err, &f) || len(f.Fields) != 1 || f.Fields[0].Name != "cursor" {
		t.Errorf("got %#v", err)
	}
}

func TestWhatIsNoJSONIsAnInternalError(t *testing.T) {
	t.Parallel()
	if _, err := cursor.Encode(make(chan int), 1); err == nil || fault.Is(err, fault.Invalid) {
		t.Errorf("query: %v", err)
	}
	if _, err := cursor.Encode("q", make(chan int)); err == nil || fault.Is(err, fault.Invalid) {
		t.Errorf("position: %v", err)
	}
	var offset int
	if err := cursor.Decode(encode(t, "q", 1), make(chan int), &offset); err == nil || fault.Is(err, fault.Invalid) {
		t.Errorf("query to decode: %v", err)
	}
}

// Decode accepts exactly the string that Encode returns for the same position.
func FuzzDecode(f *testing.F) {
	q := query{Text: "maria", Kinds: []string{"note", "call"}}
	for _, p := range []position{{}, {ID: "not_01"}, {At: time.Unix(0, 1).UTC(), ID: "int_02"}} {
		c, err := cursor.Encode(q, p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(c)
		f.Add(c + "\n")
		f.Add(c[:len(c)-1])
	}
	f.Add("")
	f.Add("AAAAAAAAAAAAe30")
	f.Add(base64.RawURLEncoding.EncodeToString(make([]byte, 9)))
	f.Fuzz(func(t *testing.T, c string) {
		var got position
		err := cursor.Decode(c, q, &got)
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("%q: %v is not the caller's fault", c, err)
			}
			return
		}
		if again := encode(t, q, got); again != c {
			t.Errorf("accepted %q, which Encode writes as %q", c, again)
		}
	})
}

func drawQuery(t *rapid.T) query {
	return query{
		Text: rapid.String().Draw(t, "text"), Kinds: rapid.SliceOfN(rapid.SampledFrom([]string{"note", "call"}), 0, 3).Draw(t, "kinds"),
		Since: drawTime(t),
	}
}

func drawPosition(t *rapid.T) position {
	return position{At: drawTime(t), ID: rapid.String().Draw(t, "id")}
}

func drawTime(t *rapid.T) time.Time {
	return time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanos")).UTC()
}

func encode(t *testing.T, q, p any) string {
	t.Helper()
	c, err := cursor.Encode(q, p)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func refuse(t *testing.T, c string, q query) {
	t.Helper()
	var got position
	if err := cursor.Decode(c, q, &got); !fault.Is(err, fault.Invalid) {
		t.Errorf("%q was accepted as %+v: %v", c, got, err)
	}
}
