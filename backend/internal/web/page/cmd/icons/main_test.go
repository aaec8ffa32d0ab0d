package main

import (
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The committed icons are the logo as it is in the SVG.
func TestIcons(t *testing.T) {
	t.Parallel()
	const assets = "../../assets"
	logo, err := os.ReadFile(filepath.Join(assets, "kith.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`viewBox="0 0 32 32"`, `rx="8" fill="#0f6b5f"`, `d="M11 8v16M11 17l9-9M14 14l7 10"`, `stroke-width="3" stroke-linecap="round"`} {
		if !strings.Contains(string(logo), part) {
			t.Errorf("the logo has no %s any more: draw the icons anew", part)
		}
	}
	for name, drawn := range icons() {
		file, err := os.Open(filepath.Join(assets, name))
		if err != nil {
			t.Fatal(err)
		}
		kept, err := png.Decode(file)
		if _ = file.Close(); err != nil {
			t.Fatal(err)
		}
		if !same(kept, drawn) {
			t.Errorf("%s is not what is drawn: run make gen", name)
		}
	}
}

func same(a, b image.Image) bool {
	if a.Bounds() != b.Bounds() {
		return false
	}
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() {
			if r, g, bl, al := a.At(x, y).RGBA(); !sameColour(b, x, y, r, g, bl, al) {
				return false
			}
		}
	}
	return true
}

func sameColour(m image.Image, x, y int, r, g, b, a uint32) bool {
	r2, g2, b2, a2 := m.At(x, y).RGBA()
	return r == r2 && g == g2 && b == b2 && a == a2
}

// An icon has round corners, and the letter in its middle. A maskable one is opaque, and its
// letter is within the circle that no system cuts.
func TestDrawing(t *testing.T) {
	t.Parallel()
	plain, maskable := icon(64, false), icon(64, true)
	if plain.NRGBAAt(0, 0).A != 0 || plain.NRGBAAt(32, 1) != green() || plain.NRGBAAt(23, 20).R != 0xff {
		t.Errorf("corner %v, edge %v, letter %v", plain.NRGBAAt(0, 0), plain.NRGBAAt(32, 1), plain.NRGBAAt(23, 20))
	}
	for y := range 64 {
		for x := range 64 {
			c := maskable.NRGBAAt(x, y)
			outside := (x-32)*(x-32)+(y-32)*(y-32) > 26*26
			if c.A != 0xff || outside && c != green() {
				t.Fatalf("at %d, %d: %v", x, y, c)
			}
		}
	}
}
