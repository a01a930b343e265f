import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { createInterface } from 'node:readline'
import { test, type TestContext } from 'node:test'
import {
  allocationId,
  anAgent,
  anAssignment,
  aTask,
  FakeServer,
  stopped,
  systemClock,
} from '../../../test/build/agent.ts'
import { AGENT_PROCESS_FILE, runAgentProcess } from '../../../test/build/agent-process.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { until } from '../../../test/build/until.ts'
import { diskStorage, type NodeAgent } from '../../agent/index.ts'
import { RawExecDriver } from './raw-exec-driver.ts'

type Assignment = ReturnType<typeof anAssignment>

/** A batch allocation of one raw_exec task that runs a shell script. */
function scripted(n: number, script: string): Assignment {
  const task = aTask({
    Name: 'work',
    Driver: 'raw_exec',
    Config: { command: 'sh', args: ['-c', script] },
  })
  return anAssignment({
    job: { Type: 'batch' },
    tasks: [task],
    allocation: { ID: allocationId(n) },
  })
}

/** A data directory, agents in this process and in others, and an end to all they started. */
class Place {
  readonly dir: string

  static async open(t: TestContext): Promise<Place> {
    return new Place(await temporaryDirectory(t))
  }

  constructor(dir: string) {
    this.dir = dir
  }

  /** Starts an agent in another process and kills it as soon as these allocations run. */
  async killedAgent(assignments: readonly Assignment[]): Promise<void> {
    const path = join(this.dir, 'assignments.json')
    await writeFile(path, JSON.stringify(assignments))
    const { name } = runAgentProcess
    const script = `import { ${name} } from ${JSON.stringify(AGENT_PROCESS_FILE)}
      await ${name}(process.argv[1], process.argv[2])`
    const args = ['--input-type=module', '-e', script, join(this.dir, 'data'), path]
    const child = spawn(execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    await allRunning(child, assignments.length)
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  agent(server: FakeServer): NodeAgent {
    const drivers = [new RawExecDriver({ clock: systemClock })]
    const storage = diskStorage(join(this.dir, 'data'))
    return anAgent({ dial: server.dial, clock: systemClock, drivers, storage })
  }

  log(n: number): Promise<string> {
    const logs = join(this.dir, 'data', 'alloc', allocationId(n), 'alloc', 'logs')
    return readFile(join(logs, 'work.stdout.0'), 'utf8')
  }
}

async function allRunning(child: ChildProcess, count: number): Promise<void> {
  assert.ok(child.stdout !== null)
  let running = 0
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.endsWith(' running')) running += 1
    if (running === count) return
  }
  assert.fail('the agent ended before its allocations ran')
}

function exitCodeOf(server: FakeServer, n: number): number | undefined {
  const state = server.updates.get(allocationId(n))?.TaskStates?.['work']
  return state?.Events.find((event) => event.Type === 'Terminated')?.ExitCode
}

test('a killed agent loses no task, no exit code and no log', async (t) => {
  const place = await Place.open(t)
  const go = join(place.dir, 'go')
  const wait = `while ! [ -e ${go} ]; do sleep 0.01; done`
  const assignments = [
    scripted(1, 'echo begun; exec sleep 1000'),
    scripted(2, `echo begun; ${wait}; echo ended; exit 0`),
    scripted(3, `echo begun; ${wait}; echo ended; exit 3`),
    scripted(4, `echo begun; ${wait}; kill -9 $$`),
  ]
  await place.killedAgent(assignments)
  await writeFile(go, '')
  for (const n of [2, 3]) {
    await until('the end of a task', async () =>
      (await place.log(n)) === 'begun\nended\n' ? true : undefined,
    )
  }

  const server = new FakeServer()
  server.assign(...assignments)
  const agent = place.agent(server)
  await agent.start()
  await server.until('the exits', () => [2, 3, 4].every((n) => exitCodeOf(server, n) !== undefined))
  assert.deepEqual(
    [2, 3, 4].map((n) => exitCodeOf(server, n)),
    [0, 3, 137],
  )
  assert.equal(server.statusOf(allocationId(1)), 'running')
  assert.equal(server.statusOf(allocationId(2)), 'complete')
  assert.equal(server.statusOf(allocationId(3)), 'failed')
  // Started once, and not again.
  assert.deepEqual(server.eventsOf(allocationId(1), 'work'), ['Received', 'Task Setup', 'Started'])
  assert.equal(await place.log(1), 'begun\n')

  const [first] = assignments
  assert.ok(first !== undefined)
  server.assign(stopped(first))
  await server.until('the stop', () => server.statusOf(allocationId(1)) === 'complete')
  assert.equal(exitCodeOf(server, 1), 130)

  server.remove(allocationId(1))
  const removed = join(place.dir, 'data', 'alloc', allocationId(1))
  await until('the removal', () =>
    stat(removed).then(
      () => undefined,
      () => true,
    ),
  )
  await agent.stop()
})

