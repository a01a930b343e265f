import assert from 'node:assert/strict'
import { test } from 'node:test'
import { v1Routes, v2, type Route } from '@reeve/contract'
import fc from 'fast-check'
import { parseAddress, urlPathOf, type PathValues, type QueryValues } from './address.ts'

const addresses = [
  { given: 'http://127.0.0.1:4646', address: 'http://127.0.0.1:4646' },
  { given: 'http://127.0.0.1:4646/', address: 'http://127.0.0.1:4646' },
  { given: 'HTTPS://Example.org', address: 'https://example.org' },
  { given: 'https://example.org/reeve//', address: 'https://example.org/reeve' },
  { given: 'http://[::1]:4646', address: 'http://[::1]:4646' },
]
for (const { given, address } of addresses) {
  test(`the address ${given} is ${address}`, () => assert.equal(parseAddress(given), address))
}

const badAddresses = [
  { given: '', says: /must be a URL such as/ },
  { given: 'localhost:4646', says: /must be a URL such as/ },
  { given: '127.0.0.1:4646', says: /must be a URL such as/ },
  { given: 'ftp://example.org', says: /must be a URL such as/ },
  { given: 'http://me:hunter2@example.org', says: /pass a token/ },
  { given: 'http://example.org?x=1', says: /no query/ },
  { given: 'http://example.org/#x', says: /no fragment/ },
]
for (const { given, says } of badAddresses) {
  test(`the address "${given}" is refused without repeating it`, () => {
    assert.throws(
      () => parseAddress(given),
      (error: Error) => {
        assert.match(error.message, says)
        assert.doesNotMatch(error.message, /hunter2/)
        return true
      },
    )
  })
}

const targets: readonly {
  readonly name: string
  readonly route: Route
  readonly params?: PathValues
  readonly query?: QueryValues
  readonly target: string
}[] = [
  {
    name: 'a job id with slashes stays one segment',
    route: v1Routes.readJobSummary,
    params: { job_id: 'web/dispatch-1' },
    target: '/v1/job/web%2Fdispatch-1/summary',
  },
  {
    name: 'an id cannot reach into the query',
    route: v1Routes.readJob,
    params: { job_id: 'a?purge=true#b c%' },
    target: '/v1/job/a%3Fpurge%3Dtrue%23b%20c%25',
  },
  {
    name: 'a path with two parameters gets both',
    route: v1Routes.tagJobVersion,
    params: { job_id: 'web', tag_name: 'golden/é' },
    target: '/v1/job/web/versions/golden%2F%C3%A9/tag',
  },
  {
    name: 'a list of values is repeated',
    route: v1Routes.streamEvents,
    query: { topic: ['Job:web', 'Node'], index: 7 },
    target: '/v1/event/stream?topic=Job%3Aweb&topic=Node&index=7',
  },
  {
    name: 'an empty list is no parameter',
    route: v1Routes.streamEvents,
    query: { topic: [] },
    target: '/v1/event/stream',
  },
  {
    name: 'brackets in names are encoded',
    route: v2.v2Routes.listProjects,
    params: { organization_name: 'acme' },
    query: { 'page[number]': 2, 'filter[names]': 'a,b' },
    target: '/api/v2/organizations/acme/projects?page%5Bnumber%5D=2&filter%5Bnames%5D=a%2Cb',
  },
  {
    name: 'a plus in an expression stays a plus',
    route: v1Routes.listJobs,
    query: { filter: 'Name == "a+b"' },
    target: '/v1/jobs?filter=Name%20%3D%3D%20%22a%2Bb%22',
  },
  {
    name: 'a flag that differs from its default is sent',
    route: v1Routes.listAllocations,
    query: { resources: true, task_states: false },
    target: '/v1/allocations?resources=true&task_states=false',
  },
  {
    name: 'a flag that is as by default is not',
    route: v1Routes.listAllocations,
    query: { pretty: false, resources: false, task_states: true },
    target: '/v1/allocations',
  },
  {
    name: 'a flag without default is sent either way',
    route: v2.v2Routes.listProjects,
    params: { organization_name: 'acme' },
    query: { 'filter[permissions][update]': false },
    target: '/api/v2/organizations/acme/projects?filter%5Bpermissions%5D%5Bupdate%5D=false',
  },
  {
    name: 'what is undefined or null is left out, what is empty is not',
    route: v1Routes.listJobs,
    query: { prefix: undefined, filter: null, next_token: '', per_page: 0 },
    target: '/v1/jobs?next_token=&per_page=0',
  },
]
for (const { name, route, params = {}, query = {}, target } of targets) {
  test(`target: ${name}`, () => assert.equal(urlPathOf(route, params, query), target))
}

for (const job_id of ['', '.', '..', undefined]) {
  test(`target: id ${JSON.stringify(job_id)} is refused: it would call another route`, () => {
    assert.throws(() => urlPathOf(v1Routes.stopJob, { job_id }, {}), /^TypeError: .*params\.job_id/)
  })
}

test('target: every other id reaches the server as it is, inside its one segment', () => {
  const id = fc.string({ unit: 'grapheme', minLength: 1 }).filter((one) => !/^\.\.?$/.test(one))
  fc.assert(
    fc.property(id, (job_id) => {
      const target = urlPathOf(v1Routes.readJobSummary, { job_id }, {})
      const { pathname, search, hash } = new URL(`http://h${target}`)
      const [, , , segment = '', last, ...more] = pathname.split('/')
      assert.deepEqual([search, hash, last, more], ['', '', 'summary', []])
      assert.equal(decodeURIComponent(segment), job_id.toWellFormed())
    }),
  )
})

test('target: every query comes back as it was', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.string()), (query) => {
      const { searchParams } = new URL(`http://h${urlPathOf(v1Routes.listJobs, {}, query)}`)
      assert.deepEqual([...searchParams], Object.entries(query))
    }),
  )
})

test('target: half of a surrogate pair does not throw', () => {
  assert.equal(urlPathOf(v1Routes.readJob, { job_id: '\ud800' }, {}), '/v1/job/%EF%BF%BD')
})
