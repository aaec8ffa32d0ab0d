// Package phototest makes pictures for tests.
package phototest

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"
)

// Picture is a picture without transparency.
func Picture(width, height int) *image.NRGBA {
	out := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			out.SetNRGBA(x, y, color.NRGBA{uint8(x), uint8(y), uint8(x + y), 255})
		}
	}
	return out
}

// JPEG returns a picture as a JPEG.
func JPEG(t testing.TB, width, height int) []byte {
	t.Helper()
	return Encode(t, Picture(width, height))
}

// Encode returns a picture as a JPEG.
func Encode(t testing.TB, picture image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := jpeg.Encode(&out, picture, nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// PNG returns a picture as a PNG.
func PNG(t testing.TB, picture image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, picture); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// WithEXIF adds EXIF data with an orientation and a text to a JPEG.
func WithEXIF(file []byte, orientation int, text string) []byte {
	tiff := []byte("MM\x00\x2a\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01")
	tiff = append(tiff, 0, byte(orientation), 0, 0, 0, 0, 0, 0)
	content := append(append([]byte("Exif\x00\x00"), tiff...), text...)
	segment := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(content)+2))
	at := min(2, len(file))
	return bytes.Join([][]byte{file[:at], segment, content, file[at:]}, nil)
}
