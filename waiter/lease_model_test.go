package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Random sidecars that get ready and unready, openers of every kind, and processes that are stopped and killed. Whatever comes together:
// nobody reads the value but after a check that held when they came or later, nobody reads nothing while the process lives, and the path
// never names a file that has the value.
func TestLeaseModel(t *testing.T) {
	runs := 2
	if os.Getenv("CI") != "" {
		runs = 10
	}
	for range runs {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) { leaseModel(t, rand.New(rand.NewPCG(seed, 0))) })
	}
}

// A leaseOpen is what somebody saw.
type leaseOpen struct {
	kind       string
	began, end time.Time
	content    string
	refused    bool // it didn't want to wait
}

func leaseModel(t *testing.T, random *rand.Rand) {
	t.Parallel()
	var (
		mu    sync.Mutex
		holds []time.Time // when a check was answered so
		opens []leaseOpen
		lives []span // of processes
	)
	l := leasedWith(t, func(ready bool) {
		if ready {
			mu.Lock()
			holds = append(holds, time.Now())
			mu.Unlock()
		}
	})
	var over atomic.Bool
	var acting sync.WaitGroup
	// Each has its own, as they aren't to be shared.
	acts := func(act func(*rand.Rand)) {
		own := rand.New(rand.NewPCG(random.Uint64(), 0))
		acting.Go(func() {
			for !over.Load() {
				act(own)
			}
		})
	}
	pause := func(r *rand.Rand, most time.Duration) { time.Sleep(time.Duration(r.Int64N(int64(most)))) }

	lifetime := func() {
		l.runs(m{"restarts": "always"})
		mu.Lock()
		lives = append(lives, span{from: time.Now()})
		mu.Unlock()
	}
	lifetime()
	changing := make(chan struct{})
	go func(r *rand.Rand) {
		defer close(changing)
		for !over.Load() {
			pause(r, 100*time.Millisecond)
			l.ready.Store(r.IntN(2) == 0)
		}
	}(rand.New(rand.NewPCG(random.Uint64(), 0)))
	for _, kind := range []string{"reads", "reads", "keeps", "writes", "doesn't wait"} {
		acts(func(r *rand.Rand) {
			if r.IntN(4) > 0 {
				pause(r, 50*time.Millisecond)
			}
			o := openFile(l.file, kind)
			mu.Lock()
			defer mu.Unlock()
			opens = append(opens, o)
		})
	}
	acts(func(r *rand.Rand) {
		if info, err := os.Stat(l.file); err == nil && info.Size() > 0 {
			t.Errorf("the path names a file of %d bytes", info.Size())
		}
		pause(r, 2*time.Millisecond)
	})
	for range 8 {
		pause(random, 500*time.Millisecond)
		if random.IntN(3) > 0 {
			l.signal(syscall.SIGSTOP)
			pause(random, 200*time.Millisecond)
			l.signal(syscall.SIGCONT)
			continue
		}
		mu.Lock()
		lives[len(lives)-1].to = time.Now()
		mu.Unlock()
		l.signal(syscall.SIGKILL)
		l.ends()
		pause(random, 50*time.Millisecond)
		lifetime()
	}
	over.Store(true)
	<-changing
	l.ready.Store(true)
	acting.Wait()

	// The last checks may still be answered.
	mu.Lock()
	defer mu.Unlock()
	values, nothing := 0, 0
	for _, o := range opens {
		held := func(at time.Time) bool { return !at.Before(o.began.Add(-resultLasts)) && at.Before(o.end) }
		switch {
		case o.refused:
		case o.content == opened:
			values++
			if !slices.ContainsFunc(holds, held) {
				t.Errorf("one that %s read the value, and no check had held since it came", o.kind)
			}
		case o.content == "":
			nothing++
			// A process that lived all the while would have answered.
			if slices.ContainsFunc(lives, func(s span) bool { return s.from.Before(o.began) && (s.to.IsZero() || o.end.Before(s.to)) }) {
				t.Errorf("one that %s read nothing beside a process that lives", o.kind)
			}
		default:
			t.Errorf("one that %s read %q", o.kind, o.content)
		}
	}
	t.Logf("%d opens, %d values, %d times nothing, %d lives", len(opens), values, nothing, len(lives))
	if values == 0 {
		t.Error("nobody read the value")
	}
}

type span struct{ from, to time.Time }

func openFile(path, kind string) leaseOpen {
	o := leaseOpen{kind: kind, began: time.Now()}
	flag := map[string]int{"writes": os.O_RDWR, "doesn't wait": os.O_RDONLY | syscall.O_NONBLOCK}[kind]
	file, err := os.OpenFile(path, flag, 0)
	if err != nil {
		o.refused = errors.Is(err, syscall.EWOULDBLOCK)
		o.end, o.content = time.Now(), err.Error()
		return o
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	o.end, o.content = time.Now(), string(content)
	switch {
	case err != nil:
		o.content = err.Error()
	case kind == "keeps":
		time.Sleep(20 * time.Millisecond)
	}
	return o
}
