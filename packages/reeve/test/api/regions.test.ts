import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { aGroup } from '../build/index.ts'
import { atEnd } from '../build/at-end.ts'
import { postInPieces } from '../build/post-in-pieces.ts'
import { LIMITS } from '../../src/model/index.ts'
import { SYSTEM } from '../../src/state/index.ts'
import { writeToken } from '../../src/workload/index.ts'
import { aRegionWorld } from './region-world.ts'

const job = (fields: object = {}) => ({ Job: { ID: 'web', TaskGroups: [aGroup()], ...fields } })

test('regions: every server lists the regions that it knows, sorted', async (t) => {
  const { us } = await aRegionWorld(t, ['us', 'eu', 'down'])
  assert.deepEqual(await us.server.ok('listRegions'), ['down', 'eu', 'us'])
})

test('regions: a read goes to the region that it names, and its indexes come back', async (t) => {
  const { us, eu } = await aRegionWorld(t, ['us', 'eu'], { aclEnabled: false })
  await eu.server.ok('registerJob', { body: job() })
  const there = await eu.fetch('/v1/jobs')
  const here = await us.fetch('/v1/jobs?region=eu')
  assert.equal(here.status, 200)
  assert.deepEqual(await here.json(), await there.json())
  assert.equal(here.headers.get('x-service-index'), there.headers.get('x-service-index'))
  assert.deepEqual(await us.server.ok('listJobs'), [])
})

test('regions: a token counts where the request goes, and only there', async (t) => {
  const { us, eu } = await aRegionWorld(t, ['us', 'eu'])
  const made = await writeToken(eu.server.context, SYSTEM, { Type: 'management' })
  assert.ok(made.ok)
  const token = made.value.token.SecretID
  const init = { method: 'PUT', body: JSON.stringify(job()), token }
  assert.equal((await us.fetch('/v1/jobs?region=eu', init)).status, 200)
  assert.equal((await us.fetch('/v1/jobs', init)).status, 403)
  // Also where only the body says which region it is for.
  const named = { ...init, body: JSON.stringify(job({ ID: 'two', Region: 'eu' })) }
  assert.equal((await us.fetch('/v1/jobs', named)).status, 200)
})

const choices = [
  { name: 'the query', path: '/v1/jobs?region=eu', body: job({ Region: 'us' }) },
  {
    name: "the request's body",
    path: '/v1/jobs',
    body: { ...job({ Region: 'us' }), Region: 'eu' },
  },
  { name: 'the job', path: '/v1/jobs', body: job({ Region: 'eu' }) },
]
for (const { name, path, body } of choices)
  test(`regions: a job is registered where ${name} says`, async (t) => {
    const { us, eu } = await aRegionWorld(t, ['us', 'eu'], { aclEnabled: false })
    const answer = await us.fetch(path, { method: 'POST', body: JSON.stringify(body) })
    assert.equal(answer.status, 200, await answer.text())
    assert.equal((await us.server.ok('listJobs')).length, 0)
    assert.equal((await eu.server.ok('listJobs')).length, 1)
  })

test('regions: a compressed job for elsewhere arrives', async (t) => {
  const { us, eu } = await aRegionWorld(t, ['us', 'eu'], { aclEnabled: false })
  const answer = await us.fetch('/v1/jobs', {
    method: 'POST',
    headers: { 'content-encoding': 'gzip' },
    body: gzipSync(JSON.stringify(job({ Region: 'eu' }))),
  })
  assert.equal(answer.status, 200, await answer.text())
  assert.equal((await eu.server.ok('listJobs')).length, 1)
})

test('regions: a body that is refused there before all of it is sent is answered so', async (t) => {
  const { us } = await aRegionWorld(t, ['us', 'eu'], { aclEnabled: false })
  for (let round = 0; round < 6; round++) {
    const status = await postInPieces(`${us.address}/v1/jobs?region=eu`, 3 * LIMITS.bodyBytesMax)
    assert.equal(status, 413)
  }
})

