package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

const help = `wait until sidecars are ready, and until apps have ended

  wait CHECK…               wait for all checks, at most --timeout (60s) each
  wait --spec JSON          the same, as sidecar-first's webhook writes it into a hook
  wait install DIR          copy this program to DIR/wait; --reset LOCKS closes all locks in that folder first
  wait witness --spec JSON  in a preStop hook: let others see when this container has ended, and run its own hook
  wait others --spec JSON   in a preStop hook: wait until other containers have ended, then run its own hook
  wait --why [LOCKS]        why the containers behind a lock can't start yet
  wait --version

Checks
  http://[HOST]:PORT/PATH    answers 200 to 399; https:// too, unverified
  tcp://[HOST]:PORT          accepts a connection
  grpc://[HOST]:PORT[/NAME]  grpc.health.v1 says SERVING
  unix:///PATH               accepts a connection
  file:///PATH               exists
  exec:["CMD","ARG"]         exits 0
Without HOST, the container's loopback and own addresses are tried.

Example
  wait --timeout 30s http://:15021/healthz/ready 'exec:["vault","status"]' && ./app

Exit codes: 0 ready (--why: all open), 1 not ready in time (--why: one is closed), 2 usage
`

// A command is the parsed command line; running it returns the exit code.
type command func(context.Context) int

func printing(text string) command {
	return func(context.Context) int {
		fmt.Print(text)
		return exitReady
	}
}

func installing(dir, locks string) command {
	return func(context.Context) int {
		var err error
		if locks != "" {
			err = reset(locks)
		}
		if err == nil {
			err = install(dir)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "wait install: %v\n", err)
			return exitNotReady
		}
		return exitReady
	}
}

const hint = "see wait --help"

// parseCommand reads the command line. All its errors are usage errors.
func parseCommand(args []string) (command, error) {
	if len(args) > 0 && args[0] == "install" {
		switch {
		case len(args) == 2 && args[1] != "":
			return installing(args[1], ""), nil
		case len(args) == 4 && args[1] != "" && args[2] == "--reset" && args[3] != "":
			return installing(args[1], args[3]), nil
		}
		return nil, errors.New("install takes one folder: wait install DIR [--reset LOCKS]")
	}
	if len(args) > 0 && (args[0] == argWitness || args[0] == argOthers) {
		return parseEnding(args[0], args[1:])
	}
	flags := flag.NewFlagSet("wait", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var (
		specJSON    = flags.String("spec", "", "")
		timeout     = flags.String("timeout", "", "")
		showVersion = flags.Bool("version", false, "")
		showWhy     = flags.Bool("why", false, "")
		isDetached  = flags.Bool("detached", false, "") // by which a locked hook runs itself again
	)
	var texts []string
	// Flags may also follow the checks.
	for rest := args; ; {
		if err := flags.Parse(rest); errors.Is(err, flag.ErrHelp) {
			return printing(help), nil
		} else if err != nil {
			return nil, fmt.Errorf("%v; %s", err, hint)
		}
		if flags.NArg() == 0 {
			break
		}
		texts, rest = append(texts, flags.Arg(0)), flags.Args()[1:]
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })

	switch {
	case *showVersion:
		return printing("wait " + version + "\n"), nil
	case *showWhy:
		if len(texts) > 1 || len(given) > 1 {
			return nil, errors.New("--why takes one folder at most; " + hint)
		}
		dir := lockDirectory
		if len(texts) == 1 {
			dir = texts[0]
		}
		return func(context.Context) int { return why(dir, os.Stdout) }, nil
	case given["spec"]:
		if len(texts) > 0 || given["timeout"] {
			return nil, errors.New("--spec stands alone, without checks or --timeout; " + hint)
		}
		s, err := parseSpec(*specJSON)
		if err != nil {
			return nil, err
		}
		if *isDetached && s.lock != nil {
			return s.runDetached, nil
		}
		return s.run, nil
	case len(texts) == 0:
		return nil, errors.New("nothing to wait for; " + hint)
	}
	limit := 60 * time.Second
	if given["timeout"] {
		var err error
		if limit, err = parseTimeout(*timeout); err != nil {
			return nil, fmt.Errorf("--timeout: %w", err)
		}
	}
	s := &spec{}
	for _, text := range texts {
		c, err := parseCheck(text)
		if err != nil {
			return nil, err
		}
		s.waits = append(s.waits, wait{check: c, timeout: limit, attemptTimeout: defaultAttemptTimeout, successes: 1})
	}
	return s.run, nil
}
