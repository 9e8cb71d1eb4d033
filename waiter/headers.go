package main

import (
	"fmt"
	"strconv"
	"strings"
)

// validHeaders refuses what would change the request around a header. It names headers only: their values may be secret.
func validHeaders(headers []header) error {
	const token = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for _, h := range headers {
		if h.Name == "" || strings.Trim(h.Name, token) != "" {
			return fmt.Errorf("%s is no header name", shown(strconv.Quote(h.Name)))
		}
		if strings.ContainsFunc(h.Value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return fmt.Errorf("the value of header %s has a line break or another control character", shown(h.Name))
		}
	}
	return nil
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
