import assert from 'node:assert/strict'
import { chmod, rm } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { EXIT_CODES } from '../../src/cli/index.ts'
import { aCommandLine, type CommandLineBench } from '../build/cli.ts'
import { endJob, runShellJob, shellTask } from '../build/cli-jobs.ts'
import { until } from '../build/until.ts'

const SCRIPT =
  'echo 0123456789; printf 0123456789 > local/digits; trap "echo usr1" USR1; trap "echo hup" HUP; ' +
  'while true; do sleep 0.1; done'

test('flags of commands that reach into allocations', { timeout: 300_000 }, async (t) => {
  const reeve = await aCommandLine(t, ['--node-name', 'one'])
  const setup = {
    ...shellTask('setup', 'echo set up'),
    Lifecycle: { Hook: 'prestart', Sidecar: false },
  }
  const quiet = { ...shellTask('quiet', 'echo said; sleep 60'), LogConfig: { Disabled: true } }
  // A window of a minute on one day of the year.
  const Schedule = { Cron: { Start: '0 0 1 1 *', End: '1 0', Timezone: 'UTC' } }
  const timed = { ...shellTask('timed', 'sleep 60'), Schedule }
  const job = { id: 'web', script: SCRIPT, tasks: [setup, quiet, timed] }
  const [id = ''] = await runShellJob(t, reeve.client, job)
  await until('its output', async () => {
    const { out } = await reeve.run(`alloc logs ${id} main`)
    return out.includes('0123456789\n') || undefined
  })
  // The two tasks start side by side.
  await until('the task that keeps no logs to run', async () => {
    const { data } = await reeve.client.v1.readAllocation({ params: { alloc_id: id } })
    return data.TaskStates?.['quiet']?.State === 'running' || undefined
  })

  await t.test('alloc logs of a task that keeps none: says so', async () => {
    const { code, out, err } = await reeve.run(`alloc logs ${id} quiet`)
    assert.deepEqual([code, out], [EXIT_CODES.ok, ''])
    assert.match(err, /keeps no logs of task "quiet": logs \{ disabled = true \}/)
    assert.doesNotMatch((await reeve.run(`alloc logs ${id} main`)).err, /keeps no logs/)
  })

  await t.test('--bytes of alloc logs and alloc fs: only the last ones', async () => {
    assert.equal(await reeve.ok(`alloc logs --bytes 4 ${id} main`), '789\n')
    assert.equal(await reeve.ok(`alloc fs --bytes 3 ${id} main/local/digits`), '789')
  })

  await t.test('alloc exec --interactive: passes standard input on', async () => {
    const line = `alloc exec --interactive --task main ${id} cat`
    assert.equal(await reeve.ok(line, { input: 'piped' }), 'piped')
  })

  await t.test('alloc signal --signal: the one that is named', async () => {
    await reeve.ok(`alloc signal --signal SIGUSR1 --task main ${id}`)
    await until('the task to notice', async () => {
      const { out } = await reeve.run(`alloc logs ${id} main`)
      assert.doesNotMatch(out, /hup/)
      return out.endsWith('usr1\n') || undefined
    })
  })

  await t.test('alloc pause: overrides the schedule of a task, and shows what holds', async () => {
    const at = `${id} timed`
    const isAt = async (State: string, Paused: string): Promise<void> => {
      await until(`the task to be ${State} ${Paused}`, async () => {
        const { data } = await reeve.client.v1.readAllocation({ params: { alloc_id: id } })
        const state = data.TaskStates?.['timed']
        return (state?.State === State && state.Paused === Paused) || undefined
      })
    }
    await isAt('pending', 'scheduled_pause')
    assert.match(await reeve.ok(`alloc pause --state run ${at}`), /^Running task "timed" of /)
    await isAt('running', 'force_run')
    assert.match(await reeve.ok(`alloc pause ${at}`), /^Paused task "timed" of /)
    await isAt('pending', 'force_pause')
    assert.equal(await reeve.ok(`alloc pause --status ${at}`), 'pause\n')
    assert.match(await reeve.ok(`alloc pause --state scheduled ${at}`), /back to its schedule/)
    assert.equal(await reeve.ok(`alloc pause --status ${at}`), 'scheduled\n')
    const wrong = await reeve.run(`alloc pause --state off ${at}`)
    assert.equal(wrong.code, EXIT_CODES.usage)
    assert.match(wrong.err, /--state must be one of pause, run, scheduled, not "off"/)
    const plain = await reeve.run(`alloc pause ${id} main`)
    assert.match(plain.err, /task "main" has no schedule block/)
  })

  const restarts = [
    ['alloc restart --all-tasks', id],
    ['job restart --all-tasks', 'web'],
  ] as const
  for (const [command, target] of restarts)
    await t.test(`${command}: also what has ended`, async () => {
      const before = await startsOf(reeve, { id, task: 'setup' })
      await reeve.ok(`${command} ${target}`)
      await until('the setup to run again', async () => {
        return (await startsOf(reeve, { id, task: 'setup' })) > before || undefined
      })
      await until('the task to run again', async () => {
        const { data } = await reeve.client.v1.readAllocation({ params: { alloc_id: id } })
        return data.TaskStates?.['main']?.State === 'running' || undefined
      })
    })

  await t.test('job restart: leaves alone what has ended, without --all-tasks', async () => {
    const before = await startsOf(reeve, { id, task: 'setup' })
    await reeve.ok('job restart web')
    assert.equal(await startsOf(reeve, { id, task: 'setup' }), before)
  })

  await t.test('node drain --ignore-system: leaves system jobs where they are', async () => {
    const system = { id: 'everywhere', script: 'exec sleep 1000', job: { Type: 'system' } }
    const [kept = ''] = await runShellJob(t, reeve.client, system)
    await reeve.ok('node drain --enable --ignore-system --deadline 20s one')
    const statusOf = async (alloc_id: string) =>
      (await reeve.client.v1.readAllocation({ params: { alloc_id } })).data
    assert.equal((await statusOf(kept)).DesiredStatus, 'run')
    assert.equal((await statusOf(kept)).ClientStatus, 'running')
    assert.equal((await statusOf(id)).DesiredStatus, 'stop')
    await reeve.ok('node drain --disable one')
    await endJob(reeve.client, 'everywhere')
  })
})

