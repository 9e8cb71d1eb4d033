package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A leased is a lock whose opens are answered, on a tmpfs, and its sidecar.
type leased struct {
	gated
	port  string
	ready atomic.Bool
	asked atomic.Int64
}

func newLeased(t *testing.T) *leased {
	t.Parallel()
	return leasedWith(t, func(bool) {})
}

// leasedWith tells a test of each check.
func leasedWith(t *testing.T, checked func(holds bool)) *leased {
	g := gated{t: t, up: filepath.Join(t.TempDir(), "up")}
	dir, err := os.MkdirTemp("/dev/shm", "lock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	g.dir, g.file = dir, filepath.Join(dir, "ready-1")
	l := &leased{gated: g}
	l.port = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		l.asked.Add(1)
		ready := l.ready.Load()
		if !ready {
			w.WriteHeader(503)
		}
		checked(ready)
	})
	return l
}

func (l *leased) check(more m) m { return check1("http://127.0.0.1:"+l.port+"/", more) }

// runs runs the hook, which ends at once, and leaves the process that answers.
func (l *leased) runs(more m, checks ...m) {
	l.t.Helper()
	if checks == nil {
		checks = []m{l.check(m{"timeout": "1m"})}
	}
	lock := m{"handOver": "30s", "restarts": "1s"}
	for k, v := range more {
		lock[k] = v
	}
	run1(l.t, "--spec", l.spec(lock, checks...)).want(l.t, exitReady)
	l.t.Cleanup(l.kill)
}

// opens1 opens the file as the kubelet does, and sends what it reads.
func (l *leased) opens1() chan string {
	read := make(chan string, 1)
	go func() {
		content, err := os.ReadFile(l.file)
		if err != nil {
			content = []byte(err.Error())
		}
		read <- string(content)
	}()
	return read
}

// sleeps is that an open isn't answered.
func (l *leased) sleeps(read <-chan string) {
	l.t.Helper()
	select {
	case got := <-read:
		why, _ := os.ReadFile(filepath.Join(l.dir, "why-1"))
		l.t.Fatalf("it read %q: %s", got, why)
	case <-time.After(100 * time.Millisecond):
	}
}

func TestAnOpenSleepsUntilTheCheckHolds(t *testing.T) {
	l := newLeased(t)
	l.runs(nil)
	why1(t, l.dir, exitNotReady, "tier 1: held since ")
	read := l.opens1()
	l.sleeps(read)
	l.ready.Store(true)
	if got := <-read; got != opened {
		t.Errorf("it read %q", got)
	}
}

// Whatever step a process is stopped or killed at, the lock stays closed behind it: nobody who comes later reads the value before the checks
// have held again, and nobody at all reads it without.
func TestStoppedAtEachStep(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
		for n := 1; ; n++ {
			var last atomic.Bool
			t.Run(fmt.Sprintf("%v-%d", signal, n), func(t *testing.T) { last.Store(!stopsAt(t, signal, n)) })
			if last.Load() {
				if n < 10 {
					t.Errorf("an answer has %d steps", n)
				}
				break
			}
		}
	}
}

// stopsAt stops the answer at its nth step, and returns whether it has so many.
func stopsAt(t *testing.T, signal syscall.Signal, n int) bool {
	l := leasedWith(t, func(bool) {})
	var count, at atomic.Int64
	stopped := make(chan step, 1)
	say := func(s step) syscall.Errno {
		if count.Load() >= 0 && at.Load() > 0 && count.Add(1) == at.Load() {
			syscall.Kill(s.pid, signal)
			stopped <- s
		}
		return 0
	}
	stepwise(t, say, "--spec", l.spec(m{"handOver": "0s", "restarts": "always"}, l.gated.check(nil))).want(t, exitReady)
	t.Cleanup(func() { l.signal(syscall.SIGKILL); l.ends() })
	first := l.opens1()
	l.sleeps(first)
	// The checks were asked in vain before; what is counted are the steps from their success on.
	at.Store(int64(n))
	l.gated.ready()
	select {
	case s := <-stopped:
		t.Log(s)
	case got := <-first:
		first <- got
		// What follows the answer counts, too.
		select {
		case s := <-stopped:
			t.Log("after the answer: ", s)
		case <-time.After(300 * time.Millisecond):
			if got != opened {
				t.Errorf("not stopped, it gave %q", got)
			}
			return false
		}
	}
	if signal == syscall.SIGKILL {
		l.until("its end", func() bool { return l.detached() == 0 })
		if got := <-first; got != opened && got != "" {
			t.Errorf("who had slept read %q", got)
		}
		if got := <-l.opens1(); got != "" {
			t.Errorf("who came later read %q", got)
		}
		return true
	}
	os.Remove(l.up)
	time.Sleep(2 * resultLasts)
	second := l.opens1()
	l.sleeps(second)
	l.signal(syscall.SIGCONT)
	l.sleeps(second)
	l.gated.ready()
	// Those who slept when the checks held have the answer of when it went on.
	if got := <-first; got != opened && got != "" {
		t.Errorf("who had slept read %q", got)
	}
	if got := <-second; got != opened {
		t.Errorf("who came later read %q", got)
	}
	return true
}

