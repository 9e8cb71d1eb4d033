package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// Random pods that end: some containers' hooks begin late, or never, some restarted before, some keep their locks, some can't show their end.
// Whatever comes together: a container's own hook runs once, and only when all behind it have ended, but for those that it names; and it names
// one only for the reason that it gives.
func TestEndModel(t *testing.T) {
	runs := 4
	if os.Getenv("CI") != "" {
		runs = 20
	}
	for range runs {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) { endModel(t, rand.New(rand.NewPCG(seed, 0))) })
	}
}

// An endContainer is one of a model's, and what was seen of it.
type endContainer struct {
	name   string
	tier   int
	begins time.Duration // after the pod's end; negative: never
	drains time.Duration // from its hook's end
	before string        // what its file was before
	keeps  bool          // it doesn't end before those that wait for it go on
	fails  bool          // its own hook does

	appear, limit   time.Duration
	began           time.Time // no later than its hook
	locked          time.Time // no earlier than its lock
	ending          time.Time // before it can have ended
	early           []string  // whose own hook has run by then
	returned, ended chan struct{}
	result          result
	code            int
}

func (c *endContainer) unseen() bool { return c.begins < 0 || c.before == "folder" }

func endModel(t *testing.T, random *rand.Rand) {
	t.Parallel()
	e := newEndings(t)
	var all []*endContainer
	tiers := 1 + random.IntN(3)
	for tier := range tiers + 1 {
		for range 1 + random.IntN(2) {
			c := &endContainer{
				name:     fmt.Sprintf("c%d", len(all)),
				tier:     tier,
				begins:   time.Duration(random.Int64N(int64(500 * time.Millisecond))),
				drains:   time.Duration(random.Int64N(int64(400 * time.Millisecond))),
				before:   []string{"", "", "", "restarted", "empty", "folder"}[random.IntN(6)],
				keeps:    tier > 0 && random.IntN(6) == 0,
				fails:    random.IntN(4) == 0,
				returned: make(chan struct{}),
				ended:    make(chan struct{}),
			}
			switch random.IntN(4) {
			case 0:
				c.drains = 0
			case 1:
				c.begins = 0
			}
			if tier > 0 && random.IntN(6) == 0 {
				c.begins = -1
			}
			all = append(all, c)
		}
	}
	for _, c := range all {
		c.plant(e)
	}
	// What a container waits for, it waits for as long as it takes, unless nothing else would end that.
	for _, c := range all {
		c.appear, c.limit = 10*time.Minute, 10*time.Minute
		for _, other := range behind(c, all) {
			if other.unseen() || other.begins < c.begins {
				c.appear = time.Duration(100+random.IntN(500)) * time.Millisecond
			}
			if other.keeps {
				c.limit = time.Duration(500+random.IntN(1500)) * time.Millisecond
			}
		}
	}
	var running sync.WaitGroup
	for _, c := range all {
		if c.begins < 0 {
			close(c.returned)
			close(c.ended)
			continue
		}
		container := newContainer(t)
		running.Go(func() { c.live(e, container, all) })
	}
	running.Wait()
	named := 0
	for _, c := range all {
		if c.begins >= 0 {
			named += c.judge(t, e, all)
		}
	}
	t.Logf("%d containers in %d tiers, %d named", len(all), tiers+1, named)
	if t.Failed() {
		for _, c := range all {
			t.Logf("%s: tier %d, begins %v, drains %v, file %q, keeps %v, appear %v, limit %v; began %v, locked %v, ending %v: %q", c.name, c.tier, c.begins,
				c.drains, c.before, c.keeps, c.appear, c.limit, c.began.UnixMilli(), c.locked.UnixMilli(), c.ending.UnixMilli(), c.result.stderr)
		}
	}
}

func behind(c *endContainer, all []*endContainer) (found []*endContainer) {
	for _, other := range all {
		if other.tier > c.tier {
			found = append(found, other)
		}
	}
	return found
}

