import assert from 'node:assert/strict'
import { mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Template } from '@reeve/contract'
import { allocationId, anAssignment, aTask, pass } from '../../../test/build/agent.ts'
import { aService, FakeCatalog } from '../../../test/build/catalog.ts'
import { aRunner, type RunnerBench } from '../../../test/build/runner.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { until } from '../../../test/build/until.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import type { AgentTask } from '../assignment.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { DiskWorkspace } from '../store/workspace.ts'
import { buildTaskHooks } from '../task/task-hooks.ts'

function aTemplate(fields: Partial<Template> = {}): Template {
  return {
    SourcePath: '',
    DestPath: 'local/out',
    EmbeddedTmpl: '',
    ChangeMode: 'restart',
    ChangeSignal: '',
    ChangeScript: null,
    Once: false,
    Splay: 0,
    Perms: '0644',
    Uid: null,
    Gid: null,
    LeftDelim: '{{',
    RightDelim: '}}',
    Envvars: false,
    Wait: null,
    ErrMissingKey: false,
    ...fields,
  }
}

interface Bench extends RunnerBench {
  readonly catalog: FakeCatalog
  readonly taskDir: string
  read(path: string): Promise<string>
  /** Lets files be written and simulated time pass until it is so. */
  until(isMet: () => boolean): Promise<void>
}

interface BenchOptions {
  readonly task?: Partial<AgentTask>
  readonly catalog?: FakeCatalog
  prepare?(taskDir: string): Promise<void>
}

async function aBench(
  t: TestContext,
  templates: readonly Template[],
  options: BenchOptions = {},
): Promise<Bench> {
  // Before the directory's own removal: nothing may write to it then.
  const ending: (() => Promise<void>)[] = []
  t.after(async () => {
    for (const end of ending) await end()
  })
  const root = await temporaryDirectory(t)
  const taskDir = join(root, allocationId(1), 'web')
  await mkdir(join(taskDir, 'local'), { recursive: true })
  await options.prepare?.(taskDir)
  const catalog = options.catalog ?? new FakeCatalog()
  const task = aTask({ Templates: templates, ...options.task })
  const bench = await aRunner(anAssignment({ tasks: [task] }), {
    workspace: new DiskWorkspace(root),
    taskHooks: buildTaskHooks({ catalogFor: () => catalog }),
  })
  ending.push(() => bench.runner.destroy())
  return {
    ...bench,
    catalog,
    taskDir,
    read: (path) => readFile(join(taskDir, path), 'utf8'),
    async until(isMet) {
      await until('the task', async () => {
        await pass(bench.clock, 100, 10)
        return isMet() ? true : undefined
      })
    },
  }
}

function isRunning({ runner }: RunnerBench): boolean {
  return runner.task('web').state.State === 'running'
}

function starts({ driver }: RunnerBench): number {
  return driver.running.length
}

test('templates are rendered before the task starts, with its environment and node', async (t) => {
  const EmbeddedTmpl =
    '{{ env "REEVE_TASK_NAME" }} {{ env "A" }} {{ env "node.datacenter" }} {{ env "meta.rack" }} ' +
    '{{ envOrDefault "NOPE" "d" }}[{{ env "NOPE" }}]'
  const bench = await aBench(t, [aTemplate({ EmbeddedTmpl, Perms: '0600' })], {
    task: { Env: { A: 'x' } },
  })
  await bench.until(() => isRunning(bench))
  assert.equal(await bench.read('local/out'), 'web x dc1 r1 d[]')
  assert.equal((await stat(join(bench.taskDir, 'local/out'))).mode & 0o777, 0o600)
})

test('the source may be a file of the task, and files may be included', async (t) => {
  const bench = await aBench(t, [aTemplate({ SourcePath: 'local/in', DestPath: 'sub/dir/out' })], {
    prepare: async (dir) => {
      await writeFile(join(dir, 'local/in'), 'got {{ file "local/more" | trimSpace }}')
      await writeFile(join(dir, 'local/more'), 'more\n')
    },
  })
  await bench.until(() => isRunning(bench))
  assert.equal(await bench.read('sub/dir/out'), 'got more')
})

