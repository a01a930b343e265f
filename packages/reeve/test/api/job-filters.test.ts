import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Job } from '@reeve/contract'
import { buildPage } from '../../src/http/list-page.ts'
import { LIMITS } from '../../src/model/index.ts'
import { put } from '../../src/state/index.ts'
import { aJob } from '../build/index.ts'
import { createTestServer, itemsOf, type TestServer } from './harness.ts'

const NAMESPACES = ['a', 'b', 'default'] as const
const STATUSES = ['pending', 'running', 'dead'] as const

/** Jobs of every type and status; every fourth has another name than its id. */
function someJobs(): readonly Job[] {
  return Array.from({ length: 60 }, (_, at) => {
    const ID = `job-${at % 20}`
    return aJob({
      ID,
      Name: at % 4 === 0 ? `job-${(at + 1) % 20}` : ID,
      Namespace: NAMESPACES[at % 3] ?? 'default',
      Type: at % 2 === 0 ? 'service' : 'batch',
      Status: STATUSES[at % 5 === 0 ? 2 : at % 2] ?? 'pending',
      NodePool: at % 7 === 0 ? 'gpu' : 'default',
      ParentID: at % 6 === 0 ? 'parent' : '',
    })
  })
}

async function commitJobs(server: TestServer, jobs: readonly Job[]): Promise<void> {
  const changes = () => jobs.map((job) => put('jobs', job))
  await server.context.store.commit({ by: 'system', cause: undefined, changes }).durable
}

/** Every page of a list, as keys. */
async function listed(server: TestServer, query: Record<string, string>): Promise<string[]> {
  const keys: string[] = []
  for (let token: string | undefined = ''; token !== undefined;) {
    const search = new URLSearchParams({ ...query, next_token: token })
    const reply = await server.send('GET', `/v1/jobs?${search.toString()}`)
    assert.equal(reply.status, 200, reply.text)
    keys.push(...itemsOf(reply).map(({ Namespace, ID }) => `${Namespace}.${ID}`))
    const next = reply.headers['x-service-nexttoken']
    token = typeof next === 'string' ? next : undefined
  }
  return keys
}

describe('filters of jobs', () => {
  let server: TestServer
  before(async () => {
    server = await createTestServer({ aclEnabled: false })
    for (const Name of ['a', 'b']) await server.ok('writeNamespace', { body: { Name } })
    await commitJobs(server, someJobs())
  })
  after(() => server.close())

  const filters = [
    'ID == "job-3"',
    'ID == "none"',
    'Name == "job-5"',
    'Name == "job-5" and Type == "batch"',
    'Type == "batch"',
    'Status == "dead"',
    'Status == "dead" and Status == "running"',
    'Namespace == "b"',
    'Namespace == "b" and ID == "job-4"',
    'NodePool == "gpu" and Type == "service"',
    'ParentID == "parent"',
    'ParentID == ""',
    'Priority == 50 and Status == "pending"',
  ]
  const queries = [
    { namespace: 'default' },
    { namespace: '*' },
    { namespace: '*', reverse: 'true' },
    { namespace: '*', prefix: 'job-1' },
    { namespace: 'a', per_page: '2' },
    { namespace: '*', per_page: '3', reverse: 'true' },
  ]
  for (const filter of filters)
    test(`jobs where ${filter} are the same with an index and without`, async () => {
      let found = 0
      for (const query of queries) {
        const indexed = await listed(server, { ...query, filter })
        // A part of an `or` names no value that every job must have.
        const scanned = await listed(server, { ...query, filter: `(${filter}) or (${filter})` })
        assert.deepEqual(indexed, scanned, JSON.stringify(query))
        found += indexed.length
      }
      const isEmpty = filter.includes('none') || filter.includes('"running"')
      assert.equal(found === 0, isEmpty)
    })

  for (const { filter, most } of [
    { filter: 'ID == "job-3"', most: 3 },
    { filter: 'Name == "job-5"', most: 6 },
    { filter: 'NodePool == "gpu"', most: 9 },
    { filter: 'Status == "dead" and Type == "batch"', most: 6 },
  ])
    test(`only jobs that may pass ${filter} are read`, async () => {
      const { jobs } = server.context.store.tables
      const read = new Set<string>()
      const find = jobs.find.bind(jobs)
      jobs.find = (key) => {
        read.add(key)
        return find(key)
      }
      try {
        assert.ok((await listed(server, { namespace: '*', filter })).length > 0)
      } finally {
        Reflect.deleteProperty(jobs, 'find')
      }
      assert.ok(read.size <= most, `${read.size} of 60 jobs were read`)
    })
})

