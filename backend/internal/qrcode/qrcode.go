// Package qrcode draws QR codes for pages.
package qrcode

import (
	"fmt"
	"image/color"
	"strings"

	"github.com/boombuler/barcode/qr"
)

// Picture is a QR code: a light square of Size by Size units, in which each dark module is one unit wide.
type Picture struct {
	Size int
	// Path is the d attribute of an SVG path that draws the dark modules.
	Path string
}

// margin is the light border that readers need, in units.
const margin = 4

// Draw returns the QR code of a text.
func Draw(text string) (Picture, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return Picture{}, fmt.Errorf("make QR code: %w", err)
	}
	var path strings.Builder
	size := code.Bounds().Dx()
	for y := range size {
		for x := 0; x < size; x++ {
			from := x
			for x < size && code.At(x, y) == color.Black {
				x++
			}
			if x > from { // one rectangle for the dark squares side by side
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", from+margin, y+margin, x-from, x-from)
			}
		}
	}
	return Picture{Size: size + 2*margin, Path: path.String()}, nil
}