test('regions: a plan is made where the job would run', async (t) => {
  const { us, eu } = await aRegionWorld(t, ['us', 'eu'], { aclEnabled: false })
  await eu.server.ok('registerJob', { body: job() })
  const body = JSON.stringify(job({ Region: 'eu' }))
  const answer = await us.fetch('/v1/job/web/plan', { method: 'POST', body })
  // The body of a plan.
  const plan = (await answer.json()) as { readonly JobModifyIndex: number }
  assert.ok(plan.JobModifyIndex > 0, 'the job is known there')
})

for (const Region of ['us', 'global', ''])
  test(`regions: a job for "${Region}" stays in us`, async (t) => {
    const { us } = await aRegionWorld(t, ['us', 'eu'], { aclEnabled: false })
    await us.server.ok('registerJob', { body: job({ Region }) })
    assert.equal((await us.server.ok('readJob', { params: { job_id: 'web' } })).Region, 'us')
  })

const unknown = [
  { name: 'a read', path: '/v1/jobs?region=mars', init: {} },
  { name: 'a stream', path: '/v1/event/stream?region=mars', init: {} },
  {
    name: 'a job',
    path: '/v1/jobs',
    init: { method: 'POST', body: JSON.stringify(job({ Region: 'mars' })) },
  },
]
for (const { name, path, init } of unknown)
  test(`regions: ${name} for a region that nobody knows is refused`, async (t) => {
    const { us } = await aRegionWorld(t, ['us', 'eu'], { aclEnabled: false })
    const answer = await us.fetch(path, init)
    assert.deepEqual([answer.status, await answer.text()], [404, 'No path to region'])
  })

test('regions: what came by a hop and is for another region goes no further', async (t) => {
  const { us } = await aRegionWorld(t, ['us', 'eu'], { aclEnabled: false })
  const headers = { 'x-service-region-hop': 'named' }
  const answer = await us.fetch('/v1/jobs?region=eu', { headers })
  assert.deepEqual([answer.status, await answer.text()], [404, 'No path to region'])
})

test('regions: a region whose servers are away is told of, and nothing has happened', async (t) => {
  const { us } = await aRegionWorld(t, ['us', 'down'], { aclEnabled: false })
  const write = { method: 'DELETE' }
  for (const init of [{}, write]) {
    const answer = await us.fetch('/v1/job/web?region=down', init)
    assert.equal(answer.status, 503)
    assert.match(await answer.text(), /^region "down" did not answer \(.*\); try again\.$/)
  }
})

test('regions: the next server is asked when one cannot be reached, also for writes', async (t) => {
  const deadFirst = ['http://127.0.0.1:1']
  const { us, eu } = await aRegionWorld(t, ['us', 'eu'], { aclEnabled: false, deadFirst })
  const body = JSON.stringify(job())
  const answer = await us.fetch('/v1/jobs?region=eu', { method: 'POST', body })
  assert.equal(answer.status, 200, await answer.text())
  assert.equal((await eu.server.ok('listJobs')).length, 1)
})

test('regions: a server that dies over a request is followed by the next for reads only', async (t) => {
  const dying = createServer((request) => request.socket.destroy())
  await once(dying.listen(0, '127.0.0.1'), 'listening')
  atEnd(t, () => void dying.close())
  const at = dying.address()
  assert.ok(typeof at === 'object' && at !== null)
  const deadFirst = [`http://127.0.0.1:${at.port}`]
  const { us } = await aRegionWorld(t, ['us', 'eu'], { aclEnabled: false, deadFirst })
  const write = await us.fetch('/v1/jobs?region=eu', {
    method: 'POST',
    body: JSON.stringify(job()),
  })
  assert.equal(write.status, 503)
  assert.match(await write.text(), /may or may not have happened/)
  assert.equal((await us.fetch('/v1/jobs?region=eu')).status, 200)
})

