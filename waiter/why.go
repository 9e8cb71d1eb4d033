package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const lockDirectory = "/.sidecar-first-lock"

// What a board begins with, and the time.
const (
	isOpen     = "open since "
	isAnswered = "asked and answered at "
	isHeld     = "held since "
)

// A board is the file beside a lock's that says whether it is closed: since when, and a line for each reason.
type board struct {
	path    string
	mu      sync.Mutex
	state   string
	since   time.Time
	reasons []string // what each wait waits for; empty: nothing
	instead []string // said in their place
	always  []string // said in any case
	written string
	last    time.Time   // when it was written
	later   *time.Timer // nil: it needn't be written
}

func newBoard(s *spec) *board {
	tier := strings.TrimPrefix(filepath.Base(s.lock.file), lockPrefix)
	b := &board{path: filepath.Join(filepath.Dir(s.lock.file), whyPrefix+tier), state: isHeld, since: time.Now()}
	if s.before != nil {
		b.instead = []string{"the hook that was there before (" + shown(s.before.name) + ") runs"}
	}
	b.change(func() {})
	return b
}

// watched returns the waits such that the board shows what each waits for.
func (b *board) watched(waits []wait) []wait {
	watched := slices.Clone(waits)
	b.mu.Lock()
	b.instead, b.reasons = nil, make([]string, len(waits))
	b.mu.Unlock()
	for i := range watched {
		watched[i].note = func(reason string) { b.noting(func() { b.reasons[i] = reason }) }
	}
	return watched
}

// say shows these lines instead; none: what the waits wait for.
func (b *board) say(lines ...string) { b.change(func() { b.instead = lines }) }

func (b *board) open() {
	b.change(func() { b.state, b.since, b.instead, b.reasons = isOpen, time.Now(), nil, nil })
}

// answered is for one open; they may be many.
func (b *board) answered(but ...string) {
	b.noting(func() { b.set(isAnswered, but); b.since = time.Now() })
}

func (b *board) held(why ...string) { b.noting(func() { b.set(isHeld, why) }) }

func (b *board) set(state string, lines []string) {
	if b.state != state {
		b.state, b.since = state, time.Now()
	}
	b.instead, b.reasons = lines, nil
}

// unleased also tells the sidecar's log.
func (b *board) unleased(line string) {
	logged([]string{line})
	b.change(func() { b.state, b.always, b.instead = isHeld, []string{line}, nil })
}

// change is written at once.
func (b *board) change(made func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	made()
	b.write()
}

// noting is written now or a little later: it may be called often.
func (b *board) noting(made func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.state
	made()
	wait := time.Until(b.last.Add(lateInterval))
	switch {
	case wait <= 0 || b.state != before:
		b.write()
	case b.later != nil:
	default:
		b.later = time.AfterFunc(wait, func() { b.change(func() {}) })
	}
}

// write is no more than a help to a person, so it may fail.
func (b *board) write() {
	if b.later != nil {
		b.later.Stop()
		b.later = nil
	}
	lines := b.instead
	if lines == nil {
		lines = slices.DeleteFunc(slices.Clone(b.reasons), func(reason string) bool { return reason == "" })
	}
	text := b.state + b.since.UTC().Format(time.RFC3339) + "\n" + message(append(slices.Clone(b.always), lines...))
	if text != b.written && replaceFile(b.path, text) == nil {
		b.written, b.last = text, time.Now()
	}
}

// laterTiers is how many tiers behind this lock's have begun, and whether each of them has let a container be created.
func laterTiers(file string) (tiers int, all bool) {
	number, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(file), lockPrefix))
	if err != nil {
		return 0, true
	}
	for all = true; ; tiers++ {
		text := readPlanted(filepath.Join(filepath.Dir(file), whyPrefix+strconv.Itoa(number+tiers+1)))
		if text == "" {
			return tiers, all
		}
		all = all && !strings.HasPrefix(text, isHeld)
	}
}

// why prints for each tier with a lock in dir whether it is open, and why not. It doesn't open the lock's file, as that would be asking.
func why(dir string, out io.Writer) int {
	entries, err := os.ReadDir(dir)
	if err != nil {
		fmt.Fprintf(os.Stderr, "wait --why: %s\n", plain(err))
		return exitUsage
	}
	code := exitReady
	for _, entry := range entries {
		tier, ok := strings.CutPrefix(entry.Name(), lockPrefix)
		if !ok {
			continue
		}
		state, reasons, told := strings.Cut(readPlanted(filepath.Join(dir, whyPrefix+tier)), "\n")
		info, err := entry.Info()
		hasValue := err == nil && info.Mode().IsRegular() && info.Size() > 0
		switch {
		case strings.HasPrefix(state, isOpen), strings.HasPrefix(state, isAnswered):
		case strings.HasPrefix(state, isHeld):
			code = exitNotReady
		case hasValue: // Earlier waiters wrote only since when.
			state, reasons = isOpen+state, ""
		case told:
			state, code = "closed since "+state, exitNotReady
		default:
			state, code = "closed: its hook has not begun", exitNotReady
		}
		fmt.Fprintf(out, "tier %s: %s\n", clean(tier), clean(state))
		for line := range strings.Lines(reasons) {
			fmt.Fprintf(out, "  %s\n", clean(line))
		}
	}
	return code
}

// readPlanted reads a file that may be large, too.
func readPlanted(path string) string {
	file, err := openPlanted(path, os.O_RDONLY)
	if err != nil {
		return ""
	}
	defer file.Close()
	text, _ := io.ReadAll(io.LimitReader(file, maxMessage+100))
	return string(text)
}
