package main

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
)

// readSecrets sets the settings with the tag secret: "whole", or "address" for an address
// that may contain a password. They have no flag, because other users of the machine can
// read command lines. Each is an environment variable, or in a file whose path is in the
// variable with _FILE after its name.
func (s *settings) readSecrets(lookup func(string) (string, bool)) error {
	value := reflect.ValueOf(s).Elem()
	for field := range value.Type().Fields() {
		if _, secret := field.Tag.Lookup("secret"); !secret {
			continue
		}
		text, set, err := readSecret(lookup, field.Tag.Get("env"))
		if err != nil {
			return err
		}
		if !set {
			text = field.Tag.Get("default")
		}
		value.FieldByIndex(field.Index).SetString(text)
	}
	return nil
}

// readSecret returns the value of a secret and whether it is set. It removes newlines at
// the end of a file.
func readSecret(lookup func(string) (string, bool), variable string) (text string, set bool, err error) {
	value, set := lookup(variable)
	path, _ := lookup(variable + "_FILE")
	switch {
	case path == "":
		return value, set, nil
	case value != "":
		return "", false, fmt.Errorf("both %s and %s_FILE are set: use one", variable, variable)
	}
	content, err := os.ReadFile(path)
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		return "", false, fmt.Errorf("read %s_FILE %s: %w", variable, path, pathErr.Err)
	}
	text = strings.TrimRight(string(content), "\r\n")
	if err == nil && text == "" {
		err = fmt.Errorf("%s_FILE %s is empty", variable, path)
	}
	return text, true, err
}
