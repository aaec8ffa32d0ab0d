//go:build unix

package db

import (
	"errors"
	"os"
	"syscall"
)

// lockNow locks a file until it is closed, or the process ends. It returns errLocked if another one has a lock that excludes this.
func lockNow(f *os.File, exclusive bool) error {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	return err
}

// ownerOf returns the user and the group of a file, and how many names it has.
func ownerOf(info os.FileInfo) (uid, gid uint32, names uint64) {
	s, _ := info.Sys().(*syscall.Stat_t)
	return s.Uid, s.Gid, uint64(s.Nlink) //nolint:unconvert // the type depends on the system
}

// syncFile writes a file, or the names in a folder, to the disk.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
