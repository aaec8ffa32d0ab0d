// Package demo seeds the sandbox's demo account: at the first start, and again each UTC
// day, so that its dates stay near today. The data comes from the sandbox module. The
// account's network is a file in our own export format. The importer imports it like any
// other such file, but in one transaction with everything else: visitors never see a part.
package demo
