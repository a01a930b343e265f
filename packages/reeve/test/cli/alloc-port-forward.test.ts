import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, connect, type Socket } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { test } from 'node:test'
import { EXIT_CODES } from '../../src/cli/index.ts'
import { aCommandLine, type CommandLineBench } from '../build/cli.ts'
import { runShellJob, shellTask } from '../build/cli-jobs.ts'
import { freePort } from '../build/free-port.ts'
import { until } from '../build/until.ts'

/** Sends back what it reads; "bye" makes it close the connection. */
const ECHO = `require("net").createServer((socket) => {
  socket.on("error", () => socket.destroy())
  socket.on("data", (bytes) => String(bytes) === "bye" ? socket.end("bye") : socket.write(bytes))
}).listen(Number(process.argv[1]), "127.0.0.1")`

/** A command that forwards until it is stopped. */
function forwarding(reeve: CommandLineBench, line: string) {
  const leaving = new AbortController()
  let written = ''
  const onWritten = (text: string) => (written += text)
  const ended = reeve.run(line, { signal: leaving.signal, onWritten })
  return {
    says: (pattern: RegExp) =>
      until(`"${line}" to print ${pattern}`, async () => pattern.exec(written) ?? undefined),
    async stop() {
      leaving.abort()
      return await ended
    },
  }
}

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

test('alloc port-forward', { timeout: 300_000 }, async (t) => {
  const reeve = await aCommandLine(t)
  const remote = await freePort()
  const script = `exec '${process.execPath}' -e '${ECHO}' ${remote}`
  const bare = { ...shellTask('bare', 'exec /bin/sleep 600'), Env: { PATH: '/nowhere' } }
  const [id = ''] = await runShellJob(t, reeve.client, { id: 'echo', script, tasks: [bare] })
  await until('the server of the task', async () => {
    const socket = await connected(remote).catch(() => undefined)
    socket?.destroy()
    return socket
  })

  await t.test('bytes pass in both directions, until the task closes the connection', async () => {
    const forward = forwarding(reeve, `alloc port-forward --task main ${id} :${remote}`)
    const [, port] = await forward.says(/^Forwarding 127\.0\.0\.1:(\d+) to port \d+ of task "main"/)
    const [one, other] = [await connected(Number(port)), await connected(Number(port))]
    one.write('hello')
    assert.deepEqual(await once(one, 'data'), [Buffer.from('hello')])
    const bytes = Buffer.alloc(300_000, 'x')
    other.write(bytes)
    const echoed: Buffer[] = []
    for await (const chunk of other.iterator({ destroyOnReturn: false })) {
      echoed.push(Buffer.from(chunk))
      if (Buffer.concat(echoed).length === bytes.length) break
    }
    assert.deepEqual(Buffer.concat(echoed), bytes)
    other.destroy()
    one.write('bye')
    assert.equal(await readText(one), 'bye')
    const { code, err } = await forward.stop()
    assert.equal(code, EXIT_CODES.interrupted)
    assert.equal(err, '')
  })

  await t.test('a connection that fails is reported, and others are still accepted', async () => {
    const closed = await freePort()
    const line = `alloc port-forward --task bare echo/group[0] :${closed}`
    const forward = forwarding(reeve, line)
    const [, port] = await forward.says(/^Forwarding 127\.0\.0\.1:(\d+) /)
    await connected(Number(port))
    await forward.says(
      /Connection to port \d+: the task has none of the programs socat, nc and bash/,
    )
    await connected(Number(port))
    await forward.stop()
  })

  await t.test('a local port that is in use, and ports that are none', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const address = taken.address()
    assert.ok(address !== null && typeof address === 'object')
    const used = await reeve.run(`alloc port-forward --task main ${id} ${address.port}:80`)
    taken.close()
    assert.equal(used.code, EXIT_CODES.failed)
    assert.match(used.err, /Cannot listen on 127\.0\.0\.1:\d+: .*\nUse another local port/)
    for (const ports of ['0', '70000:80', '80:', 'http']) {
      const wrong = await reeve.run(`alloc port-forward --task main ${id} ${ports}`)
      assert.equal(wrong.code, EXIT_CODES.usage, wrong.err)
      assert.match(wrong.err, /is not PORT, LOCAL:REMOTE or :REMOTE/)
    }
  })
})
