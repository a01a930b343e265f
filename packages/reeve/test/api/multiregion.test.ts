import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Input, Job, Multiregion } from '@reeve/contract'
import { createClient } from '@reeve/sdk'
import { EXIT_CODES } from '../../src/cli/index.ts'
import type { AllocationRow } from '../../src/model/index.ts'
import { namespacedKey } from '../../src/state/index.ts'
import { commandLineAt } from '../build/cli.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { aRegionWorld, bootstrap, replicate, takeTurns, type TestRegion } from './region-world.ts'
import { aRollout, aRolloutServer, FINAL, type RolloutServer, type RolloutWish } from './rollout.ts'

const REGIONS = [
  { Name: 'us', Count: 1, Datacenters: ['dc1'], Meta: { where: 'west' } },
  { Name: 'eu', Count: 2, Datacenters: ['*'] },
]

function aJobOf(
  multiregion: Input<Multiregion> = {},
  command = '/bin/one',
  wish: RolloutWish = {},
): Input<Job> {
  const job = aRollout({ command, count: 0, ...wish })
  return { ...job, Multiregion: { Regions: REGIONS, ...multiregion } }
}

interface PostOptions {
  readonly path?: string
  readonly token?: string
}

function post(
  region: TestRegion,
  job: Input<Job>,
  { path = '/v1/jobs', ...options }: PostOptions = {},
) {
  return region.fetch(path, { method: 'POST', body: JSON.stringify({ Job: job }), ...options })
}

async function twoRegions(t: TestContext) {
  return await aRegionWorld(t, ['us', 'eu', 'asia'], { aclEnabled: false })
}

function jobIn({ server }: TestRegion): Job | undefined {
  return server.context.store.tables.jobs.find(namespacedKey('default', 'web'))
}

test('multiregion: a job is registered in each region, as each of them runs it', async (t) => {
  const { us, eu, asia } = await twoRegions(t)
  const answer = await post(us, aJobOf())
  assert.equal(answer.status, 200, await answer.text())
  const [here, there] = [jobIn(us), jobIn(eu)]
  assert.deepEqual([here?.Region, there?.Region], ['global', 'global'])
  assert.deepEqual([here?.TaskGroups[0]?.Count, there?.TaskGroups[0]?.Count], [1, 2])
  assert.deepEqual([here?.Datacenters, there?.Datacenters], [['dc1'], ['*']])
  assert.deepEqual([here?.Meta, there?.Meta], [{ where: 'west' }, null])
  assert.equal(here?.SubmitTime, there?.SubmitTime)
  assert.equal(jobIn(asia), undefined)
})

test('multiregion: a region that is not listed passes it on to one that is', async (t) => {
  const { us, eu, asia } = await twoRegions(t)
  assert.equal((await post(asia, aJobOf())).status, 200)
  assert.ok(jobIn(us) && jobIn(eu))
  assert.equal(jobIn(asia), undefined)
})

test('multiregion: a plan is that of the region that is asked', async (t) => {
  const { eu } = await twoRegions(t)
  const answer = await post(eu, aJobOf(), { path: '/v1/job/web/plan' })
  assert.equal(answer.status, 200, await answer.text())
  assert.equal(jobIn(eu), undefined)
})

test('multiregion: a region that nobody knows is refused, and nothing is registered', async (t) => {
  const { us } = await twoRegions(t)
  const answer = await post(us, aJobOf({ Regions: [...REGIONS, { Name: 'mars' }] }))
  assert.deepEqual([answer.status, await answer.text()], [404, 'No path to region "mars"'])
  assert.equal(jobIn(us), undefined)
})

test('multiregion: when one region does not answer nothing is registered', async (t) => {
  const { us, eu } = await aRegionWorld(t, ['us', 'eu', 'down'], { aclEnabled: false })
  const answer = await post(us, aJobOf({ Regions: [...REGIONS, { Name: 'down' }] }))
  assert.equal(answer.status, 503)
  assert.match(
    await answer.text(),
    /^region "down" did not answer \(connect ECONNREFUSED .*\); nothing is registered$/,
  )
  assert.equal(jobIn(us) ?? jobIn(eu), undefined)
})

test('multiregion: when one region refuses nothing is registered', async (t) => {
  const { us, eu } = await twoRegions(t)
  const Regions = [{ Name: 'us' }, { Name: 'eu', NodePool: 'unknown-pool' }]
  const answer = await post(us, aJobOf({ Regions }))
  assert.equal(answer.status, 400)
  assert.match(await answer.text(), /^region "eu": .*unknown-pool/)
  assert.equal(jobIn(us) ?? jobIn(eu), undefined)
})