interface TaskName {
  readonly id: string
  readonly task: string
}

async function startsOf({ client }: CommandLineBench, { id, task }: TaskName): Promise<number> {
  const { data } = await client.v1.readAllocation({ params: { alloc_id: id } })
  const events = data.TaskStates?.[task]?.Events ?? []
  return Math.max(0, ...events.filter(({ Type }) => Type === 'Started').map(({ Time }) => Time))
}

test(
  'job restart: batches, what is between them, and what fails',
  { timeout: 300_000 },
  async (t) => {
    const reeve = await aCommandLine(t)
    const ids = await runShellJob(t, reeve.client, {
      id: 'web',
      script: 'exec sleep 1000',
      count: 2,
    })

    await t.test('--batch-wait: the next batch begins after it', async () => {
      await reeve.ok('job restart --batch-wait 1s web')
      const starts = await Promise.all(ids.map((id) => startsOf(reeve, { id, task: 'main' })))
      assert.ok(Math.max(...starts) - Math.min(...starts) >= 1e9, starts.join(' '))
    })

    await t.test('--batch-wait ask, --on-error ask: need somebody to ask', async () => {
      for (const flags of ['--batch-wait ask', '--on-error ask']) {
        const { code, err } = await reeve.run(`job restart ${flags} web`)
        assert.equal(code, EXIT_CODES.usage)
        assert.match(err, /cannot ask without a terminal: give a duration, and --on-error fail\.\n/)
      }
      const wrong = await reeve.run('job restart --batch-wait soon web')
      assert.match(wrong.err, /--batch-wait is a duration such as 30s, or "ask", not "soon"\.\n/)
      assert.match(await reeve.ok('job restart --batch-wait ask --yes web'), /2 of 2 allocations/)
    })

    await t.test('--on-error fail: the other ones are left alone', async () => {
      const RestartPolicy = { Attempts: 0, Mode: 'fail' }
      const group = { RestartPolicy, ReschedulePolicy: { Attempts: 0, Unlimited: false } }
      const program = join(reeve.directory, await reeve.file('frail.sh', '#!/bin/sh\nsleep 1000\n'))
      await chmod(program, 0o755)
      const Tasks = [{ ...shellTask('main', ''), Config: { command: program } }]
      const job = { TaskGroups: [{ ...group, Name: 'group', Count: 2, Tasks }] }
      await runShellJob(t, reeve.client, { id: 'frail', script: '', count: 2, job })
      // What is restarted then is no longer there.
      await rm(program)
      const { code, out, err } = await reeve.run('job restart --on-error fail frail')
      assert.equal(code, EXIT_CODES.failed)
      assert.match(out, /^0 of 2 allocations restarted\.\n$/m)
      assert.match(
        err,
        /^reeve job restart: Allocation \w{8} is failed\.\nThe other allocations were not restarted/,
      )
    })
  },
)
