import assert from 'node:assert/strict'
import test from 'node:test'
import { EXIT_CODES } from '../../src/cli/index.ts'
import { aCommandLine, type CommandLineBench } from '../build/cli.ts'
import { aJobText } from '../build/job-text.ts'
import { until } from '../build/until.ts'

const HEX = '[0-9a-f]{8}'

function pattern(text: string): RegExp {
  return new RegExp(text.replaceAll('HEX', HEX), 'm')
}

/** Runs a job until it is healthy. */
async function run(reeve: CommandLineBench, fields: Parameters<typeof aJobText>[0]): Promise<void> {
  await reeve.ok('job run -', { input: aJobText(fields) })
}

test('jobs from their first version to their end', async (t) => {
  const reeve = await aCommandLine(t)
  await run(reeve, { id: 'web', count: 2 })
  await run(reeve, { id: 'web', count: 2, script: 'exec sleep 700' })

  await t.test('job status: lists jobs, as a table, as JSON and through a template', async () => {
    const table = await reeve.ok('job status')
    assert.match(table, pattern('^ID +Type +Priority +Status +Running +Submitted$'))
    assert.match(table, pattern('^web +service +50 +running +2 +\\d+m?s? ?\\w* ago$'))
    const [first] = JSON.parse(await reeve.ok('job status --json --prefix web'))
    assert.equal(first.ID, 'web')
    const named = await reeve.ok([
      'job',
      'status',
      '-t',
      '{{ range . }}{{ .ID }};{{ end }}',
      '--prefix',
      'web',
    ])
    assert.equal(named, 'web;\n')
    const everywhere = await reeve.ok(['job', 'status', '--namespace', '*'])
    assert.match(everywhere, pattern('^web +default +service'))
    const none = await reeve.ok('job status --namespace empty')
    assert.equal(
      none,
      'There are no jobs in namespace "empty". "reeve job init" writes an example job file.\n',
    )
  })

  await t.test('job status: shows one job, of which the beginning was given', async () => {
    const text = await reeve.ok('job status we')
    assert.match(text, pattern('^ID += web$'))
    assert.match(text, pattern('^Version += 1, stable$'))
    assert.match(text, pattern('^app +0 +0 +2 +0 +\\d+ +0 +0$'))
    assert.match(text, pattern('^Deployment HEX  successful'))
    assert.match(text, pattern('^HEX +web +app +1 +\\S+ +run +(?:running|healthy)'))
    const json = JSON.parse(await reeve.ok('job status --json web'))
    assert.deepEqual(Object.keys(json), [
      'Job',
      'Health',
      'Summary',
      'Allocations',
      'LatestDeployment',
      'Evaluations',
    ])
    assert.ok(!(await reeve.ok('job status --short web')).includes('Allocations'))
    const id = await reeve.ok(['job', 'status', 'web', '-t', '{{ .Job.ID }}'])
    assert.equal(id.trim(), 'web')
  })

  await t.test('job status: says that a template is wrong before it asks', async () => {
    const { code, err } = await reeve.run(['job', 'status', '-t', '{{ .ID'])
    assert.equal(code, EXIT_CODES.usage)
    assert.match(err, /^reeve job status: --template cannot be used: /)
  })

  await t.test('job history: lists versions, and what each changed', async () => {
    const list = await reeve.ok('job history web')
    assert.match(list, pattern('^1 +stable +\\S+.* ago +cli$'))
    const diffs = await reeve.ok('job history --diff --version 1 web')
    assert.match(diffs, /^Version 1, submitted .* ago, cli\n\+\/- Job: "web"\n/)
    assert.match(diffs, /args\[1\]: "exec sleep 600" => "exec sleep 700"/)
    const missing = await reeve.run('job history --version 9 web')
    assert.deepEqual(missing, {
      code: EXIT_CODES.missing,
      out: '',
      err: 'reeve job history: Job "web" has no version 9.\nIt has 1, 0.\n',
    })
  })

  await t.test('a message of another user forges no rows', async () => {
    const { data: job } = await reeve.client.v1.readJob({ params: { job_id: 'web' } })
    const message = 'x\n0  stable \u001b[31m' + '😀'.repeat(60)
    await reeve.client.v1.registerJob({ body: { Job: { ...job, ID: 'told' }, Message: message } })
    const list = await reeve.ok('job history told')
    assert.match(list, /x\\n0  stable \\x1b\[31m(?:😀)+…\n$/u)
    assert.equal(list.split('\n').length, 3)
    const params = { job_id: 'told' }
    const deployment = await until('the deployment', async () => {
      const { data } = await reeve.client.v1.readLatestDeployment({ params })
      return data ?? undefined
    })
    for (const line of [
      'job history --diff told',
      'job status --short told',
      `deployment status ${deployment.ID}`,
    ])
      assert.ok((await reeve.ok(line)).includes(String.raw`x\n0  stable \x1b[31m`), line)
    await reeve.ok('job stop --detach --purge told')
  })

  await t.test('job status: a child of which one group failed is failing', async () => {
    const task = (script: string): string => `task "main" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "${script}"]
      }
    }`
    const input = `job "mixed" {
      type = "batch"
      parameterized {}
      group "good" {
        ${task('true')}
      }
      group "wrong" {
        restart {
          attempts = 0
        }
        reschedule {
          attempts  = 0
          unlimited = false
        }
        ${task('exit 3')}
      }
    }`
    await reeve.ok('job run -', { input })
    assert.equal((await reeve.run('job dispatch --wait mixed')).code, 3)
    const parent = await reeve.run('job wait mixed')
    assert.equal(parent.code, EXIT_CODES.usage)
    assert.match(
      parent.err,
      /"mixed" runs nothing itself: it launches child jobs\. "reeve job status/,
    )
    const said = await reeve.ok('job status mixed')
    assert.match(said, pattern('^mixed/dispatch-\\S+ +failing +'))
    assert.match(said, pattern('^Failures of mixed/dispatch-'))
    await reeve.ok('job stop --detach --purge mixed')
  })

  await t.test('job dispatch --wait: reports an attempt that failed before the end', async () => {
    const group = `restart {
      attempts = 1
      delay    = "2s"
      mode     = "fail"
    }
    reschedule {
      attempts  = 0
      unlimited = false
    }`
    const job = 'parameterized {}'
    const input = aJobText({ id: 'retried', type: 'batch', script: 'exit 3', job, group })
    await reeve.ok('job run -', { input })
    const { code, err } = await reeve.run('job dispatch --wait retried')
    assert.equal(code, 3)
    assert.match(
      err,
      pattern('^Allocation HEX: task "main" exited with code 3; it is restarted\\.$'),
    )
    await reeve.ok('job stop --detach --purge retried')
  })

  await t.test('job tag: names a version, which revert then finds', async () => {
    const named = await reeve.ok('job tag --version 0 --description good web golden')
    assert.equal(named, 'Version 0 of job "web" is tagged "golden".\n')
    const reverted = await reeve.ok('job revert web golden')
    assert.match(reverted, pattern('^Job "web" is reverted to version 0 \\(evaluation HEX\\)\\.$'))
    assert.match(reverted, /is successful/)
    const gone = await reeve.ok('job tag --unset web golden')
    assert.equal(gone, 'Tag "golden" of job "web" is removed.\n')
    const missing = await reeve.run('job revert web golden')
    assert.equal(missing.code, EXIT_CODES.missing)
    assert.match(missing.err, /^reeve job revert: Job "web" has no version tagged "golden"\.\n/)
  })

  await t.test('job inspect: prints the job, an earlier version and its source', async () => {
    const json = JSON.parse(await reeve.ok('job inspect --version 1 web'))
    assert.equal(json.Job.Version, 1)
    const source = await reeve.ok('job inspect --hcl --version 0 web')
    assert.equal(source, aJobText({ id: 'web', count: 2 }))
  })

  await t.test('job scale: changes a count, and shows the counts', async () => {
    const scaled = await reeve.ok('job scale web 1')
    assert.match(scaled, /^Group "app" of job "web" is scaled to 1\.\n/)
    assert.match(await reeve.ok('job scale web'), pattern('^app +1 +1 +\\d'))
    const wrong = await reeve.run('job scale web nothing 3')
    assert.deepEqual(wrong, {
      code: EXIT_CODES.missing,
      out: '',
      err: 'reeve job scale: Job "web" has no group "nothing".\nIt has app.\n',
    })
    assert.equal((await reeve.run('job scale web many')).code, EXIT_CODES.usage)
  })

  await t.test('job eval: lets the scheduler look again', async () => {
    const said = await reeve.ok('job eval --detach web')
    assert.match(said, pattern('^Job "web" is evaluated again \\(evaluation HEX\\)\\.$'))
  })

  await t.test(
    'job deployments and job allocs: list what there was, the newest first',
    async () => {
      const deployments = await reeve.ok('job deployments web')
      assert.match(deployments, pattern('^ID +Version +Status +Created +Description\nHEX +\\d '))
      assert.match(await reeve.ok('job deployments --latest web'), /^Deployment /)
      const allocations = JSON.parse(await reeve.ok('job allocs --json web'))
      assert.ok(allocations.length >= 4)
      assert.match(await reeve.ok('job allocs web'), pattern('^HEX +web +app +\\d'))
    },
  )

  await t.test('job restart: restarts tasks in place, or replaces allocations', async () => {
    const inPlace = await reeve.ok('job restart web')
    assert.match(
      inPlace,
      pattern(
        '^Allocation HEX \\(web\\.app\\[0\\]\\) is restarted\\.\n1 of 1 allocation restarted\\.$',
      ),
    )
    const replaced = await reeve.ok('job restart --reschedule --batch-size 50% web')
    assert.match(replaced, pattern('^Allocation HEX is replaced by HEX\\.$'))
    const wrong = await reeve.run('job restart --batch-size 0 web')
    assert.equal(wrong.code, EXIT_CODES.usage)
  })

  await t.test('job explain: says that everything is placed', async () => {
    assert.equal(await reeve.ok('job explain web'), 'all allocations are placed\n')
  })

  await t.test('job stop: asks when only the beginning was given', async () => {
    const { code, err } = await reeve.run('job stop we')
    assert.equal(code, EXIT_CODES.failed)
    assert.equal(
      err,
      'reeve job stop: Stop job "web" of namespace "default"? Cannot ask: standard input is not a terminal.\n' +
        'Use --yes to skip the confirmation.\n',
    )
  })

  await t.test('job stop and job start: end a job and bring it back as it was', async () => {
    const stopped = await reeve.ok('job stop web')
    assert.match(stopped, pattern('^Job "web" is stopped \\(evaluation HEX\\)\\.$'))
    assert.match(await reeve.ok('job status'), pattern('^web +service +50 +stopped'))
    const started = await reeve.ok('job start web')
    assert.match(started, pattern('^Job "web" is started \\(evaluation HEX\\)\\.$'))
    assert.match(started, /is successful/)
    const again = await reeve.run('job start web')
    assert.equal(
      again.err,
      'reeve job start: Job "web" is not stopped.\nTo start its tasks anew: reeve job restart web\n',
    )
    assert.match(await reeve.ok('job stop --purge web'), /^Job "web" is stopped and purged/)
    assert.equal((await reeve.run('job status web')).code, EXIT_CODES.missing)
  })

  await t.test('job start: the text that a job was made from comes back with it', async () => {
    await run(reeve, { id: 'written', count: 1 })
    const source = await reeve.ok('job inspect --hcl written')
    await reeve.ok('job stop written')
    await reeve.ok('job start written')
    assert.equal(await reeve.ok('job inspect --hcl written'), source)
    await reeve.ok('job stop --purge written')
  })

  await t.test(
    'job dispatch: makes instances with payload and metadata, once for a token',
    async () => {
      const input = aJobText({
        id: 'greet',
        type: 'batch',
        job: 'parameterized {\n payload = "optional"\n meta_optional = ["name"]\n}',
        script: 'echo Hello $REEVE_META_name; cat local/in.txt; echo oops >&2',
        group: '',
      }).replace('resources {', 'dispatch_payload {\n file = "in.txt"\n}\nresources {')
      const registered = await reeve.ok('job run -', { input })
      assert.equal(
        registered,
        'Job "greet" is registered. To dispatch it:\n\n  reeve job dispatch greet\n',
      )
      const asks = input
        .replace('"greet"', '"asks"')
        .replace('"optional"', '"required"')
        .replace('meta_optional', 'meta_required')
      assert.match(
        await reeve.ok('job run -', { input: asks }),
        /\n {2}reeve job dispatch --meta name=VALUE asks FILE\n$/,
      )
      const without = await reeve.run('job dispatch asks -', { input: 'x' })
      assert.match(without.err, /required meta keys: \[name\]\nSet metadata with --meta /)
      const line = 'job dispatch --json --meta name=Ada --idempotency-token one greet -'
      const first = JSON.parse(await reeve.ok(line, { input: 'payload\n' }))
      const second = JSON.parse(await reeve.ok(line, { input: 'payload\n' }))
      assert.equal(first.DispatchedJobID, second.DispatchedJobID)
      const id = first.DispatchedJobID
      const third = await reeve.ok(line.replace('--json ', ''), { input: 'payload\n' })
      const before = 'was dispatched with this token before; nothing new was made.'
      assert.equal(third, `Job "${id}" ${before}\n`)
      await until(`${id} to end`, async () => {
        const { data } = await reeve.client.v1.readJob({ params: { job_id: id } })
        return data.Status === 'dead' ? true : undefined
      })
      const logs = await reeve.run(['job', 'logs', id])
      assert.deepEqual(logs, { code: EXIT_CODES.ok, out: 'Hello Ada\npayload\n', err: 'oops\n' })
      assert.match(
        await reeve.ok('job status greet'),
        /^Parameterized = payload optional, meta name \(optional\)$/m,
      )
      const child = await reeve.ok(['job', 'status', id])
      assert.doesNotMatch(child, /^Parameterized|^Instances/m)
      const wrong = await reeve.run('job dispatch --meta colour=red greet')
      assert.match(wrong.err, /^reeve job dispatch: .*colour/)
      const large = await reeve.run('job dispatch greet -', { input: 'x'.repeat(20_000) })
      assert.equal(large.code, EXIT_CODES.failed)
    },
  )

  await t.test('job periodic force: launches an instance now', async () => {
    const input = aJobText({
      id: 'tick',
      type: 'batch',
      job: 'periodic {\n crons = ["0 0 1 1 *"]\n}',
      script: 'echo tick',
    })
    assert.match(await reeve.ok('job run -', { input }), /\n\n {2}reeve job periodic force tick\n$/)
    const launched = await reeve.ok('job periodic force tick')
    assert.match(launched, /^Job "tick" is launched as "tick\/periodic-\d+"\.\n/)
  })

  await t.test('job logs: tells several allocations apart, and follows to the end', async () => {
    const script = 'echo one; echo two; echo three'
    await reeve.ok('job run -', {
      input: aJobText({ id: 'many', type: 'batch', count: 2, script }),
    })
    const followed = await reeve.ok('job logs --follow --stdout many')
    const lines = followed.trimEnd().split('\n')
    assert.deepEqual(
      lines.map((line) => line.replace(new RegExp(`^${HEX} main: `), '')).toSorted(),
      ['one', 'one', 'three', 'three', 'two', 'two'],
    )
    const tail = await reeve.ok('job logs --all-allocs --tail 1 --stdout many')
    assert.match(tail, pattern('^HEX main: three\nHEX main: three\n$'))
    const missing = await reeve.run('job logs many nothing')
    assert.deepEqual(missing, {
      code: EXIT_CODES.missing,
      out: '',
      err: 'reeve job logs: Job "many" has no task "nothing".\nIt has main.\n',
    })
  })
})