test('a restarted agent continues to watch the same process', async (t) => {
  const place = await Place.open(t)
  const server = new FakeServer()
  const go = join(place.dir, 'go')
  server.assign(scripted(1, `echo begun; while ! [ -e ${go} ]; do sleep 0.01; done; exit 7`))
  const first = place.agent(server)
  await first.start()
  await server.until('the task to run', () => server.statusOf(allocationId(1)) === 'running')
  await first.stop()
  const second = place.agent(server)
  await second.start()
  await writeFile(go, '')
  await server.until('the exit', () => exitCodeOf(server, 1) !== undefined)
  assert.equal(exitCodeOf(server, 1), 7)
  assert.equal(await place.log(1), 'begun\n')
  await second.stop()
})

test('fifty tasks survive the kill of their agent with every exit code', async (t) => {
  const place = await Place.open(t)
  const go = join(place.dir, 'go')
  const numbers = Array.from({ length: 50 }, (_, n) => n + 1)
  const assignments = numbers.map((n) => {
    return scripted(n, `echo ${n}; while ! [ -e ${go} ]; do sleep 0.05; done; exit ${n}`)
  })
  await place.killedAgent(assignments)
  await writeFile(go, '')
  const server = new FakeServer()
  server.assign(...assignments)
  const agent = place.agent(server)
  await agent.start()
  await server.until(
    'all exits',
    () => numbers.every((n) => exitCodeOf(server, n) !== undefined),
    60_000,
  )
  assert.deepEqual(
    numbers.map((n) => exitCodeOf(server, n)),
    numbers,
  )
  for (const n of numbers) assert.equal(await place.log(n), `${n}\n`)
  await agent.stop()
})

const unstartable = [
  {
    name: 'an unknown user',
    task: { User: 'no-such-user', Config: { command: 'true' } },
    type: 'Driver Failure',
    error: 'user "no-such-user" does not exist on this node',
  },
  {
    name: 'a missing command',
    task: { Config: { command: './no-such-file' } },
    type: 'Driver Failure',
    error: 'command "./no-such-file" was not found',
  },
  {
    name: 'a bad configuration',
    task: { Config: { command: 'true', args: 'not a list' } },
    type: 'Failed Validation',
    error: 'args must be a list of texts',
  },
]
for (const c of unstartable) {
  test(`${c.name} is reported as such and fails the allocation`, async (t) => {
    const place = await Place.open(t)
    const server = new FakeServer()
    const task = aTask({ Name: 'work', Driver: 'raw_exec', ...c.task })
    server.assign(anAssignment({ tasks: [task] }))
    const agent = place.agent(server)
    await agent.start()
    await server.until('the failure', () => server.statusOf(allocationId(1)) === 'failed')
    const events = server.updates.get(allocationId(1))?.TaskStates?.['work']?.Events ?? []
    const failure = events.find((event) => event.Type === c.type)
    assert.equal(failure?.DisplayMessage, c.error)
    await agent.stop()
  })
}

test('a task sees its directories, its variables and its dispatched payload', async (t) => {
  const place = await Place.open(t)
  const server = new FakeServer()
  const script = `pwd; ls -d "$REEVE_ALLOC_DIR"/* ; cat "$REEVE_TASK_DIR/in/input"; echo "$WHERE"`
  const task = aTask({
    Name: 'work',
    Driver: 'raw_exec',
    Config: { command: 'sh', args: ['-c', script] },
    Env: { WHERE: '${node.unique.name} in ${node.datacenter}' },
    DispatchPayload: { File: 'in/input' },
  })
  const Payload = Buffer.from('payload\n').toString('base64')
  server.assign(anAssignment({ job: { Type: 'batch', Payload }, tasks: [task] }))
  const agent = place.agent(server)
  await agent.start()
  await server.until('the end', () => server.statusOf(allocationId(1)) === 'complete')
  const dir = join(place.dir, 'data', 'alloc', allocationId(1))
  const lines = [
    join(dir, 'work'),
    ...['data', 'logs', 'tmp'].map((name) => join(dir, 'alloc', name)),
    'payload',
    'node-1 in dc1',
    '',
  ]
  assert.equal(await place.log(1), lines.join('\n'))
  await agent.stop()
})
