import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { open as openHandle, readFile, writeFile, type FileHandle } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { test, type TestContext } from 'node:test'
import type { ExecSession, RunningTask, TaskDriver, TaskLaunch } from '../../src/agent/index.ts'
import { listLogNumbers } from '../../src/drivers/rotating-log.ts'
import { until } from '../build/until.ts'

/** A driver that runs programs, and what it cannot do here. */
interface ShellBench {
  /** Whatever it starts is ended after the test. */
  readonly driver: TaskDriver
  /** A launch of `sh -c text`, never used before, with log files. */
  script(text: string, fields?: Partial<TaskLaunch>): TaskLaunch | Promise<TaskLaunch>
  /** Ends the process that watches over the task, as an operator's mistake would. */
  killSupervisor?(task: RunningTask): void | Promise<void>
}

/** The reason why a case is left out; absent: the driver can do it. */
export interface Missing {
  readonly users?: string
  readonly exactSignals?: string
  readonly exactEnvironment?: string
  readonly rotation?: string
  readonly terminal?: string
  readonly limits?: string
  readonly supervisor?: string
  readonly missingCommand?: string
  readonly escapees?: string
}

type Open = (t: TestContext) => ShellBench | Promise<ShellBench>

const stopping = { signal: 'SIGTERM', timeoutMs: 10_000 }
const terminal = { rows: 30, columns: 90 }

export function shellTaskDriverSuite(name: string, open: Open, missing: Missing = {}): void {
  startCases(name, open, missing)
  endCases(name, open, missing)
  surroundingCases(name, open, missing)
  execCases(name, open)
  terminalCases(name, open, missing)
}

const without = (reason: string | undefined): { readonly skip: string | false } => ({
  skip: reason ?? false,
})

/** What the files of one stream hold together. */
export async function written(prefix: string | undefined): Promise<string> {
  if (prefix === undefined) return ''
  const numbers = await listLogNumbers(prefix)
  const texts = await Promise.all(numbers.map((n) => readFile(`${prefix}.${n}`, 'latin1')))
  return texts.join('')
}

async function untilSaid(launch: TaskLaunch, text: string): Promise<void> {
  await until(`the task to say ${text}`, async () => {
    return (await written(launch.logs?.stdoutPrefix)).includes(text) ? true : undefined
  })
}

let marks = 0

/** A length of sleep that no other process has: finds a process whatever its number is inside. */
function uniqueSleep(): string {
  marks += 1
  return `${5_000 + marks}.${process.pid}`
}

function isThere(mark: string): boolean {
  return readdirSync('/proc').some((entry) => {
    if (!/^\d+$/.test(entry)) return false
    try {
      return readFileSync(`/proc/${entry}/cmdline`, 'latin1').includes(`sleep\0${mark}\0`)
    } catch {
      return false
    }
  })
}

function startCases(name: string, open: Open, missing: Missing): void {
  test(
    `${name}: a command that is not there cannot be started, and it says so`,
    without(missing.missingCommand),
    async (t) => {
      const bench = await open(t)
      const launch = await bench.script('true')
      const config = { ...launch.config, command: 'no-such-command' }
      await assert.rejects(bench.driver.start({ ...launch, config }), {
        kind: 'task-unstartable',
        message: /no-such-command/,
      })
      assert.equal((await bench.driver.recover(launch.handle)).kind, 'never-started')
    },
  )

  test(`${name}: a user that is not there cannot be had`, without(missing.users), async (t) => {
    const bench = await open(t)
    const launch = await bench.script('true', { user: 'no-such-user' })
    await assert.rejects(bench.driver.start(launch), /no-such-user/)
    assert.equal((await bench.driver.recover(launch.handle)).kind, 'never-started')
  })

  test(`${name}: the user that was asked for is had`, without(missing.users), async (t) => {
    const bench = await open(t)
    const launch = await bench.script('id -u', { user: '65534:65534' })
    await (
      await bench.driver.start(launch)
    ).exited
    assert.equal(await written(launch.logs?.stdoutPrefix), '65534\n')
  })
}

