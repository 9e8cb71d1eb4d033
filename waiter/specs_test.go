package main

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
)

// TestSpecsOf reads a file of commands, one a line, as the webhook wrote them for random pods: every one must be accepted
// (test/admission/hook/specs.process.test.ts).
func TestSpecsOf(t *testing.T) {
	name := os.Getenv("WAITER_SPECS")
	if name == "" {
		t.Skip("WAITER_SPECS names no file")
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	count := 0
	for ; lines.Scan(); count++ {
		var args []string
		if err := json.Unmarshal(lines.Bytes(), &args); err != nil {
			t.Fatal(err)
		}
		if _, err := parseCommand(args); err != nil {
			t.Errorf("%v: %.2000s", err, lines.Text())
		}
	}
	if lines.Err() != nil || count == 0 {
		t.Errorf("read %d commands: %v", count, lines.Err())
	}
	t.Logf("%d commands", count)
}
