import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { TaskLogFiles, RunningTask, TaskDriver, TaskLaunch } from '../../src/agent/index.ts'
import type { Behaviour } from '../suites/task-driver.ts'
import { written } from '../suites/shell-task-driver.ts'
import { aLaunch } from './launch.ts'
import { until } from './until.ts'

/** What a shell does to behave like this. */
function scriptFor(behaviour: Behaviour): string {
  switch (behaviour.kind) {
    case 'exits':
      return `sleep ${(behaviour.afterMs ?? 0) / 1000}; exit ${behaviour.code}`
    case 'dies':
      return `kill -${behaviour.signal} $$`
    case 'runs':
    case 'badly-configured':
      return `trap 'exit 0' TERM INT; echo ready; while :; do sleep 0.05; done`
    case 'stubborn':
      return `trap '' TERM; echo ready; while :; do sleep 1; done`
  }
}

interface BenchOptions {
  readonly driver: TaskDriver
  /** The task's `Config` for `sh -c script`. */
  readonly config: (script: string) => Readonly<Record<string, unknown>>
  /** Ends what the driver needs, after the last task. */
  readonly close?: () => void | Promise<void>
}

/** The directories of one allocation; everything that was started there is ended after the test. */
export class ProgramBench {
  readonly dir: string
  readonly logs: TaskLogFiles
  readonly #options: BenchOptions
  readonly #bootId: string
  readonly #launches: TaskLaunch[] = []
  readonly #tasks: RunningTask[] = []

  static async open(
    t: TestContext,
    make: (dir: string) => BenchOptions | Promise<BenchOptions>,
  ): Promise<ProgramBench> {
    const dir = await mkdtemp(join(tmpdir(), 'reeve-test-'))
    // The task's user walks through it.
    await chmod(dir, 0o711)
    for (const name of ['alloc/logs', 'alloc/data', 'web/local', 'web/secrets', 'web/tmp']) {
      await mkdir(join(dir, name), { recursive: true })
    }
    const bootId = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim()
    const bench = new ProgramBench(dir, bootId, await make(dir))
    // One step: what runs there must end before the files by which it is found.
    t.after(() => bench.#end())
    return bench
  }

  constructor(dir: string, bootId: string, options: BenchOptions) {
    this.dir = dir
    this.#bootId = bootId
    this.#options = options
    this.logs = {
      stdoutPrefix: join(dir, 'alloc/logs/web.stdout'),
      stderrPrefix: join(dir, 'alloc/logs/web.stderr'),
      maxFiles: 3,
      maxFileBytes: 10 * 1024 * 1024,
    }
  }

  /** The driver, with a note of everything it gave out. */
  get driver(): TaskDriver {
    const { driver } = this.#options
    return {
      name: driver.name,
      isolation: driver.isolation,
      fingerprint: () => driver.fingerprint(),
      start: async (launch, context) => this.#noted(await driver.start(launch, context)),
      recover: async (handle, context) => {
        const recovery = await driver.recover(handle, context)
        if (recovery.kind === 'attached') this.#noted(recovery.task)
        return recovery
      },
    }
  }

  #noted(task: RunningTask): RunningTask {
    this.#tasks.push(task)
    return task
  }

  script(text: string, fields: Partial<TaskLaunch> = {}): TaskLaunch {
    const number = this.#launches.length + 1
    const allocationId = `${this.dir.replace(/[^A-Za-z0-9]/g, '-').slice(-24)}-${number}`
    const launch = aLaunch({
      handle: {
        driver: this.driver.name,
        id: `t${process.pid}-${allocationId}`,
        allocationId,
        task: 'web',
        dir: join(this.dir, `records-${number}`),
        bootId: this.#bootId,
      },
      config: this.#options.config(text),
      taskDir: join(this.dir, 'web'),
      allocDir: join(this.dir, 'alloc'),
      localDir: join(this.dir, 'web/local'),
      secretsDir: join(this.dir, 'web/secrets'),
      logs: this.logs,
      ...fields,
      env: {
        PATH: '/usr/local/bin:/usr/bin:/bin',
        REEVE_ALLOC_ID: allocationId,
        REEVE_TASK_NAME: 'web',
        ...fields.env,
      },
    })
    this.#launches.push(launch)
    return launch
  }

  launch(behaviour: Behaviour): TaskLaunch {
    const launch = this.script(scriptFor(behaviour))
    return behaviour.kind === 'badly-configured'
      ? { ...launch, config: { ...launch.config, comand: 'x' } }
      : launch
  }

  wait<T>(promise: Promise<T>): Promise<T> {
    return promise
  }

  async ready(_task: RunningTask): Promise<void> {
    await until('the task to be ready', async () => {
      return (await written(this.logs.stdoutPrefix)).includes('ready') ? true : undefined
    })
  }

  async #end(): Promise<void> {
    for (const task of this.#tasks) task.detach()
    for (const { handle } of this.#launches) {
      const recovery = await this.#options.driver.recover(handle)
      if (recovery.kind !== 'attached') continue
      await recovery.task.stop({ signal: 'SIGKILL', timeoutMs: 0 })
      await recovery.task.destroyRecords()
    }
    await this.#options.close?.()
    await rm(this.dir, { recursive: true, force: true, maxRetries: 5 })
  }
}
