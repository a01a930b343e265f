import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, request as ask, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { EXIT_CODES } from '../../src/cli/index.ts'
import { aCommandLine } from '../build/cli.ts'

/** Passes everything on to a server, except plans, which it is too busy for. */
async function aServerTooBusyForPlans(t: TestContext, address: string): Promise<string> {
  const passOn = (from: IncomingMessage, to: ServerResponse): void => {
    const { method, url = '', headers } = from
    if (method === 'PUT') return void to.writeHead(429, { 'retry-after': '1' }).end('too busy')
    const onward = ask(new URL(url, address), { method: method ?? '', headers }, (answer) => {
      to.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.pipe(to)
    })
    from.pipe(onward)
  }
  const proxy = createServer(passOn).listen(0, '127.0.0.1')
  t.after(() => proxy.close())
  await once(proxy, 'listening')
  // A server that listens on a port has an address with a port.
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}

test('run create: a run stays when a busy server did not take its plan', async (t) => {
  const reeve = await aCommandLine(t)
  await reeve.ok('org create acme --email ops@acme.example')
  await reeve.ok('workspace create api')
  await reeve.file('plan.json', '{"format_version":"1.2","resource_changes":[]}')
  const address = await aServerTooBusyForPlans(t, reeve.address)
  const token = await readFile(join(reeve.directory, 'data/server/governance-token'), 'utf8')
  const { code, err } = await reeve.run('run create api plan.json', {
    environment: { REEVE_ADDR: address, REEVE_TOKEN: token.trim() },
  })
  assert.equal(code, EXIT_CODES.failed)
  assert.match(err, /upload of the plan may have failed\. "reeve run show run-\w+" shows/)
  assert.doesNotMatch(err, /rejected|canceled/)
  assert.match(await reeve.ok('run list api'), /run-\w+ +pending/)
})
