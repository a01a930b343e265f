import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { PhaseClient } from './phase-client.ts'
import { RemoteStateGateway } from './remote-state-gateway.ts'

const STATE = '{"version":4,"outputs":{"a":{"value":1,"type":"number"}},"resources":[]}'
const NOT_SHARED = 'Workspace other does not exist or does not share its outputs'

/** A server on which the workspace `network` shares its outputs. */
function answer({ url = '', headers, method }: IncomingMessage, response: ServerResponse): void {
  const end = (status: number, text: string) => response.writeHead(status).end(text)
  if (url.endsWith('/broken-off')) {
    response.writeHead(200, { 'content-length': '100' }).write('half')
    setImmediate(() => response.destroy())
    return
  }
  if (headers.authorization === 'Bearer own-token-of-a-user')
    return void end(200, `${method} ${url}`)
  assert.equal(headers.authorization, 'Bearer token-of-the-phase')
  if (url === '/api/v2/run-phases/run-1-plan/remote-states/network') return void end(200, STATE)
  if (url.endsWith('/remote-states/empty')) return void end(204, '')
  end(403, JSON.stringify({ errors: [{ status: '403', detail: NOT_SHARED }] }))
}

interface GatewayUse {
  readonly url: string
  /** Sends a request with the token of the settings, unless another one is given. */
  readonly ask: (
    path: string,
    token?: string,
    method?: string,
  ) => Promise<{ readonly status: number; readonly text: string }>
}

async function aGateway(t: TestContext): Promise<GatewayUse> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  // A server that listens on a port has an address with a port.
  const { port } = server.address() as AddressInfo
  const at = { address: `http://127.0.0.1:${port}`, phaseId: 'run-1-plan', authorities: '' }
  const client = new PhaseClient(at, 'token-of-the-phase')
  const hosts = ['reeve.example:4646']
  const gateway = new RemoteStateGateway({ client, organization: 'acme', hosts })
  const settings = await gateway.start()
  t.after(() => gateway.close())
  const [, url = ''] =
    /host "reeve\.example:4646" \{ services = \{ "tfe\.v2" = "([^"]+)"/.exec(settings) ?? []
  const [, ownToken = ''] =
    /credentials "reeve\.example:4646" \{ token = "([^"]+)"/.exec(settings) ?? []
  return {
    url,
    ask: async (path, token = ownToken, method = 'GET') => {
      const headers = { authorization: `Bearer ${token}` }
      const response = await fetch(`${url}${path}`, { method, headers })
      return { status: response.status, text: await response.text() }
    },
  }
}

test('the tool finds a shared state by the name of its workspace', async (t) => {
  const { url, ask } = await aGateway(t)
  assert.equal((await ask('ping')).status, 204)
  assert.match((await ask('organizations/acme/entitlement-set')).text, /"state-storage":true/)
  const workspace = JSON.parse((await ask('organizations/acme/workspaces/network')).text)
  assert.equal(workspace.data.attributes.name, 'network')
  const current = await ask(`workspaces/${workspace.data.id}/current-state-version`)
  const download = JSON.parse(current.text).data.attributes['hosted-state-download-url']
  assert.equal((await ask(download.slice(url.length))).text, STATE)
})

test('a workspace that does not share is refused with the reason; one without state is 404', async (t) => {
  const { ask } = await aGateway(t)
  const refused = await ask('organizations/acme/workspaces/other')
  assert.equal(refused.status, 403)
  assert.match(refused.text, new RegExp(NOT_SHARED))
  const empty = JSON.parse((await ask('organizations/acme/workspaces/empty')).text)
  assert.equal((await ask(`workspaces/${empty.data.id}/current-state-version`)).status, 404)
})

test('the token of the tool opens nothing else', async (t) => {
  const { ask } = await aGateway(t)
  for (const [method, path] of [
    ['POST', 'organizations/acme/workspaces'],
    ['GET', 'organizations/other/workspaces/network'],
    ['GET', 'organizations/acme/teams'],
    ['GET', 'runs/run-1'],
    ['GET', 'account/details'],
  ] as const)
    assert.equal((await ask(path, undefined, method)).status, 403, path)
})

test('a request with a token of a user goes to the server as it is', async (t) => {
  const { ask } = await aGateway(t)
  const { status, text } = await ask(
    'organizations/acme/teams?page=2',
    'own-token-of-a-user',
    'POST',
  )
  assert.deepEqual([status, text], [200, 'POST /api/v2/organizations/acme/teams?page=2'])
})

test('a response of the server that breaks off ends the request, and not the gateway', async (t) => {
  const { ask } = await aGateway(t)
  await assert.rejects(ask('runs/broken-off', 'own-token-of-a-user'), /terminated|fetch failed/)
  assert.equal((await ask('ping')).status, 204)
})

test('a malformed path is an error with a text', async (t) => {
  const { ask } = await aGateway(t)
  const { status, text } = await ask('organizations/%E0%A4%A')
  assert.equal(status, 400)
  assert.match(text, /malformed/)
})
