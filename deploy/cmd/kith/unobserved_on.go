//go:build unobserved

package main

const observed = false
