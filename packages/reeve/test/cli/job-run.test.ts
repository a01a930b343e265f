import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { EXIT_CODES } from '../../src/cli/index.ts'
import { aCommandLine } from '../build/cli.ts'
import { aJobText } from '../build/job-text.ts'

const ID = '[0-9a-f]{8}'

test('job files', async (t) => {
  const reeve = await aCommandLine(t)

  await t.test('job init: writes a valid file, once', async () => {
    const said = await reeve.ok('job init')
    assert.match(said, /^example\.hcl written\. Next:\n\n {2}reeve job plan example\.hcl\n/)
    assert.equal(await reeve.ok('job validate example.hcl'), 'Job "example" is valid.\n')
    const again = await reeve.run('job init')
    assert.equal(again.code, EXIT_CODES.failed)
    assert.equal(
      again.err,
      'reeve job init: example.hcl already exists.\n' +
        'Name another file, or use --force to overwrite it.\n',
    )
    await reeve.ok('job init --force --kind batch')
    assert.match(await readFile(join(reeve.directory, 'example.hcl'), 'utf8'), /type += "batch"/)
  })

  for (const kind of ['service', 'batch', 'periodic', 'parameterized', 'system'])
    await t.test(`job init: an example of kind ${kind} is right`, async () => {
      const input = await reeve.ok(`job init --kind ${kind} -`)
      assert.equal(await reeve.ok('job validate -', { input }), 'Job "example" is valid.\n')
    })

  await t.test(
    'job validate: says what the server would refuse, and where it is written',
    async () => {
      const input = 'job "web" {\n  group "app" {\n    count = -1\n  }\n}\n'
      const { code, err } = await reeve.run('job validate -', { input })
      assert.equal(code, EXIT_CODES.failed)
      assert.match(err, /^reeve job validate: \d problems? in standard input:\n\n/)
      assert.match(err, /^<stdin>:3,13-15: TaskGroups\[0\]\.Count: .*$/m)
    },
  )

  await t.test('job plan: prints the command that runs exactly what was planned', async () => {
    await reeve.file('planned.hcl', variableJob('planned'))
    const plan = await reeve.run('job plan --var count=2 planned.hcl')
    assert.deepEqual(plan, {
      code: EXIT_CODES.changes,
      out: [
        '+   Job: "planned"',
        '+     Group: "app" (2 create)',
        '+       Task: "main" (forces create)',
        '',
        'What will happen',
        'Group "app": 2 started.',
        '',
        'To run exactly this, if nobody has created the job meanwhile:',
        '',
        '  reeve job run --check-index 0 --var count=2 planned.hcl',
        '',
      ].join('\n'),
      err: '',
    })
    await reeve.ok('job run --check-index 0 --var count=2 planned.hcl')
    const same = await reeve.run('job plan --var count=2 planned.hcl')
    assert.equal(same.code, EXIT_CODES.ok)
    assert.match(same.out, /Group "app": 2 unchanged\.\n\nNothing would change\.\n$/)
  })

  await t.test('job plan: shows what changes in a job that is there', async () => {
    await reeve.ok('job run -', { input: aJobText({ id: 'edited' }) })
    const input = aJobText({ id: 'edited', count: 2, script: 'exec sleep 700' })
    const { code, out } = await reeve.run('job plan -', { input })
    assert.equal(code, EXIT_CODES.changes)
    const [diff = ''] = out.split('\n\n')
    assert.equal(
      diff,
      [
        '+/- Job: "edited"',
        '+/-   Group: "app" (1 create, 1 ignore)',
        '+/-     Count: "1" => "2" (forces create)',
        '+/-     Task: "main" (forces create/destroy update)',
        '+/-       Config',
        '+/-         args[1]: "exec sleep 600" => "exec sleep 700"',
      ].join('\n'),
    )
    assert.match(out, / {2}reeve job run --check-index \d+ -\n$/)
    const json = JSON.parse((await reeve.run('job plan --json -', { input })).out)
    assert.equal(json.Diff.Type, 'Edited')
  })

  await t.test('job plan: is coloured for a terminal, unless NO_COLOR is set', async () => {
    const input = aJobText({ id: 'colours' })
    const at = async (environment: Record<string, string>, columns?: number) =>
      (
        await reeve.run('job plan -', {
          input,
          environment,
          ...(columns === undefined ? {} : { columns }),
        })
      ).out
    assert.ok((await at({}, 80)).includes('\u001b[32m'))
    assert.ok(!(await at({ NO_COLOR: '1' }, 80)).includes('\u001b'))
    assert.ok(!(await at({})).includes('\u001b'))
  })

  await t.test(
    'job run --output: shows what variables, their files and other files come to',
    async () => {
      await reeve.file('greeting.txt', 'Hello')
      await reeve.file('low.vars', 'count = 2\nowner = "file"\n')
      await reeve.file('high.vars', 'count = 3\n')
      const meta = 'meta {\n owner = var.owner\n team = var.team\n text = file("greeting.txt")\n}'
      const declared = ['owner', 'team'].map((name) => `variable "${name}" {\n  type = string\n}\n`)
      const text = variableJob('variables').replace('type = "service"', `type = "service"\n${meta}`)
      await reeve.file('variables.hcl', declared.join('') + text)
      const line =
        'job run --output --var-file low.vars --var-file high.vars --var owner=flag variables.hcl'
      const out = await reeve.ok(line, { environment: { REEVE_VAR_team: 'environment' } })
      const { Job, Submission } = JSON.parse(out)
      assert.deepEqual(Job.Meta, { owner: 'flag', team: 'environment', text: 'Hello' })
      assert.equal(Job.TaskGroups[0].Count, 3)
      assert.deepEqual(Submission.VariableFlags, { owner: 'flag' })
      const unknown = await reeve.run('job run --var colour=red variables.hcl')
      assert.equal(unknown.code, EXIT_CODES.failed)
      assert.match(unknown.err, /The job file declares no variable named "colour"/)
    },
  )

  await t.test('job run: a job as the API has it is taken as it is', async () => {
    await reeve.ok('job run -', { input: aJobText({ id: 'api' }) })
    const input = await reeve.ok('job inspect api')
    const { code } = await reeve.run('job plan -', { input })
    assert.equal(code, EXIT_CODES.ok)
  })

  await t.test('job run: tells a pipe line by line how it goes', async () => {
    const out = await reeve.ok('job run -', { input: aJobText({ id: 'lines' }) })
    const lines = out.trimEnd().split('\n')
    assert.match(
      lines[0] ?? '',
      new RegExp(`^Job "lines" is registered \\(evaluation ${ID}\\)\\.$`),
    )
    assert.match(lines[1] ?? '', new RegExp(`^Evaluation ${ID} is (pending|complete)\\.$`))
    assert.match(
      out,
      new RegExp(`^Allocation ${ID} \\(lines\\.app\\[0\\] on \\S+\\) is healthy\\.$`, 'm'),
    )
    assert.match(lines.at(-1) ?? '', new RegExp(`^Deployment ${ID} is successful: `))
  })

  await t.test(
    'job run: paints one screen on a terminal, and leaves the last picture',
    async () => {
      const { code, out, err } = await reeve.run('job run -', {
        input: aJobText({ id: 'screen' }),
        environment: { NO_COLOR: '1' },
        columns: 100,
      })
      assert.deepEqual({ code, err }, { code: EXIT_CODES.ok, err: '' })
      const [, last = ''] = out.split('\u001b[?25h')
      assert.match(
        last,
        new RegExp(
          `^Evaluation ${ID}  complete\nDeployment ${ID}  successful  .*\n\n` +
            'Group  Desired  Placed  Healthy  Unhealthy\napp    1        1       1        0\n\n' +
            `Allocation  Group  Node +Version  Status\n${ID}    app    \\S+ +0        healthy\n$`,
        ),
      )
    },
  )

  await t.test('job run --json: answers with everything once it has ended', async () => {
    const json = JSON.parse(await reeve.ok('job run --json -', { input: aJobText({ id: 'json' }) }))
    assert.equal(json.Evaluation.ID, json.EvalID)
    assert.equal(json.Deployment.Status, 'successful')
    assert.equal(json.Allocations.length, 1)
  })

  await t.test('job run --detach: says how to watch it', async () => {
    const out = await reeve.ok('job run --detach -', { input: aJobText({ id: 'detached' }) })
    assert.match(out, /\nTo watch it:\n\n {2}reeve job status --watch detached\n$/)
    assert.match(await reeve.ok('job status --watch detached'), /is successful/)
  })

  await t.test('job run: a task that fails ends it with 1, and its reason', async () => {
    const input = aJobText({
      id: 'failing',
      script: 'echo no database >&2; exit 3',
      update: 'min_healthy_time = "1m"\nhealthy_deadline = "2m"\nprogress_deadline = "3m"',
      group:
        'restart {\n attempts = 0\n mode = "fail"\n}\nreschedule {\n attempts = 0\n unlimited = false\n}',
    })
    const { code, out, err } = await reeve.run('job run -', { input })
    assert.equal(code, EXIT_CODES.failed)
    assert.match(err, new RegExp(`^The deployment failed .*${ID}.* task "main": .*Exit Code: 3`))
    assert.equal(err.match(/Exit Code: 3/g)?.length, 1, 'the reason is printed once')
    assert.match(out, /^Deployment \S+ is failed\.$/m)
    assert.match(err, new RegExp(`\\n  reeve alloc logs --stderr ${ID}\\n$`))
    const status = await reeve.ok('job status failing')
    const alloc = /^ {4}reeve alloc logs --stderr --task main ([0-9a-f]{8})$/m.exec(status)?.[1]
    assert.ok(alloc !== undefined, status)
    for (const text of [status, await reeve.ok(`alloc status ${alloc}`)]) {
      assert.match(text, /^Task "main": exited with code 3, \d/m)
      assert.match(text, /^ {2}Last lines of stderr:\n {4}no database\n/m)
      assert.match(text, /^ {2}Next: The deployment failed; a new version/m)
      assert.match(
        text,
        /^ {2}Correct the configuration of task "main" \(line \d+ of the job file\)/m,
      )
    }
    const json: unknown = JSON.parse(await reeve.ok('job status --json failing'))
    assert.ok(typeof json === 'object' && json !== null && 'Failures' in json)
    // Nothing is rolled out again, and a pipeline that is repeated must not take that for success.
    const again = await reeve.run('job run -', { input })
    assert.equal(again.code, EXIT_CODES.failed)
    assert.match(again.err, /^The deployment failed /)
    assert.match(again.err, /\nNothing was deployed: .*\n\n {2}reeve job history failing\n$/)
  })

  await t.test(
    'job run: a batch job that fails at once ends it with 1, one that runs with 0',
    async () => {
      const job = aJobText({ id: 'broken', type: 'batch', group: FAILS_ONCE })
      const broken = job.replace('"/bin/sh"', '"/does/not/exist"')
      const { code, err } = await reeve.run('job run -', { input: broken })
      assert.equal(code, EXIT_CODES.failed)
      assert.match(err, new RegExp(`^Allocation ${ID} is failed: task "main": .*/does/not/exist`))
      // What never started wrote nothing.
      const [look = ''] = /\n\n {2}reeve (alloc status [0-9a-f]{8})\n$/.exec(err)?.slice(1) ?? []
      const logs = await reeve.run('job logs broken')
      assert.deepEqual(logs, {
        code: EXIT_CODES.missing,
        out: '',
        err:
          'reeve job logs: No task of job "broken" has started yet.\n' +
          `To see why: reeve ${look}\n`,
      })
      const out = await reeve.ok('job run -', { input: aJobText({ id: 'working', type: 'batch' }) })
      assert.match(out, / is running\.\n$/)
    },
  )

  await t.test(
    'job promote: lets canaries take over, which job run leaves to a person',
    async () => {
      const update = 'min_healthy_time = "0s"\ncanary = 1\nauto_promote = false'
      const first = await reeve.ok('job run -', { input: aJobText({ id: 'canary', update }) })
      assert.match(first, /is successful/)
      const input = aJobText({ id: 'canary', update, script: 'exec sleep 700' })
      const trial = await reeve.run('job run -', { input })
      assert.deepEqual(
        [trial.code, trial.err],
        [
          EXIT_CODES.ok,
          'The canaries are healthy. To promote them:\n\n  reeve job promote canary\n',
        ],
      )
      const promoted = await reeve.ok('job promote canary')
      assert.match(promoted, /^The canaries of job "canary" are promoted\.\n/)
      assert.match(promoted, /is successful/)
    },
  )

  await t.test('job run: Ctrl-C leaves the job running and says how to go on', async () => {
    const stop = new AbortController()
    const ended = await reeve.run('job run -', {
      input: aJobText({ id: 'left', update: NEVER_HEALTHY }),
      signal: stop.signal,
      onWritten: (text) => {
        if (/is running\./.test(text)) stop.abort()
      },
    })
    assert.equal(ended.code, EXIT_CODES.interrupted)
    assert.equal(
      ended.err,
      'The job keeps running. To watch it again:\n\n  reeve job status --watch left\n',
    )
    const { data } = await reeve.client.v1.readJob({ params: { job_id: 'left' } })
    assert.equal(data.Stop, false)
  })

  await t.test('job run: as a process, it ends with 130 after SIGINT', async () => {
    await reeve.file('signal.hcl', aJobText({ id: 'signal', update: NEVER_HEALTHY }))
    const child = reeve.start('job run signal.hcl')
    // A second signal ends it at once, as people expect of it: only the first is to be seen here.
    let isInterrupted = false
    for await (const chunk of child.stdout) {
      if (isInterrupted || !String(chunk).includes('is running.')) continue
      isInterrupted = true
      child.kill('SIGINT')
    }
    const { code, err } = await child.ended
    assert.equal(code, EXIT_CODES.interrupted)
    assert.match(err, /reeve job status --watch signal\n$/)
  })

  await t.test('a pipe that nobody reads ends a command without a word', async () => {
    const child = reeve.start('job init -')
    child.stdout.destroy()
    const { code, err } = await child.ended
    assert.deepEqual({ code, err }, { code: EXIT_CODES.unread, err: '' })
  })
})

const FAILS_ONCE =
  'restart {\n attempts = 0\n mode = "fail"\n}\nreschedule {\n attempts = 0\n unlimited = false\n}'

const NEVER_HEALTHY =
  'min_healthy_time = "10m"\nhealthy_deadline = "20m"\nprogress_deadline = "30m"'

function variableJob(id: string): string {
  const text = aJobText({ id })
  return `variable "count" {\n  type = number\n}\n\n${text.replace('count = 1', 'count = var.count')}`
}
