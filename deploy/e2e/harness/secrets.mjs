// Records values that no log may show: the Go tests read them from this file and search the
// service's output for them.
import { appendFileSync } from 'node:fs';
import { setting } from './client.mjs';

/** Notes that the value must not be in any log, and returns it. */
export function keep(kind, value) {
  // A line for each value; shorter values could occur as ordinary words.
  if (value?.length >= 8) appendFileSync(setting('SECRETS_FILE'), `${kind}\t${value}\n`);
  return value;
}
