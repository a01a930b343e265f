import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { LIMITS } from '../../src/model/index.ts'
import { put } from '../../src/state/index.ts'
import { MemoryDisk } from '../../src/storage/index.ts'
import { anAllocation } from '../build/index.ts'
import { ofJob, register } from './cluster.ts'
import { aListening } from './event-reader.ts'
import { createTestServer, untilParked, type CallOptions, type TestServer } from './harness.ts'
import { addVersions, ofVersion, revertTo, toJob, withVersions } from './job-history.ts'
import { aSecuredServer } from './secured.ts'

async function versions(server: TestServer): Promise<readonly number[]> {
  const list = await server.ok('listJobVersions', ofJob())
  return list.Versions.map((job) => job.Version)
}

function tag(name: string, Version: number, Description = ''): CallOptions {
  return toJob({ Version, Description }, { tag_name: name })
}

function stable(JobVersion: number, Stable = true): CallOptions {
  return toJob({ JobID: 'web', JobVersion, Stable })
}

// List

test('versions: the newest first, the current one as the job itself is', async () => {
  const server = await withVersions(3)
  const reply = await server.call('listJobVersions', ofJob())
  const list = await server.ok('listJobVersions', ofJob())
  assert.deepEqual(
    list.Versions.map((job) => [job.Version, job.TaskGroups[0]?.Count]),
    [
      [2, 3],
      [1, 2],
      [0, 1],
    ],
  )
  assert.deepEqual(list.Versions[0], await server.ok('readJob', ofJob()))
  assert.deepEqual(
    [list.Diffs, list.Index, list.KnownLeader, list.LastContact, list.NextToken],
    [null, 4, true, 0, ''],
  )
  assert.equal(reply.index, 4)
})

test('versions: a change of status shows at the current version', async () => {
  const server = await withVersions(2)
  const job = await server.ok('readJob', ofJob())
  const { store } = server.context
  await store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('jobs', { ...job, Status: 'running' })],
  }).durable
  const { Versions, Index } = await server.ok('listJobVersions', ofJob())
  assert.deepEqual([Versions.map(({ Status }) => Status), Index], [['running', 'pending'], 4])
})

test('versions: of an unknown job are not found, with the index of the tables', async () => {
  const server = await withVersions(2)
  const reply = await server.call('listJobVersions', ofJob('other'))
  assert.deepEqual([reply.status, reply.text, reply.index], [404, 'job versions not found', 3])
})

test('versions: of a purged job are not found, even while something runs them', async () => {
  const server = await withVersions(1)
  const job = await server.ok('readJob', ofJob())
  const row = anAllocation({ job })
  await server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('allocations', row)],
  }).durable
  await server.ok('stopJob', ofJob('web', { purge: true }))
  assert.deepEqual(await server.refusal('listJobVersions', ofJob()), [
    404,
    'job versions not found',
  ])
  for (const [route, call] of [
    ['setJobStability', stable(0)],
    ['tagJobVersion', tag('gold', 0)],
  ] as const)
    assert.deepEqual(await server.refusal(route, call), [
      404,
      'job "web" in namespace "default" at version 0 not found',
    ])
})

test('versions: what is left of a purged job is not a version of the one registered anew', async () => {
  const server = await withVersions(1)
  await server.ok('setJobStability', stable(0))
  const row = anAllocation({ job: await server.ok('readJob', ofJob()) })
  await server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('allocations', row)],
  }).durable
  await server.ok('stopJob', ofJob('web', { purge: true }))
  await server.ok('registerJob', register({ Meta: { anew: 'yes' } }))
  const { Versions } = await server.ok('listJobVersions', ofJob())
  assert.deepEqual(
    Versions.map((version) => [version.Version, version.Meta]),
    [[1, { anew: 'yes' }]],
  )
  const old = 'job "web" in namespace "default" at version 0 not found'
  assert.deepEqual(await server.refusal('revertJob', revertTo(0)), [404, old])
})

test('versions: a job of another namespace is another job', async () => {
  const server = await withVersions(2)
  assert.equal((await server.refusal('listJobVersions', ofJob('web', { namespace: 'x' })))[0], 404)
})

