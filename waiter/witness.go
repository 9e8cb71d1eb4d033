package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// What a witness writes once it has locked its file. An empty file is one that is about to be locked.
const endingMark = "ending\n"

const (
	// Those that wait lock the file, too, each time for an instant.
	lockRetries = time.Second
	// In which the process that stays has to begin.
	witnessBegins = 5 * time.Second
)

// witness locks this container's file and leaves a process that keeps it so: the kernel ends that with the container's first process, and
// gives the lock back. (Where containers share a PID namespace, the runtime does: containerd kills what is left of a container. One that
// doesn't costs those that wait their limit.) In this order: a file that is marked and not locked is that of a container that has ended.
func witness(path string) error {
	file, err := openEnd(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for began := time.Now(); ; time.Sleep(shortestInterval) {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if err != syscall.EINTR && time.Since(began) > lockRetries {
			return os.NewSyscallError("flock", err)
		}
	}
	// Without a mark, in a volume that is full, it is at least waited for as long as it lives.
	_, err = file.WriteString(endingMark)
	return errors.Join(err, leaveWitness(path, file))
}

// openEnd opens the file, or makes it for all users. First without O_CREAT, with which the kernel refuses a file of another user in a
// folder like this (fs.protected_regular).
func openEnd(path string) (*os.File, error) {
	for {
		file, err := openPlanted(path, os.O_RDWR)
		if !errors.Is(err, os.ErrNotExist) {
			return file, err
		}
		file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, lockMode)
		if err == nil {
			return file, file.Chmod(lockMode)
		}
		// A hook that a kubelet has left behind when it restarted may be as far as this one.
		if !errors.Is(err, os.ErrExist) {
			return nil, err
		}
	}
}

func leaveWitness(path string, file *os.File) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	// It needs nothing of the container's environment. Its argument is for those who find it in a list of processes.
	_, err = startDetached([]string{"wait", argWitness, "--detached", path}, []string{"GOMAXPROCS=1"}, write, file)
	write.Close()
	if err != nil {
		return err
	}
	// As soon as this hook has ended, a container's first process may send signals to all others.
	read.SetReadDeadline(time.Now().Add(witnessBegins))
	if n, err := read.Read(make([]byte, 1)); n == 0 {
		return errors.Join(errors.New("the process that shows its end did not begin"), err)
	}
	return nil
}

// stayWitness is that process. It holds the lock by a descriptor that it was given, until it is killed.
func stayWitness(context.Context) int {
	signal.Ignore()
	syscall.Write(wordFile, []byte{'\n'})
	syscall.Close(wordFile)
	for {
		syscall.Pause()
	}
}
