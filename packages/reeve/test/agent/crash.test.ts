/** What becomes of tasks when what watches over them dies. */
import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { open, readFile, writeFile, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { kill } from 'node:process'
import { test, type TestContext } from 'node:test'
import { Experiment } from '../build/experiment.ts'
import { seededRandom } from '../build/ids.ts'
import { until } from '../build/until.ts'
import {
  eventsOf,
  exitCodeOf,
  isRunning,
  noIsolation,
  RealCluster,
  sleepers,
  textOf,
  WITHIN_MS,
  type AllocationRow,
  type TaskRecordFile,
} from './real-cluster.ts'

const COUNT = 50
const OUTPUT_BYTES = 100_000
const TASK = 'work'
const STORY_MS_MAX = 300_000
const experiment = Experiment.fromArguments()
const random = seededRandom(experiment.seed)

function draw(from: number, to: number): number {
  return from + Math.floor(random.next() * (to - from + 1))
}

/** By what each of them proves. They have jobs of their own, and end them, on one node. */
const stories = new Map<string, (t: TestContext, cluster: RealCluster) => Promise<void>>()

/**
 * Says that it began, in a file that all its starts append to; waits at a pipe until it is let go;
 * writes; ends with a code of its own.
 */
function waiting(code: number): string {
  return `echo $$ >> $REEVE_ALLOC_DIR/data/starts
mkfifo -m 666 $REEVE_ALLOC_DIR/data/go
echo begin
read word < $REEVE_ALLOC_DIR/data/go
head -c ${OUTPUT_BYTES} /dev/zero | tr '\\0' x
echo; echo end
exit ${code}`
}

const OUTPUT = `begin\n${'x'.repeat(OUTPUT_BYTES)}\nend\n`

const NO_RESCHEDULE = { Attempts: 0, Unlimited: false }

/** A batch job with one group for each driver in the list. */
function aJob(id: string, drivers: readonly string[], scriptOf: (n: number) => string) {
  const TaskGroups = drivers.map((driver, n) => ({
    Name: `g${n}`,
    RestartPolicy: { Attempts: 0, Mode: 'fail' },
    ReschedulePolicy: NO_RESCHEDULE,
    EphemeralDisk: { SizeMB: 10 },
    Tasks: [
      {
        Name: TASK,
        Driver: driver,
        Config: { command: '/bin/sh', args: ['-c', scriptOf(n)] },
        Resources: { CPU: 1, MemoryMB: 32 },
        LogConfig: { MaxFiles: 2, MaxFileSizeMB: 1 },
        KillTimeout: 1e9,
      },
    ],
  }))
  return { ID: id, Type: 'batch', TaskGroups }
}

const codeOf = (row: AllocationRow): number => Number(row.TaskGroup.slice(1)) + 1

/** Lets tasks go. The pipes stay open until the test ends: a word must not be lost. */
class Gates {
  readonly #cluster: RealCluster
  readonly #open: FileHandle[] = []

  constructor(t: TestContext, cluster: RealCluster) {
    this.#cluster = cluster
    t.after(() => Promise.all(this.#open.map((handle) => handle.close())))
  }

  async release(rows: readonly AllocationRow[]): Promise<void> {
    for (const { ID } of rows) {
      // The task makes its gate after it has said that it began.
      const handle = await until('a gate', () =>
        open(this.#cluster.path(ID, 'alloc/data/go'), 'r+').catch(() => undefined),
      )
      this.#open.push(handle)
      await handle.write('go\n')
    }
  }
}

/** Looks at sizes alone, for it looks often and there are many. */
function begun(cluster: RealCluster, rows: readonly AllocationRow[]): number {
  return rows.filter(({ ID }) => bytesIn(cluster.path(ID, 'alloc/data/starts')) > 0).length
}

function bytesIn(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

async function startsOf(cluster: RealCluster, row: AllocationRow): Promise<number> {
  const text = await textOf(cluster.path(row.ID, 'alloc/data/starts'))
  return text.split('\n').length - 1
}

async function untilBegun(
  cluster: RealCluster,
  rows: readonly AllocationRow[],
  count: number,
): Promise<void> {
  await until(
    `${count} tasks to begin`,
    () => (begun(cluster, rows) >= count ? true : undefined),
    WITHIN_MS,
  )
}

/** Waits until the agent has the text in what it saved about each of them. */
async function untilNoted(
  cluster: RealCluster,
  rows: readonly AllocationRow[],
  text: string,
): Promise<void> {
  const saved = ({ ID }: AllocationRow): Promise<string> =>
    textOf(join(cluster.nodeDirectory, 'agent/allocations', ID, 'tasks.json'))
  const areNoted = async (): Promise<true | undefined> => {
    const texts = await Promise.all(rows.map(saved))
    return texts.every((found) => found.includes(text)) ? true : undefined
  }
  await until(`the agent to note ${text}`, areNoted, WITHIN_MS)
}

/** Each ended once with its own code, said everything, and was started once. */
async function assertWhole(cluster: RealCluster, rows: readonly AllocationRow[]): Promise<void> {
  assert.deepEqual(
    rows.map((row) => exitCodeOf(row, TASK)),
    rows.map(codeOf),
  )
  assert.deepEqual(
    await Promise.all(rows.map((row) => startsOf(cluster, row))),
    rows.map(() => 1),
  )
  for (const row of rows) assert.equal(await cluster.log(row.ID, TASK), OUTPUT)
  experiment.count('tasks that ended once with all output', rows.length)
}

async function killNode(cluster: RealCluster): Promise<void> {
  await cluster.killNode()
  experiment.count('agent kills')
}

const isOver = ({ ClientStatus }: AllocationRow): boolean =>
  ClientStatus === 'failed' || ClientStatus === 'complete'

for (const driver of ['raw_exec', 'exec']) {
  stories.set(
    `${driver}: an agent killed at every phase of fifty tasks loses no exit, no byte, and starts none twice`,
    async (t, cluster) => {
      const job = `fifty-${driver}`
      const gates = new Gates(t, cluster)
      const drivers = Array.from({ length: COUNT }, () => driver)
      await cluster.run(aJob(job, drivers, (n) => waiting(n + 1)))
      const placed = await cluster.allocations(
        job,
        'fifty allocations',
        (rows) => rows.length === COUNT,
      )
      // Before some have started, while others start and others run: wherever the kill finds them.
      for (const count of [draw(0, 5), draw(6, 20), draw(21, 40)]) {
        await untilBegun(cluster, placed, count)
        await killNode(cluster)
        cluster.launchNode()
      }
      await untilBegun(cluster, placed, COUNT)
      await cluster.allocations(job, 'all to run', (rows) =>
        rows.every(({ ClientStatus }) => ClientStatus === 'running'),
      )
      // While they exit: those let go first are at any point between the last byte and the report.
      const early = draw(5, 45)
      await gates.release(placed.slice(0, early))
      await cluster.allocations(job, 'the first end', (rows) => rows.some(isOver))
      await killNode(cluster)
      // While nobody is there.
      const late = placed.slice(early)
      await gates.release(late)
      const isWritten = ({ ID }: AllocationRow): boolean =>
        bytesIn(cluster.path(ID, `alloc/logs/${TASK}.stdout.0`)) === OUTPUT.length
      await until('the others to have written', () => late.every(isWritten) || undefined)
      await cluster.startNode()
      const ended = await cluster.allocations(job, 'all ends', (rows) => rows.every(isOver))
      assert.equal(ended.length, COUNT)
      await assertWhole(cluster, ended)
    },
  )
}

const BOTH = ['raw_exec', 'exec'] as const

const areRunning = (rows: readonly AllocationRow[], count: number): boolean =>
  rows.length === count && rows.every(({ ClientStatus }) => ClientStatus === 'running')

stories.set(
  'the launcher is killed: tasks go on, their ends are known, others start',
  async (t, cluster) => {
    const gates = new Gates(t, cluster)
    await cluster.run(aJob('old', [...BOTH, ...BOTH], (n) => waiting(n + 1)))
    const rows = await cluster.allocations('old', 'all to run', (all) => areRunning(all, 4))
    await untilBegun(cluster, rows, 4)
    const launcher = cluster.launcherPid()
    kill(launcher, 'SIGKILL')
    experiment.count('launcher kills')
    await until('its end', () => (isRunning(launcher) ? undefined : true))
    await gates.release(rows)
    const ended = await cluster.allocations('old', 'their ends', (all) => all.every(isOver))
    await assertWhole(cluster, ended)
    await cluster.run(aJob('new', BOTH, () => 'exit 9'))
    const after = await cluster.allocations('new', 'their ends', (all) => {
      return all.length === 2 && all.every(isOver)
    })
    assert.deepEqual(
      after.map((row) => exitCodeOf(row, TASK)),
      [9, 9],
    )
    assert.notEqual(cluster.launcherPid(), launcher)
  },
)

/** Those of the story that is told now: the tasks of the others have ended. */
function runningRecords(cluster: RealCluster): readonly TaskRecordFile[] {
  return cluster.records().filter(({ shimPid }) => isRunning(shimPid))
}

const startsTold = (row: AllocationRow): number =>
  eventsOf(row, TASK).filter((type) => type === 'Started').length

stories.set(
  'a killed shim is told of, nothing of its task stays, and the restart policy goes on',
  async (_, cluster) => {
    const mark = `7001.${process.pid}`
    // One process that left the session, and the task itself.
    const job = aJob('orphan', BOTH, () => `(setsid sleep ${mark} &); exec sleep ${mark}`)
    const RestartPolicy = { Attempts: 1, Mode: 'fail', Delay: 1e6, Interval: 600e9 }
    const TaskGroups = job.TaskGroups.map((group) => ({ ...group, RestartPolicy }))
    await cluster.run({ ...job, TaskGroups })
    const before = await cluster.allocations('orphan', 'both to run', (all) => areRunning(all, 2))
    const fourSleepers = (): true | undefined => (sleepers(mark).length === 4 ? true : undefined)
    await until('all processes', fourSleepers, WITHIN_MS)
    const first = sleepers(mark)
    for (const { shimPid } of runningRecords(cluster)) {
      kill(shimPid, 'SIGKILL')
      experiment.count('supervisor kills')
    }
    const after = await cluster.allocations('orphan', 'second starts', (rows) =>
      rows.every((row) => startsTold(row) === 2),
    )
    assert.deepEqual(first.filter(isRunning), [])
    for (const row of after) {
      const events = row.TaskStates?.[TASK]?.Events ?? []
      const end = events.find(({ Type }) => Type === 'Terminated')
      assert.match(end?.DisplayMessage ?? '', /supervisor/)
      assert.equal(row.ClientStatus, 'running')
    }
    assert.deepEqual(after.map(({ ID }) => ID).toSorted(), before.map(({ ID }) => ID).toSorted())
    await until('all processes again', fourSleepers, WITHIN_MS)
    await cluster.client.v1.stopJob({ params: { job_id: 'orphan' } })
    await cluster.allocations('orphan', 'their ends', (all) => all.every(isOver))
  },
)

stories.set(
  'tasks that end while the server is away are told of when it is back',
  async (t, cluster) => {
    const gates = new Gates(t, cluster)
    await cluster.run(aJob('alone', [...BOTH, ...BOTH], (n) => waiting(n + 1)))
    const rows = await cluster.allocations('alone', 'all to run', (all) => areRunning(all, 4))
    await untilBegun(cluster, rows, 4)
    await cluster.killServer()
    experiment.count('server kills')
    const [early, late] = [rows.slice(0, 2), rows.slice(2)]
    await gates.release(early)
    await untilNoted(cluster, early, '"State":"dead"')
    // The agent dies too, and comes back before there is a server.
    await killNode(cluster)
    cluster.launchNode()
    await until(
      'the agent to take over',
      () => (cluster.node.output().includes('took over allocations') ? true : undefined),
      WITHIN_MS,
    )
    await cluster.startServer()
    await cluster.allocations('alone', 'both ends', (all) => all.filter(isOver).length === 2)
    await gates.release(late)
    const ended = await cluster.allocations('alone', 'the last ends', (all) => all.every(isOver))
    assert.equal(ended.length, 4)
    await assertWhole(cluster, ended)
  },
)

stories.set(
  'after a restart of the machine a task counts as lost and begins again once',
  async (_, cluster) => {
    const script = 'echo $$ >> $REEVE_ALLOC_DIR/data/starts; exec sleep 1000'
    await cluster.run({ ...aJob('booted', BOTH, () => script), Type: 'service' })
    const before = await cluster.allocations('booted', 'both to run', (all) => areRunning(all, 2))
    await untilBegun(cluster, before, 2)
    await untilNoted(cluster, before, '"Type":"Started"')
    const records = runningRecords(cluster)
    assert.equal(records.length, 2)
    // What a restart does: everything ends without a word, and the boot has another id.
    await killNode(cluster)
    for (const { shimPid, taskPid } of records) {
      kill(shimPid, 'SIGKILL')
      experiment.count('supervisor kills')
      await until('the end of the task', () => (isRunning(taskPid) ? undefined : true))
    }
    await cluster.startNode({ wrapper: await anotherBoot(cluster.directory) })
    const after = await cluster.allocations('booted', 'second starts', (rows) =>
      rows.every((row) => startsTold(row) === 2),
    )
    assert.deepEqual(after.map(({ ID }) => ID).toSorted(), before.map(({ ID }) => ID).toSorted())
    for (const row of after) {
      const state = row.TaskStates?.[TASK]
      const lost = state?.Events.find(({ Type }) => Type === 'Failed Restoring Task')
      assert.match(lost?.DisplayMessage ?? '', /the machine was restarted/)
      // It is no failure of the task: with no restarts allowed it begins again all the same.
      assert.deepEqual([state?.State, state?.Failed, state?.Restarts], ['running', false, 0])
      const twice = async (): Promise<true | undefined> =>
        (await startsOf(cluster, row)) === 2 ? true : undefined
      await until('its second start', twice, WITHIN_MS)
    }
  },
)

/** A mount namespace in which the kernel's boot id is another one; nothing outside changes. */
async function anotherBoot(directory: string): Promise<readonly string[]> {
  const path = join(directory, 'boot_id')
  const own = await readFile('/proc/sys/kernel/random/boot_id', 'utf8')
  await writeFile(path, `${own.startsWith('0') ? '1' : '0'}${own.slice(1)}`)
  const script = `mount --bind ${path} /proc/sys/kernel/random/boot_id && exec "$@"`
  return ['unshare', '-m', 'sh', '-c', script, 'sh']
}

const skip = experiment.skipIf(noIsolation)

test('what becomes of tasks when what watches over them dies', { skip }, async (t) => {
  for (let round = 0; experiment.hasTime(round, 1); round++)
    await t.test(`on a cluster of its own, round ${round + 1}`, async (own) => {
      const cluster = await RealCluster.open(own)
      for (const [name, story] of stories)
        await own.test(name, { timeout: STORY_MS_MAX }, (one) => story(one, cluster))
    })
})
