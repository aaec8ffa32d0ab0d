// Reads [[name, value], …] from standard input and parses each value as the
// structured field that it claims to be (RFC 9651).
import { parseItem, parseList } from "structured-headers";
import { readFileSync } from "node:fs";

const faults = [];
for (const [name, value] of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    if (name === "Ratelimit" || name === "Ratelimit-Policy") {
      const want = name === "Ratelimit" ? ["r", "t"] : ["q", "w"];
      for (const [item, parameters] of parseList(value)) {
        const integers = want.every((key) => Number.isInteger(parameters.get(key)) && parameters.get(key) >= 0);
        if (typeof item !== "string" || !integers || parameters.size !== want.length) {
          faults.push(`${name}: ${value}: not a quoted name with ${want}`);
        }
      }
    } else if (!Number.isInteger(parseItem(value)[0])) {
      faults.push(`${name}: ${value}: no integer`);
    }
  } catch (error) {
    faults.push(`${name}: ${value}: ${error.message}`);
  }
}
if (faults.length > 0) {
  console.error(faults.join("\n"));
  process.exit(1);
}
