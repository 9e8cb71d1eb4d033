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
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || strings.IndexByte(signs, b) >= 0
}
