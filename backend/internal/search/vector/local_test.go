package vector_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/search/vector"
	"pgregory.net/rapid"
)

// local returns the built-in provider's vector of a text.
func local(t testing.TB, text string) vector.Vector {
	t.Helper()
	vectors, err := vector.Local{}.Embed(t.Context(), []string{text})
	if err != nil {
		t.Fatal(err)
	}
	return vectors[0]
}

// The vectors of a name must never change: they are kept in databases.
func TestLocalIsTheSameInEveryRelease(t *testing.T) {
	t.Parallel()
	v := local(t, "Anna Bauer, Engineer at Helios")
	sum := 0.0
	for i, x := range v {
		sum += float64(x) * float64(i+1)
	}
	if got := math.Round(sum*1e4) / 1e4; len(v) != 256 || got != 424.4613 {
		t.Errorf("%d dimensions, sum %v, want %v; a change needs another LocalModel", len(v), got, 424.4613)
	}
}

func TestLocalLikensSpelling(t *testing.T) {
	t.Parallel()
	like := func(a, b string) float32 { return vector.Dot(local(t, a), local(t, b)) }
	for _, c := range []struct{ text, near, far string }{
		{"Hoffmann", "Hofmann", "Lindqvist"},
		{"MÜLLER", "muller", "maier"},
		{"engineers in Berlin", "Engineer, Berlin", "Founder, Lisbon"},
		{"photography", "photographer", "beekeeping"},
		{"東京大学", "東京大学の田中", "大阪"},
		{"!!!", "!!!", "???"},
	} {
		if near, far := like(c.text, c.near), like(c.text, c.far); near <= far+0.2 {
			t.Errorf("%q is %.2f like %q and %.2f like %q", c.text, near, c.near, far, c.far)
		}
	}
	if got := like("lawyer", "attorney"); got > 0.3 {
		t.Errorf("%v: the description of the provider is too modest", got)
	}
}

func TestLocalVectorsAreUnits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Filter(func(s string) bool { return strings.TrimSpace(s) != "" }).Draw(t, "text")
		vectors, err := vector.Local{}.Embed(t.Context(), []string{text, text})
		if err != nil {
			t.Fatal(err)
		}
		if one := vector.Dot(vectors[0], vectors[1]); one < 0.999 || one > 1.001 {
			t.Fatalf("cosine with itself %v", one)
		}
	})
}

func TestLocalRefusesEmptyTexts(t *testing.T) {
	t.Parallel()
	var refused *vector.ProviderError
	if _, err := (vector.Local{}).Embed(t.Context(), []string{"x", " "}); !errors.As(err, &refused) || !refused.Final {
		t.Errorf("got %v", err)
	}
}

func TestVectorsAreKeptExactly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := vector.Vector(rapid.SliceOf(rapid.Float32()).Draw(t, "v"))
		kept := v.Bytes()
		var columns vector.Columns
		columns.AppendKept(kept)
		back := columns.Vector(0)
		if len(kept) != 4*len(v) || len(back) != len(v) {
			t.Fatalf("%d numbers, %d bytes, %d numbers", len(v), len(kept), len(back))
		}
		for i := range v {
			if math.Float32bits(v[i]) != math.Float32bits(back[i]) {
				t.Fatalf("%v became %v", v[i], back[i])
			}
		}
	})
	if got := (vector.Vector{1}).Bytes(); string(got) != "\x00\x00\x80\x3f" {
		t.Errorf("% x is not little-endian", got)
	}
}

func TestNormaliseRefusesWhatHasNoDirection(t *testing.T) {
	t.Parallel()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, v := range []vector.Vector{{}, {0, 0}, {1, nan}, {inf, 1}, {-inf, inf}} {
		if vector.Normalise(v) == nil {
			t.Errorf("%v was taken", v)
		}
	}
	v := vector.Vector{3, 4}
	if err := vector.Normalise(v); err != nil || v[0] != 0.6 || v[1] != 0.8 {
		t.Errorf("%v, %v", v, err)
	}
}
