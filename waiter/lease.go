package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// hold puts an empty file with a write lease in the place of the lock's. Whoever opens that sleeps in open(2), and this process gets SIGIO,
// until the file is closed here or this process has ended; or the kernel's patience is over. The file is a new one each time: of one
// that somebody has open there is no lease.
func (l *lock) hold() (*os.File, error) {
	for begin := time.Now(); ; time.Sleep(shortestInterval) {
		file, err := fileBeside(l.file)
		if err != nil {
			return nil, err
		}
		// The file is given to this process before it has a lease: the kernel would take the thread, and tell nobody.
		_, err = control(file, syscall.F_SETOWN, syscall.Getpid())
		if err == nil {
			_, err = control(file, syscall.F_SETLEASE, syscall.F_WRLCK)
		}
		if err = errors.Join(err, file.Chmod(lockMode)); err == nil {
			err = os.Rename(file.Name(), l.file)
		}
		if err == nil {
			return file, nil
		}
		file.Close()
		os.Remove(file.Name())
		// Somebody opened it between its making and its lease.
		if !errors.Is(err, syscall.EAGAIN) || time.Since(begin) > leaseRetries {
			return nil, err
		}
	}
}

const leaseRetries = 100 * time.Millisecond

// fileBeside makes an empty file that is to be renamed to path.
func fileBeside(path string) (*os.File, error) {
	name := filepath.Join(filepath.Dir(path), ".new-"+filepath.Base(path))
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, lockMode)
}

// isAsked is whether somebody has opened a held file, and sleeps, or has gone without waiting (O_NONBLOCK).
func isAsked(held *os.File) bool {
	kind, err := control(held, syscall.F_GETLEASE, 0)
	return err != nil || kind != syscall.F_WRLCK
}

// isOpened is whether somebody is there, asleep or not: the kernel gives a lease only to the only one.
func isOpened(held *os.File) bool {
	_, err := control(held, syscall.F_SETLEASE, syscall.F_WRLCK)
	return err != nil
}

func control(file *os.File, command, argument int) (int, error) {
	result, _, errno := syscall.Syscall(syscall.SYS_FCNTL, file.Fd(), uintptr(command), uintptr(argument))
	if errno != 0 {
		return 0, errno
	}
	return int(result), nil
}

func round() time.Duration {
	breakTime, _ := os.ReadFile("/proc/sys/fs/lease-break-time")
	return roundOf(string(breakTime))
}

// roundOf is how long an open may sleep before it is answered, in any case before the kernel lets it through.
func roundOf(breakTime string) time.Duration {
	const longest = 30 * time.Second
	seconds, err := strconv.Atoi(strings.TrimSpace(breakTime))
	if err != nil || seconds <= 0 {
		return longest
	}
	return min(longest, time.Duration(seconds)*time.Second*2/3)
}
