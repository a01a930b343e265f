import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Input, Job } from '@reeve/contract'
import { formatMultiError } from '@reeve/kit/multi-error.ts'
import { put } from '../../src/state/index.ts'
import { aGroup, aTask } from '../build/index.ts'
import { ofJob, PARAMETERIZED, PERIODIC, register } from './cluster.ts'
import { createTestServer, type CallOptions, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const DENIED = [403, 'Permission denied']

/** A server without ACLs: what a registration does is the same for whoever may. */
async function aServer(...jobs: readonly Input<Job>[]): Promise<TestServer> {
  const server = await createTestServer({ aclEnabled: false })
  for (const job of jobs) await server.ok('registerJob', register(job))
  return server
}

function count(Count: number): Input<Job> {
  return { TaskGroups: [aGroup({ Count })] }
}

// What is refused

const GROUP = { Name: 'app', Tasks: [aTask()] }
const REFUSED: readonly { name: string; call: CallOptions; text: string }[] = [
  { name: 'no job', call: { body: {} }, text: 'Job must be specified' },
  { name: 'a null job', call: { body: { Job: null } }, text: 'Job must be specified' },
  { name: 'no id', call: { body: { Job: {} } }, text: "Job ID hasn't been provided" },
  { name: 'an empty id', call: register({ ID: '' }), text: "Job ID hasn't been provided" },
  {
    name: 'a priority of the evaluation below 1',
    call: register({}, { EvalPriority: -1 }),
    text: 'Eval priority must be between 1 and 100 inclusively',
  },
  {
    name: 'a priority of the evaluation above 100',
    call: register({}, { EvalPriority: 101 }),
    text: 'Eval priority must be between 1 and 100 inclusively',
  },
  {
    name: 'a source in a format that nobody knows',
    call: register({}, { Submission: { Source: 'job: web', Format: 'yaml' } }),
    text: 'Submission.Format must be one of hcl2, hcl1, json',
  },
  {
    name: 'a system job with scaling',
    call: register({ Type: 'system', TaskGroups: [{ ...GROUP, Scaling: { Min: 0, Max: 1 } }] }),
    text: 'Task groups with job type system do not support scaling blocks',
  },
  {
    name: 'a job that is dispatched',
    call: register({ ...PARAMETERIZED, Dispatched: true }),
    text: "job can't be submitted with 'Dispatched' set",
  },
  {
    name: 'a payload',
    call: register({ Payload: 'eA==' }),
    text: formatMultiError(["job can't be submitted with a payload, only dispatched"]),
  },
  {
    name: 'no groups',
    call: register({ TaskGroups: [] }),
    text: formatMultiError(['Missing job task groups']),
  },
  {
    name: 'an unknown type',
    call: register({ Type: 'wonder' }),
    text: formatMultiError(['Invalid job type: "wonder"']),
  },
  {
    name: 'several things at once, each by its place',
    call: register({ Priority: 101, TaskGroups: [{ Name: 'g', Tasks: [{ Name: 't' }] }] }),
    text: formatMultiError([
      `Task group g validation failed: ${formatMultiError([`Task t validation failed: ${formatMultiError(['Missing task driver'])}`])}`,
      'job priority must be between [1, 100]',
    ]),
  },
  {
    name: 'an id that fits no path',
    call: register({ ID: 'x'.repeat(4_097) }),
    text: 'Job ID is longer than 4096 characters',
  },
  ...['.', '..'].map((id) => ({
    name: `the id ${id}, which every URL takes for a directory,`,
    call: register({ ID: id }),
    text: formatMultiError([`Job cannot have the ID "${id}"`]),
  })),
  {
    name: 'an id that no URL can spell',
    call: register({ ID: 'web-\ud800' }),
    text: formatMultiError(['Job ID contains half of a surrogate pair']),
  },
  ...[
    { taskName: 'ä'.repeat(101), problem: 'Task name is longer than 200 bytes' },
    { taskName: '.server', problem: 'Task name cannot begin with a dot' },
  ].map(({ taskName, problem }) => ({
    name: `a task that every node would refuse (${problem})`,
    call: register({ TaskGroups: [aGroup({ Tasks: [aTask({ Name: taskName })] })] }),
    text: formatMultiError([
      `Task group app validation failed: ${formatMultiError([
        `Task ${taskName} validation failed: ${formatMultiError([problem])}`,
      ])}`,
    ]),
  })),
]

for (const { name, call, text } of REFUSED)
  test(`register: ${name} is refused, and nothing is written`, async () => {
    const server = await aServer()
    assert.deepEqual(await server.refusal('registerJob', call), [400, text])
    assert.equal(server.context.store.index, 1)
  })

test('update: another id than in the path is refused', async () => {
  const server = await aServer({})
  const call = { ...register({ ID: 'other' }), ...ofJob() }
  assert.deepEqual(await server.refusal('updateJob', call), [400, 'Job ID does not match name'])
})

const CHANGES: readonly { name: string; before: Input<Job>; after: Input<Job>; text: string }[] = [
  {
    name: 'its type',
    before: {},
    after: { Type: 'batch' },
    text: 'cannot update job from type "service" to "batch"',
  },
  {
    name: 'to periodic',
    before: { Type: 'batch' },
    after: PERIODIC,
    text: 'cannot update non-periodic job to being periodic',
  },
  {
    name: 'from periodic',
    before: PERIODIC,
    after: { Type: 'batch' },
    text: 'cannot update periodic job to being non-periodic',
  },
  {
    name: 'to parameterized',
    before: { Type: 'batch' },
    after: PARAMETERIZED,
    text: 'cannot update non-parameterized job to being parameterized',
  },
  {
    name: 'from parameterized',
    before: PARAMETERIZED,
    after: { Type: 'batch' },
    text: 'cannot update parameterized job to being non-parameterized',
  },
  {
    name: 'to dispatched',
    before: { Type: 'batch' },
    after: { Type: 'batch', Dispatched: true },
    text: "field 'Dispatched' is read-only",
  },
]

for (const { name, before, after, text } of CHANGES)
  test(`register: a job cannot change ${name}`, async () => {
    const server = await aServer(before)
    assert.deepEqual(await server.refusal('registerJob', register(after)), [400, text])
    assert.equal((await server.ok('readJob', ofJob())).Version, 0)
  })

// EnforceIndex

const ENFORCED = [
  { name: 'index 0 of a new job', exists: false, given: 0, text: undefined },
  { name: 'no index of a new job', exists: false, given: undefined, text: undefined },
  {
    name: 'an index of a new job',
    exists: false,
    given: 7,
    text: 'Enforcing job modify index 7: job does not exist',
  },
  {
    name: 'index 0 of a job that exists',
    exists: true,
    given: 0,
    text: 'Enforcing job modify index 0: job already exists',
  },
  { name: 'the current index', exists: true, given: 2, text: undefined },
  {
    name: 'an older index',
    exists: true,
    given: 1,
    text: 'Enforcing job modify index 1: job exists with conflicting job modify index: 2',
  },
  {
    name: 'an index of the future',
    exists: true,
    given: 9,
    text: 'Enforcing job modify index 9: job exists with conflicting job modify index: 2',
  },
]

for (const { name, exists, given, text } of ENFORCED)
  test(`EnforceIndex: ${name} ${text === undefined ? 'registers' : 'is a conflict'}`, async () => {
    const server = await aServer(...(exists ? [{}] : []))
    const before = server.context.store.index
    const call = register(count(3), { EnforceIndex: true, JobModifyIndex: given })
    const reply = await server.call('registerJob', call)
    if (text === undefined) assert.equal(reply.status, 200)
    else
      assert.deepEqual([reply.status, reply.text, server.context.store.index], [409, text, before])
  })

test('EnforceIndex: without it the index is not looked at', async () => {
  const server = await aServer({})
  await server.ok('registerJob', register(count(2), { JobModifyIndex: 77 }))
})

test('EnforceIndex: the answer of a registration is the index for the next one', async () => {
  const server = await aServer()
  let JobModifyIndex = 0
  for (const job of [count(1), count(2), count(2), count(3)]) {
    const call = register(job, { EnforceIndex: true, JobModifyIndex })
    JobModifyIndex = (await server.ok('registerJob', call)).JobModifyIndex
  }
})

test('EnforceIndex: the status of a job does not move it', async () => {
  const server = await aServer({})
  const job = await server.ok('readJob', ofJob())
  server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('jobs', { ...job, Status: 'running' })],
  })
  await server.ok('registerJob', register(count(2), { EnforceIndex: true, JobModifyIndex: 2 }))
})

