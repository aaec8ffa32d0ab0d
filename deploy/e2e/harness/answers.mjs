// Validates the structured answers of a run: node answers.mjs FOLDER. The folder has
// schemas.json, and files of lines {tool, content}.
import { createReadStream, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import Ajv from 'ajv';
import Ajv2020 from 'ajv/dist/2020.js';

/** The schema with every object closed: answers have no field that it does not describe. */
function closed(schema) {
  if (Array.isArray(schema) || schema === null || typeof schema !== 'object') return schema;
  const copy = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  if (copy.type === 'object' && copy.properties) copy.additionalProperties = false;
  return copy;
}

/** The schema of a tool's answers, which may begin with the names of its fields with text by others. */
function answer({ output, unlisted, text_by_others: names }) {
  const schema = closed(output);
  Object.assign(schema.properties, unlisted?.properties);
  if (names) schema.properties.text_by_others = { type: 'array', items: { enum: names }, minItems: 1, uniqueItems: true };
  return schema;
}

const [folder] = process.argv.slice(2);
const schemas = JSON.parse(readFileSync(join(folder, 'schemas.json')));
const drafts = Object.entries({ 'draft-07': Ajv, '2020-12': Ajv2020 }).map(([draft, Validator]) => {
  const ajv = new Validator({ strict: true, allowUnionTypes: true });
  for (const { input } of Object.values(schemas)) ajv.compile(input);
  return [draft, Object.fromEntries(Object.entries(schemas).map(([tool, about]) => [tool, ajv.compile(answer(about))]))];
});

const faults = new Set();
for (const name of readdirSync(folder).filter((one) => one.endsWith('.jsonl'))) {
  for await (const line of createInterface({ input: createReadStream(join(folder, name)), crlfDelay: Infinity })) {
    const { tool, content } = JSON.parse(line);
    for (const [draft, validators] of drafts) {
      const validate = validators[tool];
      if (!validate) faults.add(`${tool} answers, and has no schema`);
      else if (!validate(content)) faults.add(`${tool} under ${draft}: ${JSON.stringify(validate.errors)}`);
    }
  }
}
if (faults.size > 0) {
  console.error([...faults].slice(0, 20).join('\n'));
  process.exitCode = 1;
}
