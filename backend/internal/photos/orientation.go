package photos

import (
	"bytes"
	"encoding/binary"
	"image"
)

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
