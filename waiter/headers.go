package main

import (
	"fmt"
	"strconv"
	"strings"
)

// validHeaders refuses headers that would break the request. Its errors name headers but never show values, which may be secret.
func validHeaders(headers []header) error {
	for _, h := range headers {
		if h.Name == "" || strings.ContainsFunc(h.Name, func(r rune) bool { return r > 0x7f || !isToken(byte(r)) }) {
			return fmt.Errorf("%s is not a header name", shown(strconv.Quote(h.Name)))
		}
		if strings.ContainsFunc(h.Value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return fmt.Errorf("the value of header %s has a line break or another control character", shown(h.Name))
		}
	}
	return nil
}

// isToken is whether a byte can be in the name of a header.
func isToken(b byte) bool {
	const signs = "!#$%&'*+-.^_`|~"
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || isDigit(b) || strings.IndexByte(signs, b) >= 0
}

// canonical is the name as the kubelet writes it: X-Api-Key.
func canonical(name string) string {
	out := []byte(strings.ToLower(name))
	for i := range out {
		if (i == 0 || out[i-1] == '-') && 'a' <= out[i] && out[i] <= 'z' {
			out[i] -= 'a' - 'A'
		}
	}
	return string(out)
}

func find(headers []header, name string) string {
	for _, h := range headers {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

func has(headers []header, name string) bool {
	for _, h := range headers {
		if strings.EqualFold(h.Name, name) {
			return true
		}
	}
	return false
}