// wantSoon is for what is answered at once, on a machine that is busy, too.
func (l *leased) wantSoon(what string, want string, read <-chan string) {
	l.t.Helper()
	select {
	case got := <-read:
		if got != want {
			l.t.Errorf("%s read %q, not %q", what, got, want)
		}
	case <-time.After(generous):
		l.t.Fatalf("%s sleeps", what)
	}
}

func (l *leased) whySoon(code int, want string) {
	l.t.Helper()
	var last result
	defer func() {
		if l.t.Failed() {
			l.t.Logf("--why: %d %s", last.code, last.stdout)
		}
	}()
	l.until(want, func() bool {
		last = run1(l.t, "--why", l.dir)
		return last.code == code && strings.Contains(last.stdout, want)
	})
}

func TestManyReaders(t *testing.T) {
	l := newLeased(t)
	l.runs(nil)
	reads := make([]chan string, 10)
	for i := range reads {
		reads[i] = l.opens1()
	}
	l.sleeps(reads[0])
	l.ready.Store(true)
	for _, read := range reads {
		l.wantSoon("one of ten", opened, read)
	}
	l.whySoon(exitReady, "tier 1: asked and answered at ")
	before := l.asked.Load()
	began := time.Now()
	for range 300 {
		l.wantSoon("one of many", opened, l.opens1())
	}
	if asked, most := l.asked.Load()-before, int64(time.Since(began)/resultLasts)+1; asked > most {
		t.Errorf("%d checks, not %d at most", asked, most)
	}
	if info, err := os.Stat(l.file); err != nil || info.Size() > 0 {
		t.Errorf("the path names a file of %d bytes (%v)", info.Size(), err)
	}
}

func TestReaderThatKeepsTheFile(t *testing.T) {
	l := newLeased(t)
	l.runs(m{"restarts": "always"})
	l.ready.Store(true)
	kept, err := os.Open(l.file)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	l.ready.Store(false)
	time.Sleep(2 * resultLasts)
	read := l.opens1()
	l.sleeps(read)
	l.ready.Store(true)
	l.wantSoon("a later one", opened, read)
}

// Each is answered. One that found the file before the swap and opened it after has the value.
func TestOpensThatDontWait(t *testing.T) {
	l := newLeased(t)
	l.runs(m{"restarts": "0s"})
	l.ready.Store(true)
	before, began, between := l.asked.Load(), time.Now(), 0
	for range 2000 {
		file, err := os.OpenFile(l.file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			continue
		}
		content, _ := io.ReadAll(file)
		file.Close()
		if between++; string(content) != opened || between > 20 {
			t.Fatalf("it could be opened: %q %v", content, err)
		}
	}
	if asked, most := l.asked.Load()-before, int64(time.Since(began)/resultLasts)+1; asked > most {
		t.Errorf("%d checks, not %d at most", asked, most)
	}
}

// It counts as none: nobody has read the value.
func TestAnOpenThatDoesntWait(t *testing.T) {
	l := newLeased(t)
	l.runs(m{"restarts": "0s"})
	l.ready.Store(true)
	if _, err := os.OpenFile(l.file, os.O_RDONLY|syscall.O_NONBLOCK, 0); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Fatalf("it could be opened: %v", err)
	}
	l.until("the answer", func() bool { return l.asked.Load() > 0 })
	l.ready.Store(false)
	time.Sleep(2 * resultLasts)
	read := l.opens1()
	l.sleeps(read)
	l.ready.Store(true)
	l.wantSoon("the first that waits", opened, read)
}

