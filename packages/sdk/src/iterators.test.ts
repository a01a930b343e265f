import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aServer, inTurn, send, type AnAnswer } from '../test/local-server.ts'
import { createClient } from './client.ts'

const params = { organization_name: 'acme' }

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

function aTokenPage(ids: readonly string[], next?: string): AnAnswer {
  const headers: Record<string, string> = next === undefined ? {} : { 'X-Service-NextToken': next }
  return { headers, body: ids.map((ID) => ({ ID })) }
}

test('workload lists are walked by the token of the page before', async (t) => {
  const pages = [aTokenPage(['a', 'b'], 'c'), aTokenPage(['c'], 'd/é'), aTokenPage([])]
  const server = await aServer(t, inTurn(...pages))
  const client = createClient({ address: server.address })
  const jobs = await all(client.pages('listJobs', { query: { prefix: 'x' } }))
  assert.deepEqual(
    jobs.map(({ ID }) => ID),
    ['a', 'b', 'c'],
  )
  assert.deepEqual(
    server.received.map(({ target }) => target),
    [
      '/v1/jobs?per_page=100&prefix=x',
      '/v1/jobs?per_page=100&prefix=x&next_token=c',
      '/v1/jobs?per_page=100&prefix=x&next_token=d%2F%C3%A9',
    ],
  )
})

test('the size of a page and where to begin are the caller’s', async (t) => {
  const server = await aServer(t, inTurn(aTokenPage(['b'])))
  const client = createClient({ address: server.address })
  await all(
    client.pages('listJobs', { query: { per_page: 7, next_token: 'b', filter: undefined } }),
  )
  assert.equal(server.received[0]?.target, '/v1/jobs?per_page=7&next_token=b')
})

test('leaving the loop asks for no further page', async (t) => {
  const server = await aServer(t, inTurn(aTokenPage(['a', 'b'], 'c')))
  const client = createClient({ address: server.address })
  for await (const _ of client.pages('listJobs')) break
  assert.equal(server.received.length, 1)
})

test('a list that is read by POST is walked too', async (t) => {
  const server = await aServer(t, inTurn(aTokenPage(['a'], 'b'), aTokenPage(['b'])))
  const client = createClient({ address: server.address })
  await all(client.pages('listStatusesOfJobs', { body: { Jobs: [] } }))
  assert.deepEqual(
    server.received.map(({ method, body }) => [method, body]),
    [
      ['POST', '{"Jobs":[]}'],
      ['POST', '{"Jobs":[]}'],
    ],
  )
})

function aNumberPage(names: readonly string[], next: number | null): AnAnswer {
  const data = names.map((name) => ({ type: 'projects', attributes: { name } }))
  return { body: { data, meta: { pagination: { 'next-page': next } } } }
}

test('governance lists are walked by number', async (t) => {
  const server = await aServer(t, inTurn(aNumberPage(['a', 'b'], 2), aNumberPage(['c'], null)))
  const client = createClient({ address: server.address })
  const projects = await all(client.pages('listProjects', { params, query: { 'page[size]': 2 } }))
  assert.deepEqual(
    projects.map(({ attributes }) => attributes.name),
    ['a', 'b', 'c'],
  )
  assert.deepEqual(
    server.received.map(({ target }) => target.split('?')[1]),
    ['page%5Bsize%5D=2', 'page%5Bsize%5D=2&page%5Bnumber%5D=2'],
  )
})

test('a page that only a link names is asked of our own server, with the token', async (t) => {
  const other = await aServer(t, inTurn({ body: { data: [] } }))
  const next = `${other.address}/api/v2/x?page%5Bnumber%5D=2`
  const server = await aServer(t, ({ target }, response) => {
    const links = { next: target.includes('number') ? null : next }
    send(response, { body: { data: [{ type: 'projects' }], links } })
  })
  const client = createClient({ address: server.address, token: 's3cret' })
  assert.equal((await all(client.pages('listProjects', { params }))).length, 2)
  assert.equal(other.received.length, 0)
})

const strangeLinks: readonly unknown[] = [null, '', 'next', 5, 'http://x/?page%5Bnumber%5D=z']
for (const next of strangeLinks) {
  test(`a next link of ${JSON.stringify(next)} is the end`, async (t) => {
    const server = await aServer(t, inTurn({ body: { data: [], links: { next } } }))
    const client = createClient({ address: server.address })
    assert.deepEqual(await all(client.pages('listProjects', { params })), [])
    assert.equal(server.received.length, 1)
  })
}

test('a list that comes unpaged is one page', async (t) => {
  const server = await aServer(t, inTurn({ body: { data: [{ id: 'acme' }] } }))
  const client = createClient({ address: server.address })
  assert.equal((await all(client.pages('listOrganizations'))).length, 1)
})

test('whole pages are there for what they hold besides items', async (t) => {
  const page = { data: [], included: [{ id: 'x', type: 'policy-sets' }], meta: { pagination: {} } }
  const server = await aServer(t, inTurn({ body: page }))
  const client = createClient({ address: server.address })
  const [first] = await all(client.eachPage('listOrganizationPolicies', { params }))
  assert.equal(first?.data.included?.[0]?.id, 'x')
})

const circles: readonly (readonly [string, 'listJobs' | 'listOrganizations', AnAnswer])[] = [
  ['token', 'listJobs', aTokenPage(['a'], 'a')],
  ['number', 'listOrganizations', aNumberPage(['a'], 1)],
  ['lower number', 'listOrganizations', aNumberPage(['a'], -1)],
]
for (const [name, id, answer] of circles) {
  test(`a server that names the same ${name} again is not asked without end`, async (t) => {
    const server = await aServer(t, inTurn(answer))
    const client = createClient({ address: server.address })
    await assert.rejects(all<unknown>(client.pages(id)), /the same page/)
    assert.ok(server.received.length <= 2)
  })
}
