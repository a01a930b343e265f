import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { test, type TestContext } from 'node:test'
import type { AclToken, Input, Job, JobRegisterRequest } from '@reeve/contract'
import { namespacedKey } from '../../src/state/index.ts'
import { atEnd } from '../build/at-end.ts'
import { aGroup } from '../build/index.ts'
import { until } from '../build/until.ts'
import { disableRegistration } from './disable-registration.ts'
import { guardedAt, type GuardedServer, type SetFields } from './guarded.ts'
import { aRegionWorld, bootstrap, replicate, type TestRegion } from './region-world.ts'
import { aBody, governanceAt } from './v2/harness.ts'

/** Denies more than two instances. */
const SMALL = 'main = rule { job.task_groups[0].count <= 2 }'
const DENIED = `job "web" is denied by a policy:
	* policy "small" (hard-mandatory) of set "limits" failed: rule main, line 1, column 15: job.task_groups[0].count <= 2 is false (job.task_groups[0].count is 3)`

interface Guarded {
  readonly us: TestRegion
  readonly eu: TestRegion
  readonly root: AclToken
  /** Has the policies of one region deny large jobs. */
  readonly guard: (region: TestRegion, level?: string, set?: SetFields) => Promise<GuardedServer>
}

async function twoRegions(t: TestContext): Promise<Guarded> {
  const { us, eu } = await aRegionWorld(t, ['us', 'eu'])
  const root = await bootstrap(us)
  replicate(t, eu, root.SecretID)
  await until('the token', () => eu.server.context.store.tables.acl_tokens.find(root.AccessorID))
  const guard: Guarded['guard'] = async (region, level = 'hard-mandatory', set = {}) => {
    const guarded = await guardedAt(governanceAt(region.server, root.SecretID))
    await guarded.guard({ code: SMALL, name: 'small', level }, { name: 'limits', ...set })
    return guarded
  }
  return { us, eu, root, guard }
}

function aJob(counts: Readonly<Record<string, number>> | number): Input<Job> {
  if (typeof counts === 'number') return { ID: 'web', TaskGroups: [aGroup({ Count: counts })] }
  const Regions = Object.entries(counts).map(([Name, Count]) => ({ Name, Count }))
  return { ID: 'web', TaskGroups: [aGroup({ Count: 0 })], Multiregion: { Regions } }
}

async function post(region: TestRegion, token: AclToken, request: JobRegisterRequest) {
  const init = { method: 'POST', body: JSON.stringify(request), token: token.SecretID }
  const answer = await region.fetch('/v1/jobs', init)
  return [answer.status, await answer.text()] as const
}

function countIn({ server }: TestRegion): number | undefined {
  const job = server.context.store.tables.jobs.find(namespacedKey('default', 'web'))
  return job?.TaskGroups[0]?.Count
}

function denialsIn({ server }: TestRegion): number {
  return server.context.store.tables.policy_verdicts.size
}

test('regions: the policies of the region that is named decide, and answer for themselves', async (t) => {
  const { us, eu, root, guard } = await twoRegions(t)
  await guard(eu)
  const init = { method: 'POST', token: root.SecretID, body: JSON.stringify({ Job: aJob(3) }) }
  for (const [asked, path] of [
    [us, '/v1/jobs?region=eu'],
    [eu, '/v1/jobs'],
  ] as const) {
    const answer = await asked.fetch(path, init)
    assert.deepEqual([answer.status, await answer.text()], [403, DENIED])
  }
  assert.deepEqual([denialsIn(us), denialsIn(eu)], [0, 2])
  // Those of the region that passes it on have no say.
  assert.equal((await us.fetch('/v1/jobs', init)).status, 200)
  assert.deepEqual([countIn(us), countIn(eu)], [3, undefined])
})