test('regions: a server that sleeps is given up for the next, and asked last from then on', async (t) => {
  let asked = 0
  const sleeping = createServer(() => asked++)
  await once(sleeping.listen(0, '127.0.0.1'), 'listening')
  atEnd(t, () => {
    sleeping.closeAllConnections()
    sleeping.close()
  })
  const at = sleeping.address()
  assert.ok(typeof at === 'object' && at !== null)
  const deadFirst = [`http://127.0.0.1:${at.port}`]
  const options = { aclEnabled: false, deadFirst, limits: { attemptMsMax: 200 } }
  const { us } = await aRegionWorld(t, ['us', 'eu'], options)
  for (let count = 0; count < 3; count++)
    assert.equal((await us.fetch('/v1/jobs?region=eu')).status, 200)
  assert.equal(asked, 1)
  // Something that is waited for has longer.
  const index = Number((await us.fetch('/v1/jobs?region=eu')).headers.get('x-service-index'))
  const waiting = us.fetch(`/v1/jobs?region=eu&index=${index}&wait=1s`)
  assert.equal((await Promise.race([waiting, after(400)]))?.status, undefined)
})

const after = (ms: number): Promise<undefined> =>
  new Promise((resolve) => setTimeout(resolve, ms, undefined))

test('regions: a blocking query waits there', async (t) => {
  const { us, eu } = await aRegionWorld(t, ['us', 'eu'], { aclEnabled: false })
  const first = await us.fetch('/v1/jobs?region=eu')
  await first.text()
  const index = Number(first.headers.get('x-service-index'))
  const waiting = us.fetch(`/v1/jobs?region=eu&index=${index}`)
  await eu.server.ok('registerJob', { body: job() })
  const answer = await waiting
  // The body of a list.
  const jobs = (await answer.json()) as unknown[]
  assert.equal(jobs.length, 1)
  assert.ok(Number(answer.headers.get('x-service-index')) > index)
})

test('regions: the event stream of another region is streamed', async (t) => {
  const { us, eu } = await aRegionWorld(t, ['us', 'eu'], { aclEnabled: false })
  const stop = new AbortController()
  const { signal } = stop
  await eu.server.ok('registerJob', { body: job() })
  const answer = await us.fetch('/v1/event/stream?topic=Job&region=eu&index=1', { signal })
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  assert.ok(reader !== undefined)
  let text = ''
  while (!text.includes('"JobRegistered"')) text += (await reader.read()).value ?? ''
  stop.abort()
})

test('regions: the audit log keeps which region passed a write on, and for whom', async (t) => {
  const { us, eu } = await aRegionWorld(t, ['us', 'eu'], { aclEnabled: false })
  const init = { method: 'POST', body: JSON.stringify(job()) }
  await us.fetch('/v1/jobs?region=eu', init)
  // What a caller says of itself is not passed on, and without a hop nobody asks for it.
  const claims = { 'x-service-region-via': 'mars 192.0.2.1' }
  await us.fetch('/v1/jobs?region=eu', { ...init, headers: claims })
  await eu.fetch('/v1/jobs', { ...init, headers: claims })
  const hop = { 'x-service-region-hop': 'named', 'x-service-region-via': '<script>' }
  await eu.fetch('/v1/jobs', { ...init, headers: hop })
  const records = await eu.server.ok('listAuditRecords')
  const via = { Region: 'us', Address: '127.0.0.1' }
  assert.deepEqual(
    records.toReversed().map(({ Address, Via }) => [Address, Via]),
    [
      ['127.0.0.1', via],
      ['127.0.0.1', via],
      ['127.0.0.1', undefined],
      ['127.0.0.1', undefined],
    ],
  )
})

test('regions: a part of a job is known as one of the region that was asked', async (t) => {
  const { us, eu } = await aRegionWorld(t, ['us', 'eu'], { aclEnabled: false })
  const Regions = [{ Name: 'us' }, { Name: 'eu' }]
  const body = JSON.stringify(job({ Multiregion: { Regions } }))
  assert.equal((await us.fetch('/v1/jobs', { method: 'POST', body })).status, 200)
  const [record] = await eu.server.ok('listAuditRecords')
  assert.deepEqual(record?.Via, { Region: 'us', Address: '' })
})
