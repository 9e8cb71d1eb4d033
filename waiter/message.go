package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxMessage = 4096 // what the kubelet reads of a termination message
	maxShown   = 300  // of one value within it
)

// message joins lines into a text that the kubelet doesn't cut.
func message(lines []string) string {
	text := ""
	for i, line := range lines {
		more := fmt.Sprintf("and %d more\n", len(lines)-i)
		if len(text)+len(line)+1+len(more) > maxMessage {
			return text + more
		}
		text += line + "\n"
	}
	return text
}

// clean makes foreign text safe to print on one line.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(strings.TrimSpace(text), "?"))
}

// shown is clean, with long text cut.
func shown(text string) string {
	text = clean(text)
	if len(text) <= maxShown {
		return text
	}
	cut := maxShown
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// plain is the innermost text of an error: "connection refused".
func plain(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		err = op.Err
	}
	var call *os.SyscallError
	if errors.As(err, &call) {
		err = call.Err
	}
	if isTimeout(err) {
		return "no answer in time"
	}
	return shown(err.Error())
}

func isTimeout(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
}