for (const { denying, counts } of [
  { denying: 'eu', counts: { us: 1, eu: 3 } },
  { denying: 'us', counts: { us: 3, eu: 1 } },
] as const)
  test(`multiregion: a policy of ${denying} keeps the job out of every region`, async (t) => {
    const world = await twoRegions(t)
    const { us, eu, root, guard } = world
    await guard(world[denying])
    const answer = await post(us, root, { Job: aJob(counts) })
    assert.deepEqual(answer, [403, `region "${denying}": ${DENIED}`])
    assert.deepEqual([countIn(us), countIn(eu)], [undefined, undefined])
    // Where it was denied, that is known.
    assert.deepEqual([denialsIn(us), denialsIn(eu)], denying === 'us' ? [1, 0] : [0, 1])
  })

test('multiregion: a policy that is passed over is so in every region', async (t) => {
  const { us, eu, root, guard } = await twoRegions(t)
  await guard(eu, 'soft-mandatory')
  const Job = aJob({ us: 1, eu: 3 })
  assert.equal((await post(us, root, { Job }))[0], 403)
  assert.equal((await post(us, root, { Job, PolicyOverride: true }))[0], 200)
  assert.deepEqual([countIn(us), countIn(eu)], [1, 3])
})

test('multiregion: a comment that an organization requires comes to every region', async (t) => {
  const { us, eu, root, guard } = await twoRegions(t)
  const { it } = await guard(eu, 'soft-mandatory')
  await it.ok('updateOrganization', {
    params: { organization_name: 'acme' },
    body: aBody('organizations', { 'require-override-comment': true }),
  })
  const request = { Job: aJob({ us: 1, eu: 3 }), PolicyOverride: true }
  const [status, text] = await post(us, root, request)
  assert.equal(status, 400)
  assert.match(text, /^region "eu": the override needs a comment /)
  assert.deepEqual([countIn(us), countIn(eu)], [undefined, undefined])
  const [answer] = await post(us, root, { ...request, PolicyOverrideComment: 'a fair' })
  assert.equal(answer, 200)
  const [verdict] = [...eu.server.context.store.tables.policy_verdicts.rows()]
  assert.equal(verdict?.Comment, 'a fair')
})

test('multiregion: who may register elsewhere learns nothing of the job that is there', async (t) => {
  const { us, root } = await twoRegions(t)
  const Rules = 'namespace "other" { capabilities = ["submit-job"] }'
  const policy = { params: { policy_name: 'others' }, body: { Name: 'others', Rules } }
  await us.server.ok('writeAclPolicy', { ...policy, token: root.SecretID })
  const body = { Type: 'client', Policies: ['others'] }
  const token = await us.server.ok('createAclToken', { body, token: root.SecretID })
  const Job = aJob({ us: 1, eu: 1 })
  assert.equal((await post(us, root, { Job }))[0], 200)
  for (const JobModifyIndex of [0, 1]) {
    const answer = await post(us, token, { Job, EnforceIndex: true, JobModifyIndex })
    assert.deepEqual(answer, [403, 'Permission denied'])
  }
})

test('multiregion: where registration is disabled for the caller, nothing is registered elsewhere', async (t) => {
  const { us, eu, root } = await twoRegions(t)
  const Rules = 'namespace "default" { capabilities = ["register-job", "read-job"] }'
  const policy = { params: { policy_name: 'registers' }, body: { Name: 'registers', Rules } }
  await us.server.ok('writeAclPolicy', { ...policy, token: root.SecretID })
  const body = { Type: 'client', Policies: ['registers'], Global: true }
  const token = await us.server.ok('createAclToken', { body, token: root.SecretID })
  const { acl_tokens, acl_policies } = eu.server.context.store.tables
  await until('its copy', () => acl_tokens.find(token.AccessorID) && acl_policies.find('registers'))
  const Job = aJob({ us: 1, eu: 1 })
  // The right to register is enough, here and there.
  assert.equal((await post(us, token, { Job: { ...Job, ID: 'before' } }))[0], 200)
  await disableRegistration(eu.server)
  const [status, text] = await post(us, token, { Job })
  assert.equal(status, 403)
  assert.match(text, /^region "eu": Job registration, dispatch, and scale are disabled/)
  assert.deepEqual([countIn(us), countIn(eu)], [undefined, undefined])
  // Whoever may do everything registers all the same.
  assert.equal((await post(us, root, { Job }))[0], 200)
  assert.deepEqual([countIn(us), countIn(eu)], [1, 1])
})

