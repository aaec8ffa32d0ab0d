// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run TestTasks
// Tasks in a person's words. Each is solved with the fewest calls that the tool descriptions
// suggest. The test keeps the texts that a model reads, and then undoes the task's changes. Where the build that
// TestTasksBefore compares with needed other calls, the task has them as before.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { call, connect, refused, setting, succeeded } from '../harness/client.mjs';
import { bulk } from './tasks/bulk.mjs';
import { count } from './tasks/count.mjs';
import { doubt } from './tasks/doubt.mjs';
import { filter } from './tasks/filter.mjs';
import { find } from './tasks/find.mjs';
import { groups } from './tasks/groups.mjs';
import { list } from './tasks/list.mjs';
import { meet } from './tasks/meet.mjs';
import { mend } from './tasks/mend.mjs';
import { dayAfter, monthsBefore, network } from './tasks/network.mjs';
import { write } from './tasks/write.mjs';

const earlier = Boolean(process.env.BEFORE); // the service is the build that TestTasksBefore compares with
const measured = []; // of each task the tools that it called, and the answers' texts

let client;
let helper; // another agent of the member, whose calls do not count
let facts; // the arguments of plans and checks

before(async () => {
  ({ client } = await connect(setting('MCP_PATH'), { token: setting('MEMBER_TOKEN') }));
  ({ client: helper } = await connect(setting('MCP_PATH'), { token: setting('HELPER_TOKEN') }));
  const [today] = client.getInstructions().match(/\d{4}-\d\d-\d\d/);
  const net = network(JSON.parse(readFileSync(setting('NETWORK'), 'utf8')), today, { longIds: earlier });
  const { task_id: task } = await read('import_file', { filename: 'contacts.json', format: 'json', content: JSON.stringify(net.document) });
  const { created } = await ended(task);
  assert.equal(created, net.people.length);
  const monday = dayAfter(today, -((new Date(today).getUTCDay() + 6) % 7));
  const about = (id) => (earlier ? { connection_id: id } : { connection_ids: [id] }); // of a reminder
  facts = { net, today, about, year: Number(today.slice(0, 4)), monday, day: (days) => dayAfter(today, days), monthsAgo: (months) => monthsBefore(today, months), read };
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

/** Runs a plan, and keeps the texts of its answers. */
async function play({ ask, plan }, prepared) {
  const answers = [];
  const changes = [];
  const send = async (tool, args) => {
    const result = await client.callTool({ name: tool, arguments: args });
    answers.push({ tool, text: result.content[0].text });
    return result;
  };
  const calls = async (tool, args = {}) => {
    const content = succeeded(tool, await send(tool, args));
    if (tool !== 'undo_change') changes.push(content);
    return content;
  };
  /** Calls a tool that must refuse, and returns the text. */
  calls.refused = async (tool, args) => refused(tool, await send(tool, args));
  const answer = await plan(calls, { ...facts, prepared });
  measured.push({ ask, answers });
  return { answer, changes };
}

/** Lets another agent do what a task takes for granted; returns what it answers, and the changes to undo. */
async function prepare(task) {
  const changes = [];
  const noted = async (tool, args) => {
    const content = await read(tool, args);
    changes.push(content);
    return content;
  };
  return { prepared: await task.prepare?.({ ...facts, read: noted }), changes };
}

/** Undoes the changes and imports named in the answers, latest first. */
async function undo(changes) {
  for (const { change_id: change, job } of changes.reverse()) {
    if (change) {
      const { already_undone: before, conflicts, restored_count: count } = await read('undo_change', { change_id: change });
      assert.ok(before || (count > 0 && conflicts.length === 0), `not undone: ${JSON.stringify(conflicts)}`);
    } else if (job?.result?.import_id && !job.result.dry_run) {
      await ended((await read('undo_change', { import_id: job.result.import_id })).task_id);
    }
  }
}

for (const { before, ...now } of [...find, ...list, ...meet, ...write, ...groups, ...count, ...filter, ...doubt, ...mend, ...bulk]) {
  const task = { ...now, ...(earlier && before) };
  test(task.ask, async () => {
    const { prepared, changes: first } = await prepare(task);
    const { answer, changes } = await play(task, prepared);
    await task.check(answer, { ...facts, prepared });
    await undo([...first, ...changes]);
  });
}