function endCases(name: string, open: Open, missing: Missing): void {
  for (const code of [129, 137, 200]) {
    const reason = without(missing.exactSignals)
    test(`${name}: an exit with ${code} is no death by signal`, reason, async (t) => {
      const bench = await open(t)
      const task = await bench.driver.start(await bench.script(`exit ${code}`))
      const { exitCode, signal } = await task.exited
      assert.deepEqual({ exitCode, signal }, { exitCode: code, signal: 0 })
    })
  }

  const escapees = without(missing.escapees)
  test(`${name}: a stop ends children that left their session too`, escapees, async (t) => {
    const bench = await open(t)
    const [child, escaped] = [uniqueSleep(), uniqueSleep()]
    const launch = await bench.script(
      `trap '' TERM; sleep ${child} & (setsid sh -c 'trap "" TERM; sleep ${escaped}' &); wait`,
    )
    const task = await bench.driver.start(launch)
    await until('both children', () => (isThere(child) && isThere(escaped) ? true : undefined))
    await task.stop({ signal: 'SIGTERM', timeoutMs: 100 })
    assert.deepEqual([isThere(child), isThere(escaped)], [false, false])
    await task.exited
  })

  test(`${name}: what the task leaves running when it ends is ended`, escapees, async (t) => {
    const bench = await open(t)
    const mark = uniqueSleep()
    const launch = await bench.script(`setsid sleep ${mark} & echo begun; exit 4`)
    const task = await bench.driver.start(launch)
    assert.equal((await task.exited).exitCode, 4)
    assert.equal(isThere(mark), false)
  })

  const supervisor = without(missing.supervisor)
  test(`${name}: without its supervisor nothing of a task stays`, supervisor, async (t) => {
    const bench = await open(t)
    const mark = uniqueSleep()
    const task = await bench.driver.start(await bench.script(`sleep ${mark} & wait`))
    await until('the child', () => (isThere(mark) ? true : undefined))
    await bench.killSupervisor?.(task)
    const exit = await task.exited
    assert.match(exit.message, /supervisor/)
    assert.equal(isThere(mark), false)
  })

  test(
    `${name}: memory over the limit ends it, and is told`,
    without(missing.limits),
    async (t) => {
      const bench = await open(t)
      const resources = { cpuMHz: 100, cpuFraction: 0.1, cores: [], memoryMB: 16, memoryMaxMB: 0 }
      const launch = await bench.script('head -c 200000000 /dev/zero | tail -c 190000000', {
        resources,
      })
      const exit = await (await bench.driver.start(launch)).exited
      assert.equal(exit.oomKilled, true)
      assert.notEqual(exit.exitCode, 0)
    },
  )
}

