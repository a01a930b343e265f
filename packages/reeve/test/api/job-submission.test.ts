import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CallOptions, TestServer } from './harness.ts'
import { LIMITS } from '../../src/model/index.ts'
import { MemoryDisk } from '../../src/storage/index.ts'
import { ofJob, register } from './cluster.ts'
import { createTestServer, untilParked } from './harness.ts'
import { addVersions, ofVersion, revertTo, source, toJob, withVersions } from './job-history.ts'

function submission(version: number): CallOptions {
  return ofJob('web', { version })
}

/** The versions of which the source can be read, out of the first so many. */
async function withSource(server: TestServer, count: number): Promise<readonly number[]> {
  const found: number[] = []
  for (let version = 0; version < count; version++)
    if ((await server.call('readJobSubmission', submission(version))).status === 200)
      found.push(version)
  return found
}

function blobs(server: TestServer): number {
  return server.engine.disk.blobs.size
}

test('submission: is read as it was sent, with the version it belongs to', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const Submission = {
    Source: 'job "web" { äöü 🚀 }\n',
    Format: 'hcl2',
    VariableFlags: { region: 'eu', text: 'two%0Alines' },
    Variables: 'count = 2',
    Namespace: 'ignored',
    JobID: 'ignored',
    Version: 7,
    JobIndex: 7,
  }
  await server.ok('registerJob', register({}, { Submission }))
  const reply = await server.call('readJobSubmission', submission(0))
  assert.deepEqual(reply.body, {
    Source: 'job "web" { äöü 🚀 }\n',
    Format: 'hcl2',
    VariableFlags: { region: 'eu', text: 'two\nlines' },
    Variables: 'count = 2',
    Namespace: 'default',
    JobID: 'web',
    Version: 0,
    JobIndex: 2,
    JobModifyIndex: 2,
  })
  assert.equal(reply.index, 2)
})

test('submission: without flags there is none of them', async () => {
  const server = await withVersions(1)
  const { VariableFlags, Variables } = await server.ok('readJobSubmission', submission(0))
  assert.deepEqual([VariableFlags, Variables], [null, ''])
})

test('submission: flags that are no escaped text stay as they are', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const VariableFlags = { a: '100%', b: '%zz', __proto__x: '1', c: 'a+b' }
  await server.ok('registerJob', register({}, { Submission: source(0, { VariableFlags }) }))
  const read = await server.ok('readJobSubmission', submission(0))
  assert.deepEqual(read.VariableFlags, { a: '100%', b: '%zz', __proto__x: '1', c: 'a b' })
})

