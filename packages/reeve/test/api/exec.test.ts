import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { LIMITS } from '../../src/model/index.ts'
import { until } from '../build/until.ts'
import { execClient, execPath } from './exec-client.ts'
import { aNodeWorld, shell } from './node-world.ts'

const SLEEP = shell('sleep 300')

test('exec: output comes before the exit, and the exit code is told', async (t) => {
  const { run, webSocket } = await aNodeWorld(t)
  const { id } = await run([SLEEP])
  const command = ['/bin/sh', '-c', 'echo out; echo err >&2; exit 3']
  const client = execClient(webSocket(execPath(id, { task: 'web', command })))
  assert.deepEqual(await client.closed, [1000, ''])
  assert.equal(client.stdout(), 'out\n')
  assert.equal(client.stderr(), 'err\n')
  assert.deepEqual(client.frames.at(-1), { exited: true, result: { exit_code: 3 } })
  const ends = client.frames.slice(-3, -1).map((frame) => JSON.stringify(frame))
  assert.deepEqual(ends.toSorted(), ['{"stderr":{"close":true}}', '{"stdout":{"close":true}}'])
})

test('exec: what is typed reaches the command, and the end of the input ends it', async (t) => {
  const { run, webSocket } = await aNodeWorld(t)
  const { id } = await run([SLEEP])
  const path = execPath(id, { task: 'web', command: ['/bin/cat'] })
  const client = execClient(webSocket(path))
  client.type('one\n')
  await client.says('one\n')
  client.send({})
  client.send({ stdin: { data: Buffer.from('two\n').toString('base64'), close: true } })
  assert.deepEqual(await client.closed, [1000, ''])
  assert.equal(client.stdout(), 'one\ntwo\n')
  assert.deepEqual(client.frames.at(-1), { exited: true, result: { exit_code: 0 } })
})

test('exec: every byte of much output arrives, however slowly it is read', async (t) => {
  const { run, webSocket } = await aNodeWorld(t)
  const { id } = await run([SLEEP])
  const command = ['/bin/sh', '-c', 'head -c 8000000 /dev/zero | tr "\\0" x; echo end']
  const client = execClient(webSocket(execPath(id, { task: 'web', command })))
  await until('the first output', () => client.frames.length > 0 || undefined)
  client.socket.pause()
  await new Promise((resolve) => setImmediate(resolve))
  client.socket.resume()
  assert.deepEqual(await client.closed, [1000, ''])
  assert.equal(client.stdout().length, 8_000_004)
  assert.ok(client.stdout().endsWith('xend\n'))
})

test('exec: much input arrives whole at a command that is slow to read', async (t) => {
  const { run, webSocket } = await aNodeWorld(t)
  const { id } = await run([SLEEP])
  const command = ['/bin/sh', '-c', 'read line; wc -c']
  const client = execClient(webSocket(execPath(id, { task: 'web', command })))
  client.type('go\n')
  const piece = 'y'.repeat(60_000)
  for (let i = 0; i < 100; i++) client.type(piece)
  client.send({ stdin: { close: true } })
  assert.deepEqual(await client.closed, [1000, ''])
  assert.equal(client.stdout().trim(), '6000000')
})

test('exec: a command that a signal ended has 128 and its number', async (t) => {
  const { run, webSocket } = await aNodeWorld(t)
  const { id } = await run([SLEEP])
  const command = ['/bin/sh', '-c', 'kill -TERM $$']
  const client = execClient(webSocket(execPath(id, { task: 'web', command })))
  await client.closed
  assert.deepEqual(client.frames.at(-1), { exited: true, result: { exit_code: 143 } })
})

test('exec: who leaves ends the command, not the task', async (t) => {
  const { run, webSocket, server } = await aNodeWorld(t)
  const { id, row } = await run([SLEEP])
  const command = ['/bin/sh', '-c', 'echo $$; exec sleep 300']
  const client = execClient(webSocket(execPath(id, { task: 'web', command })))
  await client.says('\n')
  const pid = Number(client.stdout())
  client.socket.terminate()
  await until('the command to end', () => {
    try {
      process.kill(pid, 0)
      return undefined
    } catch {
      return true
    }
  })
  assert.equal(row().ClientStatus, 'running')
  assert.equal(server.context.store.tables.allocations.get(id).ClientStatus, 'running')
})