// Diffs

test('versions: with diffs, each one leads from the next entry to its own', async () => {
  const server = await withVersions(3)
  const { Diffs } = await server.ok('listJobVersions', ofJob('web', { diffs: true }))
  assert.deepEqual(
    Diffs?.map((diff) => [
      diff.Type,
      diff.ID,
      diff.TaskGroups?.[0]?.Fields?.map((field) => [field.Name, field.Old, field.New]),
    ]),
    [
      ['Edited', 'web', [['Count', '2', '3']]],
      ['Edited', 'web', [['Count', '1', '2']]],
    ],
  )
})

test('versions: one alone has nothing to differ from', async () => {
  const server = await withVersions(1)
  assert.equal((await server.ok('listJobVersions', ofJob('web', { diffs: true }))).Diffs, null)
})

test('versions: diffs show the context of what changed', async () => {
  const server = await createTestServer({ aclEnabled: false })
  for (const Datacenters of [
    ['a', 'b'],
    ['b', 'c'],
  ])
    await server.ok('registerJob', register({ Datacenters }))
  const { Diffs } = await server.ok('listJobVersions', ofJob('web', { diffs: true }))
  assert.deepEqual(
    Diffs?.[0]?.Objects?.[0]?.Fields?.map((field) => field.Type),
    ['Added', 'Deleted', 'None'],
  )
})

const BASES = [
  { name: 'a version', query: { diffs: true, diff_version: 1 } },
  { name: 'a version that is named alone', query: { diff_version: 1 } },
  { name: 'a tag', query: { diffs: true, diff_tag: 'gold' } },
  { name: 'a tag, which comes before a version', query: { diff_tag: 'gold', diff_version: 0 } },
]

for (const { name, query } of BASES)
  test(`versions: every one is compared with ${name}`, async () => {
    const server = await withVersions(3)
    await server.ok('tagJobVersion', tag('gold', 1))
    const { Diffs } = await server.ok('listJobVersions', ofJob('web', query))
    assert.deepEqual(
      Diffs?.map((diff) => [diff.Type, diff.TaskGroups?.[0]?.Fields?.[0]?.New]),
      [
        ['Edited', '3'],
        ['None', undefined],
        ['Edited', '1'],
      ],
    )
  })

test('versions: without diffs nothing is compared, whatever is named', async () => {
  const server = await withVersions(2)
  const query = { diffs: false, diff_version: 1 }
  assert.equal((await server.ok('listJobVersions', ofJob('web', query))).Diffs, null)
})

const UNREADABLE: readonly [NonNullable<CallOptions['query']>, number, string | RegExp][] = [
  [{ diff_version: 9 }, 404, 'version 9 not found'],
  [{ diff_tag: 'none' }, 404, 'tag "none" not found'],
  [{ diffs: 'maybe' }, 400, /^Failed to parse value of "diffs" \(maybe\) as a bool: /],
  [{ diff_version: 'x' }, 400, /^Failed to parse value of "diff_version" \(x\) as a uint64: /],
  [{ diff_version: -1 }, 400, /^Failed to parse value of "diff_version" \(-1\) as a uint64: /],
]

for (const [query, status, text] of UNREADABLE)
  test(`versions: ${JSON.stringify(query)} answers ${status}`, async () => {
    const server = await withVersions(1)
    const [got, message] = await server.refusal('listJobVersions', ofJob('web', query))
    assert.equal(got, status)
    if (typeof text === 'string') assert.equal(message, text)
    else assert.match(message, text)
  })

// Blocking

const WAKERS: readonly [string, (server: TestServer) => Promise<unknown>][] = [
  ['a new version', (server) => server.ok('registerJob', register(ofVersion(7)))],
  ['a stop', (server) => server.ok('stopJob', ofJob())],
  ['a tag of an old version', (server) => server.ok('tagJobVersion', tag('gold', 0))],
  ['a mark of an old version', (server) => server.ok('setJobStability', stable(0))],
  ['a revert', (server) => server.ok('revertJob', revertTo(0))],
]

