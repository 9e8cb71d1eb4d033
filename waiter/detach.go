package main

import (
	"context"
	"io"
	"os"
	"sync"
	"syscall"
)

// What the detached process tells the hook's one: a word, a line break, and why.
const (
	wordReady  = "ready"
	wordFailed = "failed"
)

// wordFile is the descriptor on which a detached process tells its word.
const wordFile = 3

// detached runs this program again, in a session of its own and without streams that anybody would wait for, and returns what it
// tells. The signal that ends ctx is passed on.
func detached(ctx context.Context, spec string) (told string, err error) {
	read, write, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer read.Close()
	pid, err := startDetached([]string{"wait", "--detached", "--spec", spec}, os.Environ(), write)
	write.Close()
	if err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, func() { syscall.Kill(pid, syscall.SIGTERM) })()
	text, err := io.ReadAll(io.LimitReader(read, maxMessage+100))
	return string(text), err
}

// startDetached gives it files from wordFile on.
func startDetached(args, env []string, given ...*os.File) (pid int, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	// Its parent is the container runtime, as the hook's own is. Otherwise the container would inherit it when the hook has ended, and one
	// that doesn't reap what it never started would keep a zombie.
	attributes := &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_PARENT}
	files := []uintptr{null.Fd(), null.Fd(), null.Fd()}
	for _, file := range given {
		files = append(files, file.Fd())
	}
	for {
		pid, err = syscall.ForkExec("/proc/self/exe", args, &syscall.ProcAttr{Env: env, Files: files, Sys: attributes})
		// Not every sandbox knows or allows it, and it isn't for a namespace's first process.
		if err == nil || attributes.Cloneflags == 0 {
			return pid, err
		}
		attributes.Cloneflags = 0
	}
}

// runDetached is the other side of detached.
func (s *spec) runDetached(ctx context.Context) int {
	syscall.CloseOnExec(wordFile)
	pipe := os.NewFile(wordFile, "word")
	var once sync.Mutex
	s.guard(ctx, func(word, why string) (heard bool) {
		once.Lock()
		defer once.Unlock()
		_, err := io.WriteString(pipe, word+"\n"+why)
		pipe.Close()
		return err == nil
	})
	return exitReady
}
