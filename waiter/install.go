package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// install copies this program to dir/wait. The name appears only when the file is complete. An existing file is replaced, even if it is running.
func install(dir string) (err error) {
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
	defer func() {
		temp.Close()
		if err != nil {
			os.Remove(temp.Name())
		}
	}()
	if _, err = io.Copy(temp, self); err != nil {
		return err
	}
	if err = temp.Chmod(0o755); err != nil {
		return err
	}
	if err = temp.Sync(); err != nil {
		return err
	}
	// The kernel can't run a file that is open for writing, so close it first.
	if err = temp.Close(); err != nil {
		return err
	}
	path := filepath.Join(dir, "wait")
	if err = os.Rename(temp.Name(), path); err != nil {
		return err
	}
	fmt.Println("installed", path)
	return nil
}
