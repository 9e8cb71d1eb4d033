// Command wait is what a PostStart hook of sidecar-first runs: it polls the checks of a tier of sidecars and returns when
// all of them are ready, so that the kubelet starts the next container only then.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
)

// version is set by the build (-ldflags "-X main.version=…").
var version = "dev"

const (
	exitReady    = 0
	exitNotReady = 1
	exitUsage    = 2
)

func main() {
	// Its memory counts towards the sidecar's limit. A second processor would cost 0.2 MiB and a fifth more CPU.
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(25)
	// The hook mustn't fail because nobody reads its output.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

func run(ctx context.Context, args []string) int {
	command, err := parseCommand(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "wait: %v\n", err)
		return exitUsage
	}
	return command(ctx)
}

// run runs the hook that was there before ours, then waits for all checks, and says why it failed.
func (s *spec) run(ctx context.Context) int {
	if s.lock != nil {
		return s.runLocked(ctx)
	}
	if s.before != nil {
		if err := s.before.run(ctx); err != nil {
			return s.fail(signalled(ctx, []string{s.before.failure(err)}))
		}
	}
	if lines := waitForAll(ctx, s.waits); len(lines) > 0 {
		return s.fail(signalled(ctx, lines))
	}
	return exitReady
}

// fail says why, also in the termination message.
func (s *spec) fail(lines []string) int { return s.failText(message(lines)) }

func (s *spec) failText(text string) int {
	fmt.Fprint(os.Stderr, text)
	if s.message != "" {
		if err := os.WriteFile(s.message, []byte(text), 0o644); err != nil {
			fmt.Fprintf(os.Stderr, "the reason could not be written to the termination message: %v\n", err)
		}
	}
	return exitNotReady
}

func signalled(ctx context.Context, lines []string) []string {
	if ctx.Err() == nil {
		return lines
	}
	return append([]string{"ended by a signal while it waited"}, lines...)
}