test('submission: no read of the job shows it', async () => {
  const server = await withVersions(2)
  for (const [route, call] of [
    ['readJob', ofJob()],
    ['listJobs', {}],
    ['listJobVersions', ofJob()],
  ] as const)
    assert.doesNotMatch((await server.call(route, call)).text, /Submission|# 1/)
})

test('submission: the state in memory does not hold it', async () => {
  const server = await withVersions(1)
  const { job_submissions } = server.context.store.tables
  assert.deepEqual(
    [...job_submissions.rows()],
    [
      {
        Namespace: 'default',
        JobID: 'web',
        Version: 0,
        JobModifyIndex: 2,
        BlobKey: 'job-source/default!web!0000000000',
      },
    ],
  )
})

test('submission: belongs to the version it was registered with', async () => {
  const server = await createTestServer({ aclEnabled: false })
  await server.ok('registerJob', register(ofVersion(0), { Submission: source(0) }))
  await server.ok('registerJob', register(ofVersion(1)))
  await server.ok('registerJob', register(ofVersion(2), { Submission: source(2) }))
  assert.deepEqual(await withSource(server, 4), [0, 2])
})

test('submission: of a registration that changes nothing is not kept', async () => {
  const server = await withVersions(1)
  const again = register(ofVersion(0), { Submission: source(7) })
  await server.ok('registerJob', again)
  const { Source } = await server.ok('readJobSubmission', submission(0))
  assert.equal(Source, 'job "web" { # 0 }')
  assert.equal(blobs(server), 1)
})

test('submission: of a registration that is refused is not kept', async () => {
  const server = await withVersions(1)
  const request = { Submission: source(1), EnforceIndex: true, JobModifyIndex: 9 }
  assert.equal((await server.refusal('registerJob', register(ofVersion(1), request)))[0], 409)
  assert.equal(blobs(server), 1)
})

for (const [name, Submission] of [
  ['null', null],
  ['without a source', { Format: 'hcl2' }],
  ['with an empty source', { Source: '', Format: 'hcl2' }],
] as const)
  test(`submission: ${name} is none`, async () => {
    const server = await createTestServer({ aclEnabled: false })
    await server.ok('registerJob', register({}, { Submission }))
    assert.deepEqual(await server.refusal('readJobSubmission', submission(0)), [
      404,
      'job source not found',
    ])
  })

// The limits

test('submission: the latest six are kept', async () => {
  const server = await withVersions(9)
  assert.deepEqual(await withSource(server, 9), [3, 4, 5, 6, 7, 8])
  assert.equal(blobs(server), LIMITS.jobSourcesMax)
})

test('submission: versions without one do not count', async () => {
  const server = await withVersions(4)
  await server.ok('tagJobVersion', toJob({ Version: 0 }, { tag_name: 'gold' }))
  for (const version of [4, 5, 6]) await server.ok('registerJob', register(ofVersion(version)))
  assert.deepEqual(await withSource(server, 7), [0, 1, 2, 3])
})

test('submission: outlives its version until there are six newer ones', async () => {
  const server = await withVersions(1)
  for (let version = 1; version < 6; version++)
    await server.ok('registerJob', register(ofVersion(version)))
  assert.deepEqual([await withSource(server, 6), blobs(server)], [[0], 1])
  await server.ok('stopJob', ofJob())
  assert.deepEqual([await withSource(server, 7), blobs(server)], [[0], 1])
  await addVersions(server, 7, 12)
  assert.deepEqual(await withSource(server, 12), [0, 7, 8, 9, 10, 11])
  await addVersions(server, 12, 13)
  assert.deepEqual(await withSource(server, 13), [7, 8, 9, 10, 11, 12])
  await server.ok('stopJob', ofJob('web', { purge: true }))
  assert.deepEqual([await withSource(server, 13), blobs(server)], [[], 0])
})

test('submission: a tag keeps the version and not more than six sources', async () => {
  const server = await withVersions(1)
  await server.ok('tagJobVersion', toJob({ Version: 0 }, { tag_name: 'gold' }))
  await addVersions(server, 1, 7)
  assert.deepEqual(await withSource(server, 7), [1, 2, 3, 4, 5, 6])
})

test('submission: what a revert shares goes with the last that has it', async () => {
  const server = await withVersions(2)
  await server.ok('revertJob', revertTo(0))
  assert.equal(blobs(server), 2)
  await addVersions(server, 3, 8)
  assert.deepEqual([await withSource(server, 8), blobs(server)], [[2, 3, 4, 5, 6, 7], 6])
  const { Source } = await server.ok('readJobSubmission', submission(2))
  assert.equal(Source, 'job "web" { # 0 }')
  await addVersions(server, 8, 9)
  assert.deepEqual([await withSource(server, 9), blobs(server)], [[3, 4, 5, 6, 7, 8], 6])
})

test('submission: a purge removes them all, and a new job of the id has its own', async () => {
  const server = await withVersions(3)
  await server.ok('stopJob', ofJob('web', { purge: true }))
  assert.deepEqual([await withSource(server, 3), blobs(server)], [[], 0])
  await server.ok('registerJob', register({}, { Submission: source(9) }))
  const { Source } = await server.ok('readJobSubmission', submission(0))
  assert.equal(Source, 'job "web" { # 9 }')
})

const TEXT = 'job source size of 1.0 MB exceeds maximum of 1.0 MB and will be discarded'
const SIZES: readonly [string, object, boolean][] = [
  ['as large as it may be', { Source: 'x'.repeat(LIMITS.jobSourceBytesMax - 4) }, true],
  ['a byte larger', { Source: 'x'.repeat(LIMITS.jobSourceBytesMax - 3) }, false],
  ['large in bytes', { Source: 'ä'.repeat(LIMITS.jobSourceBytesMax / 2) }, false],
  ['large with its variables', { Variables: 'x'.repeat(LIMITS.jobSourceBytesMax) }, false],
  ['large in the value of a flag', { VariableFlags: { a: 'x'.repeat(999_999) } }, false],
  ['large in the name of a flag', { VariableFlags: { ['x'.repeat(999_999)]: '' } }, false],
]

for (const [name, fields, isKept] of SIZES)
  test(`submission: one that is ${name} is ${isKept ? 'kept' : 'registered without'}`, async () => {
    const server = await createTestServer({ aclEnabled: false })
    const Submission = source(0, fields)
    const { Warnings } = await server.ok('registerJob', register({}, { Submission }))
    assert.equal(Warnings, isKept ? '' : `1 warning:\n\n* ${TEXT}`)
    assert.deepEqual(await withSource(server, 1), isKept ? [0] : [])
  })

test('submission: the warning says how large it was', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const Submission = source(0, { Source: 'x'.repeat(2_345_678) })
  const { Warnings } = await server.ok('registerJob', register({}, { Submission }))
  assert.match(Warnings, /job source size of 2\.3 MB exceeds maximum of 1\.0 MB/)
})

