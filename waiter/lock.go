package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A lock is a file from which the kubelet reads a variable of every container behind this tier. While the file doesn't have the key, the
// kubelet can't create those containers, whatever has happened to hooks, sidecars or the kubelet itself.
type lock struct {
	file     string
	key      string
	earlier  []wait        // the checks of earlier tiers: looked at once more before the file is written
	handOver time.Duration // how long the kubelet is kept waiting; neverHandOver: until the checks have held or failed
	leased   bool          // each open is answered, where a kernel and a file system can do that and the hook may end before
	restarts time.Duration // how long a later open sleeps at most; alwaysWaits: as the first one
}

type lockJSON struct {
	File     string      `json:"file"`
	Key      string      `json:"key"`
	Earlier  []checkJSON `json:"earlier"`
	HandOver *string     `json:"handOver"`
	Lease    *string     `json:"lease"`
	Restarts *string     `json:"restarts"`
}

const (
	neverHandOver = time.Duration(-1)
	alwaysWaits   = time.Duration(-1)
	restartsWait  = 5 * time.Second
	mostRestarts  = 30 * time.Second
	// A check whose time is up as the hook ends still fails it.
	afterHandOver = time.Second
	lockPrefix    = "ready-"
	whyPrefix     = "why-"
	// How often the reason is written, and a command asked when the time is up.
	lateInterval = time.Second
	// Before a hook of the sidecar's own is run again that failed when no kubelet was there to hear it.
	beforeAgain = 10 * time.Second
)

// handedOverInterval is short: without a hook to wait for, the kubelet looks at a lock when a probe has found the sidecar ready, and then not
// for 10 s or more. A probe, often asked every second, should seldom be the first to find that; asking costs a few percent of a core.
func handedOverInterval(waited time.Duration) time.Duration {
	if waited < time.Minute {
		return 25 * time.Millisecond
	}
	return 100 * time.Millisecond
}

// isKey is whether text is the name of a variable: capitals, digits and underscores, no digit first. (A pattern would link regexp, and
// its tables cost every process a tenth of a megabyte.)
func isKey(text string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	return text != "" && strings.Trim(text, letters+"0123456789") == "" && strings.IndexByte(letters, text[0]) >= 0
}

func (l *lockJSON) parse() (*lock, error) {
	if !filepath.IsAbs(l.File) || !strings.HasPrefix(filepath.Base(l.File), lockPrefix) {
		return nil, fmt.Errorf("file is an absolute path that ends in %sN, not %s", lockPrefix, shown(l.File))
	}
	if !isKey(l.Key) {
		return nil, fmt.Errorf("key is the name of a variable, not %s", shown(l.Key))
	}
	for i := range l.Earlier {
		// They are asked, not waited for.
		l.Earlier[i].Timeout = cmp.Or(l.Earlier[i].Timeout, "1m")
		l.Earlier[i].OnTimeout = cmp.Or(l.Earlier[i].OnTimeout, "fail")
	}
	earlier, err := parseWaits("earlier", l.Earlier)
	if err != nil {
		return nil, err
	}
	parsed := &lock{file: filepath.Clean(l.File), key: l.Key, handOver: neverHandOver, leased: l.HandOver != nil && l.Lease == nil}
	if l.Lease != nil && *l.Lease != "off" {
		return nil, fmt.Errorf("lease is off, or missing, not %s", shown(strconv.Quote(*l.Lease)))
	}
	if parsed.restarts, err = parseRestarts(l.Restarts); err != nil {
		return nil, fmt.Errorf("restarts: %w", err)
	}
	for _, w := range earlier {
		// A tier that goes on without a sidecar doesn't hold back the next one for it either.
		if !w.goOn {
			parsed.earlier = append(parsed.earlier, w)
		}
	}
	if l.HandOver == nil {
		return parsed, nil
	}
	if parsed.handOver, err = parseFromZero(*l.HandOver); err != nil {
		return nil, fmt.Errorf("handOver: %w", err)
	}
	return parsed, nil
}

func parseRestarts(text *string) (time.Duration, error) {
	switch {
	case text == nil:
		return restartsWait, nil
	case *text == "always":
		return alwaysWaits, nil
	}
	d, err := parseFromZero(*text)
	if err == nil && d > mostRestarts {
		err = fmt.Errorf("%s is more than %v; or write always", *text, mostRestarts)
	}
	return d, err
}

func parseFromZero(text string) (time.Duration, error) {
	if text == "0s" {
		return 0, nil
	}
	return parseDuration(text)
}

// close empties the file. It isn't removed: so the kubelet's message names the key that is missing.
func (l *lock) close() error { return replaceFile(l.file, "") }

// open lets the kubelet create the containers behind.
func (l *lock) open() error { return replaceFile(l.file, l.value()) }

// value is what the kubelet wants to read. It takes only values in single quotes.
func (l *lock) value() string { return l.key + "='ready'\n" }

// replaceFile puts a file with this content in the place of path, whole: the kubelet may read it at any time. A link that a sidecar has
// planted there isn't followed.
func replaceFile(path, content string) error {
	err := renameOver(path, content)
	if errors.Is(err, os.ErrPermission) {
		// A memory volume has the sticky bit: what another user has written can't be replaced. Everybody may write it, though.
		if writeInPlace(path, content) == nil {
			return nil
		}
	}
	return err
}

// Whatever the umask is: an init container and sidecars of other users close the lock, too, and read why.
const lockMode = 0o666

func renameOver(path, content string) error {
	temp, err := fileBeside(path)
	if err != nil {
		return err
	}
	_, err = temp.WriteString(content)
	return putInPlace(temp, lockMode, path, err)
}

