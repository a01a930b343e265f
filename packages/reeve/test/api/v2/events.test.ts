import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Event, GovernanceRecord, GovernanceTopic } from '@reeve/contract'
import { aListening, payloadOf } from '../event-reader.ts'
import { aRunWorld, NATIVE_ENCRYPTED, OPA_ENCRYPTED, PASSWORD } from './run-world.ts'
import { aBody, aGovernanceServer, someTags, type GovernanceServer } from './harness.ts'

const LIMIT = { timeout: 300_000 }

/** A server that listens, with the organization `acme` and its token. */
async function aWorld(t: TestContext) {
  const it = await aGovernanceServer()
  const { open: stream, flush } = await aListening(t, it.server)
  await it.organization('acme')
  const token = await organizationToken(it, 'acme')
  return { it, stream, flush, token }
}

async function organizationToken(it: GovernanceServer, organization: string): Promise<string> {
  const params = { organization_name: organization }
  const { data } = await it.created('createOrganizationToken', { params })
  return data.attributes.token
}

function recordOf(event: Event | undefined, topic: GovernanceTopic): GovernanceRecord {
  const payload: object = payloadOf(event, topic)
  // Every payload of these topics is the record under its topic's name.
  return (payload as Record<string, GovernanceRecord>)[topic] ?? assert.fail('no record')
}

test('events: the life of a project is told, one event for each change', LIMIT, async (t) => {
  const { it, stream, token, flush } = await aWorld(t)
  const reader = await stream({ topics: ['Project'], token, query: { index: 0 } })
  const { id } = await it.project('acme', { name: 'Web shop' }, { env: 'prod' })
  const params = { project_id: id }
  await it.ok('updateProject', { params, body: aBody('projects', { description: 'Sells.' }) })
  await it.ok('updateProjectTagBindings', { params, body: { data: someTags({ team: 'blue' }) } })
  await it.done('deleteProject', { params })
  // The first one is the organization's default project.
  flush()
  const events = await reader.take(5)
  assert.deepEqual(
    events.map(({ Type }) => Type),
    ['ProjectCreated', 'ProjectCreated', 'ProjectUpdated', 'ProjectUpdated', 'ProjectDeleted'],
  )
  assert.deepEqual(
    events.slice(1).map(({ Key, Namespace }) => [Key, Namespace]),
    events.slice(1).map(() => [id, '']),
  )
})

test('events: a payload is the resource under the names of its document', LIMIT, async (t) => {
  const { it, stream, token } = await aWorld(t)
  const { id } = await it.project('acme', { name: 'Web', 'auto-destroy-activity-duration': '3d' })
  const reader = await stream({ topics: [`Project:${id}`], token, query: { index: 0 } })
  const [event] = await reader.take(1)
  const shown = await it.ok('readProject', { params: { project_id: id } })
  const { type, attributes } = recordOf(event, 'Project')
  assert.equal(type, 'projects')
  for (const name of ['name', 'description', 'auto-destroy-activity-duration', 'created-at'])
    assert.equal(attributes[name], Reflect.get(shown.data.attributes, name), name)
  assert.deepEqual(event?.FilterKeys, [attributes['organization-id'], 'Web'])
})

test('events: a write that changes nothing tells nothing', LIMIT, async (t) => {
  const { it, stream, token, flush } = await aWorld(t)
  const { id } = await it.project('acme', { name: 'Web' })
  const reader = await stream({ topics: [`Project:${id}`], token, query: { index: 0 } })
  const params = { project_id: id }
  await it.ok('updateProject', { params, body: aBody('projects', { name: 'Web' }) })
  await it.done('deleteProject', { params })
  flush()
  const events = await reader.take(2)
  assert.deepEqual(
    events.map(({ Type }) => Type),
    ['ProjectCreated', 'ProjectDeleted'],
  )
})

test(
  'events: an organization that ends takes what is in it along, in one commit',
  LIMIT,
  async (t) => {
    const { it, stream, flush } = await aWorld(t)
    const reader = await stream({
      topics: ['Organization', 'Project'],
      token: it.root,
      query: { index: 0 },
    })
    await it.done('deleteOrganization', { params: { organization_name: 'acme' } })
    flush()
    const events = await reader.take(4)
    const ends = events.filter(({ Type }) => Type.endsWith('Deleted'))
    assert.deepEqual(ends.map(({ Topic }) => Topic).toSorted(), ['Organization', 'Project'])
    assert.equal(new Set(ends.map(({ Index }) => Index)).size, 1)
  },
)