test('multiregion: each region asks what the token is worth there', async (t) => {
  const { us, eu } = await aRegionWorld(t, ['us', 'eu'])
  const root = await bootstrap(us)
  const denied = await post(us, aJobOf(), { token: root.SecretID })
  assert.deepEqual([denied.status, await denied.text()], [403, 'region "eu": Permission denied'])
  assert.equal(jobIn(us), undefined)
  replicate(t, eu, root.SecretID)
  await until('the token', () => eu.server.context.store.tables.acl_tokens.find(root.AccessorID))
  assert.equal((await post(us, aJobOf(), { token: root.SecretID })).status, 200)
})

test('multiregion: registering the same again makes no new version', async (t) => {
  const { us, eu } = await twoRegions(t)
  for (let times = 0; times < 2; times++) assert.equal((await post(us, aJobOf())).status, 200)
  assert.deepEqual([jobIn(us)?.Version, jobIn(eu)?.Version], [0, 0])
})

const stops = [
  { name: 'global', query: '?global=true', there: true },
  { name: 'local', query: '', there: false },
]
for (const { name, query, there } of stops)
  test(`multiregion: a ${name} stop`, async (t) => {
    const { us, eu } = await twoRegions(t)
    await post(us, aJobOf())
    const answer = await us.fetch(`/v1/job/web${query}`, { method: 'DELETE' })
    assert.equal(answer.status, 200, await answer.text())
    assert.deepEqual([jobIn(us)?.Stop, jobIn(eu)?.Stop], [true, there])
  })

test('multiregion: a global purge removes it everywhere', async (t) => {
  const { us, eu } = await twoRegions(t)
  await post(us, aJobOf())
  await us.fetch('/v1/job/web?global=true&purge=true', { method: 'DELETE' })
  assert.equal(jobIn(us) ?? jobIn(eu), undefined)
})

test('multiregion: global means nothing for a job of one region', async (t) => {
  const { us, eu } = await twoRegions(t)
  for (const region of [us, eu]) await post(region, aRollout())
  await us.fetch('/v1/job/web?global=true', { method: 'DELETE' })
  assert.deepEqual([jobIn(us)?.Stop, jobIn(eu)?.Stop], [true, false])
})

test('multiregion: a stop that does not reach every region says so, and can be repeated', async (t) => {
  const { us, eu } = await twoRegions(t)
  await post(us, aJobOf())
  await eu.server.close()
  const answer = await us.fetch('/v1/job/web?global=true&purge=true', { method: 'DELETE' })
  assert.equal(answer.status, 503)
  assert.match(await answer.text(), /^the job is stopped here, and not everywhere: region "eu"/)
  assert.equal(jobIn(us)?.Stop, true)
})

/** Regions with a scheduler, whose deployments take turns. */
async function takingTurns(
  t: TestContext,
  strategy: Input<Multiregion['Strategy']>,
  wish: RolloutWish = {},
) {
  const { us, eu } = await twoRegions(t)
  const [west, east] = [await aRolloutServer(us.server), await aRolloutServer(eu.server)]
  for (const region of [us, eu]) takeTurns(t, region)
  const register = async (command: string): Promise<void> => {
    const answer = await post(us, aJobOf({ Strategy: strategy ?? {} }, command, wish))
    assert.equal(answer.status, 200, await answer.text())
    for (const one of [west, east]) await one.settle()
  }
  await register('/bin/one')
  const reach = (one: RolloutServer, status: string) =>
    until(`${status}, not ${one.latest().Status}`, async () => {
      for (const each of [west, east]) await each.pass(500)
      return one.latest().Status === status || undefined
    })
  /** Everything that starts in these regions is healthy, until their rollouts have ended. */
  const complete = (...regions: readonly RolloutServer[]) =>
    until('the rollouts to end', async () => {
      for (const one of regions) await one.health(one.live().filter(isUndecided), true)
      for (const each of [west, east]) await each.pass(500)
      return regions.every((one) => one.latest().Status === 'successful') || undefined
    })
  return { us, eu, west, east, register, reach, complete }
}

function isUndecided({ DeploymentStatus }: AllocationRow): boolean {
  return typeof DeploymentStatus?.Healthy !== 'boolean'
}

/** The deployments of a region, as `version status`, oldest first. */
function rolloutsOf({ server }: TestRegion): readonly string[] {
  return [
    ...server.context.store.tables.deployments.rowsByIndex('job', namespacedKey('default', 'web')),
  ]
    .toSorted((a, b) => a.CreateIndex - b.CreateIndex)
    .map(({ JobVersion, Status }) => `${JobVersion} ${Status}`)
}