func writeInPlace(path, content string) error {
	file, err := openPlanted(path, os.O_WRONLY)
	if err != nil {
		return err
	}
	defer file.Close()
	if err = file.Truncate(0); err == nil {
		_, err = file.WriteString(content)
	}
	return err
}

// openPlanted opens a file where a sidecar may have planted anything: a link, a pipe, a folder.
func openPlanted(path string, flag int) (*os.File, error) {
	file, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, errors.Join(err, os.ErrInvalid)
	}
	return file, nil
}

// reset closes all tiers' locks in dir. It removes the files, since one that the init container made has no lease for another user; those
// of others it may only empty, as the volume is sticky. What can't be emptied isn't a file, so it is closed, too.
func reset(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if os.RemoveAll(path) == nil || entry.IsDir() {
			continue
		}
		if err := writeInPlace(path, ""); err != nil && strings.HasPrefix(entry.Name(), lockPrefix) {
			return err
		}
	}
	return nil
}

// runLocked waits in a process of its own, since a kubelet that restarts kills the one that it has executed, and ends with that
// process's word.
func (s *spec) runLocked(ctx context.Context) int {
	if err := s.lock.close(); err != nil {
		return s.fail([]string{"the lock can't be closed: " + plain(err)})
	}
	text, err := detached(ctx, s.text)
	if err != nil {
		return s.fail([]string{"the waiter can't start the process that waits: " + plain(err)})
	}
	word, why, _ := strings.Cut(text, "\n")
	switch word {
	case wordReady:
		return exitReady
	case wordFailed:
		return s.failText(why)
	default:
		return s.fail([]string{"the process that waits was killed"})
	}
}

// guard is what the detached process does: it opens the lock when all checks hold, and tells the hook's process how it ends. Without
// anybody to tell (the hook has ended, or a kubelet that restarted has killed it) it asks on, for as long as its container lives.
func (s *spec) guard(ctx context.Context, say func(word, why string) bool) {
	board := newBoard(s)
	failed := func(lines []string) (heard bool) {
		lines = signalled(ctx, lines)
		board.say(lines...)
		return say(wordFailed, message(lines)) || ctx.Err() != nil
	}
	for s.before != nil {
		err := s.before.run(ctx)
		if err == nil {
			break
		}
		if failed([]string{s.before.failure(err)}) {
			return
		}
		sleep(ctx, beforeAgain)
	}
	start := time.Now()
	waits := board.watched(s.waits)
	for i := range waits {
		waits[i].start, waits[i].handedOver = start, s.lock.handOver >= 0
	}
	var held *os.File
	opens := make(chan os.Signal, 1)
	// unleased goes on without leases, as if there were none.
	unleased := func(err error) {
		held = nil
		board.unleased("the lock can't be asked at the moment of a start, and stays open once it is: " + plain(err))
	}
	if s.lock.leased {
		signal.Notify(opens, syscall.SIGIO)
		err := s.tooSlow()
		if err == nil {
			held, err = s.lock.hold()
		}
		if err != nil {
			unleased(err)
		}
	}
	if s.lock.handOver >= 0 {
		time.AfterFunc(s.lock.handOver-time.Since(start), func() { say(wordReady, "") })
	}
	// As long as the hook can fail, which has the sidecar restarted, it does not end before.
	asks := held != nil && !s.failsBeforeHandOver()
	for {
		if asks {
			say(wordReady, "")
			answers := newAnswerer(s, board, start)
			err := answers.serve(ctx, held, opens)
			if ctx.Err() != nil {
				board.held()
				board.say(signalled(ctx, nil)...)
				return
			}
			asks = false
			unleased(err)
			if answers.hasAnswered() {
				// Without leases the lock would be open since then.
				waits, s.lock.earlier = nil, nil
			}
		}
		inTime, cancel := ctx, func() {}
		if held != nil { // The hook has ended by then, and the kubelet may come.
			inTime, cancel = context.WithDeadline(ctx, start.Add(s.lock.handOver+afterHandOver))
		}
		lines := waitForAll(inTime, waits)
		isOver := inTime.Err() != nil
		cancel()
		switch {
		case held != nil && ctx.Err() == nil && (len(lines) == 0 || isOver):
			asks = true
		case len(lines) == 0 && ctx.Err() == nil:
			if lines = missing(ctx, s.lock.earlier); len(lines) > 0 {
				// The kubelet can't restart what has crashed in an earlier tier before this hook has ended.
				say(wordReady, "")
				board.say(lines...)
				sleep(ctx, pollInterval(time.Since(start)))
				continue
			}
			err := s.lock.open()
			if err == nil {
				board.open()
				say(wordReady, "")
				return
			}
			if failed([]string{"the lock can't be opened: " + plain(err)}) {
				return
			}
			sleep(ctx, lateInterval)
		case failed(lines):
			return
		default:
			board.say()
			for i := range waits {
				waits[i].late, waits[i].handedOver = true, true
			}
			asks = held != nil
		}
	}
}

// failsBeforeHandOver is whether a sidecar that isn't ready in time fails the hook.
func (s *spec) failsBeforeHandOver() bool {
	return slices.ContainsFunc(s.waits, func(w wait) bool { return !w.goOn && w.timeout <= s.lock.handOver })
}

// missing asks each check once and returns a line for each that doesn't hold.
func missing(ctx context.Context, waits []wait) []string {
	results := make(chan string, len(waits))
	for _, w := range waits {
		go func() {
			if err := w.askOnce(ctx); err != nil {
				results <- w.notHolding(err, true)
				return
			}
			results <- ""
		}()
	}
	var lines []string
	for range waits {
		if line := <-results; line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
