package photos

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"net/http"

	"github.com/kith-crm/kith/backend/internal/fault"
	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

// The sizes of a photo: the length of a side, in pixels.
const (
	Small  = 48
	Medium = 144
	Large  = 432
)

// MaxBytes is how large an uploaded file may be. Larger files are refused.
const MaxBytes = 5 << 20

const (
	// maxPixels and maxMemory bound the pixels of a file, and the bytes that they take while
	// they are decoded.
	maxPixels = 40_000_000
	maxMemory = 300 << 20
	// maxSide refuses pictures that are very long and only a few pixels high.
	maxSide = 30_000
)

// The media types that are read; JPEG and PNG are also those that are stored.
const (
	mediaJPEG = "image/jpeg"
	mediaPNG  = "image/png"
	mediaWebP = "image/webp"
)

// quality is the quality of stored JPEGs.
const quality = 85

// Photo is a photo that was read from a file, ready to be stored.
type Photo struct {
	// ID is a hash of the largest size.
	ID string
	// images are the sizes, the largest first.
	images []Image
}

// Image is one size of a photo.
type Image struct {
	// ID is the id of the photo.
	ID string
	// Size is the length of a side, in pixels.
	Size int
	// Media is image/jpeg, or image/png for a photo with transparency.
	Media string
	Data  []byte
}

// Size returns the photo in one of the sizes, and its media type.
func (p *Photo) Size(size int) (data []byte, media string) {
	for _, i := range p.images {
		if i.Size == size {
			return i.Data, i.Media
		}
	}
	return nil, ""
}

// Bytes returns how many bytes of the member's quota the photo takes.
func (p *Photo) Bytes() (n int) {
	for _, i := range p.images {
		n += len(i.Data)
	}
	return n
}

// decoding is a semaphore that lets one file be decoded at a time: a large one takes maxMemory.
var decoding = make(chan struct{}, 1) //nolint:gochecknoglobals // bounds the memory of the process

