package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// An ending is what a preStop hook asks for: that the end of its container can be seen, that other containers end before it, or both.
type ending struct {
	file   string // which stays locked until this container has ended; empty: nobody waits for that
	others others
	before *before // the container's own preStop; nil: none
}

type endingJSON struct {
	V      *int        `json:"v"`
	File   string      `json:"file"`
	Files  []string    `json:"files"`
	Appear *string     `json:"appear"`
	Limit  *string     `json:"limit"`
	Before *beforeJSON `json:"before"`
}

const (
	argWitness = "witness"
	argOthers  = "others"
)

// parseEnding reads the arguments behind one of these words.
func parseEnding(word string, args []string) (command, error) {
	switch {
	case word == argWitness && len(args) > 0 && args[0] == "--detached":
		return stayWitness, nil
	case len(args) != 2 || args[0] != "--spec":
		return nil, fmt.Errorf("%s takes --spec JSON; %s", word, hint)
	}
	var raw endingJSON
	if err := decodeSpec(args[1], &raw); err != nil {
		return nil, err
	}
	e, err := raw.parse(word)
	if err != nil {
		return nil, err
	}
	return e.run, nil
}

func (raw *endingJSON) parse(word string) (*ending, error) {
	e := &ending{file: raw.File, others: others{files: raw.Files}}
	if raw.Before != nil {
		var err error
		if e.before, err = raw.Before.parse(); err != nil {
			return nil, fmt.Errorf("before: %w", err)
		}
	}
	for _, file := range append([]string{raw.File}, raw.Files...) {
		if file != "" && !filepath.IsAbs(file) || file == "" && word == argWitness {
			return nil, fmt.Errorf("a container's file is an absolute path, not %q", shown(file))
		}
	}
	if word == argWitness {
		if raw.Files != nil || raw.Appear != nil || raw.Limit != nil {
			return nil, errors.New("a witness waits for nobody: files, appear and limit are for " + argOthers)
		}
		return e, nil
	}
	if len(raw.Files) == 0 || raw.Appear == nil || raw.Limit == nil {
		return nil, errors.New("--spec has nobody to wait for: it needs files, appear and limit")
	}
	var err error
	if e.others.appear, err = parseFromZero(*raw.Appear); err != nil {
		return nil, fmt.Errorf("appear: %w", err)
	}
	if e.others.limit, err = parseFromZero(*raw.Limit); err != nil {
		return nil, fmt.Errorf("limit: %w", err)
	}
	return e, nil
}

// run never keeps the container's own preStop from running, and fails only with that: the kubelet would report ours as the container's.
func (e *ending) run(ctx context.Context) int {
	began := time.Now()
	if e.file != "" {
		if err := witness(e.file); err != nil {
			told("others may not wait for the end of this container: " + plain(err))
		}
	}
	if len(e.others.files) > 0 {
		told(e.others.wait(ctx, began)...)
	}
	err := ctx.Err()
	if err == nil && e.before != nil {
		if err = e.before.run(ctx); err != nil {
			told(e.before.failure(err))
		}
	}
	if ctx.Err() != nil {
		told("ended by a signal while it waited")
	}
	if err != nil {
		return exitNotReady
	}
	return exitReady
}

// told goes to the container's log, too: the kubelet shows the output of a hook only if that fails.
func told(lines ...string) {
	if len(lines) > 0 {
		fmt.Fprintln(os.Stderr, strings.Join(lines, "\n"))
		logged(lines)
	}
}
