package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A container is a first process, and what it was asked to run: all of that ends with it.
type container struct {
	t       *testing.T
	cmd     *exec.Cmd
	in      *json.Encoder
	close   func() error
	answers *bufio.Scanner
}

const containerName = "WAITER_CONTAINER"

// runContainer is what this test's program does as a container's first process: it runs the waiter for each line, a list of arguments.
func runContainer() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var args []string
		if err := json.Unmarshal(lines.Bytes(), &args); err != nil {
			panic(err)
		}
		go func() {
			cmd := exec.Command(os.Getenv(containerName), args...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				panic(err)
			}
			stuck := time.AfterFunc(generous, func() { cmd.Process.Kill() })
			cmd.Wait()
			stuck.Stop()
			answer, _ := json.Marshal(hookEnd{cmd.ProcessState.ExitCode(), stderr.String()})
			fmt.Println(string(answer))
		}()
	}
	// Without a namespace the runtime does what the kernel does in one.
	if os.Getpid() != 1 {
		for range 2 {
			lists, _ := filepath.Glob("/proc/self/task/*/children")
			for _, list := range lists {
				pids, _ := os.ReadFile(list)
				for _, pid := range strings.Fields(string(pids)) {
					var number int
					fmt.Sscan(pid, &number)
					syscall.Kill(number, syscall.SIGKILL)
					syscall.Wait4(number, nil, 0, nil)
				}
			}
		}
	}
	os.Exit(0)
}

type hookEnd struct {
	Code   int
	Stderr string
}

// newContainer runs one, in a PID namespace wherever this machine allows that. A user may be given to root.
func newContainer(t *testing.T, users ...uint32) *container {
	t.Helper()
	own := []syscall.SysProcIDMap{{Size: 1}}
	var err error
	for _, attributes := range []*syscall.SysProcAttr{
		{Cloneflags: syscall.CLONE_NEWPID},
		{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWUSER, UidMappings: own, GidMappings: own},
		{},
	} {
		for _, user := range users {
			attributes.Credential = &syscall.Credential{Uid: user, Gid: user}
		}
		for i := range attributes.UidMappings {
			attributes.UidMappings[i].HostID, attributes.GidMappings[i].HostID = os.Getuid(), os.Getgid()
		}
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), containerName+"="+program)
		cmd.SysProcAttr, cmd.Stderr = attributes, os.Stderr
		in, _ := cmd.StdinPipe()
		out, _ := cmd.StdoutPipe()
		if err = cmd.Start(); err != nil {
			continue
		}
		c := &container{t: t, cmd: cmd, in: json.NewEncoder(in), close: in.Close, answers: bufio.NewScanner(out)}
		t.Cleanup(c.end)
		return c
	}
	t.Fatal(err)
	return nil
}

// runs runs a hook to its end. What it leaves behind lives on.
func (c *container) runs(args ...string) result {
	c.t.Helper()
	if err := c.in.Encode(args); err != nil {
		c.t.Fatal(err)
	}
	return c.answer()
}

func (c *container) answer() result {
	var end hookEnd
	if !c.answers.Scan() {
		return result{code: -1, stderr: "its container has ended"}
	}
	if err := json.Unmarshal(c.answers.Bytes(), &end); err != nil {
		c.t.Error(err)
	}
	return result{code: end.Code, stderr: end.Stderr}
}

// end returns when all of its processes have ended.
func (c *container) end() {
	if err := c.close(); err != nil && !errors.Is(err, os.ErrClosed) {
		c.t.Error(err)
	}
	c.cmd.Wait()
}