test('a file may be named as an isolated task sees it', async (t) => {
  const EmbeddedTmpl = '{{ file "/local/more" }}'
  const prepare = (dir: string): Promise<void> => writeFile(join(dir, 'local/more'), 'more')
  const bench = await aBench(t, [aTemplate({ EmbeddedTmpl })], { prepare })
  await bench.until(() => isRunning(bench))
  assert.equal(await bench.read('local/out'), 'more')
})

test('variables of a rendered file come last', async (t) => {
  const EmbeddedTmpl = '# c\nA=1\nexport B="two words"\nC=\'$x\'\nREEVE_ALLOC_ID=forged\n'
  const bench = await aBench(t, [aTemplate({ EmbeddedTmpl, Envvars: true })], {
    task: { Env: { A: '0' } },
  })
  await bench.until(() => isRunning(bench))
  const launch = bench.driver.running[0]?.launch
  assert.equal(launch?.env['A'], '1')
  assert.equal(launch?.env['B'], 'two words')
  assert.equal(launch?.env['C'], '$x')
  assert.equal(launch?.env['REEVE_ALLOC_ID'], allocationId(1))
})

test('a task waits for its template dependencies and lists the missing ones', async (t) => {
  const EmbeddedTmpl =
    '{{ range service "db" }}{{ .Address }}:{{ .Port }} {{ end }}{{ with variable "a/b" }}{{ .k }}{{ end }}'
  const bench = await aBench(t, [aTemplate({ EmbeddedTmpl })])
  await bench.until(() => bench.events('web').includes('Template'))
  assert.ok(!isRunning(bench))
  const event = bench.runner.task('web').state.Events.at(-1)
  assert.equal(event?.DisplayMessage, 'Missing: service(db), variable(a/b)')
  bench.catalog.services.set('db', [aService()])
  bench.catalog.variables.set('a/b', undefined)
  await pass(bench.clock, 5_000)
  assert.ok(!isRunning(bench), 'a variable that does not exist is waited for')
  bench.catalog.variables.set('a/b', { k: 'v' })
  await bench.until(() => isRunning(bench))
  assert.equal(await bench.read('local/out'), '10.0.0.1:5432 v')
})

test('a task whose facts are on their way does not say that they are missing', async (t) => {
  const EmbeddedTmpl = '{{ with variable "a/b" }}{{ .k }}{{ end }}'
  const bench = await aBench(t, [aTemplate({ EmbeddedTmpl })])
  await pass(bench.clock, 1_000)
  bench.catalog.variables.set('a/b', { k: 'v' })
  await bench.until(() => isRunning(bench))
  assert.deepEqual(bench.events('web'), ['Received', 'Task Setup', 'Started'])
})

test('a task that is ended while it waits for its templates has not failed', async (t) => {
  const EmbeddedTmpl = '{{ with variable "a/b" }}{{ .k }}{{ end }}'
  const bench = await aBench(t, [aTemplate({ EmbeddedTmpl })])
  await bench.until(() => bench.events('web').includes('Template'))
  await bench.runner.stop()
  assert.deepEqual(bench.events('web').slice(-3), ['Template', 'Killing', 'Killed'])
})

test('a change restarts the task at once, and uses up no attempt', async (t) => {
  const catalog = new FakeCatalog()
  catalog.variables.set('v', { k: '1' })
  const EmbeddedTmpl = '{{ with variable "v" }}{{ .k }}{{ end }}'
  const bench = await aBench(t, [aTemplate({ EmbeddedTmpl })], { catalog })
  await bench.until(() => isRunning(bench))
  catalog.variables.set('v', { k: '2' })
  await bench.until(() => bench.runner.task('web').state.Restarts === 1 && isRunning(bench))
  assert.equal(await bench.read('local/out'), '2')
  const signaled = bench.runner
    .task('web')
    .state.Events.find((event) => event.Type === 'Restart Signaled')
  assert.equal(signaled?.RestartReason, 'Template with change_mode restart re-rendered')
  catalog.variables.set('v', { k: '2', other: 'x' })
  await pass(bench.clock, 2_000)
  assert.equal(bench.runner.task('web').state.Restarts, 1, 'the same text is no change')
  assert.equal(starts(bench), 1)
})

