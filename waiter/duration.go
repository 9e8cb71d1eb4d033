package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	minTimeout = 100 * time.Millisecond
	maxTimeout = 10 * time.Minute
)

// parseDuration reads whole numbers with the units h, m, s and ms in this order, as in 1m30s.
func parseDuration(text string) (time.Duration, error) {
	rest := text
	for _, unit := range []string{"h", "m", "s", "ms"} {
		digits := strings.TrimLeft(rest, "0123456789")
		// The m of 5ms isn't a minute's.
		if after, ok := strings.CutPrefix(digits, unit); ok && (unit != "m" || !strings.HasPrefix(after, "s")) {
			rest = after
		}
	}
	d, err := time.ParseDuration(text)
	if rest != "" || err != nil || d <= 0 {
		return 0, fmt.Errorf("%s is not a duration: write 60s, 1m30s or 500ms", shown(strconv.Quote(text)))
	}
	return d, nil
}

// parseTimeout reads a duration within the limits for a timeout.
func parseTimeout(text string) (time.Duration, error) {
	d, err := parseDuration(text)
	if err == nil && (d < minTimeout || d > maxTimeout) {
		err = fmt.Errorf("%s is out of bounds: 100ms to 10m", text)
	}
	return d, err
}
