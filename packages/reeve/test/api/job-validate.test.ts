import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Input, Job } from '@reeve/contract'
import { aGroup, aTask } from '../build/index.ts'
import { createTestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const server = await createTestServer({ aclEnabled: false })
after(() => server.close())

const GOOD: Input<Job> = { ID: 'web', TaskGroups: [aGroup()] }

test('validate: a job in order has nothing against it, and is not registered', async () => {
  const before = server.context.store.index
  const answer = await server.ok('validateJob', { body: { Job: GOOD } })
  assert.deepEqual(answer, {
    DriverConfigValidated: true,
    ValidationErrors: null,
    Error: '',
    Warnings: '',
  })
  assert.equal(server.context.store.index, before)
})

const BAD: Input<Job> = {
  ID: 'a job',
  Priority: 1_000,
  TaskGroups: [aGroup({ Count: -1, Tasks: [aTask({ Driver: '' }), aTask({ Driver: '' })] })],
}

test('validate: every violation is told with its path, and the text is that of a registration', async () => {
  const answer = await server.ok('validateJob', { body: { Job: BAD } })
  const found = answer.ValidationErrors ?? []
  for (const wanted of [
    'ID: Job ID contains a space',
    'Priority: job priority must be between [1, 100]',
    "TaskGroups[0].Count: Task group count can't be negative",
    'TaskGroups[0].Tasks[0].Driver: Missing task driver',
    'TaskGroups[0].Tasks[1].Driver: Missing task driver',
  ])
    assert.ok(found.includes(wanted), `${wanted}\nnot in\n${found.join('\n')}`)
  assert.deepEqual(await server.refusal('registerJob', { body: { Job: BAD } }), [400, answer.Error])
})

test('validate: an empty job is told all that it lacks', async () => {
  const answer = await server.ok('validateJob', { body: { Job: {} } })
  const found = answer.ValidationErrors ?? []
  assert.ok(found.includes('ID: Missing job ID'))
  assert.ok(found.includes('TaskGroups: Missing job task groups'))
})

test('validate: what only the server knows is told with the rest', async () => {
  const body = { Job: { ...GOOD, NodePool: 'nowhere', Priority: 0 } }
  const answer = await server.ok('validateJob', { body, query: { namespace: 'none' } })
  assert.deepEqual(answer.ValidationErrors, [
    'Priority: job priority must be between [1, 100]',
    'job "web" is in nonexistent namespace "none"',
  ])
  assert.match(answer.Error, /^2 errors occurred:\n\t\* job priority .*\n\t\* job "web" is in /)
})

test('validate: what a new version may not change is told', async () => {
  await server.ok('registerJob', { body: { Job: { ...GOOD, ID: 'fixed' } } })
  const answer = await server.ok('validateJob', {
    body: { Job: { ...GOOD, ID: 'fixed', Type: 'batch' } },
  })
  assert.deepEqual(answer.ValidationErrors, ['cannot update job from type "service" to "batch"'])
})

test('validate: warnings do not make a job invalid', async () => {
  const group = { ...aGroup(), Services: [{ Name: 's', Provider: 'service' }] }
  const answer = await server.ok('validateJob', { body: { Job: { ...GOOD, TaskGroups: [group] } } })
  assert.equal(answer.ValidationErrors, null)
  assert.match(answer.Warnings, /^1 warning:\n\n\* Group /)
})

for (const { name, body, text } of [
  { name: 'no body', body: '', text: 'Request body is empty' },
  { name: 'no job', body: {}, text: 'Job must be specified' },
  { name: 'a job that is null', body: { Job: null }, text: 'Job must be specified' },
])
  test(`validate: ${name} is refused`, async () => {
    assert.deepEqual(await server.refusal('validateJob', { body }), [400, text])
  })

test('validate: read-job is needed where the job says it is', async () => {
  const secured = await aSecuredServer()
  const reader = await secured.client('namespace "prod" { capabilities = ["read-job"] }')
  const ask = async (Job: Input<Job>, query = {}) =>
    (await secured.server.call('validateJob', secured.as(reader, { body: { Job }, query }))).status
  assert.equal(await ask(GOOD), 403)
  assert.equal(await ask({ ...GOOD, Namespace: 'prod' }), 200)
  assert.equal(await ask(GOOD, { namespace: 'prod' }), 200)
  assert.equal(await ask({ ...GOOD, Namespace: 'prod' }, { namespace: 'default' }), 403)
  await secured.server.close()
})
