import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { EXIT_CODES } from '../../src/cli/index.ts'
import {
  aCommandLine,
  type CommandLineBench,
  type CommandOptions,
  type Ended,
} from '../build/cli.ts'
import { aJobText } from '../build/job-text.ts'
import { until } from '../build/until.ts'

/** On a machine that is busy with other tests. */
const WITHIN_MS = 180_000

test('flags of job commands that submit', { timeout: 300_000 }, async (t) => {
  const reeve = await aCommandLine(t)

  const undeclared = [
    ['job validate', EXIT_CODES.ok],
    ['job plan', EXIT_CODES.changes],
    ['job run --output', EXIT_CODES.ok],
  ] as const
  for (const [command, code] of undeclared)
    await t.test(`${command} --allow-unknown-vars: passes over what is not declared`, async () => {
      const input = aJobText({ id: 'unknown' })
      const refused = await reeve.run(`${command} --var colour=red -`, { input })
      assert.equal(refused.code, EXIT_CODES.failed)
      assert.match(refused.err, /colour/)
      const line = `${command} --allow-unknown-vars --var colour=red -`
      assert.equal((await reeve.run(line, { input })).code, code)
    })

  const LEGACY =
    'job "old" {\n  "type" = "batch"\n  group "app" {\n    task "main" {\n      driver = "raw_exec"\n    }\n  }\n}\n'
  for (const [command, code] of undeclared)
    await t.test(`${command} --hcl1: reads the older syntax`, async () => {
      const refused = await reeve.run(`${command} -`, { input: LEGACY })
      assert.equal(refused.code, EXIT_CODES.failed)
      const { code: ended, out, err } = await reeve.run(`${command} --hcl1 -`, { input: LEGACY })
      assert.equal(ended, code, err)
      if (command === 'job run --output') assert.equal(JSON.parse(out).Submission.Format, 'hcl1')
    })

  await t.test('job plan --no-diff: only says what will happen', async () => {
    const { out } = await reeve.run('job plan --no-diff -', { input: aJobText({ id: 'plain' }) })
    assert.match(out, /^What will happen\nGroup "app": 1 started\.\n/)
    assert.doesNotMatch(out, /Job: "plain"/)
  })

  await t.test('--eval-priority: of job run and job stop is that of the evaluation', async () => {
    const submitted = 'job run --detach --json --eval-priority 81 -'
    const input = aJobText({ id: 'urgent' })
    assert.equal(await priorityOf(reeve, await reeve.ok(submitted, { input })), 81)
    const stopped = await reeve.ok('job stop --json --eval-priority 72 urgent')
    assert.equal(await priorityOf(reeve, stopped), 72)
  })

  await t.test('job run --preserve-counts: keeps the count that was scaled to', async () => {
    const countOf = async () => {
      const { data } = await reeve.client.v1.readJob({ params: { job_id: 'scaled' } })
      return data.TaskGroups[0]?.Count
    }
    const input = aJobText({ id: 'scaled' })
    await reeve.ok('job run -', { input })
    await reeve.ok('job scale scaled 2')
    const changed = aJobText({ id: 'scaled', script: 'exec sleep 700' })
    await reeve.ok('job run --detach --preserve-counts -', { input: changed })
    assert.equal(await countOf(), 2)
    await reeve.ok('job run --detach -', { input: changed })
    assert.equal(await countOf(), 1)
    await reeve.ok('job stop --purge --detach scaled')
  })

  await t.test('job revert --check-version: only from the version that is named', async () => {
    await reeve.ok('job run -', { input: aJobText({ id: 'back' }) })
    await reeve.ok('job run -', { input: aJobText({ id: 'back', script: 'exec sleep 700' }) })
    const stale = await reeve.run('job revert --detach --check-version 7 back 0')
    assert.equal(stale.code, EXIT_CODES.conflict, stale.err)
    assert.match(stale.err, /^reeve job revert: .*version/)
    const done = await reeve.ok('job revert --detach --check-version 1 back 0')
    assert.match(done, /^Job "back" is reverted to version 0 /)
  })

  await t.test('job history --diff-version, --diff-tag: compare with the one named', async () => {
    await reeve.ok('job run --detach -', { input: aJobText({ id: 'old', script: 'sleep 601' }) })
    await reeve.ok('job tag old first')
    for (const seconds of [602, 603]) {
      const input = aJobText({ id: 'old', script: `sleep ${seconds}` })
      await reeve.ok('job run --detach -', { input })
    }
    for (const flag of ['--diff-version 0', '--diff-tag first']) {
      const said = await reeve.ok(`job history --version 2 ${flag} old`)
      assert.match(said, /"sleep 601" => "sleep 603"/)
    }
    assert.match(await reeve.ok('job history -p --version 2 old'), /"sleep 602" => "sleep 603"/)
    assert.notEqual((await reeve.run('job history --diff-tag nothing old')).code, EXIT_CODES.ok)
  })

  await t.test('job eval --force-reschedule: does not wait for the delay', async () => {
    const group =
      'restart {\n attempts = 0\n mode = "fail"\n}\n' +
      'reschedule {\n attempts = 0\n delay = "1h"\n delay_function = "constant"\n unlimited = true\n}'
    const input = aJobText({ id: 'failing', type: 'batch', script: 'exit 1', group })
    await reeve.ok('job run --detach -', { input })
    const allocations = async () => {
      const { data } = await reeve.client.v1.listJobAllocations({ params: { job_id: 'failing' } })
      return data
    }
    const isFailed = ({ ClientStatus }: { ClientStatus: string }) => ClientStatus === 'failed'
    await until('it to fail', async () => (await allocations()).some(isFailed) || undefined)
    await reeve.run('job eval failing')
    assert.equal((await allocations()).length, 1)
    await reeve.run('job eval --force-reschedule failing')
    await until('another one', async () => (await allocations()).length === 2 || undefined)
    const never = input.replace('unlimited = true', 'unlimited = false')
    await reeve.ok('job run --detach -', { input: never })
    await until('both to fail', async () => (await allocations()).every(isFailed) || undefined)
    const { err } = await reeve.run('job eval --force-reschedule failing')
    assert.match(err, /Group "\w+" has rescheduling disabled/)
    await reeve.ok('job stop --purge failing')
  })
})

