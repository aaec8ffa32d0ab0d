package photos_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/photos"
	"github.com/kith-crm/kith/backend/internal/photos/phototest"
)

// Each kind of file becomes a square JPEG, or a PNG if it has transparency.
func TestRead(t *testing.T) {
	t.Parallel()
	webp, err := base64.StdEncoding.DecodeString("UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAwA0JaQAA3AA/vuUAAA=")
	if err != nil {
		t.Fatal(err)
	}
	through := image.NewNRGBA(image.Rect(0, 0, 50, 60))
	for name, c := range map[string]struct {
		file  []byte
		media string
	}{
		"JPEG":                          {phototest.JPEG(t, 640, 480), "image/jpeg"},
		"a large JPEG":                  {phototest.JPEG(t, 3000, 2000), "image/jpeg"},
		"a tiny JPEG":                   {phototest.JPEG(t, 1, 3), "image/jpeg"},
		"PNG":                           {phototest.PNG(t, phototest.Picture(500, 400)), "image/png"},
		"PNG with transparency":         {phototest.PNG(t, through), "image/png"},
		"WebP":                          {webp, "image/jpeg"},
		"JPEG with bytes after its end": {append(phototest.JPEG(t, 432, 432), "<script>alert(1)</script>"...), "image/jpeg"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := photos.Read(t.Context(), c.file)
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []int{photos.Small, photos.Medium, photos.Large} {
				data, media := p.Size(size)
				config, kind, err := image.DecodeConfig(bytes.NewReader(data))
				if err != nil || config.Width != size || config.Height != size || "image/"+kind != media {
					t.Errorf("%d: %s %v %v", size, media, config, err)
				}
				if bytes.Contains(data, []byte("<script>")) {
					t.Errorf("%d: has the end of the file", size)
				}
				if size == photos.Large && media != c.media && name != "PNG" {
					t.Errorf("%s, not %s", media, c.media)
				}
			}
		})
	}
}

