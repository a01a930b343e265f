import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anInstallation, pageCommands, type Installation } from './import-world.ts'

const JOB_FILE = `job "web" {
  namespace = "prod"
  group "web" {
    count = 2
    task "server" {
      driver = "raw_exec"
      config {
        command = "/bin/true"
      }
    }
  }
}
`

/** A namespace, a pool, a variable and a job with two versions. */
async function fill({ commands, token }: Installation): Promise<void> {
  const run = (line: string) => commands.ok(`${line} --token ${token}`)
  await run('namespace apply prod --description production')
  await run('node pool apply gpu --description cards')
  await run('var put apps/db password=hush')
  await commands.file('readers.hcl', 'namespace "prod" {\n  policy = "read"\n}\n')
  await run('acl policy apply readers readers.hcl')
  await run('acl token create --name ci --policy readers')
  await commands.file('web.hcl', JOB_FILE)
  await run('job run --detach web.hcl')
  await commands.file('web.hcl', JOB_FILE.replace('count = 2', 'count = 3'))
  await run('job run --detach web.hcl')
}

test('import workload', { timeout: 300_000 }, async (t) => {
  const [source, target] = [await anInstallation(t), await anInstallation(t)]
  await fill(source)

  await t.test('the commands of the page work in their order', async () => {
    const other = await anInstallation(t)
    const lines = await pageCommands('migrate-workload.md')
    const codes = []
    for (const line of lines) {
      // The page names a job of the default namespace.
      const words = line.replace('start web', 'start web --namespace prod')
      codes.push(await other.runFrom(source, words))
    }
    assert.deepEqual(codes, [3, 0, 0, 0])
  })
  const list = () => target.commands.ok(`namespace list --token ${target.token}`)

  await t.test('a dry run lists what would be written, and writes nothing', async () => {
    const { code, report } = await target.importFrom(source, 'workload')
    assert.equal(code, 3)
    assert.deepEqual(
      report.Actions.map(({ Kind, Name, Action }) => `${Action} ${Kind} ${Name}`),
      [
        'create node-pool gpu',
        'create namespace prod',
        'create acl-policy readers',
        'create variable default/apps/db',
        'create job prod/web',
      ],
    )
    assert.ok(report.Secrets.some(({ Kind, Name }) => `${Kind} ${Name}` === 'acl-token ci'))
    assert.doesNotMatch(JSON.stringify(report), /hush/)
    assert.doesNotMatch(await list(), /prod/)
  })

  await t.test('applied, the jobs are there with versions and files, and are stopped', async () => {
    const { code, report } = await target.importFrom(source, 'workload', ['--apply'])
    assert.deepEqual([code, report.Actions.map(({ Error }) => Error)], [0, ['', '', '', '', '']])
    const params = { job_id: 'web' }
    const query = { namespace: 'prod' }
    const { data } = await target.client.v1.listJobVersions({ params, query })
    assert.deepEqual(
      data.Versions?.map(({ Stop, TaskGroups }) => [Stop, TaskGroups?.[0]?.Count]),
      [
        [true, 3],
        [true, 2],
      ],
    )
    const file = await target.client.v1.readJobSubmission({
      params,
      query: { ...query, version: 0 },
    })
    assert.equal(file.data.Source, JOB_FILE)
    const { data: variable } = await target.client.v1.readVariable({ params: { path: 'apps/db' } })
    assert.deepEqual(variable.Items, { password: 'hush' })
  })

  await t.test('applied again, nothing is written', async () => {
    const { code, report } = await target.importFrom(source, 'workload', ['--apply'])
    assert.deepEqual([code, report.Actions, report.Differences], [0, [], []])
  })

  await t.test(
    'what differs is listed, kept, and overwritten only when that is asked',
    async () => {
      await target.commands.ok(`namespace apply prod --description mine --token ${target.token}`)
      await target.commands.ok(`var put apps/db password=other --token ${target.token}`)
      const kept = await target.importFrom(source, 'workload', ['--apply'])
      const fields = kept.report.Differences.map(({ Name, Field }) => `${Name} ${Field}`)
      assert.deepEqual(fields, ['prod Description', 'default/apps/db password'])
      assert.deepEqual([kept.code, kept.report.Actions], [0, []])
      assert.doesNotMatch(JSON.stringify(kept.report), /hush|other/)
      const { code } = await target.importFrom(source, 'workload', ['--apply', '--overwrite'])
      assert.equal(code, 0)
      assert.match(await list(), /prod\s+production/)
    },
  )

  await t.test('an import that was interrupted goes on with the next version', async () => {
    const params = { job_id: 'web' }
    const query = { namespace: 'prod' }
    await target.client.v1.stopJob({ params, query: { ...query, purge: true } })
    const { data } = await source.client.v1.listJobVersions({ params, query })
    const { Region: _, ...Job } = data.Versions?.at(-1) ?? assert.fail('no version')
    await target.client.v1.registerJob({ query, body: { Job, Stopped: true } })
    const { report } = await target.importFrom(source, 'workload', ['--apply'])
    assert.deepEqual(
      report.Actions.map(({ Name, Action, Error }) => [Name, Action, Error]),
      [['prod/web', 'create', '']],
    )
    const after = await target.client.v1.listJobVersions({ params, query })
    assert.equal(after.data.Versions?.length, 2)
  })

  await t.test('with --start the jobs run at once', async () => {
    const params = { job_id: 'web' }
    const query = { namespace: 'prod' }
    await target.client.v1.stopJob({ params, query: { ...query, purge: true } })
    await target.importFrom(source, 'workload', ['--apply', '--start'])
    const { data } = await target.client.v1.readJob({ params, query })
    assert.equal(data.Stop, false)
  })

  await t.test('a job that the target rejects is listed with the reason', async () => {
    await source.client.v1.registerJob({
      body: {
        Job: {
          ID: 'broken',
          TaskGroups: [{ Name: 'g', Tasks: [{ Name: 't', Driver: 'raw_exec', Config: {} }] }],
        },
      },
    })
    const { report } = await target.importFrom(source, 'workload')
    const job = [...report.Actions, ...report.NotCarriedOver].find(
      ({ Name }) => Name === 'default/broken',
    )
    assert.ok(job !== undefined)
  })

  await t.test('for people the report ends with what to do', async () => {
    const from = ['--from', source.address, '--from-token', source.token]
    const line = ['import', 'workload', ...from, '--token', target.token]
    const { out } = await target.commands.run(line)
    assert.match(out, /unchanged\n/)
  })
})

test('import workload: without --from it is said what is missing', async (t) => {
  const { commands } = await anInstallation(t)
  const { code, err } = await commands.run('import workload')
  assert.deepEqual(
    [code, err],
    [2, 'reeve import workload: --from is missing: the address of the installation to read.\n'],
  )
})
