package qrcode_test

import (
	"fmt"
	"image"
	"image/color"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/qrcode"
	"github.com/makiuchi-d/gozxing"
	reader "github.com/makiuchi-d/gozxing/qrcode"
)

// paint returns the picture as a browser draws it, with four pixels for each unit.
func paint(t *testing.T, p qrcode.Picture) image.Image {
	t.Helper()
	const scale = 4
	size := p.Size * scale
	img := image.NewGray(image.Rect(0, 0, size, size))
	for i := range img.Pix {
		img.Pix[i] = 0xff
	}
	for part := range strings.SplitAfterSeq(strings.TrimSuffix(p.Path, "z"), "z") {
		var x, y, width, back int
		if n, err := fmt.Sscanf(strings.TrimSuffix(part, "z"), "M%d %dh%dv1h-%d", &x, &y, &width, &back); n != 4 || err != nil || width != back {
			t.Fatalf("%q is no rectangle: %v", part, err)
		}
		for px := x * scale; px < (x+width)*scale; px++ {
			for py := y * scale; py < (y+1)*scale; py++ {
				img.SetGray(px, py, color.Gray{})
			}
		}
	}
	return img
}

// TestDraw: another library reads in the picture what was drawn.
func TestDraw(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"https://kith.example/settings/devices", "http://127.0.0.1:8080/settings/devices",
		"otpauth://totp/Kith:maria@kith.example?algorithm=SHA1&digits=6&issuer=Kith&period=30&secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
	} {
		picture, err := qrcode.Draw(text)
		if err != nil {
			t.Fatal(err)
		}
		bitmap, err := gozxing.NewBinaryBitmapFromImage(paint(t, picture))
		if err != nil {
			t.Fatal(err)
		}
		read, err := reader.NewQRCodeReader().Decode(bitmap, nil)
		if err != nil || read.GetText() != text {
			t.Errorf("%s is read as %v, %v", text, read, err)
		}
	}
	if _, err := qrcode.Draw(strings.Repeat("x", 5000)); err == nil {
		t.Error("a text that is too long has a picture")
	}
}