func (c *endContainer) plant(e *endings) {
	path := e.path(c.name)
	past := time.Now().Add(-time.Minute)
	switch c.before {
	case "folder":
		os.Mkdir(path, 0o777)
	case "empty":
		os.WriteFile(path, nil, 0o666)
	case "restarted":
		os.WriteFile(path, []byte(endingMark), 0o666)
		os.Chtimes(path, past, past)
	}
}

// own is what a container's own hook writes into, a line each time.
func (c *endContainer) own(e *endings) string { return e.path("own-" + c.name) }

func (c *endContainer) args(e *endings, all []*endContainer) []string {
	if c.fails {
		c.code = 1
	}
	spec := m{"before": hookCommand(`echo ran >>"$1"; exit "$2"`, c.own(e), fmt.Sprint(c.code))}
	var names []string
	for _, other := range behind(c, all) {
		names = append(names, other.name)
	}
	if names == nil {
		return e.witness(c.name, spec)
	}
	spec["appear"], spec["limit"] = fmt.Sprintf("%dms", c.appear.Milliseconds()), fmt.Sprintf("%dms", c.limit.Milliseconds())
	if c.tier > 0 {
		spec["file"] = e.path(c.name)
	}
	return e.others(spec, names...)
}

// live is what the kubelet does with it, and the container itself.
func (c *endContainer) live(e *endings, container *container, all []*endContainer) {
	args := c.args(e, all)
	time.Sleep(c.begins)
	c.began = time.Now()
	c.result = container.runs(args...)
	// Of a middle tier's lock this is far too late, so nothing follows from it.
	c.locked = time.Now()
	close(c.returned)
	time.Sleep(c.drains)
	if c.keeps {
		for _, other := range all {
			if other.tier < c.tier {
				<-other.returned
			}
		}
	}
	for _, other := range all {
		if _, err := os.Stat(other.own(e)); err == nil && other.tier < c.tier {
			c.early = append(c.early, other.name)
		}
	}
	c.ending = time.Now()
	container.end()
	close(c.ended)
}

func (c *endContainer) judge(t *testing.T, e *endings, all []*endContainer) (named int) {
	if ran, _ := os.ReadFile(c.own(e)); string(ran) != "ran\n" {
		t.Errorf("%s: its own hook: %q", c.name, ran)
	}
	if c.result.code != c.code {
		t.Errorf("%s: exit code %d, not %d: %s", c.name, c.result.code, c.code, c.result.stderr)
	}
	lasted := c.locked.Sub(c.began)
	for _, other := range behind(c, all) {
		var notBegun, notEnded bool
		for line := range strings.Lines(c.result.stderr) {
			notBegun = notBegun || strings.HasPrefix(line, other.name+" did not begin to end within ")
			notEnded = notEnded || strings.HasPrefix(line, other.name+" has not ended after ")
		}
		if notBegun || notEnded {
			named++
		}
		isEarly := strings.Contains(" "+strings.Join(other.early, " ")+" ", " "+c.name+" ")
		switch {
		case notEnded:
			if lasted < c.limit || other.unseen() {
				t.Errorf("%s says after %v that %s has not ended", c.name, lasted, other.name)
			}
		case !notBegun && other.begins < 0:
			t.Errorf("%s says nothing of %s, which never ends", c.name, other.name)
		case !notBegun && isEarly:
			t.Errorf("%s had run its own hook before %s ended, and doesn't say so", c.name, other.name)
		case !notBegun || other.unseen():
		case lasted < min(c.appear, c.limit):
			t.Errorf("%s says after %v that %s did not begin to end", c.name, lasted, other.name)
		case other.began.Before(c.began) && !isEarly:
			// It may have ended long before this one's hook began, as it takes a while to begin on a busy machine.
		case other.tier == all[len(all)-1].tier && other.locked.Before(c.began.Add(min(c.appear, c.limit))):
			t.Errorf("%s says that %s did not begin to end, which was locked in time", c.name, other.name)
		}
	}
	return named
}
