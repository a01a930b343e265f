import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EXIT_CODES } from '../../src/cli/index.ts'
import { aCommandLine, type CommandLineBench } from '../build/cli.ts'
import { runShellJob, shellTask } from '../build/cli-jobs.ts'

const LIMITS =
  'param most default 2\nmain = rule {\n  all job.task_groups as group { group.count <= most }\n}\n'

interface Document {
  readonly attributes: Readonly<Record<string, unknown>>
}

async function attributesOf(
  reeve: CommandLineBench,
  line: string,
): Promise<Document['attributes']> {
  const read: Document | { readonly data: Document } = JSON.parse(await reeve.ok(`${line} --json`))
  return 'data' in read ? read.data.attributes : read.attributes
}

test('flags of governance commands', { timeout: 300_000 }, async (t) => {
  const reeve = await aCommandLine(t)
  await reeve.ok('org create acme --email ops@acme.example')
  await reeve.ok('project create payments --auto-destroy 14d')
  await reeve.ok('team create platform')

  await t.test('workspace --inherit-auto-destroy: takes the idle time of the project', async () => {
    const inherits = async (name: string) =>
      (await attributesOf(reeve, `workspace show ${name}`))['inherits-project-auto-destroy']
    await reeve.ok('workspace create one --project payments --inherit-auto-destroy')
    await reeve.ok('workspace create two --project payments --no-inherit-auto-destroy')
    assert.deepEqual([await inherits('one'), await inherits('two')], [true, false])
    await reeve.ok('workspace update one --no-inherit-auto-destroy')
    await reeve.ok('workspace update two --inherit-auto-destroy')
    assert.deepEqual([await inherits('one'), await inherits('two')], [false, true])
  })

  await t.test('workspace --check-drift: how often to look, and no longer', async () => {
    const interval = async () =>
      (await attributesOf(reeve, 'workspace show watched'))['drift-check-interval']
    const made = await reeve.ok('workspace create watched --check-drift 24h')
    assert.match(made, /\nDrift += not checked yet, checked every 24h\n/)
    await reeve.ok(['workspace', 'update', 'watched', '--check-drift', ''])
    assert.equal(await interval(), null)
    await reeve.ok('workspace update watched --check-drift 12h')
    assert.equal(await interval(), '12h')
  })

  await t.test('workspace --share-outputs, --state-consumer: whose runs read outputs', async () => {
    await reeve.ok('workspace create network')
    const shared = /\nOutputs shared with += its project, watched\n/
    const update = 'workspace update network'
    assert.match(
      await reeve.ok(`${update} --share-outputs project --state-consumer watched`),
      shared,
    )
    assert.match(await reeve.ok(`${update} --description Net`), shared)
    assert.match(
      await reeve.ok(`${update} --share-outputs organization`),
      /\nOutputs shared with += the organization\n/,
    )
    await reeve.ok([...update.split(' '), '--share-outputs', 'none', '--state-consumer', ''])
    assert.equal((await reeve.ok('workspace show network')).includes('shared with'), false)
    const { code, err } = await reeve.run(`${update} --share-outputs everyone`)
    assert.equal(code, 2)
    assert.match(err, /none, project or organization, not "everyone"/)
  })

  await t.test('policy-set --overridable, --no-overridable: say who decides', async () => {
    const isOverridable = async () =>
      (await attributesOf(reeve, 'policy-set show strict'))['overridable']
    assert.match(
      await reeve.ok('policy-set create strict --kind opa --no-overridable'),
      /Overridable +=? ?no\n/,
    )
    assert.equal(await isOverridable(), false)
    await reeve.ok('policy-set update strict --overridable')
    assert.equal(await isOverridable(), true)
    await reeve.ok('policy-set update strict --no-overridable')
    assert.equal(await isOverridable(), false)
  })

  await t.test('policy-set --except-project: leaves a project alone', async () => {
    const made = await reeve.ok('policy-set create wide --global --except-project payments')
    assert.match(made, /\nExcept projects +=? ?payments\n/)
    const removed = await reeve.ok('policy-set remove wide --except-project payments')
    assert.doesNotMatch(removed, /payments/)
    const added = await reeve.ok('policy-set add wide --except-project payments')
    assert.match(added, /\nExcept projects +=? ?payments\n/)
  })

  await t.test('run create --plan-only: a run that nobody can apply', async () => {
    await reeve.file('plan.json', JSON.stringify({ format_version: '1.2', resource_changes: [] }))
    await reeve.ok('workspace create api')
    const { code, err } = await reeve.run('run create api plan.json --plan-only')
    assert.equal(code, EXIT_CODES.ok, err)
    const [, id = ''] = /Run (run-\w+) is created/.exec(err) ?? []
    assert.equal((await attributesOf(reeve, `run show ${id}`))['plan-only'], true)
    const applied = await reeve.run(`run apply ${id}`)
    assert.equal(applied.code, EXIT_CODES.conflict, applied.err)
    const log = await reeve.run(`run log ${id} --phase plan`)
    assert.match(log.err, /has no log: its plan was uploaded/)
    const unapplied = await reeve.run(`run log ${id} --phase apply`)
    assert.match(unapplied.err, /has no log of an apply\.\n/)
    const mistaken = await reeve.run(`run log ${id} --phase init`)
    assert.equal(mistaken.code, EXIT_CODES.usage)
    assert.match(mistaken.err, /--phase is plan or apply, not "init"/)
  })

  await t.test('policy try --param: as a parameter of a set would be', async () => {
    await reeve.file('limits.native', LIMITS)
    await reeve.file('job.json', JSON.stringify({ job: { ID: 'x', TaskGroups: [{ Count: 3 }] } }))
    await reeve.ok('policy create limits.native --level soft-mandatory')
    assert.equal((await reeve.run('policy try limits job.json')).code, EXIT_CODES.refusedByPolicy)
    assert.match(await reeve.ok('policy try limits job.json --param most=3'), /passed/)
    assert.equal((await reeve.run('policy try limits job.json --param most')).code, 2)
  })

  await t.test('policy versions, policy download --version: what was uploaded before', async () => {
    await reeve.ok('policy upload limits -', { input: 'main = rule { true }\n' })
    const list = await reeve.ok('policy versions limits')
    const [newest = '', oldest = ''] = [...list.matchAll(/^(\S+-\S+) .* ago /gm)].map(
      ([, id = '']) => id,
    )
    assert.equal(await reeve.ok(`policy download limits --version ${oldest}`), LIMITS)
    assert.equal(
      await reeve.ok(`policy download limits --version ${newest}`),
      'main = rule { true }\n',
    )
    await reeve.ok('policy upload limits limits.native')
  })

  await t.test(
    'token create --org, token delete --org: the token of the organization',
    async () => {
      const { code, out, err } = await reeve.run('token create --org')
      assert.equal(code, EXIT_CODES.ok, err)
      const line = ['project', 'list', '--token', out.trim()]
      assert.match(await reeve.ok(line), /\npayments /)
      assert.match(await reeve.ok('token delete --org'), /is deleted/)
      assert.equal((await reeve.run(line)).code, EXIT_CODES.denied)
    },
  )

  await t.test('org member: invited into a team, found, and taken out', async () => {
    const email = 'ada@acme.example'
    await reeve.ok(`org member add ${email} --team platform`)
    const invited = await reeve.ok('org member list --status invited --search ada')
    assert.match(invited, /\nada@acme\.example +\S+ +invited +platform /)
    assert.match(await reeve.ok('org member list --search nobody'), /^The member does not exist\./)
    assert.doesNotMatch(await reeve.ok('org member list --status active'), /ada@/)
    const username = await reeve.ok(['org', 'member', 'list', '--json', '--search', 'ada'])
    assert.match(username, /"status": "invited"/)
    assert.equal((await reeve.run('org member list --status gone')).code, EXIT_CODES.usage)
    const twice = await reeve.run(`org member add ${email}`)
    assert.equal(twice.code, EXIT_CODES.failed)
    assert.match(await reeve.ok(`org member remove ${email} --yes`), /no longer belongs to/)
    const missing = await reeve.run(`org member remove ${email} --yes`)
    assert.equal(missing.code, EXIT_CODES.missing)
    assert.match(missing.err, /There is no member "ada@acme\.example"\.\nFor a list, run/)
  })

  await t.test('job verdicts: who was denied, who passed over it, and why', async () => {
    await reeve.ok('policy-set create jobs --jobs-of default --policy limits')
    const job =
      'job "big" {\n group "g" {\n  count = 3\n  task "t" {\n   driver = "mock"\n  }\n }\n}\n'
    assert.equal((await reeve.run('job run --detach -', { input: job })).code, 8)
    const denied = await reeve.ok('job verdicts big')
    assert.match(denied, /^When +Operation +Result[^]* ago +register +denied .*limits\n$/)
    const override = ['--policy-override', '--override-comment', 'known']
    await reeve.run(['job', 'run', '--detach', ...override, '-'], { input: job })
    const both = await reeve.ok('job verdicts --verbose bi')
    assert.match(both, / register +overridden .*limits +known\n/)
    assert.match(both, /Policy "limits" of set "jobs" \(soft-mandatory\) [^]*group\.count <= most/)
    assert.equal((await reeve.run('job verdicts nothing')).code, EXIT_CODES.missing)
  })

  await t.test('audit list, org audit: only what is asked for', async () => {
    const big = await reeve.ok('audit list --resource big --since 1h')
    assert.match(big, /^Time +Who +Action +What[^]* registerJob +big +default +200 /)
    assert.doesNotMatch(big, /createTeam/)
    assert.equal(
      await reeve.ok('audit list --action createTeam --until 1h'),
      'Nothing like that was written.\n',
    )
    const [record]: readonly { Actor: { ID: string } }[] = JSON.parse(
      await reeve.ok('audit list --json --action createTeam'),
    )
    const actor = record?.Actor.ID ?? ''
    const own = await reeve.ok(`org audit acme --actor ${actor} --action createProject`)
    assert.match(own, / createProject /)
    const cut = await reeve.run('audit list --count 1')
    assert.equal(cut.out.trim().split('\n').length, 2)
    assert.equal(cut.err, 'Only the newest 1: --count shows more.\n')
    const wrong = await reeve.run('audit list --since yesterday')
    assert.equal(wrong.code, EXIT_CODES.usage)
    assert.match(wrong.err, /--since is a time, or how long ago it is such as 2h/)
  })
})