for (const [name, write] of WAKERS)
  test(`versions: ${name} wakes who waits`, async () => {
    const server = await withVersions(2)
    const waiting = server.call('listJobVersions', ofJob('web', { index: 3 }))
    await untilParked()
    await write(server)
    const reply = await waiting
    assert.deepEqual([reply.status, reply.index], [200, 4])
  })

test('versions: a purge wakes who waits, and the other jobs wake nobody', async () => {
  const server = await withVersions(1)
  const asked = { done: false }
  const waiting = server
    .call('listJobVersions', ofJob('web', { index: 2 }))
    .finally(() => (asked.done = true))
  await untilParked()
  await server.ok('registerJob', register({ ID: 'other' }))
  for (let i = 0; i < 10; i++) await setImmediate()
  assert.equal(asked.done, false)
  await server.ok('stopJob', ofJob('web', { purge: true }))
  assert.deepEqual([(await waiting).status, (await waiting).index], [404, 4])
})

// What is kept

test('kept versions: the latest six', async () => {
  const server = await withVersions(9)
  assert.equal(LIMITS.jobVersionsMax, 6)
  assert.deepEqual(await versions(server), [8, 7, 6, 5, 4, 3])
})

test('kept versions: the newest stable one beside them', async () => {
  const server = await withVersions(3)
  await server.ok('setJobStability', stable(0))
  await server.ok('setJobStability', stable(1))
  await addVersions(server, 3, 10)
  assert.deepEqual(await versions(server), [9, 8, 7, 6, 5, 4, 1])
  await server.ok('setJobStability', stable(6))
  await addVersions(server, 10, 11)
  assert.deepEqual(await versions(server), [10, 9, 8, 7, 6, 5])
})

test('kept versions: tagged ones beside them, until the tag is taken away', async () => {
  const server = await withVersions(3)
  await server.ok('tagJobVersion', tag('gold', 0))
  await server.ok('tagJobVersion', tag('silver', 2))
  await addVersions(server, 3, 10)
  assert.deepEqual(await versions(server), [9, 8, 7, 6, 5, 4, 2, 0])
  await server.ok('untagJobVersion', toJob(undefined, { tag_name: 'gold' }))
  await addVersions(server, 10, 11)
  assert.deepEqual(await versions(server), [10, 9, 8, 7, 6, 5, 2])
})

test('kept versions: stopping counts as a version and has no marks', async () => {
  const server = await withVersions(1)
  await server.ok('setJobStability', stable(0))
  await server.ok('tagJobVersion', tag('gold', 0))
  await server.ok('stopJob', ofJob())
  const { Versions } = await server.ok('listJobVersions', ofJob())
  assert.deepEqual(
    Versions.map((job) => [job.Version, job.Stop, job.Stable, job.VersionTag?.Name]),
    [
      [1, true, false, undefined],
      [0, false, true, 'gold'],
    ],
  )
})

// Stability

test('stable: marks one version, and the job when it is the current one', async () => {
  const server = await withVersions(2)
  const reply = await server.call('setJobStability', stable(0))
  assert.deepEqual([reply.body, reply.index], [{ JobModifyIndex: 4, Index: 4 }, 4])
  const marks = async () =>
    (await server.ok('listJobVersions', ofJob())).Versions.map((job) => [
      job.Stable,
      job.ModifyIndex,
      job.JobModifyIndex,
    ])
  assert.deepEqual(await marks(), [
    [false, 3, 3],
    [true, 4, 2],
  ])
  await server.ok('setJobStability', stable(1))
  const job = await server.ok('readJob', ofJob())
  assert.deepEqual([job.Stable, job.Version, job.ModifyIndex, job.JobModifyIndex], [true, 1, 5, 3])
  await server.ok('setJobStability', stable(1, false))
  assert.equal((await server.ok('readJob', ofJob())).Stable, false)
})

test('stable: without a version it is version 0, without the mark it is not stable', async () => {
  const server = await withVersions(1)
  await server.ok('setJobStability', stable(0))
  await server.ok('setJobStability', toJob({ JobID: 'web' }))
  assert.equal((await server.ok('readJob', ofJob())).Stable, false)
})

