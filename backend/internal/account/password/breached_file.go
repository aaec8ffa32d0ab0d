package password

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

const (
	// hashDigits is the length of a SHA-1 hash in hexadecimal digits.
	hashDigits = 40
	// maxHashLine limits a line of the file, including its count and line ending, in bytes.
	maxHashLine = 80
)

// breachedFile is a sorted file of hashes. It is searched on disk, because it may be larger than
// memory.
type breachedFile struct {
	file io.ReaderAt
	size int64
}

var errNoHashes = errors.New("it is not a list of SHA-1 hashes: each line must be 40 hexadecimal digits, with a colon and a count or without, in the order of the hashes")

// openBreachedFile opens a file with one hash a line, as HASH or HASH:COUNT, in the order of the
// hashes: the form of the list of Have I Been Pwned. It checks the first and the last line. The file
// stays open while the process runs.
func openBreachedFile(path string) (*breachedFile, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the file of breached passwords: %w", err)
	}
	info, err := file.Stat()
	if err == nil {
		f := &breachedFile{file: file, size: info.Size()}
		if err = f.check(); err == nil {
			return f, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("read the file of breached passwords %s: %w", path, err), file.Close())
}

func (f *breachedFile) check() error {
	if f.size == 0 {
		return errNoHashes
	}
	_, first, _, err := f.lineAt(0)
	if err != nil {
		return err
	}
	_, last, _, err := f.lineAt(f.size - 1)
	if err == nil && first > last {
		return errNoHashes
	}
	return err
}

// has implements breached, by a binary search over positions in the file.
func (f *breachedFile) has(_ context.Context, hash string) (bool, error) {
	low, high := int64(0), f.size
	for low < high {
		start, found, end, err := f.lineAt(low + (high-low)/2)
		if err != nil {
			return false, err
		}
		switch {
		case found == hash:
			return true, nil
		case found < hash:
			low = end
		default:
			high = start
		}
	}
	return false, nil
}

// lineAt returns the hash of the line that a position is in, and where the line starts and ends. A
// line includes its line ending.
func (f *breachedFile) lineAt(position int64) (start int64, hash string, end int64, err error) {
	from := max(0, position-maxHashLine)
	around := make([]byte, min(f.size, position+maxHashLine)-from)
	if _, err := f.file.ReadAt(around, from); err != nil && !errors.Is(err, io.EOF) {
		return 0, "", 0, err
	}
	before, after := around[:position-from], around[position-from:]
	begins := bytes.LastIndexByte(before, '\n') + 1
	if begins == 0 && from > 0 {
		return 0, "", 0, errNoHashes // a line that is too long
	}
	length := bytes.IndexByte(after, '\n') + 1
	if length == 0 {
		if from+int64(len(around)) < f.size {
			return 0, "", 0, errNoHashes
		}
		length = len(after) // the last line may have no line ending
	}
	line := around[begins : len(before)+length]
	hash, err = hashOf(line)
	return from + int64(begins), hash, from + int64(len(before)+length), err
}

// hashOf returns the hash at the beginning of a line, in upper case.
func hashOf(line []byte) (string, error) {
	line = bytes.TrimRight(line, "\r\n")
	if len(line) < hashDigits || len(line) > hashDigits && line[hashDigits] != ':' {
		return "", errNoHashes
	}
	hash := bytes.ToUpper(line[:hashDigits])
	for _, digit := range hash {
		if (digit < '0' || digit > '9') && (digit < 'A' || digit > 'F') {
			return "", errNoHashes
		}
	}
	return string(hash), nil
}
