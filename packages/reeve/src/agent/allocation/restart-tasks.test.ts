import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anAssignment, aTask, pass, restartPolicy, turn } from '../../../test/build/agent.ts'
import { aRunner, type RunnerBench } from '../../../test/build/runner.ts'
import { nsFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { ZERO_TASK_STATE } from '../../model/index.ts'
import { restartTasks } from './restart-tasks.ts'

const ALL = { task: '', allTasks: true }
const RUNNING = { task: '', allTasks: false }

function running({ driver }: RunnerBench): readonly string[] {
  return driver.running.map((task) => task.launch.handle.task)
}

async function end({ runner, clock }: RunnerBench): Promise<void> {
  const destroyed = runner.destroy()
  await pass(clock, 3_000)
  await destroyed
}

test('a restart ends the process, starts another at once, and uses up no attempt', async () => {
  const bench = await aRunner(anAssignment())
  await bench.runner.restart({ task: 'web', allTasks: false })
  await pass(bench.clock, 1)
  assert.deepEqual(bench.events('web'), [
    'Received',
    'Task Setup',
    'Started',
    'Restart Signaled',
    'Terminated',
    'Restarting',
    'Started',
  ])
  const { state } = bench.runner.task('web')
  assert.equal(state.State, 'running')
  assert.equal(state.Restarts, 1)
  assert.equal(state.Events[3]?.RestartReason, 'User requested task to restart')
  assert.deepEqual(running(bench), ['web'])
  await end(bench)
})

test('a restart is answered when the old process has ended', async () => {
  const bench = await aRunner(anAssignment({ tasks: [aTask({ Config: { kill_after: '2s' } })] }))
  let isAnswered = false
  const restart = bench.runner.restart(RUNNING).then(() => (isAnswered = true))
  await pass(bench.clock, 1_900)
  assert.equal(isAnswered, false)
  await pass(bench.clock, 200)
  await restart
  assert.deepEqual(running(bench), ['web'])
  await end(bench)
})

test('restarts asked for at once are one', async () => {
  const bench = await aRunner(anAssignment({ tasks: [aTask({ Config: { kill_after: '1s' } })] }))
  const both = [bench.runner.restart(RUNNING), bench.runner.restart(RUNNING)]
  await pass(bench.clock, 1_100)
  await Promise.all(both)
  assert.equal(bench.runner.task('web').state.Restarts, 1)
  await end(bench)
})

test('a restart after failed checks counts as a failure and is delayed by the policy', async () => {
  const policy = restartPolicy({ Attempts: 1, Delay: nsFromMs(15_000) })
  const bench = await aRunner(anAssignment({ tasks: [aTask({ RestartPolicy: policy })] }))
  const web = bench.runner.task('web')
  await web.restart({ reason: 'unhealthy', usesRestartPolicy: true })
  await pass(bench.clock, 14_000)
  assert.equal(web.state.State, 'pending')
  await pass(bench.clock, 2_000)
  assert.equal(web.state.State, 'running')
  await web.restart({ reason: 'unhealthy', usesRestartPolicy: true })
  await turn()
  assert.equal(web.state.State, 'dead')
  assert.equal(web.state.Failed, true)
  assert.equal(bench.events('web').at(-1), 'Not Restarting')
})

test('only a running task can be restarted; an unknown name lists the tasks', async () => {
  const tasks = [
    aTask({ Name: 'init', Lifecycle: { Hook: 'prestart', Sidecar: false } }),
    aTask({ Name: 'web' }),
  ]
  const bench = await aRunner(anAssignment({ tasks }))
  await assert.rejects(bench.runner.restart({ task: 'web', allTasks: false }), {
    kind: 'task-not-running',
  })
  await assert.rejects(bench.runner.restart({ task: 'wbe', allTasks: false }), {
    kind: 'task-unknown',
    message: 'unknown task name "wbe"; there is "init", "web"',
  })
  await end(bench)
  await assert.rejects(bench.runner.restart(ALL), { kind: 'allocation-ended' })
})

test('all tasks start over from their gates, those that have ended too', async () => {
  const tasks = [
    aTask({
      Name: 'init',
      Lifecycle: { Hook: 'prestart', Sidecar: false },
      Config: { run_for: '5s' },
    }),
    aTask({ Name: 'web' }),
    aTask({ Name: 'late', Lifecycle: { Hook: 'poststop', Sidecar: false } }),
  ]
  const bench = await aRunner(anAssignment({ tasks }))
  await pass(bench.clock, 5_000)
  assert.deepEqual(running(bench), ['web'])
  await bench.runner.restart(ALL)
  await turn()
  assert.deepEqual(running(bench), ['init'])
  assert.equal(bench.runner.task('web').state.State, 'pending')
  assert.deepEqual(bench.events('init').slice(-3), ['Restart Signaled', 'Restarting', 'Started'])
  const { Restarts, FinishedAt } = bench.runner.task('init').state
  assert.deepEqual([Restarts, FinishedAt], [1, ZERO_TIME])
  assert.deepEqual(bench.events('late'), ['Received'], 'what never ran is not restarted')
  await pass(bench.clock, 5_000)
  assert.deepEqual(running(bench), ['web'])
  assert.equal(bench.runner.task('web').state.Restarts, 1)
  // The revived runners can still be ended.
  await end(bench)
  assert.deepEqual(running(bench), [])
})

test('nothing starts over beside a process that still ends', async () => {
  const tasks = [
    aTask({
      Name: 'init',
      Lifecycle: { Hook: 'prestart', Sidecar: false },
      Config: { run_for: '1s' },
    }),
    aTask({ Name: 'web', Config: { kill_after: '2s' } }),
    aTask({
      Name: 'after',
      Lifecycle: { Hook: 'poststart', Sidecar: false },
      Config: { run_for: '1s' },
    }),
  ]
  const bench = await aRunner(anAssignment({ tasks }))
  await pass(bench.clock, 3_000)
  assert.deepEqual(running(bench), ['web'])
  const restarted = bench.runner.restart(ALL)
  await pass(bench.clock, 1_900)
  assert.deepEqual(running(bench), ['web'], 'the old process ends')
  await pass(bench.clock, 200)
  await restarted
  assert.deepEqual(running(bench), ['init'])
  await pass(bench.clock, 1_100)
  assert.deepEqual(running(bench), ['web', 'after'])
  await end(bench)
})

test('a task that waits for its next run starts over as well', async () => {
  const policy = restartPolicy({ Attempts: 3, Delay: nsFromMs(60_000) })
  const task = aTask({ Config: { run_for: '1s', exit_code: 1 }, RestartPolicy: policy })
  const bench = await aRunner(anAssignment({ tasks: [task] }))
  await pass(bench.clock, 2_000)
  assert.deepEqual(running(bench), [])
  await bench.runner.restart(ALL)
  await turn()
  assert.deepEqual(running(bench), ['web'])
  await end(bench)
})

test('a kill during a restart is a kill', async () => {
  const bench = await aRunner(anAssignment({ tasks: [aTask({ Config: { kill_after: '1s' } })] }))
  const restart = bench.runner.restart(RUNNING)
  await turn()
  const stop = bench.runner.stop()
  await pass(bench.clock, 1_100)
  await Promise.all([restart, stop])
  assert.equal(bench.runner.task('web').state.State, 'dead')
  assert.equal(bench.events('web').at(-1), 'Killed')
})

test('a signal reaches the running tasks and is recorded', async () => {
  const tasks = [aTask({ Name: 'a' }), aTask({ Name: 'b' })]
  const bench = await aRunner(anAssignment({ tasks }))
  await bench.runner.signal({ taskName: '', signal: 'SIGHUP' })
  assert.deepEqual(
    bench.driver.running.map((task) => task.signals),
    [['SIGHUP'], ['SIGHUP']],
  )
  const last = bench.runner.task('a').state.Events.at(-1)
  assert.equal(last?.Type, 'Signaling')
  assert.equal(last?.TaskSignal, 'SIGHUP')
  await assert.rejects(bench.runner.signal({ taskName: 'a', signal: 'SIGNOPE' }), {
    kind: 'task-signal',
  })
  await end(bench)
})

const END = new Fault('task-kill', 'the process cannot be ended')
const GONE = new Fault('task-not-running', 'task "b" is not running')
const FAILURES = [
  { name: 'every failed task is reported', ask: RUNNING, b: END, told: ['a', 'b'] },
  { name: 'a task that has ended meanwhile is skipped', ask: RUNNING, b: GONE, told: ['a'] },
  { name: 'with all tasks, each failed one is reported', ask: ALL, b: END, told: ['a', 'b'] },
]
for (const { name, ask, b, told } of FAILURES) {
  test(`restart of several tasks: ${name}, and the others are restarted`, async () => {
    const done: string[] = []
    const taskOf = (task: string, failure?: Fault) => {
      const act = async (): Promise<void> => {
        await Promise.resolve()
        if (failure !== undefined) throw failure
        done.push(task)
      }
      const state = { ...ZERO_TASK_STATE, State: 'running' as const }
      return { name: task, state, restart: act, restartFromGate: act }
    }
    const lines = told.map((task) => `\n\t* failed to restart task ${task}: ${END.message}`)
    const head = told.length === 1 ? '1 error occurred:' : `${told.length} errors occurred:`
    const tasks = [taskOf('a', END), taskOf('b', b), taskOf('c')]
    await assert.rejects(restartTasks(tasks, ask), {
      kind: 'task-restart',
      message: `${head}${lines.join('')}\n\n`,
    })
    assert.deepEqual(done, ['c'])
  })
}