test('exec: a terminal has its size, and follows it (mock)', async (t) => {
  const { run, webSocket, driver } = await aNodeWorld(t)
  const { id } = await run([{ Driver: 'mock', Config: {} }])
  const path = execPath(id, { task: 'web', command: ['sh'], tty: 'true' })
  const client = execClient(webSocket(path))
  client.type('hello')
  await client.says('hello')
  client.send({ tty_size: { height: 40, width: 132 } })
  client.send({ tty_size: { height: 0, width: 132 }, unknown: true })
  client.send({ stdin: { close: true } })
  assert.deepEqual(await client.closed, [1000, ''])
  const [session] = driver.running.flatMap((task) => task.execSessions)
  assert.deepEqual(session?.sizes, [
    { rows: 24, columns: 80 },
    { rows: 40, columns: 132 },
  ])
})

test('exec: a terminal begins with the size that its caller says first (mock)', async (t) => {
  const { run, webSocket, driver } = await aNodeWorld(t)
  const { id } = await run([{ Driver: 'mock', Config: {} }])
  const client = execClient(webSocket(execPath(id, { task: 'web', command: ['sh'], tty: 'true' })))
  client.send({ tty_size: { height: 40, width: 132 } })
  client.type('hello')
  await client.says('hello')
  client.send({ stdin: { close: true } })
  assert.deepEqual(await client.closed, [1000, ''])
  const [session] = driver.running.flatMap((task) => task.execSessions)
  assert.deepEqual(session?.request.tty, { rows: 40, columns: 132 })
})

test('exec: a terminal whose caller says no size begins all the same (mock)', async (t) => {
  const { run, webSocket, driver } = await aNodeWorld(t)
  const { id } = await run([{ Driver: 'mock', Config: {} }])
  const client = execClient(webSocket(execPath(id, { task: 'web', command: ['sh'], tty: 'true' })))
  const sessions = () => driver.running.flatMap((task) => task.execSessions)
  const session = await until('the command', () => sessions()[0])
  assert.deepEqual(session.request.tty, { rows: 24, columns: 80 })
  client.socket.terminate()
  assert.equal(await session.exited, 129)
})

test('exec: the command ends with its task (mock)', async (t) => {
  const { run, webSocket, driver } = await aNodeWorld(t)
  const { id } = await run([{ Driver: 'mock', Config: {} }])
  const client = execClient(webSocket(execPath(id, { task: 'web', command: ['sh'] })))
  client.type('hello')
  await client.says('hello')
  driver.running[0]?.exit(0)
  assert.deepEqual(await client.closed, [1000, ''])
  assert.deepEqual(client.frames.at(-1), { exited: true, result: { exit_code: 137 } })
})

