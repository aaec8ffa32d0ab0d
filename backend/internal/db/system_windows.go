package db

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockNow locks a file until it is closed, or the process ends. It returns errLocked if another one has a lock that excludes this.
func lockNow(f *os.File, exclusive bool) error {
	how := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errLocked
	}
	return err
}

// ownerOf returns the same for all files: Windows has no user that may open every file and leave it to nobody else, as root does.
func ownerOf(os.FileInfo) (uid, gid uint32, names uint64) { return 0, 0, 1 }

// syncFile writes a file to the disk, for which it must be open for writing. Windows writes the names in a folder by itself.
func syncFile(path string) error {
	if isFolder(path) {
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
