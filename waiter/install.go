package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// install copies this program to dir/wait. The name appears only when the file is complete. An existing file is replaced, even if it is running.
func install(dir string) error {
	const pattern = ".wait-*"
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer self.Close()
	// Left by an install that was killed.
	stale, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		return err
	}
	for _, name := range stale {
		os.Remove(name)
	}
	temp, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return err
	}
	_, err = io.Copy(temp, self)
	path := filepath.Join(dir, "wait")
	if err = putInPlace(temp, 0o755, path, errors.Join(err, temp.Sync())); err != nil {
		return err
	}
	fmt.Println("installed", path)
	return nil
}

// putInPlace gives a file that has been written, or not (err), its mode and its name. The kernel can't run a file that is open for writing, so
// it is closed first.
func putInPlace(temp *os.File, mode os.FileMode, path string, err error) error {
	if err = errors.Join(err, temp.Chmod(mode), temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		os.Remove(temp.Name())
	}
	return err
}