/** A region that says what it is told to, one answer for each request. */
async function aScriptedRegion(
  t: TestContext,
  answers: readonly ((request: IncomingMessage, response: ServerResponse) => void)[],
) {
  let count = 0
  const server = createServer((request, response) => answers[count++]?.(request, response))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  atEnd(t, () => void server.close())
  const at = server.address()
  assert.ok(typeof at === 'object' && at !== null)
  return { server, downAt: `http://127.0.0.1:${at.port}` }
}

const accepts = (_request: IncomingMessage, response: ServerResponse): void =>
  void response.writeHead(200, { connection: 'close' }).end('{}')
const dies = ({ socket }: IncomingMessage): void => void socket.destroy()
const denies = (_request: IncomingMessage, response: ServerResponse): void =>
  void response.writeHead(403).end('job "web" is denied by a policy')
const fails = (_request: IncomingMessage, response: ServerResponse): void =>
  void response.writeHead(503).end('the leader did not answer')

const AGAIN =
  'Register it again when that is put right: where it is registered already, nothing changes.'

const halves = [
  {
    name: 'dies over the registration',
    second: dies,
    status: 503,
    why: /^region "down" did not answer \(.* hung up\); it may or may not have happened there$/,
    told: 'Registered in "us". Not known of "down". Not registered in "eu".',
  },
  {
    name: 'fails over the registration',
    second: fails,
    status: 503,
    why: /^region "down": the leader did not answer$/,
    told: 'Registered in "us". Not known of "down". Not registered in "eu".',
  },
  {
    name: 'has changed its mind',
    second: denies,
    status: 403,
    why: /^region "down": job "web" is denied by a policy$/,
    told: 'Registered in "us". Not registered in "down", "eu".',
  },
]
for (const { name, second, status, why, told } of halves)
  test(`multiregion: a region that ${name} leaves no doubt about the others`, async (t) => {
    const { downAt } = await aScriptedRegion(t, [accepts, second, accepts, accepts])
    const names = ['us', 'down', 'eu'] as const
    const { us, eu } = await aRegionWorld(t, names, { aclEnabled: false, downAt })
    const send = async () => {
      const body = JSON.stringify({ Job: aJob({ us: 1, down: 1, eu: 1 }) })
      const answer = await us.fetch('/v1/jobs', { method: 'POST', body })
      return { status: answer.status, lines: (await answer.text()).split('\n') }
    }
    const half = await send()
    assert.equal(half.status, status)
    assert.match(half.lines[0] ?? '', why)
    assert.deepEqual(half.lines.slice(1), [told, AGAIN])
    assert.deepEqual([countIn(us), countIn(eu)], [1, undefined])
    // Once it is put right, registering again brings it everywhere, and makes no second version.
    assert.equal((await send()).status, 200)
    assert.deepEqual([countIn(us), countIn(eu)], [1, 1])
    const { jobs } = us.server.context.store.tables
    assert.equal(jobs.find(namespacedKey('default', 'web'))?.Version, 0)
  })

test('multiregion: a region that is gone after it was asked surely has nothing', async (t) => {
  const goes = (request: IncomingMessage, response: ServerResponse): void => {
    server.close()
    accepts(request, response)
  }
  const { server, downAt } = await aScriptedRegion(t, [goes])
  const { us } = await aRegionWorld(t, ['us', 'down'], { aclEnabled: false, downAt })
  const body = JSON.stringify({ Job: aJob({ us: 1, down: 1 }) })
  const answer = await us.fetch('/v1/jobs', { method: 'POST', body })
  const [why = '', ...rest] = (await answer.text()).split('\n')
  assert.match(why, /^region "down" did not answer \(connect ECONNREFUSED [^)]*\)$/)
  assert.deepEqual(rest, ['Registered in "us". Not registered in "down".', AGAIN])
  assert.equal(answer.status, 503)
})
