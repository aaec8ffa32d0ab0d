// Package demo keeps the sandbox's demo account in the store and its dates near
// today: it is seeded at the first start and replaced each UTC day. What the
// account holds is the sandbox module's; this package turns it into rows.
package demo