function commandOf(region: RolloutServer): unknown {
  return region.job().TaskGroups[0]?.Tasks[0]?.Config?.['command']
}

test('multiregion: regions roll out one after the other, and end together', async (t) => {
  const { west, east, reach } = await takingTurns(t, { MaxParallel: 1 })
  assert.deepEqual([west.latest().Status, east.latest().Status], ['running', 'pending'])
  assert.deepEqual([west.latest().IsMultiregion, east.live().length], [true, 0])
  await west.health(west.live(), true)
  await reach(west, 'blocked')
  await reach(east, 'running')
  assert.equal(east.live().length, 2)
  await east.health(east.live(), true)
  await reach(west, 'successful')
  await reach(east, 'successful')
  assert.deepEqual([west.job().Stable, east.job().Stable], [true, true])
})

test('multiregion: a region that fails keeps the others from beginning', async (t) => {
  const { west, east, reach } = await takingTurns(t, { MaxParallel: 1 })
  const [row] = west.live()
  assert.ok(row !== undefined)
  const failed = await west.server.call('failDeployment', {
    params: { deployment_id: west.latest().ID },
  })
  assert.equal(failed.status, 200)
  await reach(east, 'failed')
  assert.equal(east.latest().StatusDescription, 'Failed because it failed in another region')
  assert.equal(east.live().length, 0)
})

test('multiregion: with fail_local the others go on', async (t) => {
  const { west, east, reach } = await takingTurns(t, { MaxParallel: 1, OnFailure: 'fail_local' })
  await west.server.call('failDeployment', { params: { deployment_id: west.latest().ID } })
  await reach(east, 'running')
  await east.health(east.live(), true)
  await reach(east, 'successful')
})

test('multiregion: with fail_all those that are complete fail too', async (t) => {
  const { west, east, reach } = await takingTurns(t, { MaxParallel: 1, OnFailure: 'fail_all' })
  await west.health(west.live(), true)
  await reach(east, 'running')
  await east.server.call('failDeployment', { params: { deployment_id: east.latest().ID } })
  await reach(west, 'failed')
})

const AUTO_REVERT: RolloutWish = { update: { AutoRevert: true }, group: FINAL }

test('multiregion: with fail_all and auto_revert all regions fail and roll back', async (t) => {
  const strategy = { MaxParallel: 1, OnFailure: 'fail_all' }
  const world = await takingTurns(t, strategy, AUTO_REVERT)
  const { us, eu, west, east, register, reach, complete } = world
  await complete(west, east)
  await register('/bin/two')
  await west.health(west.live(1), true)
  await reach(east, 'running')
  // The failure and the rollback are one commit: nobody sees a failed deployment as the latest.
  await east.health(east.live(1), false)
  assert.deepEqual(rolloutsOf(eu).slice(0, 2), ['0 successful', '1 failed'])
  await complete(east)
  await until('the first region to roll back', async () => {
    for (const each of [west, east]) await each.pass(500)
    return west.job().Version === 2 || undefined
  })
  const failed = [...us.server.context.store.tables.deployments.rows()].find(
    ({ JobVersion }) => JobVersion === 1,
  )
  assert.deepEqual(
    [failed?.Status, failed?.StatusDescription],
    ['failed', 'Failed because it failed in another region - rolling back to job version 0'],
  )
  await complete(west, east)
  const ended = ['0 successful', '1 failed', '2 successful']
  assert.deepEqual([rolloutsOf(us), rolloutsOf(eu)], [ended, ended])
  assert.deepEqual([commandOf(west), commandOf(east)], ['/bin/one', '/bin/one'])
})

test('multiregion: with auto_revert a region that has not begun rolls back too', async (t) => {
  const strategy = { MaxParallel: 1, OnFailure: 'fail_all' }
  const { west, east, eu, register, complete } = await takingTurns(t, strategy, AUTO_REVERT)
  await complete(west, east)
  await register('/bin/two')
  assert.equal(east.latest().Status, 'pending')
  await west.health(west.live(1), false)
  await until('the second region to roll back', async () => {
    for (const each of [west, east]) await each.pass(500)
    return east.job().Version === 2 || undefined
  })
  assert.deepEqual(rolloutsOf(eu).slice(0, 2), ['0 successful', '1 failed'])
  assert.deepEqual([commandOf(west), commandOf(east)], ['/bin/one', '/bin/one'])
})

