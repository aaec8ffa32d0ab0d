// Package disk tells how much room a file system has.
package disk

import "golang.org/x/sys/windows"

// Space returns how many bytes of the volume of a folder are free for its user, and how many it has.
func Space(folder string) (free, size uint64, err error) {
	name, err := windows.UTF16PtrFromString(folder)
	if err != nil {
		return 0, 0, err
	}
	err = windows.GetDiskFreeSpaceEx(name, &free, &size, nil)
	return free, size, err
}