// Read refuses a file that is not a picture, or that would take too much memory to decode. The error
// tells the member what is wrong with the file.
func TestReadRefuses(t *testing.T) {
	t.Parallel()
	whole := phototest.JPEG(t, 640, 480)
	var animated bytes.Buffer
	if err := gif.Encode(&animated, phototest.Picture(10, 10), nil); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file []byte
		says string
	}{
		"nothing":                        {nil, "choose a picture"},
		"HTML":                           {[]byte("<!DOCTYPE html><script>alert(1)</script>"), "choose a picture"},
		"SVG":                            {[]byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`), "choose a picture"},
		"GIF":                            {animated.Bytes(), "choose a picture"},
		"HTML after the start of a JPEG": {append([]byte{0xff, 0xd8, 0xff}, "<script>alert(1)</script>"...), "damaged"},
		"a JPEG that is cut off":         {whole[:len(whole)/2], "damaged"},
		"the start of a PNG":             {phototest.PNG(t, phototest.Picture(50, 50))[:40], "damaged"},
		"a PNG of 60,000 by 60,000":      {bomb(60_000, 60_000, 2), "too many pixels"},
		"a PNG of one line":              {bomb(1_000_000, 1, 2), "too many pixels"},
		"a PNG of 16 bits":               {bombOf(6_300, 6_300, 6, 16), "too many pixels"},
		"more than 5 MB":                 {make([]byte, photos.MaxBytes+1), "larger than 5 MB"},
		"a PNG of 40 MP without content": {bomb(6_000, 6_000, 2), "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := photos.Read(t.Context(), c.file); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A JPEG counts as a progressive one whatever its markers are: the decoder skips restart markers,
// fill bytes and bytes between segments, so they must not hide the frame header from the bound.
func TestReadBoundsEveryJPEG(t *testing.T) {
	t.Parallel()
	jfif := []byte("\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00")
	for name, between := range map[string][]byte{
		"nothing":                       nil,
		"a restart marker":              {0xff, 0xd0},
		"fill bytes":                    {0xff, 0xff, 0xff},
		"bytes that belong to nothing":  []byte("abc"),
		"an escaped byte":               {0xff, 0},
		"JFIF":                          jfif,
		"JFIF and a restart marker":     append(bytes.Clone(jfif), 0xff, 0xd7),
		"an EXIF segment of no content": {0xff, 0xe1, 0, 2},
	} {
		for _, c := range []struct {
			frame, components byte
			width, height     uint16
		}{
			{0xc0, 3, 6_000, 4_000}, {0xc1, 3, 6_000, 4_000}, {0xc2, 3, 6_000, 4_000}, {0xc2, 1, 10_000, 7_000}, {0xc2, 4, 5_000, 4_000},
		} {
			file := append([]byte{0xff, 0xd8, 0xff, 0xfe, 0, 2}, between...)
			file = append(file, frameOf(c.frame, c.components, c.width, c.height)...)
			if _, err := photos.Read(t.Context(), file); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "too many pixels") {
				t.Errorf("%s before the frame %x of %d components: %v", name, c.frame, c.components, err)
			}
		}
	}
	if _, err := photos.Read(t.Context(), phototest.JPEG(t, 4608, 3456)); err != nil {
		t.Errorf("a photo of 16 million pixels: %v", err)
	}
}

func bomb(width, height uint32, kind byte) []byte { return bombOf(width, height, kind, 8) }

// bombOf is a PNG of a few bytes that claims a size.
func bombOf(width, height uint32, kind, bits byte) []byte {
	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte("IHDR"), width), height)
	header = append(header, bits, kind, 0, 0, 0)
	out := append([]byte("\x89PNG\r\n\x1a\n"), 0, 0, 0, 13)
	out = append(out, header...)
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(header))
	return append(out, "\x00\x00\x00\x04IDAT\x00\x00\x00\x00"...)
}

// progressive is the header of a progressive JPEG.
func progressive(width, height uint16) []byte {
	return append([]byte{0xff, 0xd8}, frameOf(0xc2, 3, width, height)...)
}

// frameOf is the frame header of a JPEG without subsampling, and the start of a scan.
func frameOf(marker, components byte, width, height uint16) []byte {
	out := []byte{0xff, marker, 0, 8 + 3*components, 8, byte(height >> 8), byte(height), byte(width >> 8), byte(width), components}
	for i := range components {
		out = append(out, i+1, 0x11, 0)
	}
	return append(out, 0xff, 0xda, 0, 2)
}

// EXIF data is removed, and the picture is upright.
func TestEXIF(t *testing.T) {
	t.Parallel()
	// The quarters of the upright picture: red, green / blue, white.
	quarters := map[int][4]color.Color{
		1: {red, green, blue, white}, 2: {green, red, white, blue}, 3: {white, blue, green, red}, 4: {blue, white, red, green},
		5: {red, blue, green, white}, 6: {green, white, red, blue}, 7: {white, green, blue, red}, 8: {blue, red, white, green},
	}
	for orientation, stored := range quarters {
		file := phototest.WithEXIF(phototest.Encode(t, quartered(stored)), orientation, "GPS 48.8584 N")
		if !bytes.Contains(file, []byte("48.8584")) {
			t.Fatal("the file has no place")
		}
		p, err := photos.Read(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{photos.Small, photos.Medium, photos.Large} {
			data, _ := p.Size(size)
			if bytes.Contains(data, []byte("48.8584")) || bytes.Contains(data, []byte("Exif")) {
				t.Errorf("%d: has EXIF data", size)
			}
			seen, err := jpeg.Decode(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range quarters[1] {
				at := image.Pt(size/4+i%2*size/2, size/4+i/2*size/2)
				if !near(seen.At(at.X, at.Y), want) {
					t.Errorf("orientation %d, size %d, quarter %d: %v, not %v", orientation, size, i, seen.At(at.X, at.Y), want)
				}
			}
		}
	}
}

var (
	red   = color.NRGBA{255, 0, 0, 255}
	green = color.NRGBA{0, 255, 0, 255}
	blue  = color.NRGBA{0, 0, 255, 255}
	white = color.NRGBA{255, 255, 255, 255}
)

func quartered(tones [4]color.Color) image.Image {
	const side = 200
	out := image.NewNRGBA(image.Rect(0, 0, side, side))
	for y := range side {
		for x := range side {
			out.Set(x, y, tones[y*2/side*2+x*2/side])
		}
	}
	return out
}

func near(a, b color.Color) bool {
	ar, ag, ab, _ := a.RGBA()
	br, bg, bb, _ := b.RGBA()
	const most = 0x2000
	apart := func(x, y uint32) bool { return max(x, y)-min(x, y) > most }
	return !apart(ar, br) && !apart(ag, bg) && !apart(ab, bb)
}

// A photo that was exported is the same when it is read again.
func TestReadAgain(t *testing.T) {
	t.Parallel()
	for _, file := range [][]byte{phototest.JPEG(t, 800, 600), phototest.PNG(t, image.NewNRGBA(image.Rect(0, 0, 432, 432)))} {
		first, err := photos.Read(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		again, err := photos.ReadURI(t.Context(), first.URI())
		if err != nil || again.ID != first.ID {
			t.Errorf("%v %v", err, again)
		}
	}
	for _, uri := range []string{"https://a.example/a.jpg", "data:image/png,abc", "data:image/png;base64,?", "", "data:"} {
		if _, err := photos.ReadURI(t.Context(), uri); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", uri, err)
		}
	}
}

// Any file is refused, or becomes three squares.
func FuzzRead(f *testing.F) {
	for _, seed := range [][]byte{phototest.JPEG(f, 20, 10), phototest.PNG(f, phototest.Picture(10, 20)), bomb(60_000, 60_000, 2), progressive(10, 10), []byte("RIFF\x24\x00\x00\x00WEBPVP8 ")} {
		f.Add(seed)
		f.Add(phototest.WithEXIF(seed, 6, "x"))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		p, err := photos.Read(t.Context(), file)
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatal(err)
			}
			return
		}
		data, media := p.Size(photos.Large)
		if media == "image/png" {
			_, err = png.Decode(bytes.NewReader(data))
		} else {
			_, err = jpeg.Decode(bytes.NewReader(data))
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}