test('events: a run and what policies say of it are told', LIMIT, async (t) => {
  const world = await aRunWorld()
  const { open: stream, flush } = await aListening(t, world.it.server)
  t.after(() => world.loop.stop())
  const policy = { name: 'encrypted', code: NATIVE_ENCRYPTED }
  await world.set('native', { name: 'checks', policies: [policy] })
  await world.set('opa', {
    name: 'stages',
    attributes: { overridable: true },
    policies: [{ name: 'opa-encrypted', code: OPA_ENCRYPTED }],
  })
  const run = await world.judged()
  const token = await organizationToken(world.it, 'acme')
  const topics = ['Run', 'PolicyCheck', 'PolicyEvaluation', 'PolicySetOutcome']
  const asked = topics.map((topic) => `${topic}:${world.workspaceId}`)
  const reader = await stream({ topics: asked, token, query: { index: 0 } })
  const stage = await world.stage(run)
  await world.it.ok('overrideTaskStage', { params: { task_stage_id: stage.id } })
  flush()
  const events = await reader.take(11)
  const types = events.map(({ Type }) => Type)
  assert.equal(types[0], 'RunCreated')
  const updates = [
    'PolicyCheckUpdated',
    'PolicyEvaluationUpdated',
    'PolicySetOutcomeCreated',
  ] as const
  for (const type of updates) assert.ok(types.includes(type), type)
  const ofTopic = (topic: GovernanceTopic) => {
    const last = events.findLast((event) => event.Topic === topic)
    return recordOf(last, topic).attributes
  }
  const shown = await world.read(run.id)
  for (const name of ['status', 'status-timestamps', 'created-at', 'variables'])
    assert.deepEqual(ofTopic('Run')[name], Reflect.get(shown.data.attributes, name), name)
  assert.equal(ofTopic('PolicyCheck')['status'], 'soft_failed')
  assert.equal(ofTopic('PolicyEvaluation')['status'], 'overridden')
  const text = JSON.stringify(events)
  assert.match(text, /is not encrypted/)
  assert.equal(text.includes(PASSWORD), false)
})

test('events: no secret is in any of them', LIMIT, async (t) => {
  const { it, stream, token, flush } = await aWorld(t)
  const reader = await stream({ token: it.root, query: { index: 0 } })
  const { token: userToken } = await it.user('ada')
  await it.project('acme', { name: 'Last' })
  flush()
  await reader.line(({ Events = [] }) =>
    Events.some(({ FilterKeys }) => FilterKeys?.[1] === 'Last'),
  )
  const text = JSON.stringify(reader.lines)
  for (const secret of [token, userToken, it.root]) assert.equal(text.includes(secret), false)
})

test('rights: an organization token sees its organization only', LIMIT, async (t) => {
  const { it, stream, token, flush } = await aWorld(t)
  await it.organization('other')
  await it.project('other', { name: 'Theirs' })
  const reader = await stream({ token, query: { index: 0 } })
  await it.project('acme', { name: 'Ours' })
  flush()
  const events = await reader.take(3)
  const organizations = new Set(events.map(({ FilterKeys }) => FilterKeys?.[0]))
  assert.deepEqual(
    events.map(({ Topic }) => Topic),
    ['Organization', 'Project', 'Project'],
  )
  assert.equal(organizations.size, 1)
})

const REFUSED = [
  { name: 'an organization token for a topic of the cluster', topics: ['Job'], who: 'token' },
  { name: 'an organization token for one of both', topics: ['Project', 'Node'], who: 'token' },
  { name: 'a team token', topics: ['Project'], who: 'team' },
  { name: 'a user token', topics: ['Project'], who: 'user' },
  { name: 'nobody', topics: ['Project'], who: 'nobody' },
] as const

for (const { name, topics, who } of REFUSED)
  test(`rights: ${name} is refused`, LIMIT, async (t) => {
    const { it, stream, token } = await aWorld(t)
    const tokens = {
      token,
      team: (await it.team('acme', 'devs')).token,
      user: (await it.user('ada')).token,
      nobody: undefined,
    }
    const reader = await stream({ topics, ...optional(tokens[who]) })
    assert.equal(reader.status, 403)
  })

function optional(token: string | undefined) {
  return token === undefined ? {} : { token }
}

test('rights: a token that is revoked ends its streams', LIMIT, async (t) => {
  const { it, stream, token } = await aWorld(t)
  const reader = await stream({ topics: ['Project'], token })
  await reader.heartbeats(1)
  await it.done('deleteOrganizationToken', { params: { organization_name: 'acme' } })
  assert.notEqual(await reader.closed(), undefined)
})

test('rights: the bearer header carries it as well', LIMIT, async (t) => {
  const { stream, token } = await aWorld(t)
  const reader = await stream({
    topics: ['Organization'],
    headers: { authorization: `Bearer ${token}` },
    query: { index: 0 },
  })
  assert.equal((await reader.take(1))[0]?.Type, 'OrganizationCreated')
})
