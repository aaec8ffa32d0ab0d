// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run TestTasks
// Tasks in a person's words. Each is solved with the fewest calls that the tool descriptions
// suggest. The test counts calls and bytes, and then undoes the task's changes.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { call, connect, setting } from '../harness/client.mjs';
import { bulk } from './tasks/bulk.mjs';
import { find } from './tasks/find.mjs';
import { groups } from './tasks/groups.mjs';
import { list } from './tasks/list.mjs';
import { meet } from './tasks/meet.mjs';
import { dayAfter, monthsBefore, network } from './tasks/network.mjs';
import { write } from './tasks/write.mjs';

const measured = { tasks: [], answers: [] };

let client;
let helper; // another agent of the member, whose calls do not count
let facts; // the arguments of plans and checks

before(async () => {
  ({ client } = await connect(setting('MCP_PATH'), { token: setting('MEMBER_TOKEN') }));
  ({ client: helper } = await connect(setting('MCP_PATH'), { token: setting('HELPER_TOKEN') }));
  const [today] = client.getInstructions().match(/\d{4}-\d\d-\d\d/);
  const net = network(JSON.parse(readFileSync(setting('NETWORK'), 'utf8')), today);
  const { task_id: task } = await read('import_file', { filename: 'contacts.json', format: 'json', content: JSON.stringify(net.document) });
  const { created } = await ended(task);
  assert.equal(created, net.people.length);
  facts = { net, today, day: (days) => dayAfter(today, days), monthsAgo: (months) => monthsBefore(today, months), read };
});

after(() => writeFileSync(setting('MEASURED'), JSON.stringify(measured)));

/** Calls a tool without counting the call. */
function read(tool, args) {
  return call(helper, tool, args);
}

/** Waits for a job, which must succeed, and returns its result. */
async function ended(task) {
  for (;;) {
    const { job } = await read('get_job', { task_id: task, wait_seconds: 20 });
    if (job.terminal) {
      assert.equal(job.state, 'succeeded', JSON.stringify(job));
      return job.result;
    }
  }
}

/** Runs a plan, and counts its calls and the bytes of their answers. */
async function play({ ask, plan }, prepared) {
  const spent = { ask, calls: 0, bytes: 0 };
  const changes = [];
  const answer = await plan(async (tool, args = {}) => {
    const content = await call(client, tool, args);
    const bytes = Buffer.byteLength(JSON.stringify(content));
    spent.calls++;
    spent.bytes += bytes;
    measured.answers.push({ tool, bytes });
    if (tool !== 'undo_change') changes.push(content);
    return content;
  }, { ...facts, prepared });
  measured.tasks.push(spent);
  return { answer, changes };
}

/** Undoes the changes and imports named in the answers, latest first. */
async function undo(changes) {
  for (const { change_id: change, job } of changes.reverse()) {
    if (change) {
      const { already_undone: before, conflicts, restored_count: count } = await read('undo_change', { change_id: change });
      assert.ok(before || (count > 0 && conflicts.length === 0), `not undone: ${JSON.stringify(conflicts)}`);
    } else if (job?.result?.import_id) {
      await ended((await read('undo_change', { import_id: job.result.import_id })).task_id);
    }
  }
}

for (const task of [...find, ...list, ...meet, ...write, ...groups, ...bulk]) {
  test(task.ask, async () => {
    const prepared = await task.prepare?.(facts);
    const { answer, changes } = await play(task, prepared);
    await task.check(answer, { ...facts, prepared });
    await undo([...(prepared?.change_id ? [prepared] : []), ...changes]);
  });
}
