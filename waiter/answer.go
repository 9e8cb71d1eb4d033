package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"syscall"
	"time"
)

const (
	// How long the checks' result is good for: those who open the file in a loop cost no more than one check in that time.
	resultLasts = 25 * time.Millisecond
	// In case a signal was lost.
	lookAgain = 10 * time.Second
	// A kubelet that opens files without waiting tries again after 10 s or more. It never reads a file that is leased.
	unwaitedApart = 5 * time.Second
	mostUnwaited  = 3
)

var errUnwaited = errors.New("it is opened without waiting")

// An answerer answers each open of the lock's file, for as long as its container lives.
type answerer struct {
	lock   *lock
	board  *board
	waits  []wait // of the tier, then of earlier ones
	own    int    // how many are the tier's
	start  time.Time
	round  time.Duration
	lasts  time.Duration
	asked  time.Time // when the checks were asked the last time
	why    []string  // a line for each check that didn't hold then
	again  []int     // their waits
	streak []int
	tries  int
	// Opens, some time apart, that didn't wait for an answer that they would have had; and when the last was.
	unwaited   int
	unwaitedAt time.Time
	// How many later tiers there were, and had answered themselves, when this process gave the value: -1 before it has.
	behind int
}

func newAnswerer(s *spec, b *board, start time.Time) *answerer {
	a := &answerer{
		lock: s.lock, board: b, start: start, round: round(), lasts: resultLasts,
		waits: slices.Concat(s.waits, s.lock.earlier), own: len(s.waits), behind: -1,
	}
	a.streak = make([]int, len(a.waits))
	if slices.ContainsFunc(a.waits, func(w wait) bool { return w.check.kind == kindExec }) {
		a.lasts = execInterval
	}
	return a
}

// tooSlow is why no open can be answered in a round, in which the checks may have to be asked four times: those that failed before and
// all of them, before the swap and after it.
func (s *spec) tooSlow() error {
	var commands, longest time.Duration
	for _, w := range slices.Concat(s.waits, s.lock.earlier) {
		if w.check.kind == kindExec { // One after another.
			commands += w.attemptTimeout
		} else {
			longest = max(longest, w.attemptTimeout)
		}
	}
	if takes := max(commands, longest); takes > round()/4 {
		return fmt.Errorf("its checks may take %v", takes)
	}
	return nil
}

// What those who sleep are given.
type reply int

const (
	closed     reply = iota // nothing: the kubelet tries again later
	granted                 // the value, since the checks hold
	letThrough              // the value, whether they hold or not
)

// serve answers through a swap: the path never names a file that has the value. A process that is stopped or killed at any step
// leaves the lock closed, and only those who already sleep can read what they are given. It returns when it can't go on.
func (a *answerer) serve(ctx context.Context, held *os.File, opens <-chan os.Signal) error {
	defer func() { held.Close() }()
	a.board.say("no container behind it has been about to be created")
	came := time.Now()
	for {
		for used := a.tries > triesKept; !isAsked(held); {
			rest := time.NewTimer(lookAgain)
			select {
			case <-opens:
			case <-rest.C:
				if used { // What many answers took would be the sidecar's for its life; after a few, collecting takes more than it gives.
					debug.FreeOSMemory()
					used = false
				}
			case <-ctx.Done():
				return ctx.Err()
			}
			rest.Stop()
			came = time.Now()
		}
		verdict, why := a.decide(ctx, came)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		next, err := a.lock.hold()
		if err != nil {
			return err
		}
		// From here on nobody else comes to the old file, so a result that is fresh now is one that each of them waited for. Whoever comes to
		// the new one comes from now on.
		swapped := time.Now()
		if verdict == granted && !a.isFresh() {
			verdict, why = a.decide(ctx, came)
		}
		if verdict != closed {
			if _, err = held.WriteString(a.lock.value()); err != nil {
				verdict, why = closed, []string{"the lock can't be opened: " + plain(err)}
			}
		}
		// Nobody is there if it was opened without waiting.
		waits := isOpened(held)
		held.Close()
		held, came = next, swapped
		switch {
		case verdict == closed:
			if waits {
				a.board.held(why...)
			}
		case waits:
			if tiers, all := laterTiers(a.lock.file); all {
				a.behind = max(a.behind, tiers)
			}
			a.board.answered(why...)
		case a.behind < 0 && time.Since(a.unwaitedAt) > unwaitedApart:
			a.unwaitedAt = time.Now()
			if a.unwaited++; a.unwaited == mostUnwaited {
				return errUnwaited
			}
		}
	}
}

