package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// A step is a system call of the program, before it is made: those that a lock is made of.
type step struct {
	pid  int
	call uint32
	args [6]uint64
}

func (s step) setsLease() bool { return s.call == syscall.SYS_FCNTL && s.args[1] == syscall.F_SETLEASE }

func (s step) String() string {
	names := map[uint32]string{
		syscall.SYS_FCNTL: "fcntl", syscall.SYS_OPENAT: "openat", syscall.SYS_RENAMEAT: "renameat", syscall.SYS_UNLINKAT: "unlinkat",
		syscall.SYS_FCHMOD: "fchmod", syscall.SYS_WRITE: "write", syscall.SYS_CLOSE: "close", syscall.SYS_NEWFSTATAT: "newfstatat",
	}
	return fmt.Sprintf("%s(%d, %#x)", names[s.call], int(s.args[0]), s.args[1])
}

const (
	seccompCall  = 317 // of amd64
	pidfdOpen    = 434
	pidfdGetfd   = 438
	notify       = 0x7fc00000
	allow        = 0x7fff0000
	receiveStep  = 0xc0502100
	answerStep   = 0xc0182101
	filteredName = "WAITER_FILTERED"
)

// runFiltered is what this test's program does before it becomes the waiter: the kernel stops it at each step and asks the test.
func runFiltered() {
	runtime.LockOSThread()
	type instruction = syscall.SockFilter
	load := func(at uint32) instruction { return instruction{Code: 0x20, K: at} }
	var filter []instruction
	add := func(more ...instruction) { filter = append(filter, more...) }
	isNot := func(call, skipped uint32) instruction { return instruction{Code: 0x15, Jf: uint8(skipped), K: call} }
	add(load(0))
	for _, call := range []uint32{syscall.SYS_RENAMEAT, syscall.SYS_UNLINKAT, syscall.SYS_FCHMOD, syscall.SYS_CLOSE, syscall.SYS_NEWFSTATAT} {
		add(isNot(call, 1), instruction{Code: 0x06, K: notify})
	}
	// Not to the pipe by which the test hears of the filter.
	add(isNot(syscall.SYS_WRITE, 4), load(16), instruction{Code: 0x15, Jt: 1, K: 1}, instruction{Code: 0x06, K: notify}, instruction{Code: 0x06, K: allow})
	for call, flags := range map[uint32]uint32{syscall.SYS_OPENAT: syscall.O_CREAT, syscall.SYS_FCNTL: 0x400} {
		at := uint32(32)
		if call == syscall.SYS_FCNTL {
			at = 24
		}
		add(isNot(call, 4), load(at), instruction{Code: 0x45, Jf: 1, K: flags}, instruction{Code: 0x06, K: notify}, instruction{Code: 0x06, K: allow})
	}
	add(instruction{Code: 0x06, K: allow})
	program := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	const noNewPrivs, setFilter, newListener = 38, 1, 8
	syscall.RawSyscall6(syscall.SYS_PRCTL, noNewPrivs, 1, 0, 0, 0, 0)
	listener, _, errno := syscall.RawSyscall(seccompCall, setFilter, newListener, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		panic(errno)
	}
	fmt.Println(listener)
	bufio.NewReader(os.Stdin).ReadString('\n')
	panic(syscall.Exec(os.Getenv(filteredName), append([]string{"wait"}, os.Args[1:]...), nil))
}

// stepwise runs the program. Each step is made, or fails, as the test says.
func stepwise(t *testing.T, say func(step) syscall.Errno, args ...string) result {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the numbers of system calls are those of amd64")
	}
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), filteredName+"="+program)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	number, err2 := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || err2 != nil {
		t.Fatalf("no filter: %q %v", line, err)
	}
	pidfd, _, errno := syscall.Syscall(pidfdOpen, uintptr(cmd.Process.Pid), 0, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer syscall.Close(int(pidfd))
	listener, _, errno := syscall.Syscall(pidfdGetfd, pidfd, uintptr(number), 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	go func() {
		defer syscall.Close(int(listener))
		for {
			var asked [80]byte
			_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, listener, receiveStep, uintptr(unsafe.Pointer(&asked)))
			if errno == syscall.EINTR {
				continue
			}
			if errno != 0 {
				if !alive(listener) {
					return
				}
				continue
			}
			s := step{pid: int(binary.NativeEndian.Uint32(asked[8:])), call: binary.NativeEndian.Uint32(asked[16:])}
			for i := range s.args {
				s.args[i] = binary.NativeEndian.Uint64(asked[32+8*i:])
			}
			var answer [24]byte
			copy(answer[:8], asked[:8])
			if errno := say(s); errno != 0 {
				binary.NativeEndian.PutUint32(answer[16:], uint32(-int32(errno)))
			} else {
				answer[20] = 1 // go on with the call
			}
			syscall.Syscall(syscall.SYS_IOCTL, listener, answerStep, uintptr(unsafe.Pointer(&answer)))
		}
	}()
	in.Write([]byte("\n"))
	in.Close()
	cmd.Wait()
	return result{code: cmd.ProcessState.ExitCode(), stderr: stderr.String()}
}

// alive is whether a process with this filter is left.
func alive(listener uintptr) bool {
	fds := struct {
		fd              int32
		events, revents int16
	}{fd: int32(listener)}
	syscall.Syscall(syscall.SYS_POLL, uintptr(unsafe.Pointer(&fds)), 1, 0)
	return fds.revents&0x10 == 0
}