async function priorityOf({ client }: CommandLineBench, json: string): Promise<number> {
  const { EvalID }: { EvalID: string } = JSON.parse(json)
  return (await client.v1.readEvaluation({ params: { eval_id: EvalID } })).data.Priority
}

test('flags of job dispatch', { timeout: 300_000 }, async (t) => {
  const reeve = await aCommandLine(t)
  const text = aJobText({
    id: 'greet',
    type: 'batch',
    job: 'parameterized {\n payload = "optional"\n}',
    script: 'cat local/in.txt',
  }).replace('resources {', 'dispatch_payload {\n file = "in.txt"\n}\nresources {')
  await reeve.ok('job run -', { input: text })

  await t.test('--payload reaches the task, --priority and the prefix the job', async () => {
    await reeve.file('payload.txt', 'from a file\n')
    const flags = ['--payload', 'payload.txt', '--priority', '77', '--id-prefix-template', 'hello']
    const { DispatchedJobID: id }: { DispatchedJobID: string } = JSON.parse(
      await reeve.ok(['job', 'dispatch', '--json', ...flags, 'greet']),
    )
    assert.match(id, /^greet\/dispatch-hello/)
    const ended = await until(
      `${id} to end`,
      async () => {
        const { data } = await reeve.client.v1.readJob({ params: { job_id: id } })
        return data.Status === 'dead' ? data : undefined
      },
      WITHIN_MS,
    )
    assert.equal(ended.Priority, 77)
    assert.equal((await reeve.run(['job', 'logs', id])).out, 'from a file\n')
  })

  await t.test('--payload: what cannot be sent is not sent', async () => {
    const missing = await reeve.run('job dispatch --payload none.txt greet')
    assert.deepEqual(
      [missing.code, missing.err],
      [
        EXIT_CODES.failed,
        'reeve job dispatch: "none.txt" cannot be read: no such file or directory.\n' +
          'Name a file that is there, or "-" for standard input.\n',
      ],
    )
    await reeve.file('large.bin', 'x'.repeat(20_000))
    const large = await reeve.run('job dispatch --payload large.bin greet')
    assert.equal(large.code, EXIT_CODES.failed)
    assert.match(large.err, /The payload has 20000 bytes; a dispatch takes 16384\.\nPut it where/)
  })
})