function surroundingCases(name: string, open: Open, missing: Missing): void {
  test(`${name}: the environment is what was given, and nothing of the agent's`, async (t) => {
    process.env['REEVE_TEST_SECRET'] = 'of the agent'
    t.after(() => delete process.env['REEVE_TEST_SECRET'])
    const bench = await open(t)
    const env = { EMPTY: '', TEXT: 'one\ntwo "$HOME" `x`', UMLAUT: 'ü' }
    const launch = await bench.script('exec env -0', { env })
    await (
      await bench.driver.start(launch)
    ).exited
    const bytes = Buffer.from(await written(launch.logs?.stdoutPrefix), 'latin1')
    const pairs = bytes.toString('utf8').split('\0').filter(Boolean)
    const found = new Map(
      pairs.map((pair) => {
        const at = pair.indexOf('=')
        return [pair.slice(0, at), pair.slice(at + 1)] as const
      }),
    )
    for (const [key, value] of Object.entries(launch.env)) assert.equal(found.get(key), value)
    assert.equal(found.has('REEVE_TEST_SECRET'), false)
    if (missing.exactEnvironment !== undefined) return
    // A shell adds some of its own.
    const added = [...found.keys()].filter((key) => !Object.hasOwn(launch.env, key))
    assert.deepEqual(
      added.filter((key) => !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(key)),
      [],
    )
  })

  test(`${name}: no file of the agent is open in the task`, async (t) => {
    const bench = await open(t)
    const launch = await bench.script('ls -l /proc/self/fd')
    const path = `${launch.logs?.stdoutPrefix ?? ''}-agent-file`
    const opened = await openFile(path)
    t.after(() => opened.close())
    await (
      await bench.driver.start(launch)
    ).exited
    const text = await written(launch.logs?.stdoutPrefix)
    assert.match(text, / 0 -> /)
    assert.doesNotMatch(text, /agent-file/)
  })

  test(`${name}: a second start appends to the log`, async (t) => {
    const bench = await open(t)
    let prefix = ''
    for (const word of ['one', 'two']) {
      const launch = await bench.script(`echo ${word}; echo ${word} again >&2`)
      await (
        await bench.driver.start(launch)
      ).exited
      prefix = launch.logs?.stdoutPrefix ?? ''
    }
    assert.equal(await written(prefix), 'one\ntwo\n')
  })

  test(
    `${name}: logs are cut at the limit, the newest stay`,
    without(missing.rotation),
    async (t) => {
      const bench = await open(t)
      const plain = await bench.script('')
      assert.ok(plain.logs !== undefined)
      const logs = { ...plain.logs, maxFiles: 3, maxFileBytes: 1_000 }
      const script = 'i=1000; while [ $i -lt 1650 ]; do echo "$i ----"; i=$((i+1)); done'
      const launch = await bench.script(script, { logs })
      await (
        await bench.driver.start(launch)
      ).exited
      const all = Array.from({ length: 650 }, (_, index) => `${1000 + index} ----\n`).join('')
      assert.deepEqual(await listLogNumbers(logs.stdoutPrefix), [4, 5, 6])
      const found = await Promise.all(
        [4, 5, 6].map((n) => readFile(`${logs.stdoutPrefix}.${n}`, 'latin1')),
      )
      assert.deepEqual(found, [all.slice(4_000, 5_000), all.slice(5_000, 6_000), all.slice(6_000)])
    },
  )

  test(`${name}: output that nobody wants is thrown away`, async (t) => {
    const bench = await open(t)
    const launch = await bench.script('echo hello')
    const task = await bench.driver.start({ ...launch, logs: undefined })
    assert.equal((await task.exited).exitCode, 0)
    assert.equal(await written(launch.logs?.stdoutPrefix), '')
  })

  test(`${name}: tells what a task uses, until it has ended`, async (t) => {
    const bench = await open(t)
    const script = 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo worked; sleep 1000'
    const launch = await bench.script(script)
    const task = await bench.driver.start(launch)
    await untilSaid(launch, 'worked')
    const usage = await task.usage()
    assert.ok((usage?.cpu.totalNs ?? 0) > 10_000_000)
    assert.ok((usage?.memory.usageBytes ?? 0) > 50_000)
    assert.ok((usage?.pids ?? 0) >= 1)
    await task.stop(stopping)
    await task.exited
    assert.equal(await task.usage(), undefined)
  })
}

async function openFile(path: string): Promise<FileHandle> {
  await writeFile(path, '')
  return openHandle(path, 'r')
}

async function textOf(stream: Readable): Promise<string> {
  let text = ''
  for await (const piece of stream) text += String(piece)
  return text
}

/** Both streams to their ends, and the status. */
async function outcome(session: ExecSession): Promise<readonly [string, string, number]> {
  return Promise.all([textOf(session.stdout), textOf(session.stderr), session.exited])
}

async function sleeping(t: TestContext, open: Open): Promise<RunningTask> {
  const bench = await open(t)
  const launch = await bench.script('echo begun; exec sleep 1000', { env: { COLOUR: 'blue' } })
  const task = await bench.driver.start(launch)
  await untilSaid(launch, 'begun')
  return task
}