// The cost of a page

/** So many rows of which the filter passes the last one only. */
function rows(count: number) {
  return {
    scan: (from: string | undefined) =>
      Array.from({ length: count }, (_, at) => at).slice(Number(from ?? 0)),
    tokenOf: String,
    filterView: (row: number) => ({ Last: String(row === count - 1) }),
    filterOptions: {},
    render: String,
  }
}
const SLICES = { monotonicMs: () => 0, sliceMs: 5, nextTurn: () => Promise.resolve() }
const query = { per_page: 1, filter: 'Last == "true"' }
const MAX = LIMITS.filteredRowsMax

test('a page goes on while its filter has rejected no more rows than the limit', async () => {
  const page = await buildPage(rows(MAX + 1), query, SLICES)
  assert.deepEqual(page, { ok: true, value: { items: [String(MAX)], nextToken: undefined } })
})

test('a page ends when its filter rejects one row more, and the next one goes on there', async () => {
  const page = await buildPage(rows(MAX + 2), query, SLICES)
  assert.deepEqual(page, { ok: true, value: { items: [], nextToken: String(MAX) } })
  const next = await buildPage(rows(MAX + 2), { ...query, next_token: String(MAX) }, SLICES)
  assert.deepEqual(next, { ok: true, value: { items: [String(MAX + 1)], nextToken: undefined } })
})

test('a list without pages is not cut by its filter', async () => {
  const page = await buildPage(rows(MAX + 2), { filter: query.filter }, SLICES)
  assert.deepEqual(page, { ok: true, value: { items: [String(MAX + 1)], nextToken: undefined } })
})

// Long lists

describe('a list that is too long for memory', () => {
  let server: TestServer
  before(async () => {
    server = await createTestServer({ aclEnabled: false })
    const StatusDescription = 'x'.repeat(5_000)
    const jobs = Array.from({ length: 1_200 }, (_, at) =>
      aJob({ ID: `job-${String(at).padStart(4, '0')}`, StatusDescription }),
    )
    await commitJobs(server, jobs)
  })
  after(() => server.close())

  for (const options of ['', '&reverse=true', '&pretty=true', '&prefix=job-0'])
    test(`is sent as it is read, and complete${options}`, async () => {
      const reply = await server.send('GET', `/v1/jobs?namespace=default${options}`)
      assert.equal(reply.status, 200)
      assert.ok(reply.text.length > LIMITS.wholeListCharsMax)
      assert.equal(reply.headers['content-length'], undefined)
      const ids = itemsOf(reply).map(({ ID }) => ID)
      const wanted = Array.from({ length: options.includes('prefix') ? 1_000 : 1_200 }, (_, at) => {
        return `job-${String(at).padStart(4, '0')}`
      })
      assert.deepEqual(ids, options.includes('reverse') ? wanted.toReversed() : wanted)
      const whole: unknown = JSON.parse(reply.text)
      const pretty = `${JSON.stringify(whole, null, 4)}\n`
      assert.ok(reply.text === (options.includes('pretty') ? pretty : JSON.stringify(whole)))
    })

  test('with a filter it is whole', async () => {
    const reply = await server.send('GET', '/v1/jobs?filter=Priority+!=+7')
    assert.equal(itemsOf(reply).length, 1_200)
  })

  test('what changes while a reader is slow is shown once, and what goes is not', async () => {
    const { jobs } = server.context.store.tables
    const source = {
      scan: (from: string | undefined) => jobs.keys(from),
      tokenOf: (key: string) => key,
      filterView: (key: string) => jobs.get(key),
      filterOptions: {},
      render: (key: string) => JSON.stringify(jobs.get(key).ID),
      inlineCharsMax: 1,
    }
    let turns = 0
    const slices = { monotonicMs: () => turns++, sliceMs: 3, nextTurn: () => Promise.resolve() }
    const page = await buildPage(source, {}, slices)
    assert.ok(page.ok && page.value.rest !== undefined)
    const seen: string[] = page.value.items.map((item) => JSON.parse(item))
    for await (const batch of page.value.rest()) {
      seen.push(...batch.map((item): string => JSON.parse(item)))
      if (seen.length < 100) await commitJobs(server, [aJob({ ID: 'job-0500', Priority: 70 })])
    }
    assert.equal(seen.length, 1_200)
    assert.deepEqual(seen, [...new Set(seen)])
  })
})