test('job actions and job action', { timeout: 300_000 }, async (t) => {
  const reeve = await aCommandLine(t)
  const actions = [
    { Name: 'where', Command: '/bin/sh', Args: ['-c', 'echo $REEVE_ALLOC_ID $REEVE_TASK_NAME'] },
    { Name: 'fail', Command: '/bin/sh', Args: ['-c', 'cat; echo bad >&2; exit 4'] },
  ]
  const task = (name: string) => ({ ...shellTask(name, 'exec sleep 1000'), Actions: actions })
  const Tasks = [
    task('main'),
    { ...shellTask('aside', 'exec sleep 1000'), Actions: actions.slice(0, 1) },
  ]
  const TaskGroups = [{ Name: 'group', Count: 2, Tasks }]
  const wish = { id: 'web', script: '', count: 2, job: { TaskGroups } }
  const ids = await runShellJob(t, reeve.client, wish)

  await t.test('lists what the tasks declare', async () => {
    const said = await reeve.ok('job actions web')
    assert.match(said, /^Name +Group +Task +Command\n/)
    assert.match(said, /\nfail +group +main +\/bin\/sh -c 'cat; echo bad >&2; exit 4'\n/)
    assert.doesNotMatch(await reeve.ok('job actions --task aside web'), /main/)
  })

  await t.test('runs one, with its input, outputs and exit code', async () => {
    const ended = await reeve.run('job action web fail', { input: 'piped\n' })
    assert.deepEqual(ended, { code: 4, out: 'piped\n', err: 'bad\n' })
  })

  await t.test('runs it where it is told to', async () => {
    for (const id of ids)
      assert.equal(
        await reeve.ok(`job action --alloc ${id.slice(0, 8)} --task main web where`),
        `${id} main\n`,
      )
    assert.match(await reeve.ok('job action --group group --task aside web where'), / aside\n$/)
  })

  await t.test('says what is missing', async () => {
    const several = await reeve.run('job action web where')
    assert.equal(several.code, EXIT_CODES.usage)
    assert.match(several.err, /several tasks have the action "where" \(group\/\w+, group\/\w+\)/)
    const missing = await reeve.run('job action web dance')
    assert.deepEqual(
      [missing.code, missing.err],
      [
        EXIT_CODES.missing,
        'reeve job action: Job "web" has no action "dance".\nIt has where, fail.\n',
      ],
    )
  })
})
