import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { atEnd } from '../../../test/build/at-end.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { until } from '../../../test/build/until.ts'
import { limitConnections, openFilesUsage } from './connections.ts'

test('connections: those past the limit are closed, counted and logged', async (t) => {
  const server = createServer()
  const clock = new SimulatedClock()
  const lines: string[] = []
  const silent = (): void => undefined
  const warn = (_fields: object, message: string) => void lines.push(message)
  const use = limitConnections(server, 2, { log: { warn }, clock })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  const { port } = address
  const open = () => {
    const socket = connect(port, '127.0.0.1').on('error', silent)
    atEnd(t, () => socket.destroy())
    return socket
  }
  atEnd(t, () => void server.close())
  for (let count = 0; count < 2; count++) await once(open(), 'connect')
  await until('both to be accepted', async () => (await use()).used === 2 || undefined)
  assert.deepEqual(lines, [], 'none at the limit')
  for (let count = 0; count < 2; count++) await once(open(), 'close')
  assert.deepEqual(await use(), { name: 'connections', max: 2, used: 2, rejected: 2 })
  assert.deepEqual(lines, [
    'new connections are closed: 2 are open, the limit of limits.connections. ' +
      'Raise it, or find the clients that keep them open',
  ])
  clock.advance(60_000)
  await once(open(), 'close')
  assert.equal(lines.length, 2, 'once a minute')
})

test('open files: the limit of the process and its use are measured', async () => {
  const [use] = await openFilesUsage()
  assert.equal(use?.name, 'open_files')
  assert.ok(use !== undefined && use.used > 2 && use.used < use.max)
})
