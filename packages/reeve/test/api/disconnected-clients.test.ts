import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Fault } from '@reeve/kit/fault.ts'
import type { TaskOrigin } from '../../src/threads/index.ts'
import { createTestServer } from './harness.ts'

const BODY = '{"JobHCL":"job \\"a\\" {}"}'

test('disconnected clients: their work is told of it, and logs no error', async (t) => {
  const server = await createTestServer()
  t.after(() => server.close())
  const { SecretID: token } = await server.ok('bootstrapAcl')
  const port = Number(new URL(await server.listen()).port)
  const started = Promise.withResolvers<void>()
  const dropped = Promise.withResolvers<void>()
  // A task that waits in the queue until its client disconnects.
  t.mock.method(server.context.jobFiles, 'read', async (_task: unknown, origin: TaskOrigin) => {
    started.resolve()
    const { signal } = origin
    assert.ok(signal !== undefined)
    if (!signal.aborted) await once(signal, 'abort')
    dropped.resolve()
    throw new Fault('cancelled', 'the client has disconnected')
  })
  const socket = connect(port, '127.0.0.1')
  socket.write(
    `POST /v1/jobs/parse HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Service-Token: ${token}\r\n` +
      `Content-Length: ${BODY.length}\r\n\r\n${BODY}`,
  )
  await started.promise
  socket.destroy()
  await dropped.promise
  // The rejection reaches the error handler within a turn.
  await setImmediate()
  assert.deepEqual(server.faults, [])
})