test('multiregion: with fail_local a rollback ends without the other regions', async (t) => {
  const strategy = { MaxParallel: 1, OnFailure: 'fail_local' }
  const { west, east, us, register, reach, complete } = await takingTurns(t, strategy, AUTO_REVERT)
  await complete(west, east)
  await register('/bin/two')
  await west.health(west.live(1), false)
  await complete(west)
  assert.deepEqual(rolloutsOf(us), ['0 successful', '1 failed', '2 successful'])
  await reach(east, 'running')
  await complete(east)
  assert.deepEqual([commandOf(west), commandOf(east)], ['/bin/one', '/bin/two'])
})

test('multiregion: one that is complete beside one that failed says that it has to be unblocked', async (t) => {
  const { us, west, east, reach } = await takingTurns(t, { MaxParallel: 1 })
  await west.health(west.live(), true)
  await reach(east, 'running')
  await east.server.call('failDeployment', { params: { deployment_id: east.latest().ID } })
  const text = 'Deployment is complete, failed in another region and waits to be unblocked'
  await until('told', async () => {
    for (const each of [west, east]) await each.pass(500)
    return west.latest().StatusDescription === text || undefined
  })
  const held = west.latest()
  assert.equal(held.Status, 'blocked')
  for (let round = 0; round < 4; round++) await west.pass(500)
  assert.equal(west.latest().ModifyIndex, held.ModifyIndex)
  const { address } = us
  const directory = await temporaryDirectory(t)
  const reeve = commandLineAt({ address, client: createClient({ address }), directory })
  const watched = await reeve.run('job status --watch web')
  assert.deepEqual(
    [watched.code, watched.err],
    [
      EXIT_CODES.failed,
      'It is complete here and failed in another region. To end it here without the others:\n\n' +
        `  reeve deployment unblock ${held.ID.slice(0, 8)}\n`,
    ],
  )
  const DeploymentID = held.ID
  const call = { params: { deployment_id: DeploymentID }, body: { DeploymentID } }
  await west.server.ok('unblockDeployment', call)
  await reach(west, 'successful')
})

test('multiregion: unblocking ends a deployment that waits for others', async (t) => {
  const { west, east, reach } = await takingTurns(t, { MaxParallel: 1 })
  await west.health(west.live(), true)
  await reach(west, 'blocked')
  const DeploymentID = west.latest().ID
  const call = { params: { deployment_id: DeploymentID }, body: { DeploymentID } }
  await west.server.ok('unblockDeployment', call)
  await reach(west, 'successful')
  assert.notEqual(east.latest().Status, 'successful')
})

test('multiregion: a new version puts an end to the roll-out of the one before', async (t) => {
  const { us, west, east, reach } = await takingTurns(t, { MaxParallel: 1 })
  const first = [west.latest().ID, east.latest().ID]
  const again = aJobOf({ Strategy: { MaxParallel: 1 } }, '/bin/two')
  assert.equal((await post(us, again)).status, 200)
  const { deployments } = us.server.context.store.tables
  assert.equal(deployments.find(first[0] ?? '')?.Status, 'cancelled')
  assert.deepEqual([west.latest().JobVersion, east.latest().Status], [1, 'pending'])
  await west.settle()
  await west.health(west.live(1), true)
  await reach(west, 'blocked')
})

test('multiregion: without a strategy every region goes its own way', async (t) => {
  const { us, eu } = await twoRegions(t)
  const [west, east] = [await aRolloutServer(us.server), await aRolloutServer(eu.server)]
  await post(us, aJobOf())
  for (const one of [west, east]) await one.settle()
  assert.deepEqual([west.latest().Status, east.latest().Status], ['running', 'running'])
  await west.health(west.live(), true)
  assert.equal(west.latest().Status, 'successful')
})

test('multiregion: the status of a job names the regions that its deployment waits for', async (t) => {
  const { us, eu, west, east, reach } = await takingTurns(t, { MaxParallel: 1 })
  const { address } = us
  const directory = await temporaryDirectory(t)
  const reeve = commandLineAt({ address, client: createClient({ address }), directory })
  await west.health(west.live(), true)
  await reach(west, 'blocked')
  await reach(east, 'running')
  const waiting = await reeve.ok('job status web')
  assert.match(waiting, /^us +0 +blocked +Deployment is complete and waits for other regions$/m)
  assert.match(waiting, /^eu +0 +running +Deployment is running$/m)
  assert.match(waiting, /^The deployment waits for: eu$/m)
  await eu.server.close()
  const away = await reeve.ok('job status web')
  assert.match(away, /^eu +not answering +region "eu" did not answer \(.*\); try again\.$/m)
  assert.match(away, /^The deployment waits for: eu \(not answering\)$/m)
})
