// Command icons draws the icons of the installed app, the logo of assets/kith.svg as PNG
// files, into a folder: icons FOLDER
package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
)

// The logo, in the units of its SVG: a square with round corners, and a letter of three strokes
// with round ends.
const (
	side   = 32
	corner = 8
	stroke = 3
)

type point struct{ x, y float64 }

func strokes() [][2]point {
	return [][2]point{{{11, 8}, {11, 24}}, {{11, 17}, {20, 8}}, {{14, 14}, {21, 24}}}
}

func green() color.NRGBA { return color.NRGBA{0x0f, 0x6b, 0x5f, 0xff} }

// safe is how large the letter of a maskable icon is: systems cut such an icon to a circle of
// 80 % of its side at the least.
const safe = 0.8

// icon draws the logo with a side in pixels. A maskable one fills its square.
func icon(pixels int, maskable bool) *image.NRGBA {
	out := image.NewNRGBA(image.Rect(0, 0, pixels, pixels))
	scale := float64(side) / float64(pixels)
	for y := range pixels {
		for x := range pixels {
			at := point{(float64(x) + 0.5) * scale, (float64(y) + 0.5) * scale}
			square, letter := covered(squareDistance(at)/scale), 0.0
			if maskable {
				square = 1
				at = point{(at.x-side/2)/safe + side/2, (at.y-side/2)/safe + side/2}
			}
			for _, s := range strokes() {
				letter = max(letter, covered((distance(at, s)-stroke/2.0)/scale))
			}
			c := green()
			c.R, c.G, c.B = mix(c.R, letter), mix(c.G, letter), mix(c.B, letter)
			c.A = uint8(math.Round(square * 0xff))
			out.SetNRGBA(x, y, c)
		}
	}
	return out
}

// covered returns the share of a pixel that is inside an edge, from the distance of its middle
// to the edge in pixels, which is negative inside.
func covered(distance float64) float64 { return min(1, max(0, 0.5-distance)) }

// mix returns a part of a colour, with a share of white.
func mix(part uint8, white float64) uint8 {
	return uint8(math.Round(float64(part)*(1-white) + 0xff*white))
}

// squareDistance is the distance from a point to the edge of the square, negative inside.
func squareDistance(p point) float64 {
	const half = side / 2
	dx, dy := math.Abs(p.x-half)-half+corner, math.Abs(p.y-half)-half+corner
	return math.Hypot(max(dx, 0), max(dy, 0)) + min(max(dx, dy), 0) - corner
}

// distance is the distance from a point to a line between two points.
func distance(p point, line [2]point) float64 {
	from, to := line[0], line[1]
	dx, dy := to.x-from.x, to.y-from.y
	along := ((p.x-from.x)*dx + (p.y-from.y)*dy) / (dx*dx + dy*dy)
	along = min(1, max(0, along))
	return math.Hypot(p.x-from.x-along*dx, p.y-from.y-along*dy)
}

// icons are the icons by the names of their files.
func icons() map[string]image.Image {
	return map[string]image.Image{"icon-192.png": icon(192, false), "icon-512.png": icon(512, false), "icon-maskable-512.png": icon(512, true)}
}

func write(folder string) error {
	for name, drawn := range icons() {
		var out bytes.Buffer
		encoder := png.Encoder{CompressionLevel: png.BestCompression}
		if err := encoder.Encode(&out, drawn); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name), out.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
