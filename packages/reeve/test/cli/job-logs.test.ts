import assert from 'node:assert/strict'
import test from 'node:test'
import { EXIT_CODES } from '../../src/cli/index.ts'
import { aCommandLine } from '../build/cli.ts'
import { runShellJob, shellTask } from '../build/cli-jobs.ts'
import { aJobText } from '../build/job-text.ts'
import { until } from '../build/until.ts'

/** Lines 1 to 9 of a task, and the same on its standard error; one more at each SIGHUP. */
function talking(line: string): string {
  const each = `echo "${line} $i"; echo "${line} bad $i" >&2`
  return `for i in 1 2 3 4 5 6 7 8 9; do ${each}; done; trap 'echo "${line} more"' HUP; while true; do sleep 0.1; done`
}

const LONG = 'x'.repeat(150)

test('job logs: the last lines of several tasks', { timeout: 300_000 }, async (t) => {
  const reeve = await aCommandLine(t)
  const [id = ''] = await runShellJob(t, reeve.client, {
    id: 'web',
    script: talking('short'),
    tasks: [shellTask('wordy', talking(LONG))],
  })
  const short = id.slice(0, 8)
  for (const task of ['main', 'wordy'])
    await until(`all that ${task} writes`, async () => {
      const { out, err } = await reeve.run(`alloc logs ${id} ${task}`)
      return (out.includes(' 9\n') && err.includes(' 9\n')) || undefined
    })
  const lastTwo = [
    `${short} main: short 8`,
    `${short} main: short 9`,
    `${short} wordy: ${LONG} 8`,
    `${short} wordy: ${LONG} 9`,
  ]

  await t.test('--tail: that many of each', async () => {
    const out = await reeve.ok('job logs --stdout --tail 2 web')
    for (const words of ['web[0]', 'web/group[0]', '--index 0 web', '--group group web'])
      assert.equal(await reeve.ok(`job logs --stdout --tail 2 ${words}`), out, words)
    const other = await reeve.run('job logs web/group[7]')
    assert.equal(other.code, 6)
    assert.deepEqual(out.trimEnd().split('\n').toSorted(), lastTwo)
  })

  await t.test('--follow --tail: that many of each, then what comes', async () => {
    const leaving = new AbortController()
    let written = ''
    const following = reeve.run('job logs --follow --stdout --tail 2 web', {
      signal: leaving.signal,
      onWritten: (text) => (written += text),
    })
    const lines = () => written.trimEnd().split('\n').toSorted()
    await until('the last lines', () => lines().length >= lastTwo.length || undefined)
    assert.deepEqual(lines(), lastTwo)
    await reeve.ok(`alloc signal -s SIGHUP ${short}`)
    await until('what comes', () => lines().length >= lastTwo.length + 2 || undefined)
    leaving.abort()
    assert.equal((await following).code, EXIT_CODES.interrupted)
    assert.deepEqual(
      lines().filter((line) => line.endsWith('more')),
      [`${short} main: short more`, `${short} wordy: ${LONG} more`],
    )
  })

  await t.test('--follow --tail: of both outputs', async () => {
    const leaving = new AbortController()
    let written = ''
    const following = reeve.run('job logs -f -n 1 web main', {
      signal: leaving.signal,
      onWritten: (text) => (written += text),
    })
    await until(
      'the last lines',
      () => (/more\n/.test(written) && /bad 9\n/.test(written)) || undefined,
    )
    leaving.abort()
    await following
    assert.deepEqual(written.trimEnd().split('\n').toSorted(), ['short bad 9', 'short more'])
  })
})

test('job logs: what has done its work is told beside what still runs', async (t) => {
  const reeve = await aCommandLine(t)
  const script = 'echo "from $REEVE_ALLOC_INDEX"; [ "$REEVE_ALLOC_INDEX" = 0 ] || sleep 600'
  await reeve.ok('job run --detach -', {
    input: aJobText({ id: 'parts', type: 'batch', count: 2, script }),
  })
  await until('one of them to be done', async () => {
    const { data } = await reeve.client.v1.listJobAllocations({ params: { job_id: 'parts' } })
    const statuses = data.map(({ ClientStatus }) => ClientStatus).toSorted()
    return statuses.join() === 'complete,running' || undefined
  })
  const told = async () => (await reeve.ok('job logs --stdout parts')).match(/from \d/g)?.toSorted()
  await until('what the other writes', async () =>
    (await told())?.length === 2 ? true : undefined,
  )
  assert.deepEqual(await told(), ['from 0', 'from 1'])
  await reeve.ok('job stop --purge --detach --yes parts')
})
