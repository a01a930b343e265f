import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import { createClient } from '@reeve/sdk'
import { createNodeFetch } from '../../src/cli/node-fetch.ts'
import { createSourceFetch, PEER_NAMES } from '../../src/cli/import/source.ts'
import { readWorkload } from '../../src/cli/import/workload-inventory.ts'

type Answers = (request: IncomingMessage, response: ServerResponse) => void

/** A client of an installation that answers so; and the delays that it waited. */
async function aSource(t: TestContext, answers: Answers) {
  const server = createServer(answers)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  const delays: number[] = []
  const fetch = createSourceFetch({
    fetch: createNodeFetch(),
    token: 'secret',
    responseHeaders: PEER_NAMES.responseHeaders,
    pause: (delayMs) => Promise.resolve(void delays.push(delayMs)),
  })
  const url = `http://127.0.0.1:${address.port}`
  return { client: createClient({ address: url, token: 'secret', fetch }), delays, url }
}

function json(response: ServerResponse, body: unknown, headers = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

test('source: busy answers are repeated, after the time that the source asks for', async (t) => {
  let count = 0
  const { client, delays } = await aSource(t, (_request, response) => {
    count++
    if (count === 1) return response.writeHead(429, { 'retry-after': '2' }).end()
    if (count === 2) return response.writeHead(503).end()
    return json(response, [])
  })
  assert.deepEqual((await client.v1.listNamespaces()).data, [])
  assert.deepEqual(delays, [2_000, 500])
})

test('source: a redirect is followed without the token', async (t) => {
  const seen: unknown[] = []
  const { client, url } = await aSource(t, ({ url: path, headers }, response) => {
    seen.push([path?.split('?')[0], headers.authorization])
    if (path === '/stored') return void response.end('main = true')
    response.writeHead(307, { location: `${url}/stored` }).end()
  })
  const { data } = await client.v2.downloadPolicy({ params: { policy_id: 'pol-1' } })
  assert.equal(new TextDecoder().decode(data), 'main = true')
  assert.deepEqual(seen, [
    ['/api/v2/policies/pol-1/download', 'Bearer secret'],
    ['/stored', undefined],
  ])
})

test('source: lists of another product are read to their last page, in our names', async (t) => {
  const job = {
    ID: 'web',
    Namespace: 'default',
    Version: 0,
    TaskGroups: [{ Tasks: [{ Vault: { Role: 'db' }, Env: { Vault: 'x' } }] }],
  }
  const answers: Readonly<Record<string, unknown>> = {
    '/v1/namespaces': [{ Name: 'default' }],
    '/v1/node/pools': [],
    '/v1/jobs': [{ ID: 'web', Namespace: 'default' }],
    '/v1/job/web/versions': { Versions: [job] },
    '/v1/var/nomad/jobs/a': { Items: { key: 'value' } },
    '/v1/var/b': { Items: {} },
  }
  const { client } = await aSource(t, ({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://source')
    if (pathname === '/v1/vars')
      return searchParams.has('next_token')
        ? json(response, [{ Namespace: 'default', Path: 'b' }])
        : json(response, [{ Namespace: 'default', Path: 'nomad/jobs/a' }], {
            'x-nomad-nexttoken': 'default.b',
          })
    if (pathname.startsWith('/v1/acl/')) return response.writeHead(400).end('ACL support disabled')
    const body = answers[decodeURIComponent(pathname)]
    return body === undefined ? response.writeHead(404).end() : json(response, body)
  })
  const read = await readWorkload(client, PEER_NAMES)
  assert.deepEqual(
    read.variables.map(({ path }) => path),
    ['service/jobs/a', 'b'],
  )
  assert.deepEqual(read.jobs[0]?.versions[0]?.job['TaskGroups'], [
    { Tasks: [{ SecretStore: { Role: 'db' }, Env: { Vault: 'x' } }] },
  ])
  assert.deepEqual(
    read.gaps.map(({ kind, reason }) => `${kind}: ${reason}`),
    ['acl-policy', 'acl-role', 'acl-token'].map(
      (kind) => `${kind}: The source does not show them: ACL support disabled`,
    ),
  )
})