// Reading

const UNREADABLE: readonly [string, CallOptions, number, string][] = [
  ['no version', ofJob(), 400, 'Unable to parse job submission version parameter'],
  [
    'an empty version',
    ofJob('web', { version: '' }),
    400,
    'Unable to parse job submission version parameter',
  ],
  [
    'a version that is no number',
    ofJob('web', { version: 'x' }),
    400,
    'Unable to parse job submission version parameter',
  ],
  [
    'a version below zero',
    ofJob('web', { version: -1 }),
    400,
    'Unable to parse job submission version parameter',
  ],
  ['an unknown version', submission(7), 404, 'job source not found'],
  ['an unknown job', ofJob('x', { version: 0 }), 404, 'job source not found'],
  ['another namespace', ofJob('web', { version: 0, namespace: 'x' }), 404, 'job source not found'],
]

for (const [name, call, status, text] of UNREADABLE)
  test(`submission: ${name} answers ${status}`, async () => {
    const server = await withVersions(1)
    assert.deepEqual(await server.refusal('readJobSubmission', call), [status, text])
  })

test('submission: who waits for a version gets its source when it comes', async () => {
  const server = await withVersions(1)
  const waiting = server.call('readJobSubmission', ofJob('web', { version: 1, index: 2 }))
  await untilParked()
  await addVersions(server, 1, 2)
  const reply = await waiting
  assert.deepEqual([reply.status, reply.index], [200, 3])
})

test('submission: is there after a restart, before and after a checkpoint', async () => {
  const disk = new MemoryDisk()
  const first = await createTestServer({ aclEnabled: false, disk })
  await addVersions(first, 0, 2)
  for (let restart = 0; restart < 2; restart++) {
    const server = await createTestServer({ aclEnabled: false, disk })
    const { Source, JobIndex } = await server.ok('readJobSubmission', submission(1))
    assert.deepEqual([Source, JobIndex], ['job "web" { # 1 }', 3])
    await server.close()
  }
})

// Where a job is wrong

const HCL = `job "web" {
  group "app" {
    count = -1
    task "t" {
      driver = ""
    }
  }
}
`

test('submission: a job that is refused is told where in its source it is wrong', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const parsed = await server.ok('parseJob', { body: { JobHCL: HCL } })
  const Submission = { Source: HCL, Format: 'hcl2' }
  const [status, text] = await server.refusal('registerJob', { body: { Job: parsed, Submission } })
  assert.equal(status, 400)
  const [, placed = ''] = text.split('\nIn the source:\n')
  assert.deepEqual(
    placed.split('\n').map((line) => line.slice(0, line.lastIndexOf(':'))),
    ['input.hcl:3,13-15: TaskGroups[0].Count', 'input.hcl:5,16-18: TaskGroups[0].Tasks[0].Driver'],
  )
})

for (const Format of ['json', 'hcl2'])
  test(`submission: a source that is no ${Format} adds nothing to a refusal`, async () => {
    const server = await createTestServer({ aclEnabled: false })
    const job = { ID: 'web', TaskGroups: [] }
    const plain = await server.refusal('registerJob', { body: { Job: job } })
    const Submission = { Source: Format === 'json' ? HCL : 'job {', Format }
    assert.deepEqual(await server.refusal('registerJob', { body: { Job: job, Submission } }), plain)
  })