test('stable: a new version is not, and the mark makes no new one', async () => {
  const server = await withVersions(1)
  await server.ok('setJobStability', stable(0))
  await server.ok('registerJob', register(ofVersion(0)))
  assert.deepEqual(await versions(server), [0])
  await addVersions(server, 1, 2)
  assert.equal((await server.ok('readJob', ofJob())).Stable, false)
})

const UNSTABLE: readonly [string, CallOptions, number, string][] = [
  ['no body', toJob(), 400, 'Request body is empty'],
  ['no job', toJob({ JobVersion: 0 }), 400, 'JobID must be specified'],
  ['another job', toJob({ JobID: 'x' }), 400, 'Job ID does not match'],
  ['an unknown version', stable(7), 404, 'job "web" in namespace "default" at version 7 not found'],
  [
    'a version below zero',
    stable(-1),
    404,
    'job "web" in namespace "default" at version -1 not found',
  ],
  [
    'an unknown job',
    { params: { job_id: 'x' }, body: { JobID: 'x', Stable: true } },
    404,
    'job "x" in namespace "default" at version 0 not found',
  ],
]

for (const [name, call, status, text] of UNSTABLE)
  test(`stable: ${name} answers ${status}`, async () => {
    const server = await withVersions(1)
    assert.deepEqual(await server.refusal('setJobStability', call), [status, text])
    assert.equal(server.context.store.index, 2, 'nothing was written')
  })

// Tags

test('tag: names a version and is shown wherever the version is', async () => {
  const server = await withVersions(2)
  const reply = await server.call('tagJobVersion', tag('gold', 1, 'the good one'))
  const wanted = {
    Name: 'gold',
    Description: 'the good one',
    TaggedTime: server.clock.nowMs() * 1_000_000,
  }
  assert.deepEqual([reply.body, reply.index], [wanted, 4])
  const { Versions } = await server.ok('listJobVersions', ofJob())
  assert.deepEqual(
    Versions.map((job) => job.VersionTag),
    [wanted, null],
  )
  const job = await server.ok('readJob', ofJob())
  assert.deepEqual([job.VersionTag, job.Version, job.JobModifyIndex], [wanted, 1, 3])
})

test('tag: without a version it is the newest, and 0 is the first', async () => {
  const server = await withVersions(3)
  await server.ok('tagJobVersion', toJob({ Description: '' }, { tag_name: 'gold' }))
  await server.ok('tagJobVersion', tag('silver', 0))
  const { Versions } = await server.ok('listJobVersions', ofJob())
  assert.deepEqual(
    Versions.map((job) => job.VersionTag?.Name),
    ['gold', undefined, 'silver'],
  )
})

test('tag: a version tagged again has the new tag alone', async () => {
  const server = await withVersions(1)
  await server.ok('tagJobVersion', tag('gold', 0))
  await server.ok('tagJobVersion', tag('gold', 0, 'better'))
  assert.equal((await server.ok('readJob', ofJob())).VersionTag?.Description, 'better')
  await server.ok('tagJobVersion', tag('silver', 0))
  assert.equal((await server.ok('readJob', ofJob())).VersionTag?.Name, 'silver')
  await server.ok('untagJobVersion', toJob(undefined, { tag_name: 'silver' }))
  assert.equal((await server.ok('readJob', ofJob())).VersionTag, null)
})

test('tag: stays with its version when a new one comes', async () => {
  const server = await withVersions(1)
  await server.ok('tagJobVersion', tag('gold', 0))
  await addVersions(server, 1, 2)
  const { Versions } = await server.ok('listJobVersions', ofJob())
  assert.deepEqual(
    Versions.map((job) => job.VersionTag?.Name),
    [undefined, 'gold'],
  )
})

