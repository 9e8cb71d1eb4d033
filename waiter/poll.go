package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"syscall"
	"time"
)

const (
	shortestInterval = 5 * time.Millisecond
	longestInterval  = 250 * time.Millisecond
	// Checks that time out together are reported together.
	together = 20 * time.Millisecond
	// After so many tries their memory, which is the sidecar's, is given back: 1 MiB less at a tenth more CPU.
	triesKept = 8
)

// A wait is one check with its limits.
type wait struct {
	container      string // empty: a person asked, by the check alone
	check          check
	headers        []header
	path           *string // as a probe has it, where it isn't what the check's text says
	timeout        time.Duration
	attemptTimeout time.Duration
	successes      int // in a row
	goOn           bool
	start          time.Time // from which its timeout counts; zero: when it begins
	handedOver     bool      // its hook ends, or has ended, before it does
	late           bool      // the time is up, and it asks on
	elsewhere      bool      // in another container than the hook, which nothing restarts while the hook runs
	note           func(reason string)
}

// pollInterval is a fiftieth of the time already waited, so that polling adds at most 2 % to the sidecar's start.
func pollInterval(waited time.Duration) time.Duration {
	return min(max(waited/50, shortestInterval), longestInterval)
}

// waitForAll runs all waits at once and returns a line for each that failed. After the first failure it doesn't wait for the
// rest.
func waitForAll(ctx context.Context, waits []wait) []string {
	ctx, cancel := context.WithCancel(ctx)
	defer endExec()
	defer cancel()
	type result struct {
		i    int
		line string
	}
	results := make(chan result, len(waits))
	for i, w := range waits {
		go func() { results <- result{i, w.poll(ctx)} }()
	}
	lines := make([]string, len(waits))
	var over <-chan time.Time
	for range waits {
		select {
		case r := <-results:
			if lines[r.i] = r.line; r.line != "" && over == nil {
				over = time.After(together)
			}
			continue
		case <-over:
		}
		break
	}
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

// poll tries until the check holds, its time is up, or ctx ends. It returns a line that says why it failed, or nothing.
func (w wait) poll(ctx context.Context) string {
	start := w.start
	if start.IsZero() {
		start = time.Now()
	}
	deadline := start.Add(w.timeout)
	if w.late && !w.goOn {
		deadline = start.Add(math.MaxInt64) // 292 years
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	var (
		tries, streak int
		answered      bool
		last          error
	)
	for ctx.Err() == nil {
		if w.check.kind == kindExec && !takeExec(ctx) {
			break
		}
		began := time.Now()
		err, done := w.try(ctx)
		tries++
		if !done {
			break
		}
		answered = answered || !errors.Is(err, syscall.ECONNREFUSED) && !isTimeout(err)
		if err == nil {
			if streak++; streak == w.successes {
				w.tell("")
				return ""
			}
		} else {
			streak = 0
			// An attempt that the deadline cut short says less than the one before it.
			cut := ctx.Err() != nil || isTimeout(err) && deadline.Sub(began) < w.attemptTimeout
			if last == nil || !cut {
				last = err
			}
			w.tell(w.name() + ": " + plain(last))
		}
		pause := pollInterval(time.Since(start))
		if w.handedOver {
			pause = min(pause, handedOverInterval(time.Since(start)))
		}
		if w.check.kind == kindExec {
			pause = max(pause, execInterval-time.Since(began))
			if w.late {
				pause = lateInterval
			}
		}
		if tries%triesKept == 0 {
			debug.FreeOSMemory()
		}
		sleep(ctx, pause)
	}
	line := w.report(time.Since(start), tries, streak, last)
	if w.elsewhere && streak == 0 && errors.Is(last, syscall.ECONNREFUSED) {
		line += crashed(answered)
	}
	if w.goOn && isTimeout(ctx.Err()) {
		fmt.Println(line + "; going on without it")
		return ""
	}
	return line
}

// try makes one attempt. If that outlasts the check's time, its goroutine is left behind (done is false): nothing may block the
// hook, not even a file system that hangs.
func (w wait) try(ctx context.Context) (err error, done bool) {
	result := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, w.attemptTimeout)
		defer cancel()
		if w.check.kind == kindExec {
			defer giveExec()
		}
		result <- w.attempt(ctx)
	}()
	select {
	case err := <-result:
		return err, true
	case <-ctx.Done():
		return ctx.Err(), false
	}
}

// askOnce makes one attempt that doesn't outlast its time. Of commands only one runs at a time.
func (w wait) askOnce(ctx context.Context) error {
	if w.check.kind == kindExec && !takeExec(ctx) {
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, w.attemptTimeout)
	defer cancel()
	err, _ := w.try(ctx)
	return err
}

func (w wait) notHolding(err error, earlier bool) string {
	if earlier {
		return w.name() + " of an earlier tier is no longer ready: " + plain(err)
	}
	return w.name() + ": " + plain(err)
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (w wait) report(waited time.Duration, tries, streak int, last error) string {
	why := fmt.Sprintf("no answer within %v", min(w.attemptTimeout, w.timeout))
	if last != nil && !isTimeout(last) {
		why = plain(last)
	}
	if streak > 0 {
		why = fmt.Sprintf("%d of %d successes in a row", streak, w.successes)
	}
	count := "tried once"
	if tries != 1 {
		count = fmt.Sprintf("tried %d times", tries)
	}
	return fmt.Sprintf("%s was not ready after %v, %s: %s", w.name(), waited.Round(time.Millisecond), count, why)
}

// crashed says what a refused connection may mean in a tier of several: the kubelet restarts nothing of a pod while a hook runs.
func crashed(answered bool) string {
	when := "it never answered"
	if answered {
		when = "it answers no more"
	}
	return "; " + when + " and may have crashed, and nothing restarts it while this hook runs: in a tier of its own it would be restarted"
}

// name is what messages call it.
func (w wait) name() string {
	if w.container == "" {
		return shown(w.check.text)
	}
	return shown(w.container) + " (" + shown(w.check.text) + ")"
}

// tell notes why it waits; nothing: it waits no longer.
func (w wait) tell(reason string) {
	if w.note != nil {
		w.note(reason)
	}
}
