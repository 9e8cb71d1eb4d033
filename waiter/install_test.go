package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestInstall(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".wait-123"), []byte("left by a kill"), 0o600); err != nil {
		t.Fatal(err)
	}
	installed := filepath.Join(dir, "wait")
	for range 2 {
		run1(t, "install", dir).want(t, exitReady)
		want, _ := os.ReadFile(program)
		got, err := os.ReadFile(installed)
		info, _ := os.Stat(installed)
		if err != nil || !bytes.Equal(got, want) || info.Mode() != 0o755 {
			t.Fatalf("%v %v", err, info.Mode())
		}
		entries, _ := os.ReadDir(dir)
		if len(entries) != 1 {
			t.Errorf("left behind: %v", entries)
		}
	}
	// The copy works, installs itself, and replaces itself while it runs.
	running := exec.Command(installed, "tcp://127.0.0.1:"+freePort(t))
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { running.Process.Kill(); running.Wait() }()
	if out, err := exec.Command(installed, "install", dir).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := exec.Command(installed, "--version").Output(); err != nil || string(out) != "wait 1.2.3-test\n" {
		t.Errorf("%v: %s", err, out)
	}
}

func TestInstallFails(t *testing.T) {
	run1(t, "install", filepath.Join(t.TempDir(), "nope")).want(t, exitNotReady, "no such file")
	// A folder in the place of the file: the copy is taken away again.
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "wait", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	run1(t, "install", dir).want(t, exitNotReady, "file exists")
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}