// A kubelet that will not wait for leases would never read the value.
func TestOpensThatNeverWait(t *testing.T) {
	l := newLeased(t)
	l.ready.Store(true)
	l.runs(nil)
	l.until("a value for those who don't wait", func() bool {
		file, err := os.OpenFile(l.file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return false
		}
		defer file.Close()
		content, _ := io.ReadAll(file)
		return string(content) == opened
	})
	l.whySoon(exitReady, "it is opened without waiting")
}

func TestWriters(t *testing.T) {
	l := newLeased(t)
	l.runs(m{"restarts": "always"})
	l.ready.Store(true)
	writer, err := os.OpenFile(l.file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	l.ready.Store(false)
	time.Sleep(2 * resultLasts)
	writer.WriteString(opened)
	read := l.opens1()
	l.sleeps(read)
	l.ready.Store(true)
	l.wantSoon("who reads", opened, read)
}

// Once an app has started behind a sidecar, that may be unready because the app is gone.
func TestLaterOpens(t *testing.T) {
	for restarts, slept := range map[string]string{"0s": "", "1s": "waited for it no longer than 1s", "always": "forever"} {
		t.Run(restarts, func(t *testing.T) {
			l := newLeased(t)
			l.runs(m{"restarts": restarts})
			first := l.opens1()
			l.sleeps(first)
			l.ready.Store(true)
			l.wantSoon("the first", opened, first)
			l.ready.Store(false)
			time.Sleep(2 * resultLasts)
			second := l.opens1()
			switch slept {
			case "":
				l.wantSoon("the second", opened, second)
			case "forever":
				time.Sleep(2 * time.Second)
				l.sleeps(second)
				l.whySoon(exitNotReady, "503")
			default:
				l.sleeps(second)
				l.wantSoon("the second", opened, second)
				l.whySoon(exitReady, slept)
			}
		})
	}
}

// Until one has got the value, each round ends before the kernel's patience does, and the next one is as long.
func TestRounds(t *testing.T) {
	l := newLeased(t)
	l.runs(m{"restarts": "0s"})
	for range 2 {
		began := time.Now()
		l.wantSoon("who waits for what never comes", "", l.opens1())
		if slept := time.Since(began); slept < 29*time.Second {
			t.Errorf("it slept %v", slept)
		}
		l.whySoon(exitNotReady, l.port) // On a machine that stands still, the last check had no answer.
	}
	read := l.opens1()
	l.sleeps(read)
	l.ready.Store(true)
	l.wantSoon("who comes after that", opened, read)
}

func TestRoundOf(t *testing.T) {
	for text, want := range map[string]time.Duration{"45\n": 30 * time.Second, "9\n": 6 * time.Second, "": 30 * time.Second, "0\n": 30 * time.Second} {
		if got := roundOf(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestAskedOnContinue(t *testing.T) {
	l := newLeased(t)
	l.runs(nil, l.check(m{"timeout": "1s", "onTimeout": "continue"}))
	l.wantSoon("who waits", opened, l.opens1())
}

// The kubelet has to be free to restart what is missing.
func TestAskedWithAnEarlierTier(t *testing.T) {
	l := newLeased(t)
	l.ready.Store(true)
	l.runs(m{"earlier": []m{{"container": "vault", "check": "file://" + l.up}}, "restarts": "always"})
	l.wantSoon("who asks", "", l.opens1())
	l.whySoon(exitNotReady, "vault (file://"+l.up+") of an earlier tier is no longer ready: no such file")
	l.gated.ready()
	l.wantSoon("who asks again", opened, l.opens1())
	// That one has an answer of its own, and may wait for an app.
	os.Remove(l.up)
	time.Sleep(2 * resultLasts)
	l.wantSoon("who asks later", opened, l.opens1())
}

// What held once doesn't count when the others hold.
func TestAllHoldAtOnce(t *testing.T) {
	l := newLeased(t)
	l.gated.ready()
	l.runs(m{"restarts": "always"}, l.check(m{"timeout": "1m"}), l.gated.check(m{"timeout": "1m"}))
	read := l.opens1()
	l.sleeps(read)
	os.Remove(l.up)
	l.ready.Store(true)
	l.sleeps(read)
	l.gated.ready()
	l.wantSoon("who waits", opened, read)
}

func TestAskedInARow(t *testing.T) {
	l := newLeased(t)
	l.ready.Store(true)
	l.runs(nil, l.check(m{"timeout": "1m", "successes": 3}))
	l.wantSoon("who asks", opened, l.opens1())
	if asked := l.asked.Load(); asked != 3 {
		t.Errorf("asked %d times", asked)
	}
}

// A hook that fails has its sidecar restarted: it isn't over before, and the lock of one that failed stays closed.
func TestAskedAfterAHookThatCanFail(t *testing.T) {
	l := newLeased(t)
	spec := l.spec(m{"handOver": "30s"}, l.check(m{"timeout": "500ms"}))
	run1(t, "--spec", spec).want(t, exitNotReady, "was not ready after ")
	l.ends()
	l.ready.Store(true)
	l.wantSoon("who asks", "", l.opens1())
	run1(t, "--spec", spec).want(t, exitReady)
	l.wantSoon("who asks a sidecar that was restarted", opened, l.opens1())
	l.signal(syscall.SIGTERM)
	l.ends()
	why1(t, l.dir, exitNotReady, "ended by a signal")
	l.wantSoon("who asks nobody", "", l.opens1())
}

// Wherever leases or the swap fail, the lock opens with the checks as if there were none, and says so. The failures are fakes: the kernel
// answers a system call with what the test says.
func TestWithoutLeases(t *testing.T) {
	for name, fake := range map[string]struct {
		swap  bool
		errno syscall.Errno
	}{
		"gVisor":              {false, syscall.EINVAL},
		"another user's file": {false, syscall.EACCES},
		"somebody has it":     {false, syscall.EAGAIN},
		"a sticky volume":     {true, syscall.EPERM},
	} {
		for _, after := range []int64{0, 1} {
			t.Run(fmt.Sprintf("%s, after %d answers", name, after), func(t *testing.T) {
				l := newLeased(t)
				var failing, swapping atomic.Bool
				failing.Store(after == 0)
				say := func(s step) syscall.Errno {
					isSwap := s.call == syscall.SYS_RENAMEAT && swapping.Swap(false)
					swapping.CompareAndSwap(false, s.setsLease())
					if failing.Load() && (isSwap && fake.swap || s.setsLease() && !fake.swap) {
						return fake.errno
					}
					return 0
				}
				spec := l.spec(m{"handOver": "0s", "restarts": "always"}, l.gated.check(nil))
				stepwise(t, say, "--spec", spec).want(t, exitReady)
				t.Cleanup(func() { l.signal(syscall.SIGKILL); l.ends() })
				if after > 0 {
					l.gated.ready()
					l.wantSoon("the first", opened, l.opens1())
					os.Remove(l.up)
					time.Sleep(2 * resultLasts)
					failing.Store(true)
					read := l.opens1()
					l.sleeps(read)
					l.gated.ready()
					// Some read nothing, once.
					<-read
				} else {
					l.whySoon(exitNotReady, "can't be asked at the moment of a start")
					l.wantSoon("who asks", "", l.opens1())
					l.gated.ready()
				}
				l.opens()
				l.whySoon(exitReady, "can't be asked at the moment of a start")
			})
		}
	}
}

// It is there for the sidecar's whole life, and counts towards its memory.
func TestAtRest(t *testing.T) {
	l := newLeased(t)
	l.ready.Store(true)
	l.runs(nil)
	l.wantSoon("who asks", opened, l.opens1())
	pid := strconv.Itoa(l.detached())
	time.Sleep(lookAgain + 2*time.Second)
	switches := func() (count int) {
		names, _ := filepath.Glob("/proc/" + pid + "/task/*/status")
		for _, name := range names {
			status, _ := os.ReadFile(name)
			_, rest, _ := strings.Cut(string(status), "\nvoluntary_ctxt_switches:")
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			count += n
		}
		return count
	}
	before := switches()
	time.Sleep(3 * lookAgain)
	woken := switches() - before
	status, _ := os.ReadFile("/proc/" + pid + "/status")
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	kib, _ := strconv.Atoi(strings.Fields(rest)[0])
	t.Logf("%d KiB, woken %d times", kib, woken)
	if kib > 1536 {
		t.Errorf("%d KiB of its own", kib)
	}
	// The runtime of Go makes several of each timer's; something that ticked would make hundreds.
	if woken > 120 {
		t.Errorf("woken %d times in 30 s", woken)
	}
}