// Who may

const RIGHTS = [
  { rules: ['submit-job'], override: false, may: true },
  { rules: ['register-job'], override: false, may: true },
  { rules: ['read-job', 'list-jobs', 'dispatch-job'], override: false, may: false },
  { rules: ['submit-job'], override: true, may: false },
  { rules: ['register-job'], override: true, may: false },
  { rules: ['policy-override'], override: true, may: false },
  { rules: ['submit-job', 'policy-override'], override: true, may: true },
  { rules: ['register-job', 'policy-override'], override: true, may: true },
]

for (const { rules, override, may } of RIGHTS)
  test(`register: ${rules.join(' and ')} ${may ? 'may' : 'may not'}${override ? ' with PolicyOverride' : ''}`, async () => {
    const { server, as, client } = await aSecuredServer()
    const list = rules.map((one) => `"${one}"`).join(', ')
    const token = await client(`namespace "default" { capabilities = [${list}] }`)
    const call = as(token, register({}, { PolicyOverride: override }))
    for (const route of ['registerJob', 'updateJob'] as const) {
      const reply = await server.call(route, { ...call, ...ofJob() })
      assert.deepEqual([reply.status, may ? '' : reply.text], may ? [200, ''] : DENIED)
    }
  })

test('register: the right is asked for in the namespace that is chosen', async () => {
  const { server, root, as, client } = await aSecuredServer()
  await server.ok('writeNamespace', as(root, { body: { Name: 'mine' } }))
  const token = await client('namespace "mine" { policy = "write" }')
  assert.deepEqual(await server.refusal('registerJob', as(token, register())), DENIED)
  await server.ok('registerJob', as(token, register({ Namespace: 'mine' })))
  await server.ok('registerJob', as(token, register({}, { Namespace: 'mine' })))
  const other = register({ Namespace: 'mine' })
  assert.deepEqual(
    await server.refusal('registerJob', as(token, { ...other, query: { namespace: 'default' } })),
    DENIED,
  )
})

test('register: who may not is told so before anything about the request', async () => {
  const { server, as, client } = await aSecuredServer()
  const reader = as(await client('namespace "default" { policy = "read" }'))
  for (const body of ['{', '', '{"Job":{"ID":7}}', '{"Job":{"ID":"web","Namespace":"gone"}}'])
    assert.deepEqual(await server.refusal('registerJob', { ...reader, body }), DENIED, body)
  assert.deepEqual(await server.refusal('registerJob', { body: '{' }), DENIED)
})
