import assert from 'node:assert/strict'
import { test } from 'node:test'
import { v1Routes, v2, type Route } from '@reeve/contract'
import { aServer } from '../test/local-server.ts'
import { createClient } from './client.ts'

const v1: readonly Route[] = Object.values(v1Routes)
const routes: readonly Route[] = [...v1, ...Object.values(v2.v2Routes)]

test('every route is a method under its id', () => {
  const client = createClient({ address: 'http://127.0.0.1:1' })
  assert.deepEqual(Object.keys(client.v1), Object.keys(v1Routes))
  assert.deepEqual(Object.keys(client.v2), Object.keys(v2.v2Routes))
})

test('no id is in both APIs, so that an id alone names a route', () => {
  assert.equal(new Set(routes.map(({ id }) => id)).size, routes.length)
})

test('successes of routes are JSON, text or bytes, as the types tell them apart', () => {
  const known = [undefined, 'application/json', 'text/plain', 'application/octet-stream']
  // What streams is handed over as it comes, whatever it is.
  for (const { id, answers } of routes.filter(({ streams }) => streams !== true)) {
    for (const [status, { contentType }] of Object.entries(answers)) {
      if (status < '400') assert.ok(known.includes(contentType), `${id} ${status} ${contentType}`)
    }
  }
})

test('only the routes that open a WebSocket promise an upgrade', () => {
  const upgrades = routes.filter(({ answers }) => answers[101] !== undefined)
  assert.deepEqual(
    upgrades.map(({ id }) => id),
    ['execAllocation', 'runJobAction'],
  )
})

test('the routes of frames are the streamed ones besides events, lines of job logs and snapshots', () => {
  const streamed = v1.filter(({ streams, answers }) => streams === true && !answers[101])
  assert.deepEqual(
    streamed.map(({ id }) => id),
    ['streamEvents', 'streamFile', 'streamLogs', 'streamJobLogs', 'monitorAgent', 'saveSnapshot'],
  )
})

test('every method calls its own route with its first method and encoded parameters', async (t) => {
  const server = await aServer(t, (_request, response) => response.end())
  const client = createClient({ address: `${server.address}/behind/a/proxy` })
  // All methods take the same loose request at run time.
  const methods = { ...client.v1, ...client.v2 } as unknown as Readonly<
    Record<string, (request: object) => Promise<unknown>>
  >
  const called = routes.filter(({ answers }) => answers[101] === undefined)
  for (const { id, path, bodyType, body } of called) {
    const names = Array.from(path.matchAll(/:(\w+)/g), ([, name = '']) => name)
    const params = Object.fromEntries(names.map((name) => [name, `${name}/é`]))
    const sent = body === undefined ? {} : { body: bodyType === undefined ? {} : 'raw' }
    await methods[id]?.({ params, ...sent })
  }
  const wanted = called.map(({ methods: [method], path }) => {
    const target = path.replaceAll(/:(\w+)/g, (_match, name: string) => `${name}%2F%C3%A9`)
    return `${method} /behind/a/proxy${target}`
  })
  assert.deepEqual(
    server.received.map(({ method, target }) => `${method} ${target}`),
    wanted,
  )
})