const UNTAGGABLE: readonly [string, CallOptions, number, string][] = [
  ['no body', toJob(undefined, { tag_name: 'x' }), 400, 'Request body is empty'],
  ['no name', tag('', 0), 400, 'tag name is required'],
  [
    'a long description',
    tag('x', 0, 'd'.repeat(LIMITS.tagDescriptionCharsMax + 1)),
    400,
    'tag description is longer than 1000 characters',
  ],
  [
    'a tag of another version',
    tag('gold', 0),
    400,
    'tag "gold" already exists on a different version of job "web"',
  ],
  [
    'an unknown version',
    tag('x', 7),
    404,
    'job "web" in namespace "default" at version 7 not found',
  ],
]

for (const [name, call, status, text] of UNTAGGABLE)
  test(`tag: ${name} answers ${status}`, async () => {
    const server = await withVersions(2)
    await server.ok('tagJobVersion', tag('gold', 1))
    assert.deepEqual(await server.refusal('tagJobVersion', call), [status, text])
  })

test('tag: the longest description is taken', async () => {
  const server = await withVersions(1)
  await server.ok('tagJobVersion', tag('x', 0, 'd'.repeat(LIMITS.tagDescriptionCharsMax)))
})

test('tag: a job has so many tagged versions and no more', async () => {
  const server = await withVersions(1)
  for (let version = 0; version < LIMITS.jobTagsMax; version++) {
    await server.ok('tagJobVersion', tag(`t${version}`, version))
    await addVersions(server, version + 1, version + 2)
  }
  const last = tag('more', LIMITS.jobTagsMax)
  assert.deepEqual(await server.refusal('tagJobVersion', last), [
    400,
    'job "web" has 64 tagged versions, which is the limit',
  ])
  await server.ok('tagJobVersion', tag('other', 3))
  await server.ok('untagJobVersion', toJob(undefined, { tag_name: 'other' }))
  await server.ok('tagJobVersion', last)
})

test('untag: a tag that no version has is not found', async () => {
  const server = await withVersions(1)
  const call = toJob(undefined, { tag_name: 'gold' })
  assert.deepEqual(await server.refusal('untagJobVersion', call), [404, 'tag "gold" not found'])
  const other = { params: { job_id: 'x', tag_name: 'gold' } }
  assert.deepEqual(await server.refusal('untagJobVersion', other), [404, 'tag "gold" not found'])
})

// Events, rights, durability

test('marks: no event tells of them', { timeout: 300_000 }, async (t) => {
  const { open, flush, server } = await aListening(t, await withVersions(1))
  const reader = await open()
  await server.ok('setJobStability', stable(0))
  await server.ok('tagJobVersion', tag('gold', 0))
  await server.ok('untagJobVersion', toJob(undefined, { tag_name: 'gold' }))
  await server.ok('registerJob', register({ ID: 'last' }))
  flush()
  await reader.line((line) => line.Index === 6)
  assert.deepEqual(
    reader
      .events()
      .filter(({ Topic, Index }) => Topic === 'Job' && Index > 2)
      .map(({ Type, Key, Index }) => [Type, Key, Index]),
    [['JobRegistered', 'last', 6]],
  )
})

test('versions: rights count in the namespace of the request alone', async () => {
  const { server, as, client } = await aSecuredServer()
  const elsewhere = await client('namespace "other" { policy = "write" }')
  for (const [route, call] of [
    ['listJobVersions', ofJob()],
    ['setJobStability', stable(0)],
    ['tagJobVersion', tag('x', 0)],
    ['untagJobVersion', toJob(undefined, { tag_name: 'x' })],
    ['revertJob', revertTo(0)],
  ] as const)
    assert.deepEqual(await server.refusal(route, as(elsewhere, call)), [403, 'Permission denied'])
})

test('versions: tags and marks are there after a restart', async () => {
  const disk = new MemoryDisk()
  const before = await createTestServer({ aclEnabled: false, disk })
  await addVersions(before, 0, 3)
  await before.ok('tagJobVersion', tag('gold', 0))
  await before.ok('setJobStability', stable(1))
  const list = await before.ok('listJobVersions', ofJob())
  await before.close()
  const after = await createTestServer({ aclEnabled: false, disk })
  assert.deepEqual((await after.ok('listJobVersions', ofJob())).Versions, list.Versions)
})
