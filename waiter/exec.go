package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	execInterval = 250 * time.Millisecond
	// How long the output may stay open after the command has ended; a daemon that it started may keep it open.
	outputGrace = 100 * time.Millisecond
	maxOutput   = 250 // fits into what a message shows of an error
)

// execSlot is held by the exec check that is running: only one runs at a time.
var execSlot = make(chan struct{}, 1)

func takeExec(ctx context.Context) bool {
	select {
	case execSlot <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func giveExec() { <-execSlot }

// endExec waits briefly until a command whose context has ended is killed.
func endExec() {
	ctx, cancel := context.WithTimeout(context.Background(), outputGrace)
	defer cancel()
	takeExec(ctx)
}

// runExec runs a command and kills it, with its process group, when ctx ends. The error contains the end of its output.
func runExec(ctx context.Context, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = outputGrace
	var out tail
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	why := err.Error()
	var code *exec.ExitError
	var name *exec.Error
	if errors.As(err, &code) && code.Exited() {
		why = fmt.Sprintf("exit code %d", code.ExitCode())
	} else if errors.As(err, &name) {
		why = name.Err.Error()
	}
	if text := strings.TrimSpace(string(out)); text != "" {
		why += ": " + text
	}
	return errors.New(why)
}

// A tail keeps the end of what is written to it.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	*t = append(*t, p[max(0, len(p)-maxOutput):]...)
	if excess := len(*t) - maxOutput; excess > 0 {
		*t = append((*t)[:0], (*t)[excess:]...)
	}
	return len(p), nil
}