function execCases(name: string, open: Open): void {
  test(`${name}: a command inside has its own streams, its environment and its status`, async (t) => {
    const task = await sleeping(t, open)
    const command = ['sh', '-c', 'cat; echo "$COLOUR"; echo trouble >&2; exit 6']
    const session = await task.exec({ command, tty: undefined })
    session.stdin.end('typed\n')
    assert.deepEqual(await outcome(session), ['typed\nblue\n', 'trouble\n', 6])
  })

  test(`${name}: every byte of a long output inside arrives before the status`, async (t) => {
    const task = await sleeping(t, open)
    const command = ['sh', '-c', 'head -c 3000000 /dev/zero; exit 3']
    const session = await task.exec({ command, tty: undefined })
    let bytes = 0
    // Node's streams of bytes give Buffers.
    for await (const piece of session.stdout) bytes += (piece as Buffer).length
    assert.deepEqual([bytes, await session.exited], [3_000_000, 3])
  })

  test(`${name}: a death by signal inside is told as 128 more`, async (t) => {
    const task = await sleeping(t, open)
    const session = await task.exec({ command: ['sh', '-c', 'kill -TERM $$'], tty: undefined })
    assert.equal((await outcome(session))[2], 143)
  })

  test(`${name}: an empty command is refused`, async (t) => {
    const task = await sleeping(t, open)
    for (const command of [[], ['']]) {
      await assert.rejects(task.exec({ command, tty: undefined }), { kind: 'task-config' })
    }
  })

  test(`${name}: a command that is not there is refused or says so by its status`, async (t) => {
    const task = await sleeping(t, open)
    const asked = task.exec({ command: ['no-such-command'], tty: undefined })
    const session = await asked.catch((thrown: unknown) => {
      assert.equal(Reflect.get(Object(thrown), 'kind'), 'task-config')
      assert.match(String(thrown), /no-such-command/)
    })
    // Engines take the connection before they look for the program.
    if (session !== undefined) assert.ok([126, 127].includes((await outcome(session))[2]))
  })

  test(`${name}: a command inside ends when its task ends, and none begins after`, async (t) => {
    const task = await sleeping(t, open)
    const mark = uniqueSleep()
    const session = await task.exec({ command: ['sleep', mark], tty: undefined })
    await until('the command', () => (isThere(mark) ? true : undefined))
    await task.stop(stopping)
    await task.exited
    await outcome(session)
    assert.equal(isThere(mark), false)
    await assert.rejects(task.exec({ command: ['true'], tty: undefined }), { kind: 'task-gone' })
  })

  test(`${name}: a caller that hangs up takes the command with it`, async (t) => {
    const task = await sleeping(t, open)
    const mark = uniqueSleep()
    const session = await task.exec({ command: ['sleep', mark], tty: undefined })
    await until('the command', () => (isThere(mark) ? true : undefined))
    session.hangUp()
    session.stdout.resume()
    session.stderr.resume()
    await session.exited
    await until('its end', () => (isThere(mark) ? undefined : true))
  })
}

/** For drivers that end a command by force which does not go with its caller. */
export function stubbornCommandCase(name: string, open: Open): void {
  test(`${name}: a command that ignores the hang-up of its caller is killed`, async (t) => {
    const task = await sleeping(t, open)
    const mark = uniqueSleep()
    const text = `trap '' HUP; sleep ${mark}; sleep ${mark}`
    const session = await task.exec({ command: ['sh', '-c', text], tty: undefined })
    await until('the command', () => (isThere(mark) ? true : undefined))
    session.hangUp()
    session.stdout.resume()
    session.stderr.resume()
    await session.exited
    await until('its end', () => (isThere(mark) ? undefined : true))
  })
}

/** Collects what a terminal shows and waits for words on it. */
class Screen {
  readonly session: ExecSession
  #text = ''

  constructor(session: ExecSession) {
    this.session = session
    session.stdout.on('data', (piece) => (this.#text += String(piece)))
    session.stderr.resume()
  }

  async shows(pattern: RegExp): Promise<void> {
    await until(`${pattern.source} on the terminal, not ${JSON.stringify(this.#text)}`, () => {
      return pattern.test(this.#text) ? true : undefined
    })
  }

  type(text: string): void {
    this.session.stdin.write(text)
  }
}

function terminalCases(name: string, open: Open, missing: Missing): void {
  const reason = without(missing.terminal)
  const screenOf = async (t: TestContext, script: string): Promise<Screen> => {
    const task = await sleeping(t, open)
    return new Screen(await task.exec({ command: ['sh', '-c', script], tty: terminal }))
  }

  test(`${name}: a terminal has the size it is given, and the next one`, reason, async (t) => {
    const screen = await screenOf(
      t,
      `[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo all; trap 'stty size' WINCH; echo ready; stty size;
       while :; do sleep 0.1; done`,
    )
    await screen.shows(/all\r\n/)
    // Some engines set the first size a moment after the start: it must not replace the next one.
    await screen.shows(/ready\r\n[^]*\b30 90\r\n/)
    screen.session.resize({ rows: 50, columns: 120 })
    await screen.shows(/50 120\r\n/)
    screen.session.hangUp()
    await screen.session.exited
  })

  test(`${name}: Ctrl-C on a terminal interrupts, with the status 130`, reason, async (t) => {
    const screen = await screenOf(t, 'echo ready; exec sleep 1000')
    await screen.shows(/ready/)
    screen.type('\x03')
    assert.equal(await screen.session.exited, 130)
  })

  test(`${name}: the end of the input on a terminal is its end-of-file`, reason, async (t) => {
    const screen = await screenOf(t, 'echo ready; cat; echo over; exit 5')
    await screen.shows(/ready/)
    screen.session.stdin.end()
    await screen.shows(/over/)
    assert.equal(await screen.session.exited, 5)
  })
}