test('exec: what cannot be done closes the channel with the reason', async (t) => {
  const { run, webSocket } = await aNodeWorld(t)
  const { id } = await run([SLEEP])
  const done = await run([shell('exit 0')], { status: 'complete', job: { Type: 'batch' } })
  const prestart = shell('sleep 300', {
    Name: 'first',
    Lifecycle: { Hook: 'prestart', Sidecar: false },
  })
  const waiting = await run([prestart, shell('true', { Name: 'second' })])
  const unknown = '00000000-0000-4000-8000-00000000ffff'
  const right = { task: 'web', command: ['/bin/true'] }
  const syntax = 'strconv.ParseBool: parsing "x": invalid syntax'
  const cases: readonly (readonly [string, number, string | RegExp])[] = [
    [
      execPath(id, { ...right, ws_handshake: 'x' }),
      1008,
      `ws_handshake value is not a boolean: ${syntax}`,
    ],
    [
      execPath(id, { ...right, command: '/bin/true' }),
      1011,
      /^failed to marshal command into json: /,
    ],
    [
      execPath(id, { ...right, command: '[1]' }),
      1011,
      /^failed to marshal command into json: json: cannot unmarshal/,
    ],
    [execPath(id, { task: 'web' }), 1008, 'command is not present'],
    [execPath(id, { ...right, tty: 'x' }), 1011, `tty value is not a boolean: ${syntax}`],
    [execPath(unknown, right), 1008, `Unknown allocation "${unknown}"`],
    [execPath('x', right), 1008, 'alloc lookup failed: UUID must be 36 characters'],
    [
      execPath(done.id, right),
      1008,
      `exec not possible, client status of allocation ${done.id} is complete`,
    ],
    [execPath(id, { ...right, task: '' }), 1008, 'must provide task name'],
    [execPath(id, { ...right, command: '[]' }), 1008, 'command is not present'],
    [execPath(id, { ...right, task: 'other' }), 1008, 'unknown task name "other"'],
    [execPath(waiting.id, { ...right, task: 'second' }), 1008, 'task "second" not started yet.'],
    [execPath(id, { ...right, command: ['/no/such/program'] }), 1011, /\/no\/such\/program/],
    [
      execPath(id, { ...right, tty: 'true' }),
      1011,
      'this node cannot make terminals: its native helper is missing',
    ],
    // Routed before it becomes a WebSocket.
    [execPath(id, { ...right, region: 'mars' }), 404, 'No path to region'],
  ]
  for (const [path, code, reason] of cases) {
    const [gotCode, gotReason] = await execClient(webSocket(path)).closed
    assert.equal(gotCode, code, `${path}: ${gotReason}`)
    if (typeof reason === 'string') assert.equal(gotReason, reason)
    else assert.match(gotReason, reason)
  }
})

test('exec: a node that has left cannot be reached (mock)', async (t) => {
  const { run, webSocket, agent } = await aNodeWorld(t)
  const { id } = await run([{ Driver: 'mock', Config: {} }])
  const path = execPath(id, { task: 'web', command: ['sh'] })
  const open = execClient(webSocket(path))
  open.type('hello')
  await open.says('hello')
  await agent.stop()
  assert.deepEqual(await open.closed, [1011, 'the connection to the node was lost'])
  assert.deepEqual(await execClient(webSocket(path)).closed, [1008, 'No path to node'])
})

test('exec: frames that are none close the channel', async (t) => {
  const { run, webSocket } = await aNodeWorld(t)
  const { id } = await run([SLEEP])
  const path = execPath(id, { task: 'web', command: ['/bin/cat'] })
  const bad: readonly (readonly [string, number, RegExp])[] = [
    ['no json', 1008, /^a frame is no JSON: /],
    ['{"stdin":{"data":1}}', 1008, /^a frame is wrong: \/stdin\/data/],
    ['{"stdin":{"data":"#"}}', 1008, /^a frame is wrong: \/stdin\/data is not base64$/],
    ['{"tty_size":{"height":1}}', 1008, /^a frame is wrong: \/tty_size/],
    ['[]', 1008, /^a frame is wrong/],
    [`{"x":"${'x'.repeat(200_000)}"}`, 1009, /^/],
  ]
  for (const [text, code, reason] of bad) {
    const client = execClient(webSocket(path))
    client.socket.on('open', () => client.socket.send(text))
    const [gotCode, gotReason] = await client.closed
    assert.equal(gotCode, code, `${text.slice(0, 50)}: ${gotReason}`)
    assert.match(gotReason, reason)
  }
})

for (const [bytes, code] of [
  [LIMITS.execFrameBytesMax, 1000],
  [LIMITS.execFrameBytesMax + 1, 1009],
] as const)
  test(`exec: a frame of ${bytes} bytes ends with ${code}`, async (t) => {
    const { run, webSocket } = await aNodeWorld(t)
    const { id } = await run([SLEEP])
    const client = execClient(webSocket(execPath(id, { task: 'web', command: ['/bin/cat'] })))
    const frame = '{"x":""}'
    client.socket.on('open', () => {
      client.socket.send(`{"x":"${'x'.repeat(bytes - frame.length)}"}`)
      client.send({ stdin: { close: true } })
    })
    assert.equal((await client.closed)[0], code)
  })