// Read decodes a PNG, JPEG or WebP of at most MaxBytes, applies its EXIF orientation, crops it to
// the square in its middle and encodes it in three sizes. It fails with fault.Invalid for any
// other file; the message is for the member.
func Read(ctx context.Context, data []byte) (*Photo, error) {
	if len(data) > MaxBytes {
		return nil, fault.New(fault.Invalid, "the picture is larger than %d MB", MaxBytes>>20)
	}
	f, err := formatOf(data)
	if err != nil {
		return nil, err
	}
	if err := f.check(data); err != nil {
		return nil, err
	}
	select {
	case decoding <- struct{}{}:
		defer func() { <-decoding }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	picture, err := f.decode(bytes.NewReader(data))
	if err != nil {
		return nil, fault.New(fault.Invalid, "the picture is damaged or incomplete")
	}
	large := square(picture, orientationOf(data))
	return encode(data, large)
}

// format is a kind of file that is read.
type format struct {
	media  string
	header func(*bytes.Reader) (image.Config, error)
	decode func(*bytes.Reader) (image.Image, error)
}

// formatOf returns the format of a file, by its content.
func formatOf(data []byte) (format, error) {
	switch media := http.DetectContentType(data); media {
	case mediaJPEG:
		return format{media, func(r *bytes.Reader) (image.Config, error) { return jpeg.DecodeConfig(r) }, func(r *bytes.Reader) (image.Image, error) { return jpeg.Decode(r) }}, nil
	case mediaPNG:
		return format{media, func(r *bytes.Reader) (image.Config, error) { return png.DecodeConfig(r) }, func(r *bytes.Reader) (image.Image, error) { return png.Decode(r) }}, nil
	case mediaWebP:
		return format{media, func(r *bytes.Reader) (image.Config, error) { return webp.DecodeConfig(r) }, func(r *bytes.Reader) (image.Image, error) { return webp.Decode(r) }}, nil
	}
	return format{}, fault.New(fault.Invalid, "choose a picture: a JPEG, PNG or WebP file")
}

// check refuses a file that would take too much to decode, by its header.
func (f format) check(data []byte) error {
	c, err := f.header(bytes.NewReader(data))
	if err != nil || c.Width < 1 || c.Height < 1 {
		return fault.New(fault.Invalid, "the picture is damaged or incomplete")
	}
	pixels := int64(c.Width) * int64(c.Height)
	if c.Width > maxSide || c.Height > maxSide || pixels > maxPixels || pixels*f.perPixel(c) > maxMemory {
		return fault.New(fault.Invalid, "the picture has too many pixels: make it smaller first")
	}
	return nil
}

// perPixel returns how many bytes a pixel can take while it is decoded. Every JPEG counts as a
// progressive one, which keeps its coefficients: four bytes of each component, the samples, and the
// converted picture. Whether it is progressive is not read from the file, because a file could then
// show one header to this check and another to the decoder.
func (f format) perPixel(c image.Config) int64 {
	const coefficient, sample, converted = 4, 1, 4
	switch {
	case f.media == mediaJPEG && c.ColorModel == color.GrayModel:
		return coefficient + sample
	case f.media == mediaJPEG && c.ColorModel == color.CMYKModel:
		return 4*(coefficient+sample) + converted
	case f.media == mediaJPEG:
		return 3*(coefficient+sample) + converted
	case c.ColorModel == color.RGBA64Model || c.ColorModel == color.NRGBA64Model:
		return 8
	}
	return 4
}

// square returns the square in the middle of a picture, turned, in the largest size.
func square(picture image.Image, orientation int) *image.NRGBA {
	b := picture.Bounds()
	side := min(b.Dx(), b.Dy())
	from := image.Rect(0, 0, side, side).Add(b.Min).Add(image.Pt((b.Dx()-side)/2, (b.Dy()-side)/2))
	out := image.NewNRGBA(image.Rect(0, 0, Large, Large))
	if side == Large { // not scaled, so that a picture that we wrote does not change
		draw.Copy(out, image.Point{}, picture, from, draw.Src, nil)
	} else {
		shrink(out, picture, from)
	}
	return turn(out, orientation)
}

// shrink scales a part of a picture. A picture that is much larger is first made smaller
// cheaply: the good scaler looks at every pixel several times.
func shrink(to *image.NRGBA, picture image.Image, from image.Rectangle) {
	const cheap = 4
	if from.Dx() > cheap*to.Bounds().Dx() {
		between := image.NewNRGBA(image.Rect(0, 0, cheap*to.Bounds().Dx(), cheap*to.Bounds().Dy()))
		draw.ApproxBiLinear.Scale(between, between.Bounds(), picture, from, draw.Src, nil)
		picture, from = between, between.Bounds()
	}
	draw.CatmullRom.Scale(to, to.Bounds(), picture, from, draw.Src, nil)
}

// encode encodes a square in all sizes. data is the file that it was read from.
func encode(data []byte, large *image.NRGBA) (*Photo, error) {
	p := &Photo{}
	media := mediaJPEG
	if !large.Opaque() {
		media = mediaPNG
	}
	for _, size := range []int{Large, Medium, Small} {
		picture := large
		if size != Large {
			picture = image.NewNRGBA(image.Rect(0, 0, size, size))
			shrink(picture, large, large.Bounds())
		}
		var out bytes.Buffer
		var err error
		if media == mediaPNG {
			err = png.Encode(&out, picture)
		} else {
			err = jpeg.Encode(&out, picture, &jpeg.Options{Quality: quality})
		}
		if err != nil {
			return nil, fmt.Errorf("encode a photo: %w", err)
		}
		p.images = append(p.images, Image{Size: size, Media: media, Data: out.Bytes()})
	}
	if media == mediaJPEG && isOurs(data, p.images[0].Data) {
		p.images[0].Data = bytes.Clone(data)
	}
	sum := sha256.Sum256(p.images[0].Data)
	p.ID = hex.EncodeToString(sum[:16])
	for i := range p.images {
		p.images[i].ID = p.ID
	}
	return p, nil
}

// isOurs reports whether a file is a JPEG that this package wrote: it has the same tables as
// encoded, the pixels, and nothing else. Encoding it again would lose quality, and an imported
// export would differ from the original.
func isOurs(data, encoded []byte) bool {
	scan := bytes.Index(encoded, []byte{0xff, markerScan})
	if scan < 0 {
		return false
	}
	const scanHeader = 14
	head := scan + scanHeader
	if len(encoded) < head || len(data) < head+2 || !bytes.Equal(data[:head], encoded[:head]) {
		return false
	}
	for i := head; i < len(data)-2; i++ {
		if data[i] == 0xff && data[i+1] != 0 {
			return false // another segment, or an earlier end
		}
	}
	return data[len(data)-2] == 0xff && data[len(data)-1] == markerEnd
}

// Markers of JPEG segments (ITU T.81, table B.1).
const (
	markerEnd  = 0xd9
	markerScan = 0xda
	markerEXIF = 0xe1
)

// segments calls yield with each segment of a JPEG before its pixels, until it returns false.
func segments(data []byte) func(yield func(marker byte, content []byte) bool) {
	return func(yield func(byte, []byte) bool) {
		for at := 2; at+4 <= len(data) && data[at] == 0xff; {
			marker := data[at+1]
			if marker == 0xff { // a fill byte
				at++
				continue
			}
			size := int(binary.BigEndian.Uint16(data[at+2:]))
			if size < 2 || at+2+size > len(data) || !yield(marker, data[at+4:at+2+size]) || marker == markerScan {
				return
			}
			at += 2 + size
		}
	}
}

// orientationOf returns the EXIF orientation of a JPEG, 1 to 8; 1, upright, for other files.
func orientationOf(data []byte) int {
	if !bytes.HasPrefix(data, []byte{0xff, 0xd8}) {
		return 1
	}
	for marker, content := range segments(data) {
		if tiff, ok := bytes.CutPrefix(content, []byte("Exif\x00\x00")); ok && marker == markerEXIF {
			return tiffOrientation(tiff)
		}
	}
	return 1
}

// tiffOrientation reads the tag 0x0112 of the first directory (TIFF 6.0, section 2).
func tiffOrientation(tiff []byte) int {
	const header, entry, tag, short = 8, 12, 0x0112, 3
	if len(tiff) < header {
		return 1
	}
	var order binary.ByteOrder = binary.BigEndian
	if tiff[0] == 'I' {
		order = binary.LittleEndian
	}
	from := int64(order.Uint32(tiff[4:]))
	if from+2 > int64(len(tiff)) {
		return 1
	}
	directory := tiff[from:]
	for n, at := int(order.Uint16(directory)), 2; n > 0 && at+entry <= len(directory); n, at = n-1, at+entry {
		if order.Uint16(directory[at:]) != tag || order.Uint16(directory[at+2:]) != short {
			continue
		}
		if value := int(order.Uint16(directory[at+8:])); value >= 1 && value <= 8 {
			return value
		}
	}
	return 1
}

// turn rotates and mirrors a square as its EXIF orientation says.
func turn(from *image.NRGBA, orientation int) *image.NRGBA {
	last := from.Bounds().Dx() - 1
	source := map[int]func(x, y int) (int, int){
		2: func(x, y int) (int, int) { return last - x, y },
		3: func(x, y int) (int, int) { return last - x, last - y },
		4: func(x, y int) (int, int) { return x, last - y },
		5: func(x, y int) (int, int) { return y, x },
		6: func(x, y int) (int, int) { return y, last - x },
		7: func(x, y int) (int, int) { return last - y, last - x },
		8: func(x, y int) (int, int) { return last - y, x },
	}[orientation]
	if source == nil {
		return from
	}
	out := image.NewNRGBA(from.Bounds())
	for y := range last + 1 {
		for x := range last + 1 {
			out.SetNRGBA(x, y, from.NRGBAAt(source(x, y)))
		}
	}
	return out
}