test('a signal is sent once for several changes; noop and once do nothing', async (t) => {
  const catalog = new FakeCatalog()
  catalog.variables.set('v', { k: '1' })
  const EmbeddedTmpl = '{{ with variable "v" }}{{ .k }}{{ end }}'
  const signal = { EmbeddedTmpl, ChangeMode: 'signal', ChangeSignal: 'SIGUSR1' }
  const bench = await aBench(
    t,
    [
      aTemplate({ ...signal, DestPath: 'local/a' }),
      aTemplate({ ...signal, DestPath: 'local/b' }),
      aTemplate({ EmbeddedTmpl, ChangeMode: 'noop', DestPath: 'local/c' }),
      aTemplate({ EmbeddedTmpl, Once: true, DestPath: 'local/d' }),
    ],
    { catalog },
  )
  await bench.until(() => isRunning(bench))
  const [process] = bench.driver.running
  catalog.variables.set('v', { k: '2' })
  await bench.until(() => (process?.signals.length ?? 0) > 0)
  await pass(bench.clock, 1_000)
  assert.deepEqual(process?.signals, ['SIGUSR1'])
  assert.deepEqual(await Promise.all(['a', 'b', 'c', 'd'].map((n) => bench.read(`local/${n}`))), [
    '2',
    '2',
    '2',
    '1',
  ])
})

test('a script of the first rendering runs inside the task that has just started', async (t) => {
  const script = { Command: '/check', Args: null, Timeout: 0, FailOnError: false }
  const template = aTemplate({
    ChangeMode: 'script',
    ChangeScript: { ...script, RunOnFirstRender: true },
  })
  const bench = await aBench(t, [template], {
    task: { Config: { exec_command: [{ exit_code: 7 }] } },
  })
  await bench.until(() => bench.events('web').includes('Template'))
  const told = bench.runner.task('web').state.Events.map(({ Message }) => Message)
  assert.ok(told.includes('Template ran script "/check": it ended with code 7'), told.join('\n'))
})

test('a restart wins over a signal', async (t) => {
  const catalog = new FakeCatalog()
  catalog.variables.set('v', { k: '1' })
  const EmbeddedTmpl = '{{ with variable "v" }}{{ .k }}{{ end }}'
  const bench = await aBench(
    t,
    [
      aTemplate({ EmbeddedTmpl, ChangeMode: 'signal', DestPath: 'local/a' }),
      aTemplate({ EmbeddedTmpl, Splay: nsFromMs(1_000), DestPath: 'local/b' }),
    ],
    { catalog },
  )
  await bench.until(() => isRunning(bench))
  const [process] = bench.driver.running
  catalog.variables.set('v', { k: '2' })
  await bench.until(() => bench.runner.task('web').state.Restarts === 1)
  assert.ok(!(process?.signals ?? []).includes('SIGHUP'))
})

test('a later rendering error keeps the old file and adds an event', async (t) => {
  const catalog = new FakeCatalog()
  catalog.variables.set('v', { k: '1' })
  const EmbeddedTmpl = '{{ with variable "v" }}{{ .k }}{{ end }}'
  const bench = await aBench(t, [aTemplate({ EmbeddedTmpl, ErrMissingKey: true })], { catalog })
  await bench.until(() => isRunning(bench))
  catalog.variables.set('v', { other: '1' })
  await bench.until(() => bench.events('web').includes('Template'))
  assert.match(bench.runner.task('web').state.Events.at(-1)?.Message ?? '', /no entry for key "k"/)
  assert.equal(await bench.read('local/out'), '1')
  assert.ok(isRunning(bench))
})

test('nothing is followed once the task has ended', async (t) => {
  const catalog = new FakeCatalog()
  catalog.services.set('db', [aService()])
  const bench = await aBench(t, [aTemplate({ EmbeddedTmpl: '{{ service "db" | len }}' })], {
    catalog,
  })
  await bench.until(() => isRunning(bench))
  assert.equal(catalog.services.count('db'), 1)
  await bench.runner.destroy()
  await pass(bench.clock, 100)
  assert.equal(catalog.services.count('db'), 0)
})

test('a service is found by tag, and some of its instances by a key', async (t) => {
  const catalog = new FakeCatalog()
  const ids = ['a', 'b', 'c', 'd']
  catalog.services.set(
    'db',
    ids.map((ID) => aService({ ID, Address: ID, Tags: ID === 'c' ? ['main'] : [] })),
  )
  const EmbeddedTmpl =
    '{{ range service "main.db" }}{{ .Address }}{{ end }}|{{ range service 2 "key" "db" }}{{ .Address }}{{ end }}'
  const bench = await aBench(t, [aTemplate({ EmbeddedTmpl })], { catalog })
  await bench.until(() => isRunning(bench))
  const [tagged, chosen] = (await bench.read('local/out')).split('|')
  assert.equal(tagged, 'c')
  assert.equal(chosen?.length, 2)
})

