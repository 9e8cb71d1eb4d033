package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// others are containers that end before this one, by their witnesses' files.
type others struct {
	files  []string
	appear time.Duration // how long one is waited for that hasn't begun to end
	limit  time.Duration // how long all are waited for, in any case
}

const (
	othersInterval = 20 * time.Millisecond
	// The kubelet runs a pod's hooks side by side, but a container may end before a hook beside it has begun. One that was restarted less
	// than this before the pod's end is taken for ended, too: so it is short, and on a busier node it costs appear.
	hooksApart = 2 * time.Second
)

// What a file says of its container.
type endState int

const (
	hasNotBegun endState = iota // to end: nothing there that is of now
	stillEnds                   // its witness lives
	hasEnded
)

// wait returns why it didn't wait any longer for each that has not ended.
func (o *others) wait(ctx context.Context, began time.Time) []string {
	for {
		waited := time.Since(began)
		var not, still []string
		for _, file := range o.files {
			name := shown(filepath.Base(file))
			switch state, why := o.look(file, began); state {
			case hasEnded:
			case stillEnds:
				still = append(still, fmt.Sprintf("%s has not ended after %v: its time is up", name, o.limit))
			case hasNotBegun:
				not = append(not, fmt.Sprintf("%s did not begin to end within %v%s", name, min(o.appear, o.limit), why))
			}
		}
		if ctx.Err() != nil || waited >= o.limit || len(still) == 0 && (len(not) == 0 || waited >= o.appear) {
			return append(not, still...)
		}
		sleep(ctx, othersInterval)
	}
}

// look opens the file each time: it may come, go, or be another one.
func (o *others) look(path string, began time.Time) (state endState, why string) {
	file, err := openPlanted(path, os.O_RDONLY)
	if err != nil {
		if !os.IsNotExist(err) {
			why = ": " + plain(err)
		}
		return hasNotBegun, why
	}
	defer file.Close()
	if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == syscall.EWOULDBLOCK {
		return stillEnds, ""
	}
	info, err2 := file.Stat()
	if err == nil && err2 == nil && info.Size() > 0 && time.Until(info.ModTime()) < hooksApart && began.Sub(info.ModTime()) < hooksApart {
		return hasEnded, ""
	}
	return hasNotBegun, ""
}
