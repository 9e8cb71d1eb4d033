package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

const (
	specVersion           = 1
	defaultAttemptTimeout = time.Second // timeoutSeconds of a probe that doesn't say
)

// A spec is what a hook asks for, checked and complete.
type spec struct {
	waits   []wait
	before  *before // nil: no hook was there before ours
	message string  // a path; empty: none
	lock    *lock   // nil: nothing but the hook holds what is behind
	text    string  // as it was given
}

type header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type specJSON struct {
	V       *int        `json:"v"`
	Checks  []checkJSON `json:"checks"`
	Before  *beforeJSON `json:"before"`
	Message string      `json:"message"`
	Lock    *lockJSON   `json:"lock"`
}

type checkJSON struct {
	Container      string   `json:"container"`
	Check          string   `json:"check"`
	Timeout        string   `json:"timeout"`
	OnTimeout      string   `json:"onTimeout"`
	Headers        []header `json:"headers"`
	Path           *string  `json:"path"`
	AttemptTimeout *string  `json:"attemptTimeout"`
	Successes      *int     `json:"successes"`
}

// decodeSpec reads the JSON that the webhook wrote. It refuses fields that it doesn't know: to ignore one would be to
// wait for something else than was asked for.
func decodeSpec(text string, raw any) error {
	var just struct {
		V *int `json:"v"`
	}
	if err := json.Unmarshal([]byte(text), &just); err != nil {
		return fmt.Errorf("--spec is not the JSON it should be: %s", clean(err.Error()))
	}
	if just.V == nil {
		return errors.New(`--spec has no version: "v":1 is missing`)
	}
	const update = "the webhook and the waiter image must be of one version"
	if *just.V != specVersion {
		return fmt.Errorf("--spec has version %d, but this waiter (%s) knows only %d: %s", *just.V, version, specVersion, update)
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(raw); err != nil {
		return fmt.Errorf("--spec doesn't fit this waiter (%s): %s: %s", version, clean(strings.TrimPrefix(err.Error(), "json: ")), update)
	}
	return nil
}

func parseSpec(text string) (*spec, error) {
	var raw specJSON
	if err := decodeSpec(text, &raw); err != nil {
		return nil, err
	}
	if len(raw.Checks) == 0 && raw.Before == nil {
		return nil, errors.New("--spec has nothing to wait for: checks is empty")
	}
	s := &spec{message: raw.Message, text: text}
	var err error
	if s.waits, err = parseWaits("checks", raw.Checks); err != nil {
		return nil, err
	}
	if raw.Lock == nil {
		// The hook is in the container that is checked last, if that is checked at all.
		for i := range max(len(s.waits)-1, 0) {
			s.waits[i].elsewhere = true
		}
	}
	if raw.Before != nil {
		if s.before, err = raw.Before.parse(); err != nil {
			return nil, fmt.Errorf("before: %w", err)
		}
	}
	if raw.Lock != nil {
		if s.lock, err = raw.Lock.parse(); err != nil {
			return nil, fmt.Errorf("lock: %w", err)
		}
	}
	return s, nil
}

// parseWaits reads the checks of a list; its name is for messages.
func parseWaits(list string, checks []checkJSON) ([]wait, error) {
	var waits []wait
	for i, c := range checks {
		where := fmt.Sprintf("%s[%d]", list, i)
		if c.Container == "" {
			return nil, fmt.Errorf("%s: container is missing", where)
		}
		w, err := c.parse()
		if err != nil {
			return nil, fmt.Errorf("%s (%s): %w", where, shown(c.Container), err)
		}
		waits = append(waits, w)
	}
	return waits, nil
}

func (c checkJSON) parse() (w wait, err error) {
	w = wait{container: c.Container, headers: c.Headers, path: c.Path, attemptTimeout: defaultAttemptTimeout, successes: 1}
	if w.check, err = parseCheck(c.Check); err != nil {
		return w, err
	}
	if w.timeout, err = parseTimeout(c.Timeout); err != nil {
		return w, fmt.Errorf("timeout: %w", err)
	}
	if c.AttemptTimeout != nil {
		if w.attemptTimeout, err = parseDuration(*c.AttemptTimeout); err != nil {
			return w, fmt.Errorf("attemptTimeout: %w", err)
		}
	}
	w.goOn = c.OnTimeout == "continue"
	if !w.goOn && c.OnTimeout != "fail" {
		return w, fmt.Errorf("onTimeout is fail or continue, not %s", shown(strconv.Quote(c.OnTimeout)))
	}
	if c.Successes != nil {
		if w.successes = *c.Successes; w.successes < 1 {
			return w, fmt.Errorf("successes is at least 1, not %d", w.successes)
		}
	}
	if (len(c.Headers) > 0 || c.Path != nil) && w.check.kind != kindHTTP && w.check.kind != kindHTTPS {
		return w, errors.New("only http and https checks can have headers and a path")
	}
	return w, validHeaders(c.Headers)
}

// parseCommandLine reads a command as a JSON array, the form that checks and messages use.
func parseCommandLine(text string) ([]string, error) {
	var command []string
	decoder := json.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(&command); err != nil {
		return nil, errors.New(clean(strings.TrimPrefix(err.Error(), "json: ")))
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("something follows the array")
	}
	return command, validCommand(command)
}

func validCommand(command []string) error {
	if len(command) == 0 || command[0] == "" {
		return errors.New("the command is empty")
	}
	for _, arg := range command {
		if strings.ContainsRune(arg, 0) {
			return errors.New("an argument has a NUL character")
		}
	}
	return nil
}

// commandText is a command as JSON, with < > & not escaped.
func commandText(command []string) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(command); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(text.String())
}
