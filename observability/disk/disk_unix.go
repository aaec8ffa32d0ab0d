//go:build unix

// Package disk tells how much room a file system has.
package disk

import "syscall"

// Space returns how many bytes of the file system of a folder are free for its user, and how many it has.
func Space(folder string) (free, size uint64, err error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(folder, &fs); err != nil {
		return 0, 0, err
	}
	block := uint64(fs.Bsize) //nolint:gosec // block sizes are positive
	return fs.Bavail * block, fs.Blocks * block, nil
}
