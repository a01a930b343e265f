import assert from 'node:assert/strict'
import { once } from 'node:events'
import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createClient } from '@reeve/sdk'
import { until } from '../build/until.ts'
import { execClient, execPath } from './exec-client.ts'
import { aNodeWorld, shell } from './node-world.ts'

test('sdk: a command runs, and a log is followed, as the package has them', async (t) => {
  const { run, address } = await aNodeWorld(t)
  const { id } = await run([shell('echo hello; sleep 300')])
  const client = createClient({ address })
  const session = await client.exec({ allocId: id, task: 'web', command: ['/bin/cat'] })
  await session.stdin.write('some text')
  await session.stdin.close()
  const chunks: Uint8Array[] = []
  for await (const chunk of session.stdout) chunks.push(chunk)
  assert.equal(Buffer.concat(chunks).toString(), 'some text')
  assert.equal(await session.exit, 0)
  const logs = client.frames('streamLogs', {
    params: { alloc_id: id },
    query: { task: 'web', type: 'stdout', follow: true },
  })
  for await (const { bytes } of logs) {
    assert.equal(Buffer.from(bytes).toString(), 'hello\n')
    break
  }
})

test('streams: half of a file does not look like the whole when its node goes', async (t) => {
  const { run, open, agent } = await aNodeWorld(t)
  const { id, directory } = await run([{ Driver: 'mock', Config: {} }])
  const path = join(directory, 'alloc/data/big')
  await writeFile(path, '')
  await truncate(path, 256 * 1024 * 1024)
  const response = await open(`/v1/client/fs/cat/${id}?path=alloc/data/big`)
  await once(response, 'readable')
  const failed = once(response, 'error')
  await agent.stop()
  response.resume()
  const [error] = await failed
  assert.equal(error.code, 'ECONNRESET')
})

test('streams: none is left open when readers leave, or only want the headers', async (t) => {
  const { server, run, open, get } = await aNodeWorld(t)
  const { id } = await run([shell('echo hello; sleep 300')])
  const openStreams = async (): Promise<number | undefined> => {
    const { Gauges } = await server.ok('readMetrics')
    return Gauges.find(({ Name }) => Name === 'service_node_streams')?.Value
  }
  const path = `/v1/client/fs/logs/${id}?task=web&type=stdout&follow=true&plain=true`
  const readers = await Promise.all(Array.from({ length: 40 }, () => open(path)))
  assert.equal(await openStreams(), 40)
  for (const reader of readers) reader.destroy()
  await until('all to be closed', async () => ((await openStreams()) === 0 ? true : undefined))
  const head = await get(path, { method: 'HEAD' })
  assert.deepEqual(head, { status: 200, text: '', type: 'text/plain; charset=utf-8' })
  await until('that one too', async () => ((await openStreams()) === 0 ? true : undefined))
  const post = await get(path, { method: 'POST' })
  assert.deepEqual([post.status, post.text], [405, 'Invalid method'])
})

test('streams: a server that stops says so to who runs a command', async (t) => {
  const { server, run, webSocket } = await aNodeWorld(t)
  const { id } = await run([{ Driver: 'mock', Config: {} }])
  const client = execClient(webSocket(execPath(id, { task: 'web', command: ['sh'] })))
  client.type('hello')
  await client.says('hello')
  const closing = server.close()
  assert.deepEqual(await client.closed, [1001, 'the server stops'])
  await closing
})