const refusals: {
  readonly name: string
  readonly template: Partial<Template>
  readonly message: RegExp
  readonly prepare?: (taskDir: string) => Promise<void>
}[] = [
  {
    name: 'a destination that climbs out',
    template: { DestPath: '../../../evil' },
    message: /leads out/,
  },
  { name: 'no destination', template: { DestPath: '' }, message: /no destination/ },
  {
    name: 'a file outside',
    template: { EmbeddedTmpl: '{{ file "../../../../etc/passwd" }}' },
    message: /leads out/,
  },
  {
    name: 'a file of the machine',
    template: { EmbeddedTmpl: '{{ file "/etc/passwd" }}' },
    message: /"\/etc\/passwd" is not there: .* the task's directory/,
  },
  {
    name: 'a file behind a planted link',
    template: { EmbeddedTmpl: '{{ file "local/link" }}' },
    message: /in the way/,
    prepare: (dir) => symlink('/etc/passwd', join(dir, 'local/link')),
  },
  {
    name: 'a destination behind a planted link',
    template: { DestPath: 'local/link/out' },
    message: /in the way/,
    prepare: (dir) => symlink('/tmp', join(dir, 'local/link')),
  },
  { name: 'a syntax error', template: { EmbeddedTmpl: '{{ if }}' }, message: /missing value/ },
  {
    name: 'a disabled function',
    template: { EmbeddedTmpl: '{{ plugin "x" }}' },
    message: /disabled/,
  },
  { name: 'bad permissions', template: { Perms: 'rw' }, message: /no permissions/ },
]
for (const { name, template, message, prepare } of refusals) {
  test(`a template is refused: ${name}`, async (t) => {
    const options = prepare === undefined ? {} : { prepare }
    const bench = await aBench(t, [aTemplate(template)], options)
    await bench.until(() => bench.runner.task('web').state.State === 'dead')
    const events = bench.runner.task('web').state.Events
    assert.ok(
      events.some((event) => message.test(event.DisplayMessage)),
      JSON.stringify(events),
    )
    assert.equal(starts(bench), 0)
  })
}

const MOST = AGENT_LIMITS.templateInputCharsMax
const inputs = [
  { name: 'at the limit', extra: 0, state: 'running' },
  { name: 'one character past it', extra: 1, state: 'dead' },
]
for (const { name, extra, state } of inputs) {
  test(`what a rendering is given is bounded: ${name}`, async (t) => {
    // The files are large, the output is not.
    const EmbeddedTmpl = '{{ range loop 9 }}{{ file (printf "local/%d" .) | sprig_empty }}{{ end }}'
    const fileChars = AGENT_LIMITS.templateFileBytesMax
    const bench = await aBench(t, [aTemplate({ EmbeddedTmpl })], {
      prepare: async (dir) => {
        let left = MOST - EmbeddedTmpl.length + extra
        for (let n = 0; n < 9; n += 1) {
          const chars = Math.min(left, n < 8 ? fileChars - 100 : left)
          await writeFile(join(dir, `local/${n}`), 'a'.repeat(chars))
          left -= chars
        }
      },
    })
    await bench.until(() => bench.runner.task('web').state.State === state)
    const events = bench.runner.task('web').state.Events.map(({ DisplayMessage }) => DisplayMessage)
    const isTold = events.some((text) => text.includes(`at most ${MOST} are rendered`))
    assert.equal(isTold, extra > 0, events.join('\n'))
  })
}

test('a link or a FIFO in the place of the file is replaced, not followed', async (t) => {
  const outside = await temporaryDirectory(t)
  await writeFile(join(outside, 'victim'), 'whole')
  const bench = await aBench(t, [aTemplate({ EmbeddedTmpl: 'new' })], {
    prepare: (dir) => symlink(join(outside, 'victim'), join(dir, 'local/out')),
  })
  await bench.until(() => isRunning(bench))
  assert.equal(await bench.read('local/out'), 'new')
  assert.equal(await readFile(join(outside, 'victim'), 'utf8'), 'whole')
})