test(
  '--wait-for-capacity: goes on watching until a node has room',
  { timeout: 300_000 },
  async (t) => {
    const reeve = await aCommandLine(t, ['--node-name', 'one'])
    await reeve.ok('job run -', { input: aJobText({ id: 'web' }) })
    await reeve.ok('job run -', { input: aJobText({ id: 'web', script: 'exec sleep 700' }) })
    const parameterized = { id: 'greet', type: 'batch', job: 'parameterized {}', script: 'true' }
    await reeve.ok('job run -', { input: aJobText(parameterized) })
    const periodic = { id: 'tick', type: 'batch', job: 'periodic {\n crons = ["0 0 1 1 *"]\n}' }
    await reeve.ok('job run -', { input: aJobText({ ...periodic, script: 'true' }) })
    const lines: readonly (readonly [string, CommandOptions?])[] = [
      ['job run --wait-for-capacity -', { input: aJobText({ id: 'late' }) }],
      ['job scale --wait-for-capacity web 2'],
      ['job revert --wait-for-capacity web 0'],
      ['job dispatch --wait-for-capacity greet'],
      ['job periodic force --wait-for-capacity tick'],
    ]
    for (const [line, options] of lines)
      await t.test(line, async (inner) => {
        const { code, out, err } = await untilRoom(inner, reeve, { line, options })
        assert.equal(code, EXIT_CODES.ok, `${out}\n---\n${err}`)
        assert.match(out, /is (successful|running|complete)/)
      })

    await t.test('job start --wait-for-capacity web', async (inner) => {
      await reeve.ok('job stop web')
      const line = 'job start --wait-for-capacity web'
      assert.equal((await untilRoom(inner, reeve, { line })).code, EXIT_CODES.ok)
    })

    await t.test('job eval --wait-for-capacity web', async (inner) => {
      const line = 'job eval --wait-for-capacity idle'
      const before = async () => {
        await reeve.run('job run -', { input: aJobText({ id: 'idle' }) })
      }
      assert.equal((await untilRoom(inner, reeve, { line, before })).code, EXIT_CODES.ok)
    })

    await t.test('without it a command ends with 9', async () => {
      await reeve.ok('node eligibility --disable one')
      const { code } = await reeve.run('job run -', { input: aJobText({ id: 'never' }) })
      assert.equal(code, EXIT_CODES.unplaced)
      await reeve.ok('node eligibility --enable one')
    })
  },
)

interface Waiting {
  readonly line: string
  readonly options?: CommandOptions | undefined
  /** Done once there is no room. */
  readonly before?: () => Promise<void>
}

/** Takes the only node away, runs the command, and gives the node back once it has said so. */
async function untilRoom(
  t: TestContext,
  reeve: CommandLineBench,
  { line, options = {}, before = async () => undefined }: Waiting,
): Promise<Ended> {
  await reeve.ok('node eligibility --disable one')
  await before()
  let written = ''
  const leaving = new AbortController()
  t.after(() => leaving.abort())
  const ending = reeve.run(line, {
    ...options,
    signal: leaving.signal,
    onWritten: (text) => (written += text),
  })
  const isOver = ending.then((ended) => {
    throw new Error(`it ended with ${ended.code}: ${ended.out}${ended.err}`)
  })
  const isTold = until(
    'it to say so',
    () => /could not be placed/.test(written) || undefined,
    WITHIN_MS,
  )
  await Promise.race([isTold, isOver])
  isOver.catch(() => undefined)
  await reeve.ok('node eligibility --enable one')
  return await ending
}