test('exec: a request that is none, and a page from elsewhere, are refused', async (t) => {
  const { run, webSocket, get, address } = await aNodeWorld(t)
  const { id } = await run([SLEEP])
  const path = execPath(id, { task: 'web', command: ['/bin/true'] })
  const plain = await get(path)
  assert.deepEqual([plain.status, plain.text], [400, 'websocket upgrade required'])
  const foreign = execClient(webSocket(path, { origin: 'https://evil.example' }))
  assert.deepEqual(await foreign.closed, [403, 'the page has another origin'])
  const own = execClient(webSocket(path, { origin: address }))
  assert.deepEqual(await own.closed, [1000, ''])
})

test('exec: a node whose operator forbids it refuses', async (t) => {
  const { run, webSocket } = await aNodeWorld(t, { allowsExec: false })
  const { id } = await run([SLEEP])
  const client = execClient(webSocket(execPath(id, { task: 'web', command: ['/bin/true'] })))
  assert.deepEqual(await client.closed, [1008, 'Permission denied'])
})

test('action: a named command of the job runs in an allocation of it', async (t) => {
  const { run, webSocket } = await aNodeWorld(t)
  const task = shell('sleep 300', {
    Actions: [{ Name: 'greet', Command: '/bin/echo', Args: ['hello', 'there'] }],
  })
  const { id } = await run([task], { job: { ID: 'acting/job' } })
  const path = '/v1/job/acting%2Fjob/action'
  for (const allocId of [id, '']) {
    const query = `task=web&action=greet&allocID=${allocId}`
    const client = execClient(webSocket(`${path}?${query}`))
    assert.deepEqual(await client.closed, [1000, ''])
    assert.equal(client.stdout(), 'hello there\n')
  }
  const unknown = execClient(webSocket(`${path}?task=web&action=other&allocID=${id}`))
  assert.deepEqual(await unknown.closed, [1008, 'unknown action name "other"'])
  const elsewhere = execClient(webSocket(`/v1/job/x/action?task=web&action=greet&allocID=${id}`))
  assert.deepEqual(await elsewhere.closed, [1008, `Unknown allocation "${id}"`])
})

test('exec: a flood of one-byte frames arrives whole, and the runtime warns of nothing', async (t) => {
  const { run, webSocket } = await aNodeWorld(t)
  const { id } = await run([SLEEP])
  const warnings: string[] = []
  const warn = ({ name }: Error): void => void warnings.push(name)
  process.on('warning', warn)
  t.after(() => process.off('warning', warn))
  const command = ['/bin/sh', '-c', 'read line; wc -c']
  const client = execClient(webSocket(execPath(id, { task: 'web', command })))
  for (let i = 0; i < 300; i++) client.type('y'.repeat(1_000))
  client.type('\n')
  for (let i = 0; i < 20_000; i++) client.type('y')
  client.send({ stdin: { close: true } })
  assert.deepEqual(await client.closed, [1000, ''])
  assert.equal(client.stdout().trim(), '20000')
  assert.deepEqual(warnings, [])
})

test('exec: a caller that leaves without reading ends its command', async (t) => {
  const { run, webSocket } = await aNodeWorld(t)
  const { id } = await run([SLEEP])
  const command = ['/bin/sh', '-c', 'echo $$; read go; exec cat /dev/zero']
  const client = execClient(webSocket(execPath(id, { task: 'web', command })))
  await client.says('\n')
  const pid = Number(client.stdout())
  client.socket.pause()
  client.type('go\n')
  // Only a full pipe makes it sleep: all buffers on the way are full then.
  let sleeps = 0
  await until('the command to wait for its reader', () => {
    // A session whose caller says nothing for a minute is closed, also on a busy machine.
    client.send({})
    assert.ok(existsSync(`/proc/${pid}`), 'the command ended before its caller left')
    const [name, state] =
      /\((.*)\) (.)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.slice(1) ?? []
    sleeps = name === 'cat' && state === 'S' ? sleeps + 1 : 0
    return sleeps > 5 || undefined
  })
  client.socket.terminate()
  await until('the command to end', () => !existsSync(`/proc/${pid}`) || undefined)
})
