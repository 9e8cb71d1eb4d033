package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const lockDirectory = "/.sidecar-first-lock"

// A board is the file beside a lock's that says why it is closed: since when, and a line for each reason.
type board struct {
	path    string
	mu      sync.Mutex
	since   time.Time
	reasons []string // what each wait waits for; empty: nothing
	instead []string // said in their place
	written string
}

// newBoard writes until the process ends.
func newBoard(s *spec) *board {
	tier := strings.TrimPrefix(filepath.Base(s.lock.file), lockPrefix)
	b := &board{path: filepath.Join(filepath.Dir(s.lock.file), whyPrefix+tier), since: time.Now()}
	if s.before != nil {
		b.instead = []string{"the hook that was there before (" + shown(s.before.name) + ") runs"}
	}
	b.write()
	go func() {
		for range time.Tick(lateInterval) {
			b.write()
		}
	}()
	return b
}

// watched returns the waits such that the board shows what each waits for.
func (b *board) watched(waits []wait) []wait {
	watched := slices.Clone(waits)
	b.mu.Lock()
	b.instead, b.reasons = nil, make([]string, len(waits))
	b.mu.Unlock()
	for i := range watched {
		watched[i].note = func(reason string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.reasons[i] = reason
		}
	}
	return watched
}

// say shows these lines instead; none: what the waits wait for.
func (b *board) say(lines ...string) {
	b.mu.Lock()
	b.instead = lines
	b.mu.Unlock()
	b.write()
}

func (b *board) open() {
	b.mu.Lock()
	b.since, b.instead, b.reasons = time.Now(), nil, nil
	b.mu.Unlock()
	b.write()
}

// write is no more than a help to a person, so it may fail.
func (b *board) write() {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines := b.instead
	if lines == nil {
		lines = slices.DeleteFunc(slices.Clone(b.reasons), func(reason string) bool { return reason == "" })
	}
	text := b.since.UTC().Format(time.RFC3339) + "\n" + message(lines)
	if text != b.written && replaceFile(b.path, text) == nil {
		b.written = text
	}
}

// why prints for each tier with a lock in dir whether it is open, and why not.
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
		name := "tier " + clean(tier)
		since, reasons, told := strings.Cut(readPlanted(filepath.Join(dir, whyPrefix+tier)), "\n")
		if readPlanted(filepath.Join(dir, entry.Name())) != "" {
			fmt.Fprintf(out, "%s: open since %s\n", name, clean(since))
			continue
		}
		code = exitNotReady
		if !told {
			fmt.Fprintf(out, "%s: closed: its hook has not begun\n", name)
			continue
		}
		fmt.Fprintf(out, "%s: closed since %s\n", name, clean(since))
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