// hasAnswered is whether an app has started behind this sidecar, which may depend on it. What was answered while there were fewer tiers
// was the creation of the next tier's sidecar: an app is created behind all of them, and the kubelet asks the latest first.
func (a *answerer) hasAnswered() bool {
	tiers, _ := laterTiers(a.lock.file)
	return a.behind >= tiers
}

// inTheEnd is the answer when the checks don't hold in time. Until one open has got the value it is another round, as the kubelet tries
// again. Afterwards an app has started behind this sidecar, which may not be ready because that app is gone.
func (a *answerer) inTheEnd() reply {
	if a.hasAnswered() && a.lock.restarts != alwaysWaits {
		return letThrough
	}
	return closed
}

// decide waits for the checks as long as those who came then may sleep, and returns the answer and what speaks against it.
func (a *answerer) decide(ctx context.Context, came time.Time) (verdict reply, why []string) {
	limit, inTheEnd := a.round, a.inTheEnd()
	if inTheEnd == letThrough {
		if limit = min(limit, a.lock.restarts); limit == 0 {
			return letThrough, nil
		}
	}
	ctx, cancel := context.WithDeadline(ctx, came.Add(limit))
	defer cancel()
	for {
		why = a.why
		if !a.isFresh() {
			why = a.ask(ctx)
		}
		switch {
		case len(why) == 0:
			return granted, nil
		case !a.hasAnswered() && a.isEarlierMissing():
			return closed, why
		case ctx.Err() == nil:
			a.board.held(why...)
			sleep(ctx, max(a.lasts, handedOverInterval(time.Since(a.start))))
			continue
		case inTheEnd == letThrough:
			why = append(why, fmt.Sprintf("an app that started again waited for it no longer than %v", limit))
			logged(why)
		}
		return inTheEnd, why
	}
}

func (a *answerer) isFresh() bool { return time.Since(a.asked) < a.lasts }

func (a *answerer) isEarlierMissing() bool {
	return slices.ContainsFunc(a.again, func(i int) bool { return i >= a.own })
}

// ask asks the checks once and returns a line for each that doesn't hold: first those that didn't hold before, and only when they do,
// all of them, so that all hold at the same time.
func (a *answerer) ask(ctx context.Context) []string {
	if a.tries++; a.tries%triesKept == 0 {
		debug.FreeOSMemory()
	}
	all := make([]int, 0, len(a.waits))
	for i, w := range a.waits {
		switch {
		case i >= a.own && a.hasAnswered(): // It has an answer of its own to give, and may wait for an app, too.
		case w.goOn && time.Since(a.start) >= w.timeout:
		default:
			all = append(all, i)
		}
	}
	before := a.why
	a.asked = time.Now()
	again := slices.DeleteFunc(a.again, func(i int) bool { return !slices.Contains(all, i) })
	lines := a.askThese(ctx, again)
	if len(lines) == 0 && len(again) < len(all) {
		a.asked = time.Now()
		lines = a.askThese(ctx, all)
	}
	// An attempt that the end of the round cut short says less than the one before it.
	if ctx.Err() != nil && len(lines) > 0 && len(before) > 0 {
		lines = before
	}
	a.why = lines
	return lines
}

func (a *answerer) askThese(ctx context.Context, these []int) (lines []string) {
	errs := make([]chan error, len(these))
	for n, i := range these {
		errs[n] = make(chan error, 1)
		go func() { errs[n] <- a.waits[i].askOnce(ctx) }()
	}
	a.again = nil
	for n, i := range these {
		w, err := a.waits[i], <-errs[n]
		if err == nil {
			if a.streak[i]++; a.streak[i] >= w.successes {
				continue
			}
			lines = append(lines, fmt.Sprintf("%s: %d of %d successes in a row", w.name(), a.streak[i], w.successes))
		} else {
			a.streak[i] = 0
			lines = append(lines, w.notHolding(err, i >= a.own))
		}
		a.again = append(a.again, i)
	}
	return lines
}

// logged says it in the sidecar's own log, where there is one: this process's streams are nobody's. In a container of its own this
// process has no parent that it could see, and what it sees as the first process is the sidecar.
func logged(lines []string) {
	if os.Getppid() != 0 {
		return
	}
	// By the system's own calls: Go would wait until somebody reads a pipe that is full.
	log, err := syscall.Open("/proc/1/fd/2", syscall.O_WRONLY|syscall.O_APPEND|syscall.O_NONBLOCK|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer syscall.Close(log)
	// Never into a file that the sidecar writes.
	var stat syscall.Stat_t
	if syscall.Fstat(log, &stat) != nil || stat.Mode&syscall.S_IFMT == syscall.S_IFREG {
		return
	}
	for _, line := range lines {
		syscall.Write(log, fmt.Appendf(nil, "sidecar-first: %s\n", line))
	}
}
